"""Writing the turns of transcripts: one batch or many in a transaction, with everything that follows."""

from __future__ import annotations

import os

from kizami_core.records import SaveReport
from kizami_core.retrieval import word_index
from kizami_core.storage.chunk_changes import delete_unidentified, unidentified_mark
from kizami_core.storage.connection import transaction
from kizami_core.storage.maintenance_log import write_log
from kizami_core.storage.new_chunks import NewChunks
from kizami_core.storage.project_aliases import project_of
from kizami_core.storage.sessions import move_session, name_parent, refresh_sessions, stored_session
from kizami_core.storage.transcripts import store_reading
from kizami_core.storage.turns import leave_turn, store_turn, stored_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.preparation import Batch
    from kizami_core.records import ReadReport
    from kizami_core.storage.transcripts import StoredReading


class Pending:
    """What the batches of one transaction leave to be done for all of them at once by ``settle``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.new_chunks = NewChunks(connection)
        self.sessions: set[str] = set()  # whose row follows
        self.parents: list[tuple[str, str]] = []  # of sub-agents' sessions
        self.terms: dict[str, str] = {}  # as for ``word_index.refresh``

    def settle(self) -> None:
        """Insert the chunks, then refresh what follows from them, inside the caller's transaction."""
        self.new_chunks.insert()
        refresh_sessions(self._connection, sorted(self.sessions))
        for session_id, parent in self.parents:
            name_parent(self._connection, session_id, parent)
        word_index.refresh(self._connection, known_terms=self.terms)
        self.sessions.clear()
        self.parents.clear()


class TurnWriter:
    """Writes the batches of one transcript and counts what that changed.

    Args:
        connection: a connection that may write.
        session_id: the session that the transcript makes.
        hook_cwd: the project's folder where no turn names one.
        file_time: the time of turns that have none, UTC ``YYYY-MM-DD HH:MM:SS``.
        now: seconds since the epoch, for the log.
        is_agent: the session is a sub-agent's.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        session_id: str,
        *,
        hook_cwd: str,
        file_time: str,
        now: float,
        is_agent: bool,
    ) -> None:
        self._connection = connection
        self._session_id = session_id
        self._hook_cwd = hook_cwd
        self._file_time = file_time
        self._now = now
        self._is_agent = is_agent
        self._project_path = ""
        self._turns_written = self._turns_unchanged = self._chunks_written = self._chunks_removed = 0
        self._turns_kept_out = 0

    def write(
        self, batch: Batch, *, parent: str = "", path: str = "", reading: StoredReading | None = None
    ) -> None:
        """Write one batch as one transaction; see ``write_within``."""
        with transaction(self._connection):
            pending = Pending(self._connection)
            self.write_within(batch, pending, parent=parent, path=path, reading=reading)
            pending.settle()

    def write_within(
        self,
        batch: Batch,
        pending: Pending,
        *,
        parent: str = "",
        path: str = "",
        reading: StoredReading | None = None,
    ) -> None:
        """Write one batch inside the caller's transaction, which is complete when ``pending`` is settled.

        Args:
            batch: the turns.
            pending: what the batches of this transaction leave to be done.
            parent: the session that started this sub-agent, "" where it is unknown.
            path: the transcript.
            reading: how far the transcript is read with this batch; None to leave that as it is.
        """
        if self._session_id in pending.sessions:
            pending.settle()
        self._turns_kept_out += batch.kept_out
        self._project_path = self._resolve_project(batch)
        if move_session(self._connection, self._session_id, self._project_path):
            pending.sessions.add(self._session_id)
        kept_until = stored_start(self._connection, unidentified_mark(self._session_id))
        if kept_until is None and any(turn.chunks for _, turn in batch.turns):
            self._replace_unidentified()
        for _, turn in batch.turns:
            started_at = turn.started_at or stored_start(self._connection, turn.uuid) or self._file_time
            if kept_until is not None and started_at <= kept_until:
                leave_turn(self._connection, self._session_id, turn.replace(started_at=started_at))
                self._turns_unchanged += 1
                continue
            change = store_turn(
                self._connection,
                self._session_id,
                self._project_path,
                turn.replace(started_at=started_at),
                is_agent=self._is_agent,
                begun=batch.point.begun,
                new_chunks=pending.new_chunks,
            )
            if change is None:
                self._turns_unchanged += 1
                continue
            pending.sessions |= {change.session_id, change.left or change.session_id}
            self._turns_written += 1
            self._chunks_written += change.chunks_written
            self._chunks_removed += change.chunks_removed
        if self._is_agent:
            pending.parents.append((self._session_id, parent))
        if reading is not None:
            store_reading(self._connection, path, reading)

    def report(self, read: ReadReport, bytes_read: int) -> SaveReport:
        """Return what all batches did."""
        return SaveReport(
            session_id=self._session_id,
            project_path=self._project_path,
            read=read,
            turns_written=self._turns_written,
            turns_unchanged=self._turns_unchanged,
            chunks_written=self._chunks_written,
            chunks_removed=self._chunks_removed,
            bytes_read=bytes_read,
            turns_kept_out=self._turns_kept_out,
        )

    def _resolve_project(self, batch: Batch) -> str:
        cwd = batch.cwd or self._hook_cwd
        stored = stored_session(self._connection, self._session_id)
        # A worktree that is gone can't say any more which repository it belonged to; the first save knew. So
        # it did of a session that began where all is kept out.
        is_told = batch.cwd == batch.point.cwd and os.path.isdir(cwd)
        if stored and stored.project_path and not is_told:
            return stored.project_path
        first = batch.turns[0][1].started_at if batch.turns else ""
        started_at = (stored.started_at if stored else "") or first
        return project_of(self._connection, cwd, started_at=started_at).encode("utf-8", "replace").decode()

    def _replace_unidentified(self) -> None:
        """Remove what the TypeScript Kizami saved of this session: the same turns follow, identified."""
        removed = delete_unidentified(self._connection, self._session_id)
        if removed:
            self._chunks_removed += removed
            write_log(
                self._connection,
                "replace",
                f"chunks of the TypeScript Kizami, saved anew: session {self._session_id}",
                now=self._now,
                chunks_deleted=removed,
            )
