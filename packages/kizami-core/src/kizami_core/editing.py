"""What a person changes by hand: edited, marked and deleted chunks stay so, whatever is saved later."""

from __future__ import annotations

from kizami_core.errors import ConfigError
from kizami_core.maintenance.deletion import preview, remove_chunks
from kizami_core.messages import Message
from kizami_core.privacy import redact
from kizami_core.retrieval import word_index
from kizami_core.storage.chunk_changes import update_chunk
from kizami_core.storage.chunks import NewChunk, find_chunk, ids_before, ids_of_session
from kizami_core.storage.connection import transaction
from kizami_core.storage.marks import remove_mark, set_mark
from kizami_core.storage.sessions import drop_empty_sessions, find_session, refresh_session
from kizami_core.storage.space import reclaim_space
from kizami_core.timestamps import format_utc
from kizami_core.transcript.metadata import extract_metadata
from kizami_core.transcript.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from kizami_core.records import Chunk
    from kizami_core.storage.chunks import Deleted
    from kizami_core.storage.marks import Mark


def edit_chunk(connection: sqlite3.Connection, chunk_id: str, content: str, *, now: float) -> Chunk:
    """Give a chunk other contents: secrets masked, size and metadata made anew; return what is stored now.

    ``now`` is seconds since the epoch: where two machines' memories meet, the later edit of a chunk counts.

    Raises:
        NotFoundError: there is no such chunk.
        ConfigError: nothing is left of the contents.
    """
    chunk = find_chunk(connection, chunk_id)
    text = redact(content).strip()
    if not text:
        raise ConfigError(
            Message("A chunk can't be empty. To remove it: kizami delete --chunk {chunk}", chunk=chunk.id)
        )
    classed = chunk.metadata
    metadata = extract_metadata(text).replace(types=classed.types, concepts=classed.concepts)
    with transaction(connection):
        edited = NewChunk(text, chunk.role, metadata, estimate_tokens(text))
        update_chunk(connection, chunk.id, edited, edited_at=format_utc(now))
        refresh_session(connection, chunk.session_id)
        word_index.refresh(connection)
    return find_chunk(connection, str(chunk.id))


def mark_chunks(
    connection: sqlite3.Connection, chunk_ids: Sequence[str], mark: Mark, *, undo: bool = False
) -> list[Chunk]:
    """Set a mark on chunks, or take it off; return them in the order named.

    Raises:
        NotFoundError: one of them does not exist; then none is changed.
    """
    with transaction(connection):
        # Looked up under the lock; one that does not exist undoes the others.
        chunks = [find_chunk(connection, chunk_id) for chunk_id in chunk_ids]
        change = remove_mark if undo else set_mark
        change(connection, [chunk.id for chunk in chunks], mark)
    return chunks


def delete_chunks(
    connection: sqlite3.Connection, chunk_ids: Sequence[str], *, now: float, dry_run: bool = False
) -> Deleted:
    """Delete chunks by id; on a dry run only say how many.

    Raises:
        NotFoundError: one of them does not exist; then none is deleted.
    """

    def select() -> list[int]:
        return sorted({find_chunk(connection, chunk_id).id for chunk_id in chunk_ids})

    return _delete(connection, select, "chunks named by a person", now=now, dry_run=dry_run)


def delete_session(
    connection: sqlite3.Connection, prefix: str, *, now: float, dry_run: bool = False
) -> Deleted:
    """Delete the session with this id, or the only one whose id begins so; on a dry run only say how many.

    Raises:
        NotFoundError: there is none, or more than one.
    """
    session_id = find_session(connection, prefix).session_id
    return _delete(
        connection,
        lambda: ids_of_session(connection, session_id),
        f"session {session_id}",
        now=now,
        dry_run=dry_run,
    )


def delete_before(
    connection: sqlite3.Connection,
    moment: str,
    *,
    project_path: str | None,
    now: float,
    dry_run: bool = False,
) -> Deleted:
    """Delete the chunks of turns before ``moment``, in one project or in all (None); on a dry run only count.

    Args:
        connection: a connection that may write.
        moment: UTC ``YYYY-MM-DD HH:MM:SS`` (``timestamps.parse_date`` reads what a person writes).
        project_path: as ``storage.projects.resolve_project`` returns it.
        now: seconds since the epoch, for the log.
        dry_run: touch nothing.
    """
    return _delete(
        connection,
        lambda: ids_before(connection, moment, project_path),
        f"turns before {moment} UTC",
        now=now,
        dry_run=dry_run,
    )


def _delete(
    connection: sqlite3.Connection, select: Callable[[], list[int]], reason: str, *, now: float, dry_run: bool
) -> Deleted:
    if dry_run:
        return preview(connection, select())
    with transaction(connection):
        # Selected under the lock: a session may be growing meanwhile.
        deleted = remove_chunks(
            connection, select(), action="delete", reason=reason, now=now, is_for_good=True
        )
        drop_empty_sessions(connection)
    if deleted.chunks:
        # So that the deleted text is in no free page of the file either.
        reclaim_space(connection)
    return deleted
