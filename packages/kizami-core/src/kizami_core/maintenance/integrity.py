"""Integrity: whether the file is sound and what is derived agrees with what it is derived from."""

from __future__ import annotations

import sqlite3

from kizami_core.records import Record

_MAX_PROBLEMS = 20


class IntegrityReport(Record):
    """``damage``: what SQLite finds in the file. ``drift``: derived data that disagrees with ``chunks``."""

    damage: tuple[str, ...]
    drift: tuple[str, ...]


def is_readable(connection: sqlite3.Connection) -> bool:
    """Tell whether the structure of the file is sound; a read-only connection will do."""
    try:
        return connection.execute("""PRAGMA quick_check(1)""").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False


def check(connection: sqlite3.Connection) -> IntegrityReport:
    """Look at everything, in about the time of reading the file twice; needs a connection that may write."""
    try:
        rows = connection.execute(f"""PRAGMA integrity_check({_MAX_PROBLEMS})""").fetchall()
    except sqlite3.DatabaseError as error:
        return IntegrityReport((str(error),), ())
    damage = tuple(row[0] for row in rows if row[0] != "ok")
    return IntegrityReport(damage, () if damage else tuple(_drift(connection)))


def _drift(connection: sqlite3.Connection) -> list[str]:
    drift = []
    try:
        # With rank 1 the index is also compared with the text that it stands for.
        connection.execute("""INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 1)""")
    except sqlite3.DatabaseError as error:
        drift.append(f"chunks_fts: {error}")
    for name, statement in _COUNTS.items():
        count = connection.execute(statement).fetchone()[0]
        if count:
            drift.append(f"{count} {name}")
    return drift


_COUNTS = {
    "chunks that the word index has yet to follow": """SELECT count(DISTINCT chunk_id) FROM word_queue""",
    "sessions whose row disagrees with their chunks": """
        SELECT count(*) FROM (
          SELECT s.session_id FROM sessions s LEFT JOIN chunks c ON c.session_id = s.session_id
          GROUP BY s.session_id HAVING count(c.id) <> s.chunk_count OR count(c.id) = 0
          UNION ALL
          SELECT DISTINCT session_id FROM chunks WHERE session_id NOT IN (SELECT session_id FROM sessions)
        )
    """,
    "chunks whose turn is unknown": """
        SELECT count(*) FROM chunks WHERE turn_id IS NOT NULL AND turn_id NOT IN (SELECT id FROM turns)
    """,
}
