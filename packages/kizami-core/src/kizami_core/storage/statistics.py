"""Figures about what is stored."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.storage.maintenance_log import LogEntry, last_entries
from kizami_core.storage.marks import marked_ids
from kizami_core.storage.space import file_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_LOG_ENTRIES = 10


class ProjectStatistics(Record):
    """What one project holds."""

    project_path: str
    sessions: int
    chunks: int


class Statistics(Record):
    """What the database holds.

    ``oldest`` and ``newest`` are times of turns, UTC, None without chunks. ``muted`` and ``pinned`` count
    chunks.
    """

    chunks: int
    sessions: int
    tokens: int
    database_bytes: int
    oldest: str | None
    newest: str | None
    projects: tuple[ProjectStatistics, ...]
    maintenance: tuple[LogEntry, ...]
    muted: int = 0
    pinned: int = 0


def read_statistics(connection: sqlite3.Connection) -> Statistics:
    """Return the figures; projects with the most chunks and log rows with the latest first."""
    chunks, tokens, oldest, newest = connection.execute(
        """SELECT count(*), coalesce(sum(token_count), 0), min(created_at), max(created_at) FROM chunks"""
    ).fetchone()
    sessions = connection.execute("""SELECT count(*) FROM sessions""").fetchone()[0]
    projects = connection.execute(
        """
        SELECT project_path, count(DISTINCT session_id), count(*) FROM chunks
        GROUP BY project_path ORDER BY count(*) DESC, project_path
        """
    )
    return Statistics(
        chunks=chunks,
        sessions=sessions,
        tokens=tokens,
        database_bytes=file_bytes(connection),
        oldest=oldest,
        newest=newest,
        projects=tuple(ProjectStatistics(*row) for row in projects),
        maintenance=tuple(last_entries(connection, _LOG_ENTRIES)),
        muted=len(marked_ids(connection, "muted")),
        pinned=len(marked_ids(connection, "pinned")),
    )
