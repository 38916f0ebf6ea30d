"""The table ``transcripts``: how far each file was read, so that the next save reads only what is new."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.transcript.resume import ResumePoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_COLUMNS = """session_id, size, mtime, head, has_sidechains, offset, cwd, clock, queue, seen, begun"""


class StoredReading(Record):
    """The latest reading of a transcript.

    ``size`` (bytes) and ``mtime`` (seconds since the epoch) are the file's when it was read; a reading that
    did not come to the end has the size that it came to. ``head`` is ``resume.digest_before`` the point.
    ``has_sidechains`` tells that sub-agents wrote into the file and that this is not saved yet.
    """

    session_id: str
    size: int
    mtime: float
    head: str
    has_sidechains: bool
    point: ResumePoint


def stored_reading(connection: sqlite3.Connection, path: str) -> StoredReading | None:
    """Return the latest reading of the transcript at an absolute path, None for one never read."""
    row = connection.execute(
        f"""SELECT {_COLUMNS} FROM transcripts WHERE path = ?""",  # noqa: S608 - the columns are this module's
        (path,),
    ).fetchone()
    if row is None:
        return None
    session_id, size, mtime, head, has_sidechains, offset, cwd, clock, queue, seen, begun = row
    waiting, _, delivered = queue.partition(";")
    point = ResumePoint(offset, cwd, clock, _numbers(waiting), _numbers(delivered), seen, begun)
    return StoredReading(session_id, size, mtime, head, bool(has_sidechains), point)


def store_reading(connection: sqlite3.Connection, path: str, reading: StoredReading) -> None:
    """Keep the latest reading of a transcript, inside the caller's transaction."""
    point = reading.point
    queue = ";".join(" ".join(map(str, offsets)) for offsets in (point.waiting, point.delivered))
    connection.execute(
        f"""
        INSERT OR REPLACE INTO transcripts(path, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,  # noqa: S608
        (path, reading.session_id, reading.size, reading.mtime, reading.head, reading.has_sidechains,
         point.offset, point.cwd, point.clock, queue, point.seen, point.begun),
    )  # fmt: skip


def read_states(connection: sqlite3.Connection) -> dict[str, tuple[int, float]]:
    """Return the size and mtime of each transcript at its latest reading, by path.

    Those are left out whose sub-agents have yet to be saved.
    """
    rows = connection.execute("""SELECT path, size, mtime FROM transcripts WHERE NOT has_sidechains""")
    return {path: (size, mtime) for path, size, mtime in rows}


def unread_bytes(
    connection: sqlite3.Connection, path: str, size: int, mtime: float, *, with_agents: bool
) -> int:
    """Return how much of a transcript, which is this large now, the next save has to read.

    Where sub-agents wrote into it, a save ``with_agents`` has to read all of it.
    """
    row = connection.execute(
        """SELECT size, mtime, offset, has_sidechains FROM transcripts WHERE path = ?""", (path,)
    ).fetchone()
    if row is None or size < row[0] or (with_agents and row[3]):
        return size
    return 0 if (size, mtime) == row[:2] else size - int(row[2])


def session_begun(connection: sqlite3.Connection, session_id: str) -> str:
    """Return when a session wrote its first record of its own, as far as its transcripts tell, else ""."""
    row = connection.execute(
        """SELECT min(begun) FROM transcripts WHERE session_id = ? AND begun <> ''""", (session_id,)
    ).fetchone()
    return row[0] or ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
