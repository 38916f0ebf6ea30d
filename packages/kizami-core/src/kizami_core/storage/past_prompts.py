"""What a person asked before: the chunks that turns begin with; and projects that name each other's files."""

from __future__ import annotations

from kizami_core.json_text import quote
from kizami_core.storage.chunks import COLUMNS, chunk_of
from kizami_core.transcript.rendering import USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.records import Chunk


def conversation_sizes(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the projects, ordered by path, with how many chunks of people's sessions each holds."""
    return dict(
        connection.execute(
            """
            SELECT project_path, sum(chunk_count) FROM sessions
            WHERE parent_session_id IS NULL AND chunk_count > 0
            GROUP BY project_path ORDER BY project_path
            """
        )
    )


def opening_chunks(connection: sqlite3.Connection, project_path: str, limit: int) -> list[Chunk]:
    """Return chunks of a project that begin with a prompt, one a turn, the newest turn first.

    Sub-agents are left out: their prompts are written by a program.
    """
    rows = connection.execute(
        f"""
        SELECT {COLUMNS} FROM chunks c
        WHERE project_path = ? AND NOT is_agent AND content LIKE ? || '%' AND NOT EXISTS (
          SELECT 1 FROM chunks e WHERE e.turn_id = c.turn_id AND e.chunk_index < c.chunk_index
        )
        ORDER BY datetime(created_at) DESC, id DESC LIMIT ?
        """,  # noqa: S608 - a constant
        (project_path, USER_MARK, limit),
    )
    return [chunk_of(row) for row in rows]


def file_neighbours(connection: sqlite3.Connection, project_paths: Sequence[str]) -> set[tuple[str, str]]:
    """Return the pairs (project, other) where a memory of the project names a file within the other.

    Every chunk is looked at once.
    """
    beginnings = {path: _beginning(path) for path in project_paths}
    found: set[tuple[str, str]] = set()
    for project, metadata in connection.execute("""SELECT project_path, metadata FROM chunks"""):
        for path, beginning in beginnings.items():
            if path != project and metadata and beginning in metadata:
                found.add((project, path))
    return found


def _beginning(folder: str) -> str:
    """Return what the path of a file in a folder begins with in the metadata's JSON, its quote included."""
    return quote(folder + ("\\" if "\\" in folder else "/"))[:-1]
