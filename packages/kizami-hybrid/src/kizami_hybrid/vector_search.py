"""Searching the vectors: by sqlite-vec where the connection has it, else by NumPy over the same rows.

What is near is told from the centre of the vectors (``vector_centre``). Since all have length 1, those that
lie farthest along the way from the centre to the query are the nearest to one point of the same length, the
way's own direction: that is all that an index has to be told. Among these the cosines as seen from the centre
decide.

sqlite-vec only names candidates. The cosines come from ``chunks_vec_map`` on both ways, so they are the same,
and an index that disagrees with the map is noticed.
"""

from __future__ import annotations

import numpy as np

from kizami_hybrid.stored_vectors import read_vectors
from kizami_hybrid.vector_centre import from_centre
from kizami_hybrid.vector_index import is_usable
from kizami_hybrid.vector_schema import require_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kizami_hybrid.embedder import ModelIdentity
    from kizami_hybrid.stored_vectors import Block, Ids

    Vector = NDArray[np.float32]
    Found = list[tuple[int, float]]

_MAX_NEIGHBOURS = 4_096  # that sqlite-vec gives for one query
_MAX_UNINDEXED = 1_000  # beyond it the index is of little help
_BLOCK_VECTORS = 1_024  # held in memory at once: 1 MB of 256 dimensions, which stays in the CPU's cache
_PARAMETERS = 500  # of one statement
_TOLERANCE = 1e-3  # between a cosine and what sqlite-vec's distance says it is


def search_vectors(
    connection: sqlite3.Connection,
    query_vector: Vector,
    *,
    model: ModelIdentity,
    centre: Vector,
    project_path: str | None,
    k: int,
    include_agents: bool = False,
) -> Found:
    """Return the ``k`` chunks nearest to a query, nearest first, of equally near ones the newest row first.

    Which of several equally near ones are cut off at ``k`` is sqlite-vec's choice.

    Args:
        connection: any connection to the database; sqlite-vec is used where it is loaded.
        query_vector: ``float32[dimensions]``.
        model: the model that embedded the query.
        centre: ``float32[dimensions]``, where they are looked at from; see ``vector_centre``.
        project_path: the project to keep to, None for all.
        k: the most chunks to return.
        include_agents: look at the chunks of sub-agents too.

    Returns:
        Ids of ``chunks`` with their cosines, as seen from the centre, in [-1, 1].

    Raises:
        VectorsStaleError: the vectors are those of another model, or there are none.
    """
    require_model(connection, model)
    if k < 1:
        return []
    scope = _Scope(project_path, include_agents=include_agents)
    query = from_centre(query_vector, centre)
    found = None
    if is_usable(connection):
        try:
            found = _by_index(connection, query, model, scope, k)
        except connection.Error:
            found = None  # a damaged index; the next refresh makes it anew
    if found is None:
        found = _by_map(connection, query, model, scope, k)
    return _nearest(_cosines_of(connection, query, [number for number, _ in found], model, centre), k)


class _Scope:
    """Which chunks may be found."""

    def __init__(self, project_path: str | None, *, include_agents: bool) -> None:
        self.parameters: dict[str, object] = {} if project_path is None else {"project": project_path}
        self._conditions = [] if project_path is None else ["project_path = :project"]
        if not include_agents:
            self._conditions.append("is_agent = 0")

    def where(self, *others: str) -> str:
        """Return the conditions as SQL; the columns are named alike in ``chunks`` and ``chunks_vec``."""
        return " AND ".join([*others, *self._conditions]) or "TRUE"


def _by_index(
    connection: sqlite3.Connection, query: Vector, model: ModelIdentity, scope: _Scope, k: int
) -> Found | None:
    """Ask sqlite-vec; None where it can't answer, or answers something else than the map says.

    What it has yet to follow is looked up beside it: so much more is asked of it, and left out again.
    """
    waiting = {
        row[0]
        for row in connection.execute(
            """SELECT chunk_id FROM vector_index_queue LIMIT ?""", (_MAX_UNINDEXED + 1,)
        )
    }
    wanted = k + len(waiting)
    if len(waiting) > _MAX_UNINDEXED or wanted > _MAX_NEIGHBOURS:
        return None
    neighbours = connection.execute(
        f"""
        SELECT rowid, distance FROM chunks_vec
        WHERE {scope.where("embedding MATCH :query", "k = :k")}
        """,  # noqa: S608 - constants
        scope.parameters | {"query": query.astype("<f4").tobytes(), "k": wanted},
    ).fetchall()
    if len(neighbours) < wanted:  # there are so few that the map is as fast, or some of the index is gone
        return None
    distances = {number: distance for number, distance in neighbours if number not in waiting}
    within = (
        connection.execute(
            f"""
            SELECT id FROM chunks WHERE {scope.where("id IN (SELECT chunk_id FROM vector_index_queue)")}
            """,  # noqa: S608 - constants
            scope.parameters,
        ).fetchall()
        if waiting
        else []
    )
    found = _cosines_of(connection, query, [*distances, *(row[0] for row in within)], model)
    # Between vectors of length 1: distance² = 2 − 2·cosine.
    told = np.array([1 - distances[number] ** 2 / 2 if number in distances else c for number, c in found])
    if np.any(np.abs(told - np.array([cosine for _, cosine in found])) > _TOLERANCE):
        return None
    return _nearest(found, k)


def _by_map(
    connection: sqlite3.Connection, query: Vector, model: ModelIdentity, scope: _Scope, k: int
) -> Found:
    # By chunks, whose index over the projects is small, only where there is a project: they are large rows.
    source = "chunks_vec_map"
    if scope.parameters:
        source = "(SELECT m.*, c.project_path FROM chunks c JOIN chunks_vec_map m ON m.chunk_id = c.id)"
    rows = connection.execute(
        f"""SELECT chunk_id, embedding FROM {source} WHERE {scope.where()}""",  # noqa: S608 - constants
        scope.parameters,
    )
    found: Found = []
    floor = -1.0
    while block := rows.fetchmany(_BLOCK_VECTORS):
        ids, values = _cosines(block, query, model)
        is_near = values >= floor
        found = _nearest([*found, *_pairs(ids[is_near], values[is_near])], k)
        if len(found) == k:
            floor = found[-1][1]
    return found


def _cosines_of(
    connection: sqlite3.Connection,
    query: Vector,
    chunk_ids: Sequence[int],
    model: ModelIdentity,
    centre: Vector | None = None,
) -> Found:
    return [
        pair
        for block in _vectors_of(connection, chunk_ids)
        for pair in _pairs(*_cosines(block, query, model, centre))
    ]


def _vectors_of(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> Iterator[Block]:
    for start in range(0, len(chunk_ids), _PARAMETERS):
        part = chunk_ids[start : start + _PARAMETERS]
        yield connection.execute(
            f"""
            SELECT chunk_id, embedding FROM chunks_vec_map
            WHERE chunk_id IN ({", ".join("?" * len(part))})
            """,  # noqa: S608 - only question marks
            part,
        ).fetchall()


def _cosines(
    block: Block, query: Vector, model: ModelIdentity, centre: Vector | None = None
) -> tuple[Ids, Vector]:
    """Return ids of stored vectors and their cosines with a query of length 1; what is no vector is left out.

    With a centre the directions are compared in which they lie from there.
    """
    ids, vectors = read_vectors(block, model)
    ways = vectors if centre is None else vectors - centre
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", ways, ways))
        found = np.clip(ways @ query / lengths, -1, 1)
    is_number = np.isfinite(found)
    return ids[is_number], found[is_number]


def _pairs(ids: Ids, values: Vector) -> Found:
    return list(zip(ids.tolist(), values.tolist(), strict=True))


def _nearest(found: Found, k: int) -> Found:
    return sorted(found, key=lambda pair: (-pair[1], -pair[0]))[:k]
