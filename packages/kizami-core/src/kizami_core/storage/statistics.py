"""Figures about what is stored."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.storage.maintenance_log import LogEntry, last_entries
from kizami_core.storage.marks import marked_ids
from kizami_core.storage.space import file_bytes
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_LOG_ENTRIES = 10


class ProjectStatistics(Record):
    """What one project holds."""

    project_path: str
    sessions: int
    chunks: int


class WeekGrowth(Record):
    """What one week brought: ``begin`` is its first moment, seconds since the epoch."""

    begin: float
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
    return Statistics(
        chunks=chunks,
        sessions=sessions,
        tokens=tokens,
        database_bytes=file_bytes(connection),
        oldest=oldest,
        newest=newest,
        projects=tuple(read_projects(connection)),
        maintenance=tuple(last_entries(connection, _LOG_ENTRIES)),
        muted=len(marked_ids(connection, "muted")),
        pinned=len(marked_ids(connection, "pinned")),
    )


def read_projects(connection: sqlite3.Connection) -> list[ProjectStatistics]:
    """Return what each project holds by the rows of its sessions, the one with the most chunks first."""
    rows = connection.execute(
        """
        SELECT project_path, count(*), sum(chunk_count) FROM sessions
        GROUP BY project_path ORDER BY sum(chunk_count) DESC, project_path
        """
    )
    return [ProjectStatistics(*row) for row in rows]


def read_growth(connection: sqlite3.Connection, begins: Sequence[float]) -> list[WeekGrowth]:
    """Return how many of the stored chunks are of each week, by the time of their turn.

    ``begins`` are the weeks' first moments, the oldest first; the last week has no end. Each is counted
    in the index of times alone, so a week costs what it holds.
    """
    ends = [*map(format_utc, begins[1:]), "~"]  # "~" sorts behind every time
    return [
        WeekGrowth(
            begin,
            connection.execute(
                """SELECT count(*) FROM chunks WHERE created_at >= ? AND created_at < ?""",
                (format_utc(begin), end),
            ).fetchone()[0],
        )
        for begin, end in zip(begins, ends, strict=True)
    ]
