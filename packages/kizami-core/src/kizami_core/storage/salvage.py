"""Reading what is left of a damaged database: every chunk that its row id still leads to."""

from __future__ import annotations

import sqlite3

from kizami_core.errors import DatabaseCorruptError
from kizami_core.messages import Message
from kizami_core.storage.chunks import chunk_of
from kizami_core.storage.connection import database_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Chunk

# Each of these may stand on a damaged page of its own.
_HIGHEST_ID = (
    """SELECT seq FROM sqlite_sequence WHERE name = 'chunks'""",
    """SELECT max(id) FROM chunks""",
    """SELECT max(id) FROM chunks_fts_docsize""",
)


def readable_chunks(connection: sqlite3.Connection) -> tuple[list[Chunk], list[int]]:
    """Return the chunks that can be read, and the row ids (used or not) that lead to damaged pages.

    Raises:
        DatabaseCorruptError: not even the ids can be found.
    """
    chunks: list[Chunk] = []
    unreadable: list[int] = []
    for chunk_id in range(1, _highest_id(connection) + 1):
        try:
            row = connection.execute(
                """
                SELECT id, session_id, project_path, chunk_index, content, role, metadata, created_at,
                       token_count, NULL
                FROM chunks WHERE id = ?
                """,
                (chunk_id,),
            ).fetchone()
        except sqlite3.DatabaseError:
            unreadable.append(chunk_id)
            continue
        if row is not None:
            chunks.append(chunk_of(row))
    return chunks, unreadable


def _highest_id(connection: sqlite3.Connection) -> int:
    highest = 0
    for statement in _HIGHEST_ID:
        try:
            highest = max(highest, *(row[0] or 0 for row in connection.execute(statement)), 0)
        except sqlite3.DatabaseError:
            continue
    if not highest:
        raise DatabaseCorruptError(
            Message(
                "Nothing in {path} can be read any more. Move the file away (a backup beside it can "
                "be put in its place): the next save begins a new one.",
                path=database_path(connection),
            )
        )
    return highest
