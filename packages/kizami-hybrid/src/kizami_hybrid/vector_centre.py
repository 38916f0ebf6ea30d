"""The centre: what the vectors of a database have in common, and so says nothing of any of them.

The vectors of a model don't lie all around: those of texts of one kind share most of their direction, and
cosines between them say more about that than about what the texts say. Looked at from near the middle of all,
they are told apart by what is their own (Mu and Viswanath 2018, "All-but-the-top"). On the ``tune`` half of
the development set for recall the right memory is among the nearest three for 15 of the 18 prompts that share
only ordinary words with it, and for 10 without. Going all the way costs where queries are of another kind
than the texts (section headings, techdoc-ja), hence a share of the way.
"""

from __future__ import annotations

import numpy as np

from kizami_hybrid.stored_vectors import sound_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

    from kizami_hybrid.embedder import ModelIdentity, Vectors

    Vector = NDArray[np.float32]

# How far of the way from the origin to the middle of the vectors.
_SHARE = 0.7
# As many tell where the middle is; fewer than the least tell nothing.
_SAMPLE, _FEW = 256, 20
# The middle moves slowly: it is looked for again when the newest chunk's id has grown by this factor.
_GROWTH = 1.1


class Centres:
    """The centres of databases, each looked for when there is much that is new."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, Vector]] = {}

    def of(self, database: str, connection: sqlite3.Connection, model: ModelIdentity) -> Vector:
        """Return the centre of the vectors that a connection to a database sees."""
        newest = connection.execute("""SELECT coalesce(max(chunk_id), 0) FROM chunks_vec_map""").fetchone()[0]
        at, centre = self._found.get(database, (0, None))
        if centre is None or len(centre) != model.dimensions or not at <= newest <= at * _GROWTH:
            centre = find_centre(connection, model)
            self._found[database] = (newest, centre)
        return centre


def find_centre(connection: sqlite3.Connection, model: ModelIdentity) -> Vector:
    """Return the centre of the stored vectors, by some of them: ``float32[dimensions]``, 2 ms."""
    rows = connection.execute(
        """
        WITH RECURSIVE bounds(least, most) AS (SELECT min(chunk_id), max(chunk_id) FROM chunks_vec_map),
        places(at) AS (
          SELECT least FROM bounds
          UNION ALL
          SELECT at + max(1, (most - least) / :sample) FROM places, bounds
          WHERE at + max(1, (most - least) / :sample) <= most
        )
        SELECT chunk_id, embedding FROM chunks_vec_map WHERE chunk_id IN (
          SELECT (SELECT min(chunk_id) FROM chunks_vec_map WHERE chunk_id >= at) FROM places
        )
        """,
        {"sample": _SAMPLE},
    ).fetchall()
    return centre_of(sound_vectors(rows, model)[1])


def centre_of(vectors: Vectors) -> Vector:
    """Return the centre of these vectors; the origin where they are few."""
    if len(vectors) < _FEW:
        return np.zeros(vectors.shape[1], np.float32)
    centre: Vector = (_SHARE * vectors.mean(axis=0)).astype(np.float32)
    return centre


def from_centre(vectors: Vectors, centre: Vector) -> Vectors:
    """Return the directions, of length 1, in which vectors lie from the centre; NaN where there is none."""
    ways = vectors - centre
    with np.errstate(all="ignore"):
        directions: Vectors = (ways / np.linalg.norm(ways, axis=-1, keepdims=True)).astype(np.float32)
    return directions
