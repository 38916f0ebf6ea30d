"""The word index: which chunk holds which term.

``chunks_words`` is derived from ``chunks`` and can be rebuilt from it. It follows by reconciliation: triggers
in plain SQL note what changed in ``word_queue``, whoever changed it, and ``refresh`` catches up. Kizami's own
writers call it inside their transaction, so readers never see the index lag behind.

Every chunk also carries a token of its project, so that a query within one project reads only the postings
where both meet. The terms of a sub-agent's chunks are told from a person's by a prefix: a normal query never
meets them, however many there are.
"""

from __future__ import annotations

from kizami_core.retrieval.terms import index_terms
from kizami_core.storage.connection import transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_CATCH_UP_CHUNKS = 500
_HIGHEST_ROW = 2**28 - 1


def index_row(chunk_id: int) -> int:
    """Return the row of a chunk in the index; the same function leads back.

    Rows count down, so that the newest chunk comes first in ascending order, which FTS5 reads with a fraction
    of the work of the other. (Beyond the highest row they go on below zero.)
    """
    return _HIGHEST_ROW - chunk_id


def project_token(project_id: int) -> str:
    """Return the index term for a row of ``projects``: in the private use area, so no text can hold it."""
    return f"\ue000{project_id}"


def agent_term(term: str) -> str:
    """Return the index term for a term of a sub-agent's chunk."""
    return f"\ue001{term}"


def quoted(term: str) -> str:
    """Return a term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


def refresh(
    connection: sqlite3.Connection,
    *,
    limit: int | None = None,
    known_terms: Mapping[str, str] | None = None,
) -> int:
    """Bring the word index up to date, inside the caller's transaction.

    Args:
        connection: a connection within a write transaction.
        limit: the most chunks to work off, None for all.
        known_terms: what ``joined_terms`` returns, by text, where that was worked out before.

    Returns:
        How many chunks were worked off; fewer than ``limit`` means that the index is up to date.
    """
    queue = connection.execute(
        """
        SELECT q.chunk_id, q.old_content, q.old_project_path, q.old_is_agent,
               c.content, c.project_path, c.is_agent
        FROM word_queue q LEFT JOIN chunks c ON c.id = q.chunk_id
        ORDER BY q.chunk_id DESC LIMIT ?
        """,
        (-1 if limit is None else limit,),
    ).fetchall()
    document = _Documents(connection, known_terms or {})
    # From the newest on the rows of the index ascend: FTS5 flushes at every step back.
    for chunk_id, old_content, old_project, was_agent, content, project, is_agent in queue:
        if old_content is not None:
            connection.execute(
                """INSERT INTO chunks_words(chunks_words, rowid, terms) VALUES ('delete', ?, ?)""",
                (index_row(chunk_id), document(old_content, old_project, is_agent=was_agent)),
            )
        if content is not None:
            connection.execute(
                """INSERT INTO chunks_words(rowid, terms) VALUES (?, ?)""",
                (index_row(chunk_id), document(content, project, is_agent=is_agent)),
            )
        connection.execute("""DELETE FROM word_queue WHERE chunk_id = ?""", (chunk_id,))
    return len(queue)


def catch_up(connection: sqlite3.Connection) -> None:
    """Work off what other programs or large changes left; other writers get their turn in between."""
    done = _CATCH_UP_CHUNKS
    while done == _CATCH_UP_CHUNKS:
        with transaction(connection):
            done = refresh(connection, limit=_CATCH_UP_CHUNKS)


def rename_project(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Follow a project whose chunks were just given another path, inside the caller's transaction.

    The index was up to date before. A path that it does not know yet takes over the token, so nothing is
    written but one row; where two projects become one the chunks stay queued.
    """
    known = connection.execute("""SELECT 1 FROM projects WHERE path = ?""", (new,)).fetchone()
    if known is None:
        connection.execute("""DELETE FROM word_queue""")
        connection.execute("""UPDATE projects SET path = ? WHERE path = ?""", (new, old))


def rebuild(connection: sqlite3.Connection) -> int:
    """Make the word index anew from ``chunks``, inside the caller's transaction; return how many it holds."""
    connection.execute("""INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')""")
    connection.execute("""DELETE FROM word_queue""")
    connection.execute("""INSERT INTO word_queue(chunk_id) SELECT id FROM chunks""")
    return refresh(connection)


def joined_terms(text: str) -> str:
    """Return the terms of a text with spaces between them."""
    return " ".join(index_terms(text))


class _Documents:
    """Makes what the index holds of a chunk."""

    def __init__(self, connection: sqlite3.Connection, known_terms: Mapping[str, str]) -> None:
        self._connection = connection
        self._known_terms = known_terms
        self._tokens: dict[str, str] = {}

    def __call__(self, content: str, project: str, *, is_agent: int) -> str:
        terms = self._known_terms.get(content)
        if terms is None:
            terms = joined_terms(content)
        if is_agent:
            terms = " ".join(map(agent_term, terms.split()))
        return f"{self._token(project)} {terms}"

    def _token(self, project: str) -> str:
        if project not in self._tokens:
            self._connection.execute("""INSERT OR IGNORE INTO projects(path) VALUES (?)""", (project,))
            row = self._connection.execute(
                """SELECT id FROM projects WHERE path = ?""", (project,)
            ).fetchone()
            self._tokens[project] = project_token(row[0])
        return self._tokens[project]
