"""The table ``maintenance_log``: what was removed, when and why."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.timestamps import epoch_seconds, format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_RUN = "maintenance"
_AS_OF = ", ages as of "


class LogEntry(Record):
    """One row. ``executed_at`` is UTC ``YYYY-MM-DD HH:MM:SS``."""

    action: str
    detail: str | None
    chunks_deleted: int
    bytes_freed: int
    executed_at: str


def write_log(
    connection: sqlite3.Connection,
    action: str,
    detail: str,
    *,
    now: float,
    chunks_deleted: int = 0,
    bytes_freed: int = 0,
) -> None:
    """Add a row inside the caller's transaction."""
    connection.execute(
        """
        INSERT INTO maintenance_log(action, detail, chunks_deleted, bytes_freed, executed_at)
        VALUES (?, ?, ?, ?, ?)
        """,
        (action, detail, chunks_deleted, bytes_freed, format_utc(now)),
    )


def note_run(connection: sqlite3.Connection, now: float, *, age_as_of: float) -> None:
    """Note that maintenance ran, and from when on it counted ages.

    Only the last run is kept, what it removed has rows of its own.
    """
    connection.execute("""DELETE FROM maintenance_log WHERE action = ?""", (_RUN,))
    detail = f"looked for what is too old or too much{_AS_OF}{format_utc(age_as_of)}"
    write_log(connection, _RUN, detail, now=now)


def was_run_between(connection: sqlite3.Connection, start: float, end: float) -> bool:
    """Tell whether maintenance ran after ``start`` and not after ``end``."""
    row = connection.execute(
        """SELECT 1 FROM maintenance_log WHERE action = ? AND executed_at > ? AND executed_at <= ? LIMIT 1""",
        (_RUN, format_utc(start), format_utc(end)),
    ).fetchone()
    return row is not None


def last_age_as_of(connection: sqlite3.Connection) -> float | None:
    """Return from when on the last run counted ages (seconds since the epoch), None where nothing says so."""
    row = connection.execute("""SELECT detail FROM maintenance_log WHERE action = ?""", (_RUN,)).fetchone()
    return epoch_seconds((row[0] or "").rpartition(_AS_OF)[2]) if row else None


def last_entries(connection: sqlite3.Connection, limit: int) -> list[LogEntry]:
    """Return the last rows, the last one first."""
    rows = connection.execute(
        """
        SELECT action, detail, chunks_deleted, bytes_freed, executed_at FROM maintenance_log
        ORDER BY id DESC LIMIT ?
        """,
        (limit,),
    )
    return [LogEntry(*row) for row in rows]
