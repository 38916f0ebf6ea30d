"""The table ``turns``: what makes saving repeatable.

A turn is known by the uuid of the record that opened it. Saving it again, longer, shorter or in a copy of the
session, ends with the same rows as saving its longest form once.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.storage.chunks import metadata_text
from kizami_core.storage.new_chunks import NewChunks, insert_rows
from kizami_core.storage.resolutions import move_resolutions, store_outcomes
from kizami_core.storage.transcripts import session_begun
from kizami_core.transcript.awaiting import AwaitedAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.storage.chunks import NewChunk
    from kizami_core.storage.new_chunks import Columns
    from kizami_core.transcript.outcomes import Outcome


class NewTurn(Record):
    """A turn to store.

    ``started_at`` is UTC ``YYYY-MM-DD HH:MM:SS``. ``text_length`` counts the characters of the turn as the
    transcript has it: it only grows while a session runs, so of two readings the larger is the later one.
    ``awaited`` is the answer that ``chunks`` hold although the transcript does not yet.
    """

    uuid: str
    started_at: str
    text_length: int
    chunks: Sequence[NewChunk]
    awaited: AwaitedAnswer | None = None
    outcomes: Sequence[Outcome] = ()


class TurnChange(Record):
    """What storing a turn changed in a session: rows written (inserted, updated or moved) and rows removed.

    ``left`` is the session that the turn stood in before, or "".
    """

    session_id: str
    chunks_written: int
    chunks_removed: int
    left: str = ""


class _Owner(Record):
    """The session that a turn belongs to."""

    session_id: str
    project_path: str
    is_agent: bool


def store_turn(
    connection: sqlite3.Connection,
    session_id: str,
    project_path: str,
    turn: NewTurn,
    *,
    is_agent: bool = False,
    begun: str = "",
    new_chunks: NewChunks | None = None,
) -> TurnChange | None:
    """Store a turn inside the caller's transaction; None when there was nothing to do.

    A turn that is not known yet goes to the end of the session. A known one is replaced in place, its chunks
    keeping their row ids, unless a person edited or deleted part of it (``is_locked``) or a longer reading is
    stored already. A turn known from another session stays there: copies made by forking and resuming count
    once, and only a longer reading (the session went on in the copy, mid-turn) changes it. If it turns out
    that the other session is the copy, the turn moves to this one.

    Args:
        connection: a connection within a write transaction.
        session_id: the session whose transcript holds the turn.
        project_path: its project.
        turn: the turn.
        is_agent: the session is a sub-agent's.
        begun: when the session wrote its first record of its own (``resume.ResumePoint``).
        new_chunks: what gathers the chunks of turns that are not known yet; None writes them at once.
    """
    owner = _Owner(session_id, project_path, is_agent)
    known = connection.execute(
        """SELECT id, session_id, text_length, is_locked, awaited_answer FROM turns WHERE uuid = ?""",
        (turn.uuid,),
    ).fetchone()
    if known is None:
        return _add_turn(connection, owner, turn, new_chunks)
    turn_id, home, stored_length, is_locked, awaited = known
    moved: TurnChange | None = None
    is_away = home != session_id
    is_moving = is_away and _began_before(begun, session_begun(connection, home))
    if is_away and not is_moving and turn.text_length == stored_length:
        return None
    if new_chunks is not None:
        new_chunks.insert()
    if is_moving:
        moved = _move_turn(connection, turn_id, home, owner)
    elif is_away:
        owner = _Owner(home, _project_of(connection, home) or project_path, is_agent)
    # A reading no longer than the stored one, made before the hook told an answer, does not hold it.
    is_behind = awaited is not None and turn.awaited is None and turn.text_length <= stored_length
    if is_locked or turn.text_length < stored_length or is_behind:
        return moved
    is_new_reading = turn.text_length > stored_length
    store_outcomes(connection, owner.session_id, turn_id, turn.outcomes, is_new_reading=is_new_reading)
    written = _write_turn(connection, owner, turn_id, turn)
    if moved and written:
        return moved.replace(chunks_removed=written.chunks_removed)
    return moved or written


def leave_turn(connection: sqlite3.Connection, session_id: str, turn: NewTurn) -> None:
    """Note a turn whose chunks are not to be stored, now or later, inside the caller's transaction."""
    connection.execute(
        """
        INSERT OR IGNORE INTO turns(uuid, session_id, started_at, text_length, tie, is_locked, reading)
        VALUES (?, ?, ?, ?, ?, 1, 'dropped')
        """,
        (turn.uuid, session_id, turn.started_at, turn.text_length, _tie(connection, session_id, turn)),
    )


def known_turns(connection: sqlite3.Connection, uuids: Sequence[str]) -> dict[str, str]:
    """Return which of these turns are known, each with the session that it belongs to."""
    found: dict[str, str] = {}
    for uuid in uuids:
        row = connection.execute("""SELECT session_id FROM turns WHERE uuid = ?""", (uuid,)).fetchone()
        if row is not None:
            found[uuid] = row[0]
    return found


def has_turns(connection: sqlite3.Connection, session_id: str, *, besides: str) -> bool:
    """Tell whether turns of a session are known (deleted ones too) whose uuid does not begin with a text."""
    row = connection.execute(
        """
        SELECT 1 FROM turns
        WHERE session_id = :session AND uuid <> 'unidentified:' || :session
          AND substr(uuid, 1, length(:besides)) <> :besides
        LIMIT 1
        """,
        {"session": session_id, "besides": besides},
    ).fetchone()
    return row is not None


def awaited_answers(connection: sqlite3.Connection, session_id: str) -> dict[str, AwaitedAnswer]:
    """Return the answers of a session that its transcript did not hold yet, by the uuid of their turn."""
    rows = connection.execute(
        """
        SELECT uuid, awaited_answer, awaited_after FROM turns
        WHERE session_id = ? AND awaited_answer IS NOT NULL AND awaited_answer <> ''
        """,
        (session_id,),
    )
    return {uuid: AwaitedAnswer(text, after) for uuid, text, after in rows}


def stored_start(connection: sqlite3.Connection, uuid: str) -> str | None:
    """Return when a known turn began, None for an unknown one."""
    row = connection.execute("""SELECT started_at FROM turns WHERE uuid = ?""", (uuid,)).fetchone()
    return row[0] if row else None


def _project_of(connection: sqlite3.Connection, session_id: str) -> str | None:
    # Not from the session's row, which follows when all of its turns are stored.
    row = connection.execute(
        """SELECT project_path FROM chunks WHERE session_id = ? ORDER BY chunk_index LIMIT 1""", (session_id,)
    ).fetchone()
    return row[0] if row else None


def _began_before(begun: str, other: str) -> bool:
    """Tell which of two sessions is the older one; one that has written nothing of its own yet is a copy."""
    return bool(begun) and (not other or begun < other)


def _move_turn(connection: sqlite3.Connection, turn_id: int, home: str, owner: _Owner) -> TurnChange:
    """Move a turn with its chunks to the session in which it first stood."""
    chunks = connection.execute(
        """SELECT id, chunk_index FROM chunks WHERE turn_id = ? ORDER BY chunk_index""", (turn_id,)
    ).fetchall()
    first = _next_index(connection, owner.session_id, turn_id)
    _move_indexes(connection, owner.session_id, first, len(chunks))
    for number, (chunk_id, _) in enumerate(chunks, start=first):
        connection.execute(
            """UPDATE chunks SET session_id = ?, project_path = ?, chunk_index = ? WHERE id = ?""",
            (owner.session_id, owner.project_path, number, chunk_id),
        )
    if chunks:
        _move_indexes(connection, home, chunks[-1][1] + 1, -len(chunks))
    connection.execute("""UPDATE turns SET session_id = ? WHERE id = ?""", (owner.session_id, turn_id))
    move_resolutions(connection, turn_id, owner.session_id)
    return TurnChange(owner.session_id, len(chunks), 0, home)


def _add_turn(
    connection: sqlite3.Connection, owner: _Owner, turn: NewTurn, new_chunks: NewChunks | None
) -> TurnChange | None:
    """Store a turn that is not known yet at the end of its session."""
    awaited = turn.awaited
    turn_id = connection.execute(
        """
        INSERT INTO turns(uuid, session_id, started_at, text_length, tie, part_count, awaited_answer,
                          awaited_after)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (turn.uuid, owner.session_id, turn.started_at, turn.text_length,
         _tie(connection, owner.session_id, turn), len(turn.chunks), awaited.text if awaited else None,
         awaited.after if awaited else None),
    ).lastrowid  # fmt: skip
    assert turn_id is not None
    store_outcomes(connection, owner.session_id, turn_id, turn.outcomes, is_new_reading=True)
    if not turn.chunks:
        return None
    gathered = new_chunks or NewChunks(connection)
    gathered.append(owner.session_id, owner.project_path, turn_id, _columns(turn), is_agent=owner.is_agent)
    if new_chunks is None:
        gathered.insert()
    return TurnChange(owner.session_id, len(turn.chunks), 0)


def _write_turn(
    connection: sqlite3.Connection, owner: _Owner, turn_id: int, turn: NewTurn
) -> TurnChange | None:
    """Bring the chunks of a known turn to its new reading."""
    awaited = turn.awaited
    connection.execute(
        """
        UPDATE turns SET text_length = :length, part_count = :parts, awaited_answer = :answer,
          awaited_after = :after
        WHERE id = :id AND (text_length <> :length OR part_count <> :parts OR awaited_answer IS NOT :answer)
        """,
        {
            "id": turn_id,
            "length": turn.text_length,
            "parts": len(turn.chunks),
            "answer": awaited.text if awaited else None,
            "after": awaited.after if awaited else None,
        },
    )
    session_id = owner.session_id
    rows = _columns(turn)
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
    changed = [
        (*row, chunk_id)
        for (chunk_id, _, *before), row in zip(stored, rows, strict=False)
        if (*before,) != row
    ]
    connection.executemany(
        """
        UPDATE chunks SET content = ?, role = ?, metadata = ?, created_at = ?, token_count = ?
        WHERE id = ?
        """,
        changed,
    )
    added = [
        (*row, session_id, owner.project_path, first + part, turn_id, owner.is_agent, part)
        for part, row in enumerate(rows[len(stored) :], start=len(stored))
    ]
    insert_rows(connection, added)
    written = len(changed) + len(added)
    return TurnChange(session_id, written, len(surplus)) if written or surplus else None


def _columns(turn: NewTurn) -> list[Columns]:
    """Return the columns of a turn's chunks that a save decides."""
    return [
        (piece.content, piece.role, metadata_text(piece.metadata), turn.started_at, piece.token_count)
        for piece in turn.chunks
    ]


def _tie(connection: sqlite3.Connection, session_id: str, turn: NewTurn) -> int:
    """Return how many turns of the session that began in the same second stand right before a new one."""
    last = connection.execute(
        """SELECT started_at, tie FROM turns WHERE session_id = ? ORDER BY id DESC LIMIT 1""", (session_id,)
    ).fetchone()
    return last[1] + 1 if last and last[0] == turn.started_at else 0


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
