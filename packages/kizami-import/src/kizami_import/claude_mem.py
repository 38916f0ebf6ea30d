"""Importing claude-mem: row by row, so that it can be stopped, repeated, and later rows are picked up."""

from __future__ import annotations

import os

from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.foreign_turns import ForeignTurn, prepare_foreign, store_foreign
from kizami_core.messages import Message
from kizami_core.paths import home_dir
from kizami_core.records import Record
from kizami_core.storage.connection import database_path, reading
from kizami_core.storage.projects import resolve_project
from kizami_core.storage.turns import has_turns, known_turns
from kizami_core.timestamps import format_utc
from kizami_import.claude_mem_rows import is_claude_mem, read_rows, read_sessions
from kizami_import.destination import Destination
from kizami_import.folders import PLACEHOLDER
from kizami_import.report import Tally
from kizami_import.snapshot import is_sqlite, snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

    from kizami_core.config import Config
    from kizami_core.storage.turns import NewTurn
    from kizami_import.claude_mem_rows import SourceRow, SourceSession
    from kizami_import.folders import Folders
    from kizami_import.report import ImportReport, Kind

_BATCH_TURNS = 250
# Where claude-mem's own observer runs: it watches itself there.
_INTERNAL_FOLDER = "observer-sessions"


def default_source(env: Mapping[str, str]) -> str:
    """Return where claude-mem keeps its database: in ``CLAUDE_MEM_DATA_DIR``, else in ``~/.claude-mem``."""
    folder = env.get("CLAUDE_MEM_DATA_DIR") or os.path.join(home_dir(env), ".claude-mem")
    return os.path.join(folder, "claude-mem.db")


def import_claude_mem(
    connection: sqlite3.Connection,
    source: str,
    *,
    folders: Folders,
    config: Config,
    now: float,
    project: str = "",
    dry_run: bool = False,
    advance: Callable[[float], None] | None = None,
) -> ImportReport:
    """Import the observations, summaries and prompts of a claude-mem database, which is only read.

    What is known from an earlier import is left as it is, also where a person edited or deleted it.

    Args:
        connection: Kizami's database; one that may write unless ``dry_run``.
        source: the database, or the folder that it lies in.
        folders: the folders that are known on this machine.
        config: the settings for chunking.
        now: seconds since the epoch.
        project: keep to this project: its name in claude-mem, or a folder; "" for all.
        dry_run: only count.
        advance: called with the share of the sessions that is done, in [0, 1].

    Raises:
        ConfigError: the source is no database of claude-mem's.
        NotFoundError: there is no such file, or nothing of ``project`` in it.
        StorageError: one of the databases can't be used.
    """
    path = os.path.join(source, "claude-mem.db") if os.path.isdir(source) else source
    check_source(connection, path)
    with snapshot(path) as origin:
        if not is_claude_mem(origin):
            raise ConfigError(
                Message("{path} holds no memories of claude-mem. Name its database with --source.", path=path)
            )
        moment = format_utc(os.path.getmtime(path))
        run = _Import(
            Destination(connection, folders, config.max_tokens_per_chunk, now, moment, dry_run), project
        )
        sessions = read_sessions(origin)
        for number, session in enumerate(sessions, start=1):
            for row in read_rows(origin, session):
                run.take(session, row)
            if advance is not None:
                advance(number / len(sessions))
        run.flush()
    if project and not run.has_matched:
        names = ", ".join(sorted({repr(session.project) for session in sessions if session.project}))
        raise NotFoundError(
            Message(
                "{path} holds nothing of a project {project!r}. Its projects: {names}.",
                path=path,
                project=project,
                names=names or Message("none"),
            )
        )
    return run.tally.report(path, is_dry_run=dry_run)


def check_source(connection: sqlite3.Connection, path: str) -> None:
    """Make sure that a file can be a source.

    Raises:
        ConfigError: it is no SQLite database, or Kizami's own.
        NotFoundError: it is not there.
        StorageError: it can't be read.
    """
    if not os.path.exists(path):
        raise NotFoundError(Message("There is no file {path}. Name the database with --source.", path=path))
    own = database_path(connection)
    # Closing another descriptor of a file that SQLite has open drops SQLite's locks: look before opening.
    if os.path.exists(own) and os.path.samefile(own, path):
        raise ConfigError(
            Message(
                "{path} is Kizami's own database. Name that of the other program with --source.", path=path
            )
        )
    if not is_sqlite(path):
        raise ConfigError(
            Message("{path} is no SQLite database. Name another file with --source.", path=path)
        )


class _Waiting(Record):
    """A row that is to be stored with its batch."""

    kind: Kind
    project: str
    turn: ForeignTurn


class _Import:
    """The rows on their way into the database."""

    def __init__(self, destination: Destination, project: str) -> None:
        self.tally = Tally()
        self.has_matched = False
        self._to = destination
        self._project = project
        is_path = os.sep in project or project in {".", ".."}
        self._project_path = resolve_project(os.path.abspath(project)) if is_path else ""
        self._waiting: list[_Waiting] = []
        self._uuids: set[str] = set()
        self._recorded: tuple[str, bool] = ("", False)

    def take(self, session: SourceSession, row: SourceRow) -> None:
        """Decide on a row; what is to be stored waits for its batch."""
        own = session.content_id if row.project == session.project else ""
        target, placeholder = self._to.folders.target(own, row.project)
        if self._project and self._project != row.project and self._project_path != target:
            self.tally.skip(row.kind, "other project")
            return
        self.has_matched = True
        if row.is_internal or _is_internal(row.project) or _is_internal(session.project):
            self.tally.skip(row.kind, "internal")
        elif not row.text:
            self.tally.skip(row.kind, "empty")
        elif row.kind == "prompt" and self._is_recorded(session.content_id):
            self.tally.skip(row.kind, "saved from its transcript")
        elif row.uuid in self._uuids:
            self.tally.skip(row.kind, "repeated")
        else:
            self._uuids.add(row.uuid)
            turn = ForeignTurn(
                row.uuid,
                f"{PLACEHOLDER}{session.content_id}",
                target,
                row.moment or session.moment or self._to.fallback_time,
                (row.text,),
                row.types,
                row.concepts,
                row.file_paths,
                placeholder,
            )
            self._waiting.append(_Waiting(row.kind, row.project, turn))
            if len(self._waiting) == _BATCH_TURNS:
                self.flush()

    def flush(self) -> None:
        """Store what waits."""
        with reading(self._to.connection):
            homes = known_turns(self._to.connection, [waiting.turn.uuid for waiting in self._waiting])
        fresh: list[tuple[ForeignTurn, NewTurn]] = []
        known: list[tuple[ForeignTurn, str]] = []
        grown: list[tuple[ForeignTurn, NewTurn]] = []
        for kind, project, turn in ((w.kind, w.project, w.turn) for w in self._waiting):
            if turn.uuid in homes:
                self.tally.known[kind] += 1
                known.append((turn, homes[turn.uuid]))
                if kind == "prompt":  # more may have come of it since
                    grown.append((turn, prepare_foreign(turn, self._to.max_tokens)))
                self.tally.keep(homes[turn.uuid], project, turn.project_path)
                continue
            prepared = prepare_foreign(turn, self._to.max_tokens)
            if prepared.chunks:
                fresh.append((turn, prepared))
                self.tally.imported[kind] += 1
                self.tally.keep(turn.session_id, project, turn.project_path)
            else:
                self.tally.skip(kind, "private")
        self._waiting = []
        if self._to.is_dry_run:
            return
        change = store_foreign(self._to.connection, fresh, known, now=self._to.now)
        growth = store_foreign(self._to.connection, grown, now=self._to.now)
        if growth.turns_written:
            self.tally.updated["prompt"] += growth.turns_written
        self.tally.chunks_written += change.chunks_written + growth.chunks_written
        self.tally.moved += change.moved

    def _is_recorded(self, session_id: str) -> bool:
        """Tell whether Kizami has a conversation itself, with the prompts in it."""
        if self._recorded[0] != session_id:
            self._recorded = (session_id, has_turns(self._to.connection, session_id, besides=PLACEHOLDER))
        return self._recorded[1]


def _is_internal(project: str) -> bool:
    return project.replace("\\", "/").rpartition("/")[2] == _INTERNAL_FOLDER
