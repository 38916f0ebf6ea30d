"""The table ``turns``: what makes saving repeatable.

A turn is known by the uuid of the record that opened it. Saving it again, longer, shorter or in a copy of the
session, ends with the same rows as saving its longest form once.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.storage.chunks import metadata_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.storage.chunks import NewChunk


class NewTurn(Record):
    """A turn to store.

    ``started_at`` is UTC ``YYYY-MM-DD HH:MM:SS``. ``text_length`` counts the characters of the turn as the
    transcript has it: it only grows while a session runs, so of two readings the larger is the later one.
    """

    uuid: str
    started_at: str
    text_length: int
    chunks: Sequence[NewChunk]


class TurnChange(Record):
    """What storing a turn changed: rows written (inserted or updated) and rows removed, in this session."""

    session_id: str
    chunks_written: int
    chunks_removed: int


class _Row(Record):
    """The columns of a chunk that a save decides."""

    content: str
    role: str
    metadata: str
    created_at: str
    token_count: int


def store_turn(
    connection: sqlite3.Connection, session_id: str, project_path: str, turn: NewTurn
) -> TurnChange | None:
    """Store a turn inside the caller's transaction; None when there was nothing to do.

    A turn that is not known yet goes to the end of the session. A known one is replaced in place, its chunks
    keeping their row ids, unless a person edited or deleted part of it (``is_locked``) or a longer reading is
    stored already. A turn known from another session stays there: copies made by forking and resuming count
    once, and only a longer reading (the session went on in the copy, mid-turn) changes it.
    """
    known = connection.execute(
        """SELECT id, session_id, text_length, is_locked FROM turns WHERE uuid = ?""", (turn.uuid,)
    ).fetchone()
    if known is None:
        connection.execute(
            """INSERT INTO turns(uuid, session_id, started_at, text_length) VALUES (?, ?, ?, ?)""",
            (turn.uuid, session_id, turn.started_at, turn.text_length),
        )
        turn_id = connection.execute("""SELECT last_insert_rowid()""").fetchone()[0]
        home = session_id
    else:
        turn_id, home, stored_length, is_locked = known
        is_copy = home != session_id
        if is_locked or turn.text_length < stored_length or (is_copy and turn.text_length == stored_length):
            return None
        if turn.text_length > stored_length:
            connection.execute(
                """UPDATE turns SET text_length = ? WHERE id = ?""", (turn.text_length, turn_id)
            )
        if is_copy:
            project_path = _project_of(connection, home) or project_path
    rows = [
        _Row(piece.content, piece.role, metadata_text(piece.metadata), turn.started_at, piece.token_count)
        for piece in turn.chunks
    ]
    return _replace_chunks(connection, home, project_path, turn_id, rows)


def stored_start(connection: sqlite3.Connection, uuid: str) -> str | None:
    """Return when a known turn began, None for an unknown one."""
    row = connection.execute("""SELECT started_at FROM turns WHERE uuid = ?""", (uuid,)).fetchone()
    return row[0] if row else None


def _project_of(connection: sqlite3.Connection, session_id: str) -> str | None:
    row = connection.execute(
        """SELECT project_path FROM sessions WHERE session_id = ?""", (session_id,)
    ).fetchone()
    return row[0] if row else None


def _replace_chunks(
    connection: sqlite3.Connection, session_id: str, project_path: str, turn_id: int, rows: Sequence[_Row]
) -> TurnChange | None:
    stored = connection.execute(
        """
        SELECT id, chunk_index, content, role, metadata, created_at, token_count
        FROM chunks WHERE turn_id = ? ORDER BY chunk_index
        """,
        (turn_id,),
    ).fetchall()
    first = stored[0][1] if stored else _next_index(connection, session_id, turn_id)
    surplus = stored[len(rows) :]
    connection.executemany("""DELETE FROM chunks WHERE id = ?""", [(row[0],) for row in surplus])
    _move_indexes(connection, session_id, first + len(stored), len(rows) - len(stored))
    written = 0
    for (chunk_id, _, *before), row in zip(stored, rows, strict=False):
        if _Row(*before) != row:
            connection.execute(
                """
                UPDATE chunks SET content = ?, role = ?, metadata = ?, created_at = ?, token_count = ?
                WHERE id = ?
                """,
                (row.content, row.role, row.metadata, row.created_at, row.token_count, chunk_id),
            )
            written += 1
    for number, row in enumerate(rows[len(stored) :], start=first + len(stored)):
        connection.execute(
            """
            INSERT INTO chunks(session_id, project_path, chunk_index, content, role, metadata, created_at,
                               token_count, turn_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (session_id, project_path, number, row.content, row.role, row.metadata, row.created_at,
             row.token_count, turn_id),
        )  # fmt: skip
        written += 1
    return TurnChange(session_id, written, len(surplus)) if written or surplus else None


def _next_index(connection: sqlite3.Connection, session_id: str, turn_id: int) -> int:
    """Return the index after the last chunk of the turns before this one."""
    # Walked from the end, where a new turn finds its predecessor at once.
    last = connection.execute(
        """
        SELECT chunk_index FROM chunks WHERE session_id = ? AND (turn_id < ? OR turn_id IS NULL)
        ORDER BY chunk_index DESC LIMIT 1
        """,
        (session_id, turn_id),
    ).fetchone()
    return last[0] + 1 if last else 0


def _move_indexes(connection: sqlite3.Connection, session_id: str, start: int, distance: int) -> None:
    """Add ``distance`` to the indexes from ``start`` on, by way of negative ones: each must stay unique."""
    if distance == 0:
        return
    connection.execute(
        """UPDATE chunks SET chunk_index = -1 - chunk_index WHERE session_id = ? AND chunk_index >= ?""",
        (session_id, start),
    )
    connection.execute(
        """UPDATE chunks SET chunk_index = -1 - chunk_index + ? WHERE session_id = ? AND chunk_index < 0""",
        (distance, session_id),
    )
