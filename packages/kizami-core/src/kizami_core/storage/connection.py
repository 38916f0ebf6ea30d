"""Opening the database: one function, so that every connection has the same settings and checks."""

from __future__ import annotations

import os
import sqlite3

from kizami_core.errors import (
    DatabaseBusyError,
    DatabaseCorruptError,
    ForeignSchemaError,
    SchemaTooNewError,
    StorageError,
    UnsupportedSqliteError,
)
from kizami_core.paths import make_private_dir
from kizami_core.storage.schema import APPLICATION_ID, SCHEMA_VERSION, apply_migration

_BUSY_TIMEOUT_MS = 5_000
_MIN_SQLITE = (3, 34, 0)  # the first with the trigram tokenizer
_SPEC_COLUMNS = (
    "id", "session_id", "project_path", "chunk_index", "content", "role", "metadata", "created_at", "token_count",
)  # fmt: skip


def open_database(path: str, *, read_only: bool = False, busy_timeout_ms: int = _BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """Open the database, creating or migrating it unless ``read_only``.

    The file and its directory are born private (0600, 0700). Transactions are explicit: the connection is in
    autocommit mode, see ``transaction``.

    Raises:
        FileNotFoundError: ``read_only`` and there is no database yet.
        StorageError: one of its kinds, each with the remedy in its message.
    """
    if sqlite3.sqlite_version_info < _MIN_SQLITE:
        raise UnsupportedSqliteError(
            f"SQLite {sqlite3.sqlite_version} is too old (3.34 is needed). Install Kizami with a newer Python."
        )
    try:
        return _open(path, read_only=read_only, busy_timeout_ms=busy_timeout_ms)
    except sqlite3.Error as error:
        raise storage_error(error, path) from error


def _open(path: str, *, read_only: bool, busy_timeout_ms: int) -> sqlite3.Connection:
    if read_only:
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout_ms / 1000)
    else:
        _create_private_file(path)
        connection = sqlite3.connect(path, isolation_level=None, timeout=busy_timeout_ms / 1000)
    try:
        if read_only:
            _require_current_schema(connection, path)
        else:
            _migrate(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private_file(path: str) -> None:
    try:
        make_private_dir(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StorageError(
            f"The database {path} can't be created or opened for writing ({error.strerror}). "
            "Free space or mend the permissions, or set another database.path in config.json."
        ) from error


def _versions(connection: sqlite3.Connection) -> tuple[int, int, set[str]]:
    """Return the application id, the schema version (0 when there is none) and the names of the tables."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = 0
    if "schema_version" in names:
        version = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0]
    return application_id, version, names


def _check_kind(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version to go on from, 0 for an empty database; refuse what is not ours to touch."""
    application_id, version, names = _versions(connection)
    if application_id == APPLICATION_ID:
        if version > SCHEMA_VERSION:
            raise SchemaTooNewError(
                f"{path} was written by a newer Kizami (schema {version}, this one knows {SCHEMA_VERSION}). "
                "Upgrade: pip install --upgrade kizami-cli"
            )
        return version
    if not names:
        return 0
    columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(chunks)"))
    if version == 1 and columns == _SPEC_COLUMNS:
        return 1
    raise ForeignSchemaError(
        f"{path} holds the tables of another program (a later TypeScript Kizami, schema {version}?); it was left "
        "untouched. Name another file with database.path in Kizami's config.json, or move this one away."
    )


def _require_current_schema(connection: sqlite3.Connection, path: str) -> None:
    if _check_kind(connection, path) != SCHEMA_VERSION:
        raise StorageError(f"{path} has not been brought to the current schema yet. Run: kizami setup")


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    if _check_kind(connection, path) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again under the lock: another process may have migrated meanwhile.
        version = _check_kind(connection, path)
        if 0 < version < SCHEMA_VERSION:
            _back_up(connection, path, version)
        for step in range(version + 1, SCHEMA_VERSION + 1):
            apply_migration(connection, step)
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.OperationalError) and "no such tokenizer" in str(error):
            raise UnsupportedSqliteError(
                "This Python's SQLite has no FTS5 trigram tokenizer. Install Kizami with another Python."
            ) from error
        raise


def _back_up(connection: sqlite3.Connection, path: str, version: int) -> None:
    """Copy the database beside itself before its schema changes."""
    backup = f"{path}.schema{version}.backup"
    number = 1
    while os.path.exists(backup):
        number += 1
        backup = f"{path}.schema{version}.backup{number}"
    _create_private_file(backup)
    # A second connection reads the last committed state, which the lock held by the first one preserves.
    source = sqlite3.connect(path, isolation_level=None)
    target = sqlite3.connect(backup, isolation_level=None)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()


class transaction:  # noqa: N801 - used like a function: `with transaction(connection):`
    """Run a block as one write transaction: committed as a whole or not at all."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        """Take the write lock."""
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Commit, or undo everything when the block raised."""
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def storage_error(error: sqlite3.Error, path: str) -> StorageError:
    """Turn an error of SQLite into ours, with the remedy."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return DatabaseBusyError(f"{path} is locked by another process. Try again when it has finished.")
    if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text or "corrupt" in text):
        return DatabaseCorruptError(
            f"{path} is damaged ({text}). Run `kizami export --format json` to rescue what can be read, then move "
            "the file away: the next save begins a new one."
        )
    return StorageError(f"{path}: {text}. Check free space and permissions.")
