"""The size of the database, and giving space back to the file system."""

from __future__ import annotations

import os

from kizami_core.errors import DatabaseBusyError
from kizami_core.messages import Message
from kizami_core.storage.connection import database_path, reading, transaction
from kizami_core.storage.sqlite_module import sqlite3

_MIN_WASTE = 0.1  # share of the file that must be free before it is rewritten for no other reason


def used_bytes(connection: sqlite3.Connection) -> int:
    """Return the bytes of the pages in use: what the file would measure after compaction."""
    pages, free, page_bytes = (
        connection.execute(f"""PRAGMA {name}""").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * page_bytes  # type: ignore[no-any-return]  # SQLite's integers


def file_bytes(connection: sqlite3.Connection) -> int:
    """Return what the database takes on disk, its write-ahead log included."""
    path = database_path(connection)
    return sum(os.path.getsize(name) for name in (path, path + "-wal") if os.path.exists(name))


def is_wasteful(connection: sqlite3.Connection) -> bool:
    """Tell whether so much of the file is free that rewriting it is worth the time."""
    return used_bytes(connection) < (1 - _MIN_WASTE) * os.path.getsize(database_path(connection))


def optimize_indexes(connection: sqlite3.Connection) -> None:
    """Drop what the full-text indexes still hold of deleted chunks, inside the caller's transaction.

    FTS5 only notes a deletion until its segments are merged, so before this a deletion frees little.
    """
    connection.execute("""INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')""")
    connection.execute("""INSERT INTO chunks_words(chunks_words) VALUES ('optimize')""")


def reclaim_space(connection: sqlite3.Connection) -> int:
    """Rewrite the file without its free pages, outside of any transaction; return the bytes given back.

    A database that others are using, or a disk too full for the copy, is left as it is: what is free then is
    found wasteful by the next maintenance.
    """
    path = database_path(connection)
    pages, page_bytes = (
        connection.execute(f"""PRAGMA {name}""").fetchone()[0] for name in ("page_count", "page_size")
    )
    # What still stands in the write-ahead log would have made the file as large as this.
    before: int = max(pages * page_bytes, os.path.getsize(path))
    try:
        connection.execute("""VACUUM""")
        connection.execute("""PRAGMA wal_checkpoint(TRUNCATE)""")
    except sqlite3.OperationalError:
        return 0
    return max(0, before - os.path.getsize(path))


def scrub(connection: sqlite3.Connection) -> None:
    """Leave nothing of deleted rows in indexes, free pages and the write-ahead log, outside of transactions.

    Raises:
        DatabaseBusyError: another process is in the way; what was deleted can still be read in the file.
        StorageError: the file can't be rewritten.
    """
    with transaction(connection):
        optimize_indexes(connection)
    with reading(connection):
        connection.execute("""VACUUM""")
        is_busy = connection.execute("""PRAGMA wal_checkpoint(TRUNCATE)""").fetchone()[0]
    if is_busy:
        raise DatabaseBusyError(
            Message(
                "What was deleted still stands in free pages of {path}, because another process is reading "
                "it. End that process (a shell of sqlite3, `kizami embedder stop`), then run the same "
                "command again.",
                path=database_path(connection),
            )
        )
