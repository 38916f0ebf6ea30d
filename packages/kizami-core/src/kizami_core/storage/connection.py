"""Opening the database: one function, so that every connection has the same settings and checks."""

from __future__ import annotations

import os
import time

from kizami_core.errors import (
    DatabaseBusyError,
    DatabaseCorruptError,
    StorageError,
    UnsupportedSqliteError,
)
from kizami_core.messages import Message
from kizami_core.paths import make_private_dir
from kizami_core.storage.kind import check_kind
from kizami_core.storage.schema import APPLICATION_ID, SCHEMA_VERSION, apply_migration
from kizami_core.storage.sqlite_module import sqlite3

_BUSY_TIMEOUT_MS = 5_000
_RETRY_SECONDS = 0.01
_HEADER_BYTES = 100  # of every SQLite file; the application id stands at 68
# Rows of 1 to 2 kB leave less of a page unused than at SQLite's 4096: the chunks take 16 % less space.
_PAGE_BYTES = 8_192
_SHARED_BYTES = 65_536  # SQLite shares 32 KiB of memory in a file of its own, and needs a little for the log
_MIN_SQLITE = (3, 34, 0)  # the first with the trigram tokenizer
# The last two come from full-text indexes.
_SIGNS_OF_DAMAGE = (
    "malformed",
    "not a database",
    "corrupt",
    "vtable constructor failed",
    "invalid fts5 file format",
)


def open_database(
    path: str, *, read_only: bool = False, busy_timeout_ms: int = _BUSY_TIMEOUT_MS
) -> sqlite3.Connection:
    """Open the database, creating or migrating it unless ``read_only``.

    The file and its directory are born private (0600, 0700). Transactions are explicit: the connection is in
    autocommit mode, see ``transaction``.

    Raises:
        FileNotFoundError: ``read_only`` and there is no database yet.
        StorageError: one of its kinds, each with the remedy in its message.
    """
    if tuple(map(int, sqlite3.sqlite_version.split("."))) < _MIN_SQLITE:
        raise UnsupportedSqliteError(
            Message(
                "SQLite {version} is too old (3.34 is needed). Install Kizami by a newer Python.",
                version=sqlite3.sqlite_version,
            )
        )
    path = os.path.abspath(path)
    try:
        return _open_to_read(path, busy_timeout_ms) if read_only else _open_to_write(path, busy_timeout_ms)
    except sqlite3.Error as error:
        raise storage_error(error, path) from error


def open_damaged_database(path: str) -> sqlite3.Connection:
    """Open a database for reading without looking at what it is: for the rescue of what can still be read.

    Raises:
        StorageError: not even that is possible.
    """
    try:
        connection = _connect_read_only(os.path.abspath(path), _BUSY_TIMEOUT_MS)
    except sqlite3.Error as error:
        raise storage_error(error, path) from error
    # Nothing is written: with this setting SQLite also reads a file that is shorter than its header says.
    connection.execute("PRAGMA writable_schema = ON")
    return connection


def _connect_read_only(path: str, busy_timeout_ms: int, *, is_immutable: bool = False) -> sqlite3.Connection:
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro"
    uri += "&immutable=1" if is_immutable else ""
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout_ms / 1000)


def _open_to_read(path: str, busy_timeout_ms: int) -> sqlite3.Connection:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:  # a directory above it can't be entered
        raise _out_of_reach(path, error.strerror or str(error)) from error
    if os.path.isdir(path):
        raise StorageError(
            Message(
                "{path} is a directory, no database. Name a file with database.path in Kizami's config.json.",
                path=path,
            )
        )
    connection = _connect_read_only(path, busy_timeout_ms)
    try:
        if not _is_shareable(connection, path):
            connection.close()
            connection = _connect_read_only(path, busy_timeout_ms, is_immutable=True)
        version = check_kind(connection, path)
        if version == 0:  # the process that creates it is not done yet
            raise FileNotFoundError(path)
        if version < SCHEMA_VERSION:
            raise StorageError(
                Message("{path} has not been brought to the current schema yet. Run: kizami setup", path=path)
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _is_shareable(connection: sqlite3.Connection, path: str) -> bool:
    """Tell whether SQLite can make the files by which readers and writers share a database.

    It can't on a disk that is full or can't be written to. Then nobody else writes, and unless something
    waits in the write-ahead log the file can be read as it is.
    """
    try:
        connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.OperationalError:
        log = path + "-wal"
        return _takes_files(os.path.dirname(path)) or (os.path.exists(log) and os.path.getsize(log) > 0)
    return True


def _takes_files(directory: str) -> bool:
    if os.name != "posix":
        return os.access(directory, os.W_OK)
    disk = os.statvfs(directory)
    return os.access(directory, os.W_OK) and disk.f_bavail * disk.f_frsize >= _SHARED_BYTES


def _open_to_write(path: str, busy_timeout_ms: int) -> sqlite3.Connection:
    _refuse_foreign(path, busy_timeout_ms)
    _create_private_file(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=busy_timeout_ms / 1000)
    try:
        _migrate(connection, path)
        _use_write_ahead_log(connection, busy_timeout_ms)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(path: str, busy_timeout_ms: int) -> None:
    """Look at a file that does not carry our mark through a read-only connection, before anything else.

    A connection that may write would move a foreign write-ahead log into the file when it is closed.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError:
        return  # absent, or the attempt to open it for writing says why it can't be read
    if not header or header[68:72] == APPLICATION_ID.to_bytes(4, "big"):
        return
    connection = _connect_read_only(path, busy_timeout_ms)
    try:
        check_kind(connection, path)
    except sqlite3.OperationalError:
        return  # an interrupted write is in the way, which only a connection that may write can undo
    finally:
        connection.close()


def _use_write_ahead_log(connection: sqlite3.Connection, busy_timeout_ms: int) -> None:
    """Switch to WAL, waiting for others: for this one statement SQLite does not wait by itself."""
    deadline = time.monotonic() + busy_timeout_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _create_private_file(path: str) -> None:
    """Create the file with mode 0600; one that others may read (the TypeScript Kizami's) is closed off."""
    try:
        make_private_dir(os.path.dirname(path))
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        status = os.fstat(descriptor)
        os.close(descriptor)
        if os.name == "posix" and status.st_mode & 0o077 and status.st_uid == os.getuid():
            os.chmod(path, 0o600)
    except OSError as error:
        raise StorageError(
            Message(
                "The database {path} can't be created or opened for writing ({reason}). Free space "
                "or mend the permissions, or set another database.path in config.json.",
                path=path,
                reason=error.strerror,
            )
        ) from error


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    version = check_kind(connection, path)
    if version == SCHEMA_VERSION:
        return
    if version == 0:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again under the lock: another process may have migrated meanwhile.
        version = check_kind(connection, path)
        if 0 < version < SCHEMA_VERSION:
            _back_up(path, version)
        for step in range(version + 1, SCHEMA_VERSION + 1):
            apply_migration(connection, step)
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.OperationalError) and "no such tokenizer" in str(error):
            raise UnsupportedSqliteError(
                Message(
                    "This Python's SQLite has no FTS5 trigram tokenizer. Install Kizami with another Python."
                )
            ) from error
        raise


def _back_up(path: str, version: int) -> None:
    """Copy the database beside itself before its schema changes."""
    backup = f"{path}.schema{version}.backup"
    number = 1
    while os.path.exists(backup):
        number += 1
        backup = f"{path}.schema{version}.backup{number}"
    _create_private_file(backup)
    # A connection of its own reads the last committed state, which the caller's lock preserves.
    source = sqlite3.connect(path, isolation_level=None)
    target = sqlite3.connect(backup, isolation_level=None)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()


class transaction:  # noqa: N801 - used like a function: `with transaction(connection):`
    """Run a block as one write transaction: committed as a whole or not at all.

    Errors of SQLite, in the block too, come out as ``StorageError``. They are asked of the connection, which
    may be that of another SQLite library than ``sqlite3`` (vectors need one that loads extensions).
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        """Take the write lock."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except self._connection.Error as error:
            raise storage_error(error, database_path(self._connection)) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Commit, or undo everything when the block raised."""
        if error is None:
            try:
                self._connection.execute("COMMIT")
            except self._connection.Error as failure:
                error = failure
        if error is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if isinstance(error, self._connection.Error):
            raise storage_error(error, database_path(self._connection)) from error


class reading:  # noqa: N801 - as above
    """Run a block that reads: errors of SQLite come out as ``StorageError``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        """Do nothing: every statement is a transaction of its own."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Translate the error."""
        if isinstance(error, self._connection.Error):
            raise storage_error(error, database_path(self._connection)) from error


def database_path(connection: sqlite3.Connection) -> str:
    """Return the file of a connection."""
    path: str = connection.execute("PRAGMA database_list").fetchone()[2]
    return path


def storage_error(error: sqlite3.Error, path: str) -> StorageError:
    """Turn an error of SQLite into ours, with the remedy."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return DatabaseBusyError(
            Message("{path} is locked by another process. Try again when it has finished.", path=path)
        )
    if any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return DatabaseCorruptError(
            Message(
                "{path} is damaged ({reason}). Run `kizami doctor`: it tells whether `--repair` mends it, "
                "or how `kizami export` rescues what can be read.",
                path=path,
                reason=text,
            )
        )
    if "is full" in text:
        return StorageError(
            Message(
                "{path}: the disk is full. Free space: a later hook saves what is missing (see "
                "`kizami doctor`).",
                path=path,
            )
        )
    return _out_of_reach(path, text)


def _out_of_reach(path: str, reason: str) -> StorageError:
    return StorageError(
        Message("{path}: {reason}. Check the free space and the permissions there.", path=path, reason=reason)
    )
