"""The SQLite library that vectors are read and written with: one that can load sqlite-vec, if there is any.

Python's own ``sqlite3`` comes first. Where it was built without extensions (pyenv, python.org on macOS) a
library that carries its own SQLite takes its place; which one pip installs there is said by platform in
pyproject.toml. Where none can load sqlite-vec, vectors are searched with NumPy over the same tables.

Two SQLite libraries must never have the same file open in one process: POSIX drops all locks of a process on
a file as soon as it closes it once, so each would undo the other's locks. Hence a process that opens the
database here opens it nowhere else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from kizami_core.errors import StorageError
from kizami_core.messages import Message, listed
from kizami_core.records import Record
from kizami_core.storage.connection import storage_error
from kizami_core.storage.schema import APPLICATION_ID, SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from types import ModuleType

_OWN = "sqlite3"
LIBRARIES = (_OWN, "pysqlite3", "sqlean")
_BUSY_TIMEOUT_MS = 5_000


class Driver(Record):
    """A SQLite library. ``why`` says, for a person, what was tried before it and whether vectors use it."""

    name: str
    sqlite_version: str
    why: Message
    can_load_vec: bool


def choose(libraries: Sequence[str] = LIBRARIES) -> Driver:
    """Return the first library that really loads sqlite-vec, tried on a database in memory.

    If there is none it is Python's own, without sqlite-vec.
    """
    extension = extension_path()
    failures: list[Message] = []
    for name in libraries if extension else ():
        try:
            library = import_module(name)
        except ImportError:
            failures.append(Message("{name} is not installed", name=name))
            continue
        try:
            version = _vec_version(library, extension)
        except AttributeError:
            failures.append(Message("{name} was built without extensions", name=name))
            continue
        except library.Error as error:
            failures.append(Message("{name} says: {reason}", name=name, reason=error))
            continue
        why = listed([*failures, Message("{name} loads sqlite-vec {version}", name=name, version=version)])
        return Driver(name, library.sqlite_version, why, can_load_vec=True)
    failures = failures or [Message("sqlite-vec is not installed")]
    why = listed([*failures, Message("vectors are searched with NumPy")])
    return Driver(_OWN, import_module(_OWN).sqlite_version, why, can_load_vec=False)


def extension_path() -> str:
    """Return the file of sqlite-vec without its suffix, which SQLite adds; "" if it is not installed.

    The package itself is not imported: that would import NumPy.
    """
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        return ""
    return os.path.join(os.path.dirname(package.origin), "vec0")


def open_database(
    path: str, driver: Driver, *, busy_timeout_ms: int = _BUSY_TIMEOUT_MS
) -> sqlite3.Connection:
    """Open a database that core made, with sqlite-vec where the driver can load it; never create or migrate.

    The connection is in autocommit mode, as core's are, and core's functions can be used with it.

    Raises:
        FileNotFoundError: there is no database yet.
        StorageError: it can't be used, or core has yet to bring it to the current schema.
    """
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    library = import_module(driver.name)
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=rw"
    try:
        connection: sqlite3.Connection = library.connect(
            uri, uri=True, isolation_level=None, timeout=busy_timeout_ms / 1000
        )
        try:
            _check_schema(connection, path)
            connection.execute("""PRAGMA synchronous = NORMAL""")
            connection.execute("""PRAGMA foreign_keys = ON""")
            if driver.can_load_vec:
                _load(connection, extension_path())
        except BaseException:
            connection.close()
            raise
    except library.Error as error:
        raise storage_error(error, path) from error
    return connection


def has_vec(connection: sqlite3.Connection) -> bool:
    """Tell whether a connection has sqlite-vec."""
    with suppress(connection.Error):
        connection.execute("""SELECT vec_version()""")
        return True
    return False


def _check_schema(connection: sqlite3.Connection, path: str) -> None:
    mark = connection.execute("""PRAGMA application_id""").fetchone()[0]
    version = 0
    if mark == APPLICATION_ID:
        version = connection.execute("""SELECT max(version) FROM schema_version""").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StorageError(
            Message(
                "{path} was written by a newer Kizami. Upgrade: pip install --upgrade kizami-cli "
                "kizami-hybrid",
                path=path,
            )
        )
    if version < SCHEMA_VERSION:
        raise StorageError(
            Message("{path} has not been brought to the current schema yet. Run: kizami setup", path=path)
        )


def _vec_version(library: ModuleType, extension: str) -> str:
    connection = library.connect(":memory:")
    try:
        _load(connection, extension)
        version: str = connection.execute("""SELECT vec_version()""").fetchone()[0]
    finally:
        connection.close()
    return version


def _load(connection: sqlite3.Connection, extension: str) -> None:
    connection.enable_load_extension(True)  # noqa: FBT003 - sqlite3's signature
    try:
        connection.load_extension(extension)
    finally:
        connection.enable_load_extension(False)  # noqa: FBT003 - as above
