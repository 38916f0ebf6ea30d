"""Forgetting a text: first what would go, then the deed.

Each step can be repeated: after an interruption the database is sound, and forgetting the same text again
completes it. The order matters for that: the chunks go first, so that maintenance writes no more archives of
them; the free pages of the database are cleared last.
"""

from __future__ import annotations

import os

from kizami_core.forgetting.archives import archives_holding, clean_archives
from kizami_core.forgetting.copies import backups_holding, claude_files_holding, keep_unsaved_away
from kizami_core.forgetting.logs import clean_logs, logs_holding
from kizami_core.forgetting.memories import chunks_holding, erase_chunks
from kizami_core.maintenance.keeping import archive_folder
from kizami_core.records import Record
from kizami_core.storage.connection import database_path, transaction
from kizami_core.storage.project_rows import list_projects
from kizami_core.storage.space import scrub
from kizami_core.storage.vector_tables import drop_vector_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from kizami_core.config import Config
    from kizami_core.forgetting.archives import ArchiveTrace
    from kizami_core.forgetting.logs import LogTrace
    from kizami_core.forgetting.wanted import Wanted


class Traces(Record):
    """Where a text was found.

    ``chunks`` are ids; ``archives`` and ``logs`` lie beside the database. ``backups`` (of the database) are
    only named, and deleted on a person's word. What is never changed: ``claude_files``, and the paths of
    ``projects``, by which Kizami knows what belongs where.
    """

    chunks: tuple[int, ...]
    archives: tuple[ArchiveTrace, ...]
    logs: tuple[LogTrace, ...]
    backups: tuple[str, ...]
    claude_files: tuple[str, ...]
    projects: tuple[str, ...]


def find_traces(connection: sqlite3.Connection, wanted: Wanted, *, env: Mapping[str, str]) -> Traces:
    """Return where a text is found, touching nothing; a read-only connection will do."""
    return Traces(
        tuple(chunks_holding(connection, wanted)),
        tuple(archives_holding(archive_folder(connection), wanted)),
        tuple(logs_holding(env, wanted)),
        tuple(backups_holding(database_path(connection), wanted)),
        tuple(claude_files_holding(env, wanted)),
        tuple(_projects(connection, wanted)),
    )


def forget(
    connection: sqlite3.Connection,
    wanted: Wanted,
    *,
    with_backups: bool,
    config: Config,
    env: Mapping[str, str],
    now: float,
) -> Traces:
    """Erase a text for good; return what was found of it and where.

    Args:
        connection: a connection that may write.
        wanted: the text.
        with_backups: delete the backups of the database that hold it.
        config: the settings, by which transcripts are read as a save reads them.
        env: where Kizami's and Claude Code's files lie.
        now: seconds since the epoch, for the log.

    Raises:
        DatabaseBusyError: another process keeps the free pages from being cleared: forget the text again.
        StorageError: the database can't be written.
        OSError: a file beside it can't.
    """
    version = _version(connection)
    chunks = chunks_holding(connection, wanted)
    with transaction(connection):
        # A session may have grown meanwhile; else hooks need not wait for another search.
        if _version(connection) != version:
            chunks = chunks_holding(connection, wanted)
        erase_chunks(connection, wanted, chunks, now=now)
        drop_vector_index(connection)
    archives = clean_archives(connection, archive_folder(connection), wanted)
    logs = clean_logs(env, wanted)
    claude_files = claude_files_holding(env, wanted)
    keep_unsaved_away(connection, wanted, claude_files, config=config, env=env)
    backups = backups_holding(database_path(connection), wanted)
    if with_backups:
        for path in backups:
            os.unlink(path)
    scrub(connection)
    return Traces(
        tuple(chunks),
        tuple(archives),
        tuple(logs),
        tuple(backups),
        tuple(claude_files),
        tuple(_projects(connection, wanted)),
    )


def _version(connection: sqlite3.Connection) -> int:
    """Return a number that is another one when another connection has changed the database."""
    version: int = connection.execute("""PRAGMA data_version""").fetchone()[0]
    return version


def _projects(connection: sqlite3.Connection, wanted: Wanted) -> list[str]:
    """Return the projects whose path holds a text."""
    return [
        project.project_path
        for project in list_projects(connection)
        if wanted.is_of(project.project_path) and wanted.is_held_by(project.project_path)
    ]
