"""Memory: everything that Kizami does, for programs. The command line is built on the same modules."""

from __future__ import annotations

import os
import time

from kizami_core import editing, export
from kizami_core.archive.files import archive_files, file_lines
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import import_archive
from kizami_core.archive.writing import export_archive
from kizami_core.backfill import backfill, split_left_out, unsaved
from kizami_core.config import load_config
from kizami_core.errors import ConfigError
from kizami_core.maintenance.retention import run_maintenance
from kizami_core.messages import Message
from kizami_core.paths import claude_config_dir, expand_user
from kizami_core.paths import config_path as default_config_path
from kizami_core.project_renaming import rename_project
from kizami_core.recording import save_transcript
from kizami_core.resolutions import find_resolutions
from kizami_core.retrieval.filters import Filters
from kizami_core.searching import search
from kizami_core.storage.chunks import find_chunk, session_chunks
from kizami_core.storage.connection import open_database, reading
from kizami_core.storage.project_rows import list_projects
from kizami_core.storage.projects import resolve_project
from kizami_core.storage.sessions import find_session, list_sessions
from kizami_core.storage.statistics import read_statistics
from kizami_core.timestamps import parse_date, parse_since, parse_until
from kizami_core.transcript.history import find_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Literal, Self

    from kizami_core.archive.reading import ImportReport
    from kizami_core.backfill import Step
    from kizami_core.config import Config
    from kizami_core.project_renaming import Renaming
    from kizami_core.records import Chunk, Hit, SaveReport, Session
    from kizami_core.resolutions import Resolution
    from kizami_core.retrieval.filters import Speaker
    from kizami_core.storage.chunks import Deleted
    from kizami_core.storage.marks import Mark
    from kizami_core.storage.project_rows import ProjectRow
    from kizami_core.storage.statistics import Statistics


class Memory:
    """What was said in past sessions: record it, search it, change it.

    ::

        with Memory() as memory:
            memory.record("session.jsonl")
            for hit in memory.search("how did we fix the login", project="/home/me/app"):
                print(hit.relevance, hit.chunk.content)

    Every method may raise ``StorageError``, and so may reading an export. An instance belongs to the thread
    that made it.

    Args:
        database_path: the database, created where there is none; by default that of the configuration.
        config_path: the configuration; by default Kizami's own. Settings that can't be used are replaced by
            their defaults.
        env: the environment that paths are taken from; by default this process's.
    """

    def __init__(
        self,
        database_path: str | os.PathLike[str] | None = None,
        *,
        config_path: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        env = os.environ if env is None else env
        config, _ = load_config(os.fspath(config_path or default_config_path(env)), env)
        if database_path is not None:
            config = config.replace(database_path=expand_user(os.fspath(database_path), env))
        self._config: Config = config
        self._env = env
        self._connection = open_database(config.database_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. The instance can't be used after that."""
        self._connection.close()

    def record(self, transcript: str | os.PathLike[str], *, cwd: str = "") -> SaveReport:
        """Save a transcript; what is stored already is left as it is. Maintenance runs when it is due.

        Turns of excluded projects are left out (``privacy.excludeProjects``).

        Args:
            transcript: a JSONL file of Claude Code.
            cwd: the project's folder, where the transcript names none.

        Raises:
            TranscriptError: the transcript can't be read.
        """
        now = time.time()
        report = save_transcript(
            self._connection, os.fspath(transcript), config=self._config, now=now, cwd=cwd
        )
        run_maintenance(self._connection, config=self._config, now=now)
        return report

    def backfill(self, claude_dir: str | os.PathLike[str] | None = None) -> Iterator[Step]:
        """Save every transcript that Claude Code keeps, the last changed one first, and yield what was done.

        What is saved already is skipped; the iteration may end early and be begun again. Excluded projects
        and sessions with ``KIZAMI_DISABLE`` are left out.

        Args:
            claude_dir: Claude Code's own directory; by default ``CLAUDE_CONFIG_DIR``, else ``~/.claude``.
        """
        folder = claude_config_dir(self._env) if claude_dir is None else os.fspath(claude_dir)
        with reading(self._connection):
            files, _ = split_left_out(
                unsaved(self._connection, find_transcripts(folder)), config=self._config, env=self._env
            )
            yield from backfill(self._connection, files, config=self._config, now=time.time())

    def projects(self) -> list[ProjectRow]:
        """Return the projects, the one that was last worked on first."""
        with reading(self._connection):
            return list_projects(self._connection)

    def rename_project(
        self, old: str | os.PathLike[str], new: str | os.PathLike[str], *, dry_run: bool = False
    ) -> Renaming:
        """Bring the memories of a folder that was moved to where it is now.

        Args:
            old: the folder as it was, or the last part of the path of just one project.
            new: the folder as it is.
            dry_run: only count.

        Raises:
            NotFoundError: nothing, or more than one thing, is stored under ``old``.
            ConfigError: there is no folder ``new``, or it is the same one.
        """
        with reading(self._connection):
            return rename_project(
                self._connection, os.fspath(old), os.fspath(new), now=time.time(), dry_run=dry_run
            )

    def search(
        self,
        query: str,
        *,
        project: str | os.PathLike[str] | None = None,
        all_projects: bool = False,
        since: str | None = None,
        until: str | None = None,
        role: Speaker | None = None,
        tools: str | Sequence[str] = (),
        files: str | Sequence[str] = (),
        limit: int | None = None,
        include_agents: bool = False,
    ) -> list[Hit]:
        """Return the chunks that bear on a query, best first.

        A query may hold exact phrases, ``"in quotes"``, and exclusions, ``-word`` and ``-"a phrase"``. One
        without words (``""`` too, with a filter) lists what passes the filters, the newest first, each with
        the relevance 0.

        Args:
            query: words or a question, in any language.
            project: a folder in the project; by default the current one.
            all_projects: search everywhere alike. Otherwise ``search.projectScope`` decides.
            since: only what was said since then: an age (``12h``, ``7d``, ``6w``), a date, or a date and a
                time; without a zone it is local time.
            until: only what was said until then, the named day or minute included.
            role: look only at what the person said ("user"), or at what Claude said and did ("assistant").
            tools: only where one of these tools was used: ``["Bash", "mcp__*"]``.
            files: only where one of these files is mentioned, by the last parts of its path or by a pattern:
                ``["pool.ts", "src/*.py"]``.
            limit: the most hits to return; by default ``search.defaultLimit``.
            include_agents: search the sessions of sub-agents too.

        Raises:
            ConfigError: ``since``, ``until`` or ``role`` is nothing of the kind.
        """
        if role not in (None, "user", "assistant"):
            raise ConfigError(Message('There is no role {role!r}. Give "user" or "assistant".', role=role))
        now = time.time()
        filters = Filters(
            since=parse_since(since, now) if since else "",
            until=parse_until(until, now) if until else "",
            role=role,
            tools=_names(tools),
            files=_names(files),
        )
        with reading(self._connection):
            return search(
                self._connection,
                query,
                project_path=_project(project),
                scope=False if all_projects else self._config.project_scope,
                limit=self._config.default_limit if limit is None else limit,
                config=self._config,
                now=now,
                include_agents=include_agents,
                filters=filters,
            )

    def sessions(
        self,
        *,
        project: str | os.PathLike[str] | None = None,
        limit: int | None = None,
        include_agents: bool = False,
    ) -> list[Session]:
        """Return the sessions of a project, or of all (None), the last one first; sub-agents' on demand."""
        path = None if project is None else _project(project)
        with reading(self._connection):
            return list_sessions(
                self._connection, project_path=path, limit=limit, include_agents=include_agents
            )

    def resolutions(
        self,
        text: str = "",
        *,
        project: str | os.PathLike[str] | None = None,
        limit: int = 10,
        include_agents: bool = False,
    ) -> list[Resolution]:
        """Return errors that were fixed: the latest first, or by the words of an error, best first.

        Args:
            text: an error, or words of it or of the command; "" for all.
            project: a folder in the project; None for all projects.
            limit: the most to return.
            include_agents: those of sub-agents too.
        """
        path = None if project is None else _project(project)
        with reading(self._connection):
            return find_resolutions(
                self._connection, text, project_path=path, limit=limit, include_agents=include_agents
            )

    def session(self, session_id: str) -> tuple[Session, list[Chunk]]:
        """Return a session and its chunks in the order of the conversation; a unique prefix will do.

        Raises:
            NotFoundError: there is none, or more than one.
        """
        with reading(self._connection):
            found = find_session(self._connection, session_id)
            return found, list(session_chunks(self._connection, found.session_id))

    def chunk(self, chunk_id: int) -> Chunk:
        """Return one chunk.

        Raises:
            NotFoundError: there is none.
        """
        with reading(self._connection):
            return find_chunk(self._connection, str(chunk_id))

    def edit(self, chunk_id: int, content: str) -> Chunk:
        """Replace the contents of a chunk and return it. Later saves leave it so.

        Raises:
            NotFoundError: there is no such chunk.
            ConfigError: nothing is left of the contents.
        """
        with reading(self._connection):
            return editing.edit_chunk(self._connection, str(chunk_id), content, now=time.time())

    def mute(self, chunk_id: int, *, undo: bool = False) -> Chunk:
        """Never put a chunk before a prompt again (or again, with ``undo``) and return it; searches find it.

        It stays muted when its turn is saved again or edited.

        Raises:
            NotFoundError: there is no such chunk.
        """
        return self._mark(chunk_id, "muted", undo=undo)

    def pin(self, chunk_id: int, *, undo: bool = False) -> Chunk:
        """Keep a chunk whatever its age (or no longer, with ``undo``) and return it.

        Maintenance leaves it alone, ``delete`` does not. In its own project its odds count twice.

        Raises:
            NotFoundError: there is no such chunk.
        """
        return self._mark(chunk_id, "pinned", undo=undo)

    def _mark(self, chunk_id: int, mark: Mark, *, undo: bool) -> Chunk:
        with reading(self._connection):
            (chunk,) = editing.mark_chunks(self._connection, [str(chunk_id)], mark, undo=undo)
            return chunk

    def delete(
        self,
        *,
        chunk: int | None = None,
        session: str | None = None,
        before: str | None = None,
        dry_run: bool = False,
    ) -> Deleted:
        """Delete a chunk, a session, or what is older than a date (in every project): one of them.

        Args:
            chunk: its id.
            session: its id or a unique prefix of that.
            before: a date such as ``2024-01-31``; without a zone it is local time.
            dry_run: only count.

        Raises:
            ConfigError: none or several are named, or ``before`` is no date.
            NotFoundError: there is no such chunk or session.
        """
        now = time.time()
        if (chunk is not None) + (session is not None) + (before is not None) != 1:
            raise ConfigError(Message("delete needs one of chunk, session and before."))
        with reading(self._connection):
            if chunk is not None:
                return editing.delete_chunks(self._connection, [str(chunk)], now=now, dry_run=dry_run)
            if session is not None:
                return editing.delete_session(self._connection, session, now=now, dry_run=dry_run)
            moment = parse_date(before or "")
            return editing.delete_before(
                self._connection, moment, project_path=None, now=now, dry_run=dry_run
            )

    def export(
        self,
        form: Literal["json", "markdown", "jsonl"] = "json",
        *,
        project: str | os.PathLike[str] | None = None,
    ) -> Iterator[str]:
        """Yield an export in pieces: the sessions of a project, or of all (None), with their chunks.

        ``jsonl`` is the archive that ``import_archive`` takes (docs/archive-format.md).
        """
        path = None if project is None else _project(project)
        writers = {"json": export.export_json, "markdown": export.export_markdown, "jsonl": export_archive}
        with reading(self._connection):
            yield from writers[form](self._connection, project_path=path)

    def import_archive(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> ImportReport:
        """Bring in an archive, or all in a folder; what is here already stays, and nothing comes twice.

        Args:
            path: a file of ``export("jsonl")``, compressed or not, or a folder of them.
            dry_run: only count.

        Raises:
            NotFoundError: there is no such file.
            ArchiveError: it is damaged; what came before the damage has been taken in.
        """
        lines = (
            line for file in archive_files(os.fspath(path)) for line in read_lines(file_lines(file), file)
        )
        with reading(self._connection):
            return import_archive(self._connection, lines, now=time.time(), dry_run=dry_run)

    def stats(self) -> Statistics:
        """Return figures about what is stored."""
        with reading(self._connection):
            return read_statistics(self._connection)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _project(folder: str | os.PathLike[str] | None) -> str:
    return resolve_project(os.path.abspath(os.getcwd() if folder is None else os.fspath(folder)))
