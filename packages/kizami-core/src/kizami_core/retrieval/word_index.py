"""The word index: which chunk holds which term.

``chunks_words`` is derived from ``chunks`` and can be rebuilt from it. It follows by reconciliation: triggers
in plain SQL note what changed in ``word_queue``, whoever changed it, and ``refresh`` catches up. Kizami's own
writers call it inside their transaction, so readers never see the index lag behind.

Every chunk also carries a token of its project, so that a query within one project reads only the postings
where both meet.
"""

from __future__ import annotations

from kizami_core.retrieval.terms import index_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


def project_token(project_id: int) -> str:
    """Return the index term for a row of ``projects``: in the private use area, so no text can hold it."""
    return f"\ue000{project_id}"


def refresh(connection: sqlite3.Connection, *, limit: int | None = None) -> int:
    """Bring the word index up to date, inside the caller's transaction.

    Args:
        connection: a connection within a write transaction.
        limit: the most chunks to work off, None for all.

    Returns:
        How many chunks were worked off; fewer than ``limit`` means that the index is up to date.
    """
    queue = connection.execute(
        """
        SELECT q.chunk_id, q.old_content, q.old_project_path, c.content, c.project_path
        FROM word_queue q LEFT JOIN chunks c ON c.id = q.chunk_id
        ORDER BY q.chunk_id DESC LIMIT ?
        """,
        (-1 if limit is None else limit,),
    ).fetchall()
    projects: dict[str, int] = {}
    # The newest are taken first, but handed over in ascending order: FTS5 flushes at every step back.
    for chunk_id, old_content, old_project, content, project in reversed(queue):
        if old_content is not None:
            connection.execute(
                """INSERT INTO chunks_words(chunks_words, rowid, terms) VALUES ('delete', ?, ?)""",
                (chunk_id, _document(connection, projects, old_content, old_project)),
            )
        if content is not None:
            connection.execute(
                """INSERT INTO chunks_words(rowid, terms) VALUES (?, ?)""",
                (chunk_id, _document(connection, projects, content, project)),
            )
        connection.execute("""DELETE FROM word_queue WHERE chunk_id = ?""", (chunk_id,))
    return len(queue)


def rebuild(connection: sqlite3.Connection) -> int:
    """Make the word index anew from ``chunks``, inside the caller's transaction; return how many it holds."""
    connection.execute("""INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')""")
    connection.execute("""DELETE FROM word_queue""")
    connection.execute("""INSERT INTO word_queue(chunk_id) SELECT id FROM chunks""")
    return refresh(connection)


def _document(connection: sqlite3.Connection, projects: dict[str, int], content: str, project: str) -> str:
    if project not in projects:
        connection.execute("""INSERT OR IGNORE INTO projects(path) VALUES (?)""", (project,))
        row = connection.execute("""SELECT id FROM projects WHERE path = ?""", (project,)).fetchone()
        projects[project] = row[0]
    return f"{project_token(projects[project])} {' '.join(index_terms(content))}"
