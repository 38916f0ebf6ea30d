"""The chunks of a database of the TypeScript Kizami, of its schemas 1 to 5.

Schema 1 is the specification's, 2 and 3 added tables and ``external_id``, 4 and 5 the columns of checkpointed
turns. The chunks and their order are in the same columns in all of them.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_import.plain_text import moment_of, text_of
from kizami_import.snapshot import columns, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_SPEC_COLUMNS = frozenset({"session_id", "project_path", "chunk_index", "content", "role", "created_at"})
_CHUNK = {
    "session": ("session_id",),
    "project": ("project_path",),
    "content": ("content",),
    "at": ("created_at",),
}


class StoredChunk(Record):
    """A chunk of the TypeScript Kizami. ``moment`` is UTC, "" where none is told."""

    session_id: str
    project: str
    moment: str
    text: str


def is_typescript(connection: sqlite3.Connection) -> bool:
    """Tell whether a database holds chunks of the TypeScript Kizami (those of this one carry its mark)."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    return application_id == 0 and columns(connection, "chunks") >= _SPEC_COLUMNS


def read_chunks(connection: sqlite3.Connection) -> Iterator[StoredChunk]:
    """Yield the chunks, session by session, in the order of the conversation.

    Their time was that of saving. A session that was saved long after it ended tells its own.
    """
    ends = {
        text_of(row["session"]): moment_of(None, row["ended"])
        for row in select(connection, "sessions", {"session": ("session_id",), "ended": ("ended_at",)})
    }
    there = columns(connection, "chunks")
    order = [name for name in ("chunk_index", "source_order", "part_index", "id") if name in there]
    for row in select(connection, "chunks", _CHUNK, where=f"ORDER BY session_id, {', '.join(order)}"):
        session_id = text_of(row["session"])
        moment = moment_of(None, row["at"])
        ended = ends.get(session_id, "")
        yield StoredChunk(
            session_id,
            text_of(row["project"]),
            min(filter(None, (moment, ended)), default=""),
            text_of(row["content"]),
        )
