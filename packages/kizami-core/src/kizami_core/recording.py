"""Saving a transcript: one straight pipeline from the file to the database (ARCHITECTURE.md, "One save").

Reading, masking and chunking happen outside of the write lock; turns are then written in batches, each one
transaction with everything that follows from it. A save that dies between two batches is completed by the
next one.
"""

from __future__ import annotations

import os

from kizami_core.privacy import redact_turn
from kizami_core.records import ReadReport, SaveReport
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import NewChunk, delete_unidentified
from kizami_core.storage.connection import transaction
from kizami_core.storage.maintenance_log import write_log
from kizami_core.storage.projects import resolve_project
from kizami_core.storage.sessions import move_session, refresh_sessions, stored_session
from kizami_core.storage.turns import NewTurn, store_turn, stored_start
from kizami_core.timestamps import format_utc
from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.metadata import extract_metadata
from kizami_core.transcript.rendering import render_turn
from kizami_core.transcript.tokens import estimate_tokens
from kizami_core.transcript.turns import TranscriptReader, is_agent_transcript, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from kizami_core.config import Config
    from kizami_core.records import Turn

_BATCH_TURNS = 200
_BATCH_CHARACTERS = 4_000_000
_CATCH_UP_ROWS = 500
_TRANSCRIPT_SUFFIX = ".jsonl"


def save_transcript(
    connection: sqlite3.Connection,
    path: str,
    *,
    config: Config,
    now: float,
    cwd: str = "",
    session_id: str = "",
) -> SaveReport:
    """Save every turn of a transcript that is not stored yet in this form.

    Saving is a function of the file: again, after it grew, from a copy or from two processes at once, the
    rows end up as if it had been saved once. The transcript of a sub-agent is not saved; the report counts it
    among the skipped types.

    Args:
        connection: a connection that may write.
        path: the transcript. Its name is the session's id: the records may carry those of sessions before it.
        config: the settings for chunking.
        now: seconds since the epoch; the time of turns without one, should the file have none either.
        cwd: the project's folder where the records name none.
        session_id: the session's id where ``path`` does not end in ``.jsonl``.

    Raises:
        TranscriptError: the file can't be read.
        StorageError: the database can't be written; batches written before stay.
    """
    name = session_id_of(path) if path.endswith(_TRANSCRIPT_SUFFIX) or not session_id else session_id
    session = name.encode("utf-8", "replace").decode()
    if is_agent_transcript(path):
        return SaveReport(session, "", ReadReport(0, 0, {"sub-agent transcript": 1}, 0), 0, 0, 0, 0)
    _catch_up(connection)
    reader = TranscriptReader(path)
    writer = _Writer(connection, session, path, cwd=cwd, now=now)
    for batch in _batches(reader, config):
        writer.write(batch)
    return writer.report(reader.report())


def _new_turn(turn: Turn, config: Config) -> NewTurn:
    """Return what is stored of a turn: secrets masked, rendered, cut into chunks."""
    text = render_turn(
        redact_turn(turn),
        head_lines=config.truncate_tool_output_lines,
        tail_lines=config.truncate_tool_output_tail_lines,
    )
    chunks = [
        NewChunk(piece, chunk_role(piece), extract_metadata(piece), estimate_tokens(piece))
        for piece in split_chunks(text, config.max_tokens_per_chunk)
    ]
    return NewTurn(turn.uuid, turn.started_at, _text_length(turn), chunks)


def _text_length(turn: Turn) -> int:
    """Return the characters of a turn as the transcript has it; a result counts as one more."""
    return len(turn.prompt) + sum(
        len(part) if isinstance(part, str) else 1 if part.output is None else 2 + len(part.output)
        for part in turn.parts
    )


def _batches(reader: TranscriptReader, config: Config) -> Iterator[list[tuple[str, NewTurn]]]:
    """Yield the turns of a transcript with their working directories, a bounded number at a time."""
    batch: list[tuple[str, NewTurn]] = []
    size = 0
    for turn in reader:
        new = _new_turn(turn, config)
        batch.append((turn.cwd, new))
        size += sum(len(piece.content) for piece in new.chunks)
        if len(batch) == _BATCH_TURNS or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _catch_up(connection: sqlite3.Connection) -> None:
    """Work off what other programs left for the word index (all chunks of a database just carried on)."""
    done = _CATCH_UP_ROWS
    while done == _CATCH_UP_ROWS:
        with transaction(connection):
            done = word_index.refresh(connection, limit=_CATCH_UP_ROWS)


class _Writer:
    """Writes the batches of one transcript and counts what that changed."""

    def __init__(
        self, connection: sqlite3.Connection, session_id: str, path: str, *, cwd: str, now: float
    ) -> None:
        self._connection = connection
        self._session_id = session_id
        self._path = path
        self._hook_cwd = cwd
        self._cwd = ""
        self._now = now
        self._project_path = ""
        self._turns_written = self._turns_unchanged = self._chunks_written = self._chunks_removed = 0

    def write(self, batch: list[tuple[str, NewTurn]]) -> None:
        """Write one batch as one transaction."""
        self._cwd = self._cwd or next((cwd for cwd, _ in batch if cwd), "")
        with transaction(self._connection):
            self._project_path = self._resolve_project()
            changed: set[str] = set()
            if move_session(self._connection, self._session_id, self._project_path):
                changed.add(self._session_id)
            if any(turn.chunks for _, turn in batch):
                self._replace_unidentified()
            for _, turn in batch:
                started_at = turn.started_at or stored_start(self._connection, turn.uuid) or self._file_time()
                change = store_turn(
                    self._connection,
                    self._session_id,
                    self._project_path,
                    turn.replace(started_at=started_at),
                )
                if change is None:
                    self._turns_unchanged += 1
                    continue
                changed.add(change.session_id)
                self._turns_written += 1
                self._chunks_written += change.chunks_written
                self._chunks_removed += change.chunks_removed
            refresh_sessions(self._connection, sorted(changed))
            word_index.refresh(self._connection)

    def report(self, read: ReadReport) -> SaveReport:
        """Return what all batches did."""
        return SaveReport(
            session_id=self._session_id,
            project_path=self._project_path,
            read=read,
            turns_written=self._turns_written,
            turns_unchanged=self._turns_unchanged,
            chunks_written=self._chunks_written,
            chunks_removed=self._chunks_removed,
        )

    def _resolve_project(self) -> str:
        cwd = self._cwd or self._hook_cwd
        stored = stored_session(self._connection, self._session_id)
        # A worktree that is gone can't say any more which repository it belonged to; the first save knew.
        if stored and stored.project_path and not os.path.isdir(cwd):
            return stored.project_path
        return resolve_project(cwd).encode("utf-8", "replace").decode()

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

    def _file_time(self) -> str:
        """Return when the file was last written, for turns at its beginning that carry no time."""
        try:
            return format_utc(min(os.path.getmtime(self._path), self._now))
        except OSError:  # moved away while it was read
            return format_utc(self._now)
