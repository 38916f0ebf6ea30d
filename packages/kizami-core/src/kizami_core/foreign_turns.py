"""Turns that no transcript holds: what importers bring along from other memories.

They pass the same steps as those of a transcript: secrets masked, cut, stored by identity, indexed. A row of
the other memory is known by a uuid for ever after, also when a person or retention deleted its chunks.
"""

from __future__ import annotations

from kizami_core.privacy import redact, redact_for_display
from kizami_core.privacy.private_tags import PRIVATE_MARKER
from kizami_core.records import Record
from kizami_core.retrieval import word_index
from kizami_core.storage.chunk_changes import append_unidentified, note_import
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.connection import transaction
from kizami_core.storage.project_rows import move_session_rows
from kizami_core.storage.sessions import refresh_sessions
from kizami_core.storage.turns import NewTurn, leave_turn, store_turn
from kizami_core.timestamps import format_utc
from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.metadata import MAX_FILE_PATHS, MAX_PATH_CHARS, extract_metadata
from kizami_core.transcript.rendering import ASSISTANT_MARK, USER_MARK
from kizami_core.transcript.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from kizami_core.records import Metadata

_MAX_CLASSES = 20
_MAX_CLASS_CHARS = 100


class ForeignTurn(Record):
    """A row of another memory.

    ``uuid`` names the row, whatever becomes of the other memory. ``texts`` are rendered
    (``transcript.rendering``) and hold secrets still; each is cut on its own. ``started_at`` is UTC
    ``YYYY-MM-DD HH:MM:SS``.

    ``placeholder`` is the project that stood in for ``project_path`` while that was not known, or "": what an
    earlier import left there follows. ``is_provisional``: once the transcript of the session is saved, its
    turns replace this.
    """

    uuid: str
    session_id: str
    project_path: str
    started_at: str
    texts: tuple[str, ...]
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    file_paths: tuple[str, ...] = ()
    placeholder: str = ""
    is_provisional: bool = False


class ForeignChange(Record):
    """What storing foreign turns changed, in rows. ``moved`` chunks left the project that stood in."""

    turns_written: int
    chunks_written: int
    moved: int


def prepare_foreign(turn: ForeignTurn, max_tokens: int) -> NewTurn:
    """Mask the secrets of a foreign turn and cut it; no chunks where all of it was private."""
    chunks = [
        NewChunk(piece, chunk_role(piece), _metadata(piece, turn), estimate_tokens(piece))
        for text in turn.texts
        for piece in split_chunks(redact(text), max_tokens)
        if _says_something(piece)
    ]
    return NewTurn(turn.uuid, turn.started_at, sum(map(len, turn.texts)), chunks)


def store_foreign(
    connection: sqlite3.Connection,
    turns: Sequence[tuple[ForeignTurn, NewTurn]],
    known: Sequence[tuple[ForeignTurn, str]] = (),
    *,
    now: float,
) -> ForeignChange:
    """Store turns as one transaction, with everything that follows from them.

    Args:
        connection: a connection that may write.
        turns: what to store, prepared.
        known: turns that are stored already, each with its session: only their project may have become known.
        now: seconds since the epoch: retention counts ages from then.

    Raises:
        StorageError: the database can't be written.
    """
    # Worked out before others have to wait for the lock.
    terms = {
        chunk.content: word_index.joined_terms(chunk.content)
        for _, prepared in turns
        for chunk in prepared.chunks
    }
    moves = {(session, turn.placeholder, turn.project_path) for turn, session in known if turn.placeholder}
    moves |= {(turn.session_id, turn.placeholder, turn.project_path) for turn, _ in turns if turn.placeholder}
    imported_at = format_utc(now)
    moved = turns_written = chunks_written = 0
    changed: set[str] = set()
    with transaction(connection):
        for session_id, old, new in sorted(moves):
            count = move_session_rows(connection, session_id, old, new) if old != new else 0
            moved += count
            if count:
                changed.add(session_id)
        for turn, prepared in turns:
            stored = _store(connection, turn, prepared, imported_at)
            if stored is not None:
                changed.add(stored[0])
                turns_written += 1
                chunks_written += stored[1]
        refresh_sessions(connection, sorted(changed))
        word_index.refresh(connection, known_terms=terms)
    return ForeignChange(turns_written, chunks_written, moved)


def _store(
    connection: sqlite3.Connection, turn: ForeignTurn, prepared: NewTurn, imported_at: str
) -> tuple[str, int] | None:
    """Store one turn; return its session and the chunks written, None when there was nothing to do."""
    if turn.is_provisional:
        leave_turn(connection, turn.session_id, prepared)
        append_unidentified(
            connection,
            turn.session_id,
            turn.project_path,
            prepared.chunks,
            created_at=turn.started_at,
            imported_at=imported_at,
        )
        return turn.session_id, len(prepared.chunks)
    change = store_turn(connection, turn.session_id, turn.project_path, prepared)
    if change is None:
        return None
    note_import(connection, turn.uuid, imported_at)
    return change.session_id, change.chunks_written


def _metadata(piece: str, turn: ForeignTurn) -> Metadata:
    found = extract_metadata(piece)
    named = (redact_for_display(path) for path in turn.file_paths if len(path) <= MAX_PATH_CHARS)
    return found.replace(
        file_paths=tuple(dict.fromkeys([*named, *found.file_paths]))[:MAX_FILE_PATHS],
        types=_classes(turn.types),
        concepts=_classes(turn.concepts),
    )


def _classes(names: Iterable[str]) -> tuple[str, ...]:
    shown = (redact_for_display(name) for name in names if name and len(name) <= _MAX_CLASS_CHARS)
    return tuple(dict.fromkeys(shown))[:_MAX_CLASSES]


def _says_something(piece: str) -> bool:
    """Tell whether a piece has words besides the marks of who speaks and of what was private."""
    for mark in (USER_MARK, ASSISTANT_MARK, PRIVATE_MARKER):
        piece = piece.replace(mark, "")
    return bool(piece.strip())
