"""Reading another program's SQLite database without touching it.

Opening a database in place is not without effect, even read-only: SQLite creates ``-wal`` and ``-shm`` beside
it, and holds a lock that keeps the other program from shortening its log. So its files are copied into a
private folder and read there, what waits in the write-ahead log included.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory

from kizami_core.errors import StorageError
from kizami_core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SIGN = b"SQLite format 3\0"
# What belongs to a database; `-shm` is made anew from the log.
_SUFFIXES = ("", "-wal", "-journal")
_COPIES = 5
_WAIT_SECONDS = 0.2


def is_sqlite(path: str) -> bool:
    """Tell whether a file begins as SQLite's do.

    Raises:
        StorageError: it can't be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(len(_SIGN)) == _SIGN
    except OSError as error:
        raise StorageError(
            Message(
                "{path} can't be read ({reason}). Mend its permissions, or name another with --source.",
                path=path,
                reason=error.strerror,
            )
        ) from error


@contextmanager
def snapshot(path: str) -> Iterator[sqlite3.Connection]:
    """Open a copy of a database as it is now, for reading. The copy is gone when the block ends.

    Bytes that are no UTF-8 come as replacement characters.

    Raises:
        StorageError: it can't be copied, or is damaged.
    """
    with TemporaryDirectory(prefix="kizami-import-") as folder:
        copy = os.path.join(folder, "copy.db")
        _check_room(path, folder)
        try:
            _copy(path, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as owner:
                owner.execute("PRAGMA journal_mode = DELETE")  # takes over what waits in the log
            connection = sqlite3.connect(_uri(copy, "immutable=1"), uri=True, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise _unreadable(path, error) from error
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        with closing(connection):
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.Error as error:
                raise _unreadable(path, error) from error
            if os.name == "posix":  # whoever is killed while reading leaves no copy behind
                shutil.rmtree(folder)
            yield connection


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns, none where there is no such table."""
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def select(
    connection: sqlite3.Connection,
    table: str,
    wanted: Mapping[str, Iterable[str]],
    *,
    where: str = "",
    parameters: Iterable[object] = (),
) -> Iterator[dict[str, object]]:
    """Yield rows of a table as dictionaries, none where there is no such table.

    Args:
        connection: the database.
        table: its name.
        wanted: for each key the columns that hold it in one version or another, the best first; where the
            table has none of them the value is None.
        where: the rest of the statement, with its own names of columns.
        parameters: for the statement.

    Raises:
        StorageError: the database is damaged.
    """
    there = columns(connection, table)
    if not there:
        return
    chosen = {key: next((name for name in names if name in there), None) for key, names in wanted.items()}
    terms = ", ".join(f'"{name}"' if name else "NULL" for name in chosen.values())
    try:
        for row in connection.execute(f'SELECT {terms} FROM "{table}" {where}', tuple(parameters)):  # noqa: S608 - the names are this package's
            yield dict(zip(chosen, row, strict=True))
    except sqlite3.Error as error:
        raise _unreadable(Message("the table {table}", table=table), error) from error


def _check_room(path: str, folder: str) -> None:
    size = sum(os.path.getsize(path + suffix) for suffix in _SUFFIXES if os.path.exists(path + suffix))
    free = shutil.disk_usage(folder).free
    if free < size:
        raise StorageError(
            Message(
                "A copy of {path} takes {size:,} bytes; {folder} has only {free:,} free. Free space, "
                "or name another folder in the environment variable TMPDIR.",
                path=path,
                size=size,
                folder=os.path.dirname(folder),
                free=free,
            )
        )


def _copy(path: str, copy: str) -> None:
    """Copy the files while nobody writes to them; where somebody always does, let SQLite do it."""
    for _ in range(_COPIES):
        try:
            if _copy_files(path, copy):
                return
        except FileNotFoundError:  # the last one who had it open has just removed its log
            if not os.path.exists(path):
                raise
        time.sleep(_WAIT_SECONDS)
    for suffix in _SUFFIXES:
        if os.path.exists(copy + suffix):
            os.unlink(copy + suffix)
    with (
        closing(sqlite3.connect(_uri(path, "mode=ro"), uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _copy_files(path: str, copy: str) -> bool:
    """Copy the files of a database; tell whether they stayed as they were meanwhile."""
    before = _state(path)
    for suffix in _SUFFIXES:
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, copy + suffix)
        elif os.path.exists(copy + suffix):
            os.unlink(copy + suffix)
    # Times of files are too coarse to tell: what was copied must also still stand there.
    copied = [suffix for suffix in _SUFFIXES if os.path.exists(copy + suffix)]
    return _state(path) == before and all(
        filecmp.cmp(path + suffix, copy + suffix, shallow=False) for suffix in copied
    )


def _uri(path: str, option: str) -> str:
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?{option}"


def _state(path: str) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for suffix in _SUFFIXES:
        try:
            status = os.stat(path + suffix)
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_size, status.st_mtime_ns))
    return found


def _unreadable(what: str, error: Exception) -> StorageError:
    return StorageError(
        Message(
            "{what} can't be read ({reason}). Try again; if it stays so, name a backup of it with --source.",
            what=what,
            reason=error,
        )
    )
