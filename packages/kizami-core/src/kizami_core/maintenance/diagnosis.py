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
_REPAIR = "Run: kizami doctor --repair"


def check_runtime() -> list[Finding]:
    """Look at the interpreter and its SQLite."""
    python = Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("""CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='trigram')""")
        except sqlite3.OperationalError as error:
            found = f"{sqlite3.sqlite_version} has no full-text search by trigrams ({error})"
            remedy = "Install Kizami with another Python (uv tool install --python 3.13 kizami-cli)."
            return [python, Finding("sqlite", "problem", found, remedy)]
    return [python, Finding("sqlite", "ok", f"{sqlite3.sqlite_version} with FTS5 and its trigram tokenizer")]


def check_database(config: Config, now: float, *, busy_timeout_ms: int = _BUSY_TIMEOUT_MS) -> list[Finding]:
    """Look at the database: that it is there and ours, its integrity, its size and its times.

    Nothing in it is changed. The full-text indexes are compared under the write lock, 1.5 s for 100 MB.
    """
    path = config.database_path
    if not os.path.exists(path):
        return [Finding("database", "warning", f"{path} is not there yet.", "Run: kizami setup")]
    try:
        open_database(path, read_only=True, busy_timeout_ms=busy_timeout_ms).close()
        # Only a connection that may write can compare the full-text indexes.
        with closing(open_database(path, busy_timeout_ms=busy_timeout_ms)) as connection:
            return _look_into(connection, config, now)
    except FileNotFoundError:
        return [Finding("database", "warning", f"{path} is still empty.", "Run: kizami setup")]
    except DatabaseCorruptError as error:
        return [Finding("database", "problem", str(error).partition(". Run ")[0], rescue(path))]
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
    found = f"{free:,.0f} MB free at {path}"
    if free < _MIN_FREE_MB:
        remedy = (
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
    return [
        Finding("typescript", "ok", f"{path} is the database of the TypeScript Kizami; it is left untouched.")
    ]


def rescue(path: str) -> str:
    """Return the commands that save what can still be read of a damaged database and start afresh."""
    return (
        "What can be read: kizami export --format json > kizami-rescue.json  Then: "
        f'{"move" if os.name == "nt" else "mv"} "{path}" "{path}.damaged"  Then: kizami setup, '
        "and kizami backfill saves anew what Claude Code's transcripts still hold."
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
    held = f"{path}: {counted(chunks, 'chunk')} in {counted(sessions, 'session')}"
    findings = [Finding("database", "ok", held, figures={"chunks": chunks, "sessions": sessions})]
    if report.damage:
        found = "; ".join(report.damage[:_SHOWN])
        remedy = _REPAIR if report.is_derived else rescue(path)
        return [*findings, Finding("integrity", "problem", f"damaged: {found}", remedy)]
    if report.drift:
        found = f"what is derived from the chunks disagrees with them: {'; '.join(report.drift[:_SHOWN])}"
        return [*findings, Finding("integrity", "problem", found, _REPAIR)]
    if report.queued:
        found = f"sound, but the word index has yet to follow {counted(report.queued, 'chunk')}"
        remedy = f"The next save works them off. At once: {_REPAIR.partition(': ')[2]}"
        findings.append(Finding("integrity", "warning", found, remedy, {"queued": report.queued}))
    else:
        findings.append(Finding("integrity", "ok", "sound; both full-text indexes agree with the chunks"))
    return [*findings, _check_size(connection, config), *_check_times(connection, now)]


def _check_size(connection: sqlite3.Connection, config: Config) -> Finding:
    total, used = file_bytes(connection) / _MB, used_bytes(connection) / _MB
    free = max(0.0, total - used)
    figures = {"mb": round(total, 2), "free_mb": round(free, 2), "max_mb": config.max_db_size_mb}
    found = f"{total:,.1f} MB, of which {free:,.1f} MB are free"
    if not config.maintenance_enabled:
        return Finding("size", "ok", f"{found}; maintenance is off, so there is no limit", figures=figures)
    found += f"; the limit is {config.max_db_size_mb:,g} MB"
    if used > config.max_db_size_mb:
        remedy = (
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
    found = f"{counted(count, 'chunk')} dated in the future, up to {newest} UTC: a clock was or is wrong"
    remedy = "Check the clock. They count as new until then; `kizami delete` removes a session."
    return [Finding("clock", "warning", found, remedy, {"chunks": count})]
