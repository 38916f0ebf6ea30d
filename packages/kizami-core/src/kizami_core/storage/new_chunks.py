"""New rows of ``chunks``: many in one statement, those of many turns too.

Before a statement that fires triggers SQLite marks a place to return to, and there FTS5 writes out what it
has gathered. So one row a statement makes a segment of the index of each chunk, which takes two and a half
times as long as a hundred rows a statement.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    # content, role, metadata, created_at, token_count
    Columns = tuple[str, str, str, str, int]
    # Those, then session_id, project_path, chunk_index, turn_id, is_agent, part.
    Row = tuple[object, ...]

_ROWS_AT_ONCE = 100


class NewChunks:
    """Chunks that are gathered for the ends of their sessions, until ``insert``.

    Until then nothing else may read or change the chunks of ``sessions``.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: list[Row] = []
        self._next_indexes: dict[str, int] = {}

    def append(
        self, session_id: str, project_path: str, turn_id: int, parts: Iterable[Columns], *, is_agent: bool
    ) -> None:
        """Add the chunks of the last turn of a session."""
        first = self._next_indexes.get(session_id)
        if first is None:
            (first,) = self._connection.execute(
                """SELECT coalesce(max(chunk_index) + 1, 0) FROM chunks WHERE session_id = ?""", (session_id,)
            ).fetchone()
        rows = [
            (*columns, session_id, project_path, first + part, turn_id, is_agent, part)
            for part, columns in enumerate(parts)
        ]
        self._rows += rows
        self._next_indexes[session_id] = first + len(rows)

    def insert(self) -> None:
        """Write them, inside the caller's transaction."""
        insert_rows(self._connection, self._rows)
        self._rows.clear()
        self._next_indexes.clear()


def insert_rows(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Insert chunks, inside the caller's transaction."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        connection.execute(
            f"""
            INSERT INTO chunks(content, role, metadata, created_at, token_count, session_id, project_path,
                               chunk_index, turn_id, is_agent, part)
            VALUES {", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(some))}
            """,  # noqa: S608 - only the number of rows varies
            [value for row in some for value in row],
        )
