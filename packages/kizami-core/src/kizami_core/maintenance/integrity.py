"""Integrity: whether the file is sound and what is derived agrees with what it is derived from."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.retrieval.word_index import project_token
from kizami_core.storage.schema import MIGRATIONS, apply_migration

_MAX_PROBLEMS = 20
# What SQLite says when an index, and not the table, is at fault.
_INDEX_DAMAGE = re.compile(
    r"missing from index|wrong # of entries in index|non-unique entry in index|in index order"
)
FULL_TEXT_INDEXES = ("chunks_fts", "chunks_words")


class IntegrityReport(Record):
    """``damage``: what SQLite finds in the file. ``drift``: derived data that disagrees with ``chunks``.

    ``is_derived``: all of the damage is in indexes, which can be made anew. ``queued``: chunks that the word
    index has yet to follow, which the next save works off.
    """

    damage: tuple[str, ...]
    drift: tuple[str, ...]
    is_derived: bool = False
    queued: int = 0


def is_readable(connection: sqlite3.Connection) -> bool:
    """Tell whether the structure of the file is sound; a read-only connection will do."""
    try:
        return connection.execute("""PRAGMA quick_check(1)""").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False


def check(connection: sqlite3.Connection) -> IntegrityReport:
    """Look at everything, 25 s for a gigabyte; needs a connection that may write.

    Raises:
        sqlite3.OperationalError: another process holds the lock.
    """
    try:
        rows = connection.execute(f"""PRAGMA integrity_check({_MAX_PROBLEMS})""").fetchall()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return IntegrityReport((str(error),), ())
    damage = tuple(row[0] for row in rows if row[0] != "ok")
    if damage:
        return IntegrityReport(damage, (), is_derived=all(_INDEX_DAMAGE.search(line) for line in damage))
    if missing := missing_objects(connection):
        return IntegrityReport((), tuple(Message("{name} is missing", name=name) for name in missing))
    queued = connection.execute("""SELECT count(*) FROM word_queue""").fetchone()[0]
    return IntegrityReport((), tuple(_drift(connection)), queued=queued)


def missing_objects(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the tables, indexes and triggers of the schema that are not there: name → statement."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for version in MIGRATIONS:
            apply_migration(model, version)
        wanted = dict(
            model.execute(
                """
                SELECT name, sql FROM sqlite_master
                WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                  AND NOT (type = 'table' AND (name GLOB 'chunks_fts_*' OR name GLOB 'chunks_words_*'))
                """
            )
        )
    present = {row[0] for row in connection.execute("""SELECT name FROM sqlite_master""")}
    return {name: statement for name, statement in wanted.items() if name not in present}


def _drift(connection: sqlite3.Connection) -> list[str]:
    drift: list[str] = [
        f"{index}: {fault}" for index in FULL_TEXT_INDEXES if (fault := _fault(connection, index))
    ]
    # A broken index can't be asked what it holds.
    if not drift and (uneven := _unevenly_indexed(connection)):
        drift.append(
            Message(
                "{count} projects of which the word index holds more or fewer chunks than there are",
                count=uneven,
            )
        )
    for name, statement in _COUNTS.items():
        count = connection.execute(statement).fetchone()[0]
        if count:
            drift.append(Message("{count} {what}", count=count, what=name))
    return drift


def _fault(connection: sqlite3.Connection, index: str) -> str:
    """Return what FTS5 finds wrong with an index, "" for nothing."""
    try:
        # With rank 1 the index is also compared with the text that it stands for, where it has one.
        connection.execute(
            f"""INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)"""  # noqa: S608
        )
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise
        return str(error)
    return ""


def _unevenly_indexed(connection: sqlite3.Connection) -> int:
    """Count the projects whose chunks the word index, which keeps no text, does not hold all and only.

    Every chunk in it carries the token of its project. For a chunk in the queue it holds what the queue says.
    """
    connection.execute(
        """CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_counts USING fts5vocab(main, chunks_words, 'row')"""
    )
    projects = connection.execute(
        """
        SELECT held.project_path, projects.id, count(*) FROM (
          SELECT project_path FROM chunks WHERE id NOT IN (SELECT chunk_id FROM word_queue)
          UNION ALL
          SELECT old_project_path FROM word_queue WHERE old_content IS NOT NULL
        ) AS held LEFT JOIN projects ON projects.path = held.project_path
        GROUP BY held.project_path
        """
    ).fetchall()
    expected = {project_token(number): count for _, number, count in projects}
    first = project_token(0)[0]
    indexed = dict(
        connection.execute(
            """SELECT term, doc FROM temp.word_counts WHERE term >= ? AND term < ? AND doc > 0""",
            (first, chr(ord(first) + 1)),
        )
    )
    return len({token for token, _ in expected.items() ^ indexed.items()})


_COUNTS = {
    Message("sessions whose row disagrees with their chunks"): """
        SELECT count(*) FROM (
          SELECT s.session_id FROM sessions s LEFT JOIN chunks c ON c.session_id = s.session_id
          GROUP BY s.session_id HAVING count(c.id) <> s.chunk_count OR count(c.id) = 0
          UNION ALL
          SELECT DISTINCT session_id FROM chunks WHERE session_id NOT IN (SELECT session_id FROM sessions)
        )
    """,
    Message("chunks whose turn is unknown"): """
        SELECT count(*) FROM chunks WHERE turn_id IS NOT NULL AND turn_id NOT IN (SELECT id FROM turns)
    """,
}
