"""Deleting chunks with all that follows from it: the one way, for people, retention and merging alike."""

from __future__ import annotations

from kizami_core.retrieval import word_index
from kizami_core.storage.chunk_changes import delete_chunks
from kizami_core.storage.chunks import Deleted, count_by_session
from kizami_core.storage.maintenance_log import write_log
from kizami_core.storage.resolutions import remove_resolutions
from kizami_core.storage.sessions import refresh_sessions
from kizami_core.storage.space import optimize_indexes, used_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


def remove_chunks(
    connection: sqlite3.Connection,
    ids: Sequence[int],
    *,
    action: str,
    reason: str,
    now: float,
    is_for_good: bool,
) -> Deleted:
    """Delete chunks inside the caller's transaction and note it in the log.

    Their turns are locked, their sessions' rows follow (a session without chunks loses its own), what was
    learnt from them goes, and so do both full-text indexes, which keep nothing of the text.
    ``is_for_good``: a person wants them gone, here and wherever this database is imported.
    """
    if not ids:
        return Deleted(0, 0)
    before = used_bytes(connection)
    sessions = count_by_session(connection, ids)
    remove_resolutions(connection, ids)
    delete_chunks(connection, ids, is_for_good=is_for_good)
    emptied = refresh_sessions(connection, sessions)
    word_index.refresh(connection)
    optimize_indexes(connection)
    write_log(
        connection,
        action,
        f"{reason}; sessions touched: {len(sessions)}, removed: {emptied}",
        now=now,
        chunks_deleted=len(ids),
        bytes_freed=max(0, before - used_bytes(connection)),
    )
    return Deleted(len(ids), emptied)


def preview(connection: sqlite3.Connection, ids: Sequence[int]) -> Deleted:
    """Return what ``remove_chunks`` would delete, touching nothing."""
    whole = count_by_session(connection, None)
    emptied = [
        session for session, count in count_by_session(connection, ids).items() if count == whole[session]
    ]
    return Deleted(len(ids), len(emptied))
