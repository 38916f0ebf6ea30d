"""Importing the TypeScript Kizami: its database, and its JSONL store."""

from __future__ import annotations

import os
from hashlib import sha256

from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.foreign_turns import ForeignTurn, prepare_foreign, store_foreign
from kizami_core.messages import Message
from kizami_core.paths import data_dir
from kizami_core.storage.connection import reading
from kizami_core.storage.project_aliases import project_of
from kizami_core.storage.projects import resolve_project
from kizami_core.storage.turns import has_turns, known_turns
from kizami_core.timestamps import format_utc
from kizami_import.claude_mem import check_source
from kizami_import.destination import Destination
from kizami_import.report import Tally
from kizami_import.snapshot import is_sqlite, snapshot
from kizami_import.typescript_rows import is_typescript, read_chunks
from kizami_import.typescript_store import Store, store_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from kizami_core.config import Config
    from kizami_import.folders import Folders
    from kizami_import.report import ImportReport
    from kizami_import.typescript_rows import StoredChunk

_BATCH_CHUNKS = 250
_UUID_PREFIX = "typescript:"


def default_source(env: Mapping[str, str]) -> str:
    """Return where the TypeScript Kizami keeps its JSONL store."""
    return env.get("KIZAMI_JSONL_DIR") or os.path.join(data_dir(env), "jsonl")


def import_typescript(
    connection: sqlite3.Connection,
    source: str,
    *,
    folders: Folders,
    config: Config,
    now: float,
    project: str = "",
    dry_run: bool = False,
) -> ImportReport:
    """Import the chunks of the TypeScript Kizami, which are only read.

    They join their session, and give way to its turns once its transcript is saved. Sessions that are saved
    from their transcripts already are left out. What is known from an earlier import stays as it is, also
    where a person edited or deleted it.

    Args:
        connection: Kizami's database; one that may write unless ``dry_run``.
        source: a database, a file of the JSONL store, or the store's folder.
        folders: the folders that are known on this machine.
        config: the settings for chunking.
        now: seconds since the epoch.
        project: keep to the project of this folder; "" for all.
        dry_run: only count.

    Raises:
        ConfigError: the source is neither.
        NotFoundError: it is not there.
        StorageError: one of the two can't be used.
    """
    if not os.path.exists(source):
        raise NotFoundError(
            Message("There is nothing at {source}. Name a database or a store with --source.", source=source)
        )
    moment = format_utc(os.path.getmtime(source))
    run = _Import(
        Destination(connection, folders, config.max_tokens_per_chunk, now, moment, dry_run), project
    )
    if os.path.isdir(source) or not is_sqlite(source):
        files = store_files(source) if os.path.isdir(source) else [source]
        store = Store(files)
        run.take(store.chunks())
        run.tally.skip("chunk", "broken", store.broken)
        run.tally.skip("chunk", "deleted there", store.deleted)
        if not store.has_records:
            raise ConfigError(
                Message(
                    "{source} holds no memories of the TypeScript Kizami. Name another --source.",
                    source=source,
                )
            )
    else:
        check_source(connection, source)
        with snapshot(source) as origin:
            if not is_typescript(origin):
                raise ConfigError(
                    Message(
                        "{source} is no database of the TypeScript Kizami. Name another --source.",
                        source=source,
                    )
                )
            run.take(read_chunks(origin))
    return run.tally.report(source, is_dry_run=dry_run)


class _Import:
    """The chunks on their way into the database."""

    def __init__(self, destination: Destination, project: str) -> None:
        self.tally = Tally()
        self._to = destination
        self._project = resolve_project(os.path.abspath(project)) if project else ""
        self._waiting: list[tuple[str, ForeignTurn]] = []
        self._uuids: set[str] = set()
        self._sessions: dict[str, tuple[str, bool]] = {}

    def take(self, chunks: Iterable[StoredChunk]) -> None:
        """Store chunks, a batch at a time."""
        for chunk in chunks:
            self._take(chunk)
            if len(self._waiting) == _BATCH_CHUNKS:
                self._flush()
        self._flush()

    def _take(self, chunk: StoredChunk) -> None:
        project, is_recorded = self._session(chunk)
        uuid = _uuid(chunk)
        if self._project and project != self._project:
            self.tally.skip("chunk", "other project")
        elif not chunk.text:
            self.tally.skip("chunk", "empty")
        elif is_recorded:
            self.tally.skip("chunk", "saved from its transcript")
        elif uuid in self._uuids:
            self.tally.skip("chunk", "repeated")
        else:
            self._uuids.add(uuid)
            moment = chunk.moment or self._to.fallback_time
            turn = ForeignTurn(uuid, chunk.session_id, project, moment, (chunk.text,), is_provisional=True)
            self._waiting.append((chunk.project, turn))

    def _flush(self) -> None:
        with reading(self._to.connection):
            known = known_turns(self._to.connection, [turn.uuid for _, turn in self._waiting])
        fresh = []
        for name, turn in self._waiting:
            if turn.uuid in known:
                self.tally.known["chunk"] += 1
                self.tally.keep(turn.session_id, name, turn.project_path)
                continue
            prepared = prepare_foreign(turn, self._to.max_tokens)
            if not prepared.chunks:
                self.tally.skip("chunk", "private")
                continue
            fresh.append((turn, prepared))
            self.tally.imported["chunk"] += 1
            self.tally.keep(turn.session_id, name, turn.project_path)
        self._waiting = []
        if not self._to.is_dry_run:
            change = store_foreign(self._to.connection, fresh, now=self._to.now)
            self.tally.chunks_written += change.chunks_written

    def _session(self, chunk: StoredChunk) -> tuple[str, bool]:
        """Return the project of a chunk's session, and whether Kizami has its turns from the transcript."""
        if chunk.session_id not in self._sessions:
            # Its `recover` guessed folders from names in which every sign is a dash; the transcript knows.
            told = self._to.folders.of_session(chunk.session_id)
            project = told or project_of(self._to.connection, chunk.project, started_at=chunk.moment)
            self._sessions[chunk.session_id] = (
                project,
                has_turns(self._to.connection, chunk.session_id, besides=_UUID_PREFIX),
            )
        return self._sessions[chunk.session_id]


def _uuid(chunk: StoredChunk) -> str:
    """Name a chunk by its session and what it says: database and store number the same chunks differently."""
    told = f"{chunk.session_id}\0{chunk.text}"
    return f"{_UUID_PREFIX}{sha256(told.encode()).hexdigest()[:32]}"
