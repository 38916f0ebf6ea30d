"""Chunks changed, deleted, and added without a turn: what a later save may do with their turns follows.

Nothing here opens a transaction or refreshes the word index and the session's row: the callers do, so that
several changes are one.
"""

from __future__ import annotations

from kizami_core.storage.chunks import metadata_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.storage.chunks import NewChunk

# Chunks without a turn are parts of the row that stands for all of them in their session (the + leaves the
# index on turn_id aside: most databases hold very many or no chunks without a turn).
_TURN_OF_CHUNK = """t.id = c.turn_id OR (
  +c.turn_id IS NULL AND c.session_id = t.session_id AND t.uuid = 'unidentified:' || c.session_id
)"""


def update_chunk(connection: sqlite3.Connection, chunk_id: int, chunk: NewChunk, *, edited_at: str) -> None:
    """Give a chunk other contents, and lock its turn so that no later save undoes it.

    ``edited_at`` is UTC text. An edit is later than the one before it, whatever the clock says.
    """
    connection.execute(
        """
        UPDATE chunks SET content = ?, role = ?, metadata = ?, token_count = ?,
          edited_at = max(?, coalesce(datetime(edited_at, '+1 second'), ''))
        WHERE id = ?
        """,
        (chunk.content, chunk.role, metadata_text(chunk.metadata), chunk.token_count, edited_at, chunk_id),
    )
    _settle_turns(connection, [chunk_id])
    _lock_turns(connection, [chunk_id])


def delete_chunks(connection: sqlite3.Connection, ids: Sequence[int], *, is_for_good: bool = True) -> int:
    """Delete chunks by id and lock their turns, so that no later save brings them back; return how many.

    ``is_for_good``: a person wants them gone. Then an import does not bring them back either.
    """
    rows = [(chunk_id,) for chunk_id in ids]
    _lock_turns(connection, ids)
    if is_for_good:
        _settle_turns(connection, ids)
        connection.executemany(
            f"""
            INSERT OR IGNORE INTO deleted_parts(turn_id, part)
            SELECT t.id, coalesce(c.part, c.chunk_index) FROM chunks c JOIN turns t ON {_TURN_OF_CHUNK}
            WHERE c.id = ?
            """,  # noqa: S608 - the condition is this module's
            rows,
        )
    turns: set[tuple[int]] = set()
    for row in rows:
        turns.update(
            connection.execute(
                f"""SELECT t.id FROM chunks c JOIN turns t ON {_TURN_OF_CHUNK} WHERE c.id = ?""",  # noqa: S608
                row,
            )
        )
    count = connection.executemany("""DELETE FROM chunks WHERE id = ?""", rows).rowcount
    for turn in sorted(turns):
        if is_for_good:
            _drop_answer(connection, *turn)
        _note_emptied(connection, *turn, is_for_good=is_for_good)
    return count


def append_unidentified(
    connection: sqlite3.Connection,
    session_id: str,
    project_path: str,
    chunks: Sequence[NewChunk],
    *,
    created_at: str,
    imported_at: str,
) -> None:
    """Add chunks that belong to no known turn to the end of a session.

    The turns of the session's transcript replace them when it is saved (``delete_unidentified``).
    """
    (first,) = connection.execute(
        """SELECT coalesce(max(chunk_index) + 1, 0) FROM chunks WHERE session_id = ?""", (session_id,)
    ).fetchone()
    connection.executemany(
        """
        INSERT INTO chunks(session_id, project_path, chunk_index, content, role, metadata, created_at,
                           token_count, imported_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (session_id, project_path, number, chunk.content, chunk.role, metadata_text(chunk.metadata),
             created_at, chunk.token_count, imported_at)
            for number, chunk in enumerate(chunks, start=first)
        ],
    )  # fmt: skip


def note_import(connection: sqlite3.Connection, turn_uuid: str, imported_at: str) -> None:
    """Note when the chunks of a turn were imported, unless that is known already."""
    connection.execute(
        """
        UPDATE chunks SET imported_at = ?
        WHERE turn_id = (SELECT id FROM turns WHERE uuid = ?) AND imported_at IS NULL
        """,
        (imported_at, turn_uuid),
    )


def delete_unidentified(connection: sqlite3.Connection, session_id: str) -> int:
    """Delete a session's chunks that belong to no known turn; return how many."""
    return connection.execute(
        """DELETE FROM chunks WHERE session_id = ? AND turn_id IS NULL""", (session_id,)
    ).rowcount


def unidentified_mark(session_id: str) -> str:
    """Return the uuid of the locked row of ``turns`` that stands for all turns without one of a session."""
    return f"unidentified:{session_id}"


def _note_emptied(connection: sqlite3.Connection, turn_id: int, *, is_for_good: bool) -> None:
    """Note of a turn that has lost its last chunk who took it."""
    is_left = connection.execute(
        f"""SELECT 1 FROM turns t JOIN chunks c ON {_TURN_OF_CHUNK} WHERE t.id = ? LIMIT 1""",  # noqa: S608
        (turn_id,),
    ).fetchone()
    if is_left:
        return
    if is_for_good:
        connection.execute("""UPDATE turns SET is_deleted = 1 WHERE id = ?""", (turn_id,))
        connection.execute("""DELETE FROM deleted_parts WHERE turn_id = ?""", (turn_id,))
    else:
        connection.execute("""UPDATE turns SET reading = 'dropped' WHERE id = ?""", (turn_id,))
        _drop_answer(connection, turn_id)


def _drop_answer(connection: sqlite3.Connection, turn_id: int) -> None:
    """Leave nothing of an answer that the transcript did not hold: the turn is locked and awaits no more."""
    connection.execute(
        """UPDATE turns SET awaited_answer = '' WHERE id = ? AND awaited_answer IS NOT NULL""", (turn_id,)
    )


def _settle_turns(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> None:
    connection.executemany(
        """
        UPDATE turns SET reading = 'settled'
        WHERE id = (SELECT turn_id FROM chunks WHERE id = ?) AND reading = 'open'
        """,
        [(chunk_id,) for chunk_id in chunk_ids],
    )


def _lock_turns(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> None:
    connection.executemany(
        """UPDATE turns SET is_locked = 1 WHERE id = (SELECT turn_id FROM chunks WHERE id = ?)""",
        [(chunk_id,) for chunk_id in chunk_ids],
    )
    lock_unidentified(connection, chunk_ids)


def lock_unidentified(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> None:
    """Keep those of the chunks that belong to no known turn from being replaced by a later save.

    Which turn a chunk of the TypeScript Kizami came from is not known: all up to its last one are kept as
    they are.
    """
    unidentified: dict[str, None] = {}
    for chunk_id in chunk_ids:
        for (session_id,) in connection.execute(
            """SELECT session_id FROM chunks WHERE id = ? AND turn_id IS NULL""", (chunk_id,)
        ):
            unidentified[session_id] = None
    for session_id in unidentified:
        connection.execute(
            """
            INSERT OR IGNORE INTO turns(uuid, session_id, started_at, text_length, is_locked)
            SELECT :uuid, :session, max(datetime(created_at)), 0, 1 FROM chunks
            WHERE session_id = :session AND turn_id IS NULL
            """,
            {"uuid": unidentified_mark(session_id), "session": session_id},
        )
