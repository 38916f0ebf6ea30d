"""The state of Python, of SQLite and of the database, as `kizami doctor` tells it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from contextlib import closing

from kizami_core.errors import DatabaseBusyError, DatabaseCorruptError, StorageError
from kizami_core.maintenance.findings import Finding, counted, of_error
from kizami_core.maintenance.integrity import check
from kizami_core.messages import Message, listed
from kizami_core.storage.connection import open_database, storage_error
from kizami_core.storage.schema import APPLICATION_ID
from kizami_core.storage.space import file_bytes, used_bytes
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.config import Config

_MB = 1024 * 1024
_DAY_SECONDS = 86_400
_BUSY_TIMEOUT_MS = 2_000
_MIN_FREE_MB = 50  # below it a save of a long session may not fit
_SHOWN = 3  # of many details of the same kind
_REPAIR = Message("Run: kizami doctor --repair")
_SETUP = Message("Run: kizami setup")


def check_runtime() -> list[Finding]:
    """Look at the interpreter and its SQLite."""
    version = Message("{version} at {path}", version=platform.python_version(), path=sys.executable)
    python = Finding("python", "ok", version)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("""CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='trigram')""")
        except sqlite3.OperationalError as error:
            found = Message(
                "{version} has no full-text search by trigrams ({reason})",
                version=sqlite3.sqlite_version,
                reason=error,
            )
            remedy = Message("Install Kizami with another Python (uv tool install --python 3.13 kizami-cli).")
            return [python, Finding("sqlite", "problem", found, remedy)]
    found = Message("{version} with FTS5 and its trigram tokenizer", version=sqlite3.sqlite_version)
    return [python, Finding("sqlite", "ok", found)]


def check_database(config: Config, now: float, *, busy_timeout_ms: int = _BUSY_TIMEOUT_MS) -> list[Finding]:
    """Look at the database: that it is there and ours, its integrity, its size and its times.

    Nothing in it is changed. The full-text indexes are compared under the write lock, 1.5 s for 100 MB.
    """
    path = config.database_path
    if not os.path.exists(path):
        return [Finding("database", "warning", Message("{path} is not there yet.", path=path), _SETUP)]
    try:
        open_database(path, read_only=True, busy_timeout_ms=busy_timeout_ms).close()
        # Only a connection that may write can compare the full-text indexes.
        with closing(open_database(path, busy_timeout_ms=busy_timeout_ms)) as connection:
            return _look_into(connection, config, now)
    except FileNotFoundError:
        return [Finding("database", "warning", Message("{path} is still empty.", path=path), _SETUP)]
    except DatabaseCorruptError as error:
        found = Message("{path} is damaged ({reason})", path=path, reason=error.__cause__)
        return [Finding("database", "problem", found, rescue(path))]
    except DatabaseBusyError as error:
        return [of_error("database", error).replace(state="warning")]
    except StorageError as error:
        return [of_error("database", error)]


def free_bytes(path: str) -> int:
    """Return the free space of the file system that holds a path (or will, once it is made)."""
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return shutil.disk_usage(path).free


def check_disk(path: str, free: float) -> Finding:
    """Tell whether the free space (in bytes) at a path is enough to save."""
    free /= _MB
    found = Message("{free:,.0f} MB free at {path}", free=free, path=path)
    if free < _MIN_FREE_MB:
        remedy = Message(
            "Free space: what can't be saved now is saved by a later hook, as long as its transcript exists."
        )
        return Finding("disk", "problem", found, remedy, {"free_mb": round(free, 1)})
    return Finding("disk", "ok", found, figures={"free_mb": round(free, 1)})


def check_foreign_database(path: str, chosen: str) -> list[Finding]:
    """Say that another program's database (the TypeScript Kizami's) stands at the default path."""
    if os.path.realpath(path) == os.path.realpath(chosen):
        return []
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError:
        return []
    if not header.startswith(b"SQLite format 3") or header[68:72] == APPLICATION_ID.to_bytes(4, "big"):
        return []
    found = Message("{path} is the database of the TypeScript Kizami; it is left untouched.", path=path)
    return [Finding("typescript", "ok", found)]


def rescue(path: str) -> Message:
    """Return the commands, a line each, that save what a damaged database still tells, and start afresh."""
    return Message(
        'What can be read: kizami export --format json > kizami-rescue.json\nThen: {move} "{path}" '
        '"{path}.damaged"\nThen: kizami setup, and kizami backfill saves anew what '
        "Claude Code's transcripts still hold.",
        move="move" if os.name == "nt" else "mv",
        path=path,
    )


def _look_into(connection: sqlite3.Connection, config: Config, now: float) -> list[Finding]:
    path = config.database_path
    try:
        chunks, sessions = connection.execute(
            """SELECT (SELECT count(*) FROM chunks), (SELECT count(DISTINCT session_id) FROM chunks)"""
        ).fetchone()
        report = check(connection)
    except sqlite3.Error as error:
        raise storage_error(error, path) from error
    held = Message(
        "{path}: {chunks} in {sessions}",
        path=path,
        chunks=counted(chunks, "chunk"),
        sessions=counted(sessions, "session"),
    )
    findings = [Finding("database", "ok", held, figures={"chunks": chunks, "sessions": sessions})]
    if report.damage:
        found = Message("damaged: {details}", details=listed(report.damage[:_SHOWN]))
        remedy = _REPAIR if report.is_derived else rescue(path)
        return [*findings, Finding("integrity", "problem", found, remedy)]
    if report.drift:
        found = Message(
            "what is derived from the chunks disagrees with them: {details}",
            details=listed(report.drift[:_SHOWN]),
        )
        return [*findings, Finding("integrity", "problem", found, _REPAIR)]
    if report.queued:
        found = Message(
            "sound, but the word index has yet to follow {chunks}", chunks=counted(report.queued, "chunk")
        )
        remedy = Message("The next save works them off. At once: kizami doctor --repair")
        findings.append(Finding("integrity", "warning", found, remedy, {"queued": report.queued}))
    else:
        found = Message("sound; both full-text indexes agree with the chunks")
        findings.append(Finding("integrity", "ok", found))
    return [*findings, _check_size(connection, config), *_check_times(connection, now)]


def _check_size(connection: sqlite3.Connection, config: Config) -> Finding:
    total, used = file_bytes(connection) / _MB, used_bytes(connection) / _MB
    free = max(0.0, total - used)
    figures = {"mb": round(total, 2), "free_mb": round(free, 2), "max_mb": config.max_db_size_mb}
    found = Message("{total:,.1f} MB, of which {free:,.1f} MB are free", total=total, free=free)
    if not config.maintenance_enabled:
        found = Message("{found}; maintenance is off, so there is no limit", found=found)
        return Finding("size", "ok", found, figures=figures)
    found = Message("{found}; the limit is {limit:,g} MB", found=found, limit=config.max_db_size_mb)
    if used > config.max_db_size_mb:
        remedy = Message(
            "The next maintenance deletes the oldest sessions. To keep them, raise maintenance.maxDbSizeMB."
        )
        return Finding("size", "warning", found, remedy, figures)
    return Finding("size", "ok", found, figures=figures)


def _check_times(connection: sqlite3.Connection, now: float) -> list[Finding]:
    """Find what a clock that ran ahead left behind: its turns count as new until then."""
    tomorrow = format_utc(now + _DAY_SECONDS)
    count, newest = connection.execute(
        """SELECT count(*), max(created_at) FROM chunks WHERE created_at > ?""", (tomorrow,)
    ).fetchone()
    if not count:
        return []
    found = Message(
        "{chunks} dated in the future, up to {newest} UTC: a clock was or is wrong",
        chunks=counted(count, "chunk"),
        newest=newest,
    )
    remedy = Message("Check the clock. They count as new until then; `kizami delete` removes a session.")
    return [Finding("clock", "warning", found, remedy, {"chunks": count})]
