"""Repair: everything that is derived is made anew from ``chunks``, which stays as it is."""

from __future__ import annotations

import sqlite3

from kizami_core.maintenance.integrity import FULL_TEXT_INDEXES, missing_objects
from kizami_core.records import Record
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import transaction
from kizami_core.storage.sessions import refresh_sessions


class RepairReport(Record):
    """What was made anew: chunks in both full-text indexes, rows of sessions, and objects of the schema."""

    chunks_indexed: int
    sessions: int
    sessions_dropped: int
    restored: tuple[str, ...]


def repair(connection: sqlite3.Connection) -> RepairReport:
    """Make what is derived anew, in one transaction; needs a file whose tables can be read.

    Raises:
        StorageError: the database is locked or full, or damaged where it holds what can't be derived.
    """
    with transaction(connection):
        for index in FULL_TEXT_INDEXES:
            _drop_index(connection, index)
        restored = missing_objects(connection)
        # Tables come before the indexes and triggers that name them.
        for statement in sorted(restored.values(), key=_is_no_table):
            connection.execute(statement)
        connection.execute("""REINDEX""")
        connection.execute("""INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')""")
        chunks = word_index.rebuild(connection)
        ids = connection.execute(
            """SELECT session_id FROM chunks UNION SELECT session_id FROM sessions"""
        ).fetchall()
        dropped = refresh_sessions(connection, [row[0] for row in ids])
        _mark_agents(connection)
    return RepairReport(
        chunks, len(ids) - dropped, dropped, tuple(sorted(restored.keys() - set(FULL_TEXT_INDEXES)))
    )


def _is_no_table(statement: str) -> bool:
    return not statement.startswith(("CREATE TABLE", "CREATE VIRTUAL TABLE"))


def _drop_index(connection: sqlite3.Connection, index: str) -> None:
    """Drop a full-text index with its shadow tables, also one that is too damaged for DROP TABLE."""
    try:
        connection.execute(f"""DROP TABLE IF EXISTS {index}""")
    except sqlite3.DatabaseError:
        connection.execute("""PRAGMA writable_schema = ON""")
        connection.execute("""DELETE FROM sqlite_master WHERE name = ?""", (index,))
        connection.execute("""PRAGMA writable_schema = RESET""")
    shadows = connection.execute(
        """SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ? || '_*'""", (index,)
    ).fetchall()
    for (name,) in shadows:
        connection.execute(f"""DROP TABLE {name}""")


def _mark_agents(connection: sqlite3.Connection) -> None:
    """Keep the sessions of sub-agents whose row was lost apart; who started them is not known any more."""
    connection.execute(
        """
        UPDATE sessions SET parent_session_id = ''
        WHERE parent_session_id IS NULL AND session_id IN (SELECT session_id FROM chunks WHERE is_agent)
        """
    )
