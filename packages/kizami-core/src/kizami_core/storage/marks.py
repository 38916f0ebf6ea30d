"""The table ``marks``: memories that a person muted (never shown of itself) or pinned (never removed).

A mark belongs to a chunk's row id, which stays the same when its turn is saved again, edited, moved to
another session or project; it goes with the chunk.
"""

from __future__ import annotations

from kizami_core.storage.chunk_changes import lock_unidentified

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Literal

    Mark = Literal["muted", "pinned"]


def set_mark(connection: sqlite3.Connection, chunk_ids: Sequence[int], mark: Mark) -> None:
    """Mark chunks, inside the caller's transaction; what is marked already stays so.

    What the TypeScript Kizami saved of a session is replaced when its transcript is saved anew; where a chunk
    of it is marked, it stays as it is.
    """
    connection.executemany(
        """INSERT OR IGNORE INTO marks(chunk_id, mark) VALUES (?, ?)""",
        [(chunk_id, mark) for chunk_id in chunk_ids],
    )
    lock_unidentified(connection, chunk_ids)


def remove_mark(connection: sqlite3.Connection, chunk_ids: Sequence[int], mark: Mark) -> None:
    """Take a mark off chunks, inside the caller's transaction; what does not carry it stays as it is."""
    connection.executemany(
        """DELETE FROM marks WHERE chunk_id = ? AND mark = ?""", [(chunk_id, mark) for chunk_id in chunk_ids]
    )


def marked_ids(connection: sqlite3.Connection, mark: Mark) -> list[int]:
    """Return the chunks that carry a mark, in the order of their ids."""
    rows = connection.execute("""SELECT chunk_id FROM marks WHERE mark = ? ORDER BY chunk_id""", (mark,))
    return [row[0] for row in rows]


def all_marks(connection: sqlite3.Connection) -> dict[int, list[Mark]]:
    """Return the marks of every chunk that has any, in alphabetical order."""
    marks: dict[int, list[Mark]] = {}
    for chunk_id, mark in connection.execute("""SELECT chunk_id, mark FROM marks ORDER BY chunk_id, mark"""):
        marks.setdefault(chunk_id, []).append(mark)
    return marks


def marks_by_session(connection: sqlite3.Connection) -> dict[str, dict[Mark, int]]:
    """Return, for each session that has any, how many of its chunks carry each mark."""
    counts: dict[str, dict[Mark, int]] = {}
    for session_id, mark, number in connection.execute(
        """
        SELECT c.session_id, m.mark, count(*) FROM marks m JOIN chunks c ON c.id = m.chunk_id
        GROUP BY c.session_id, m.mark ORDER BY m.mark
        """
    ):
        counts.setdefault(session_id, {})[mark] = number
    return counts


def without_pinned(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> list[int]:
    """Return those of the chunks that maintenance may remove."""
    pinned = set(marked_ids(connection, "pinned"))
    return [chunk_id for chunk_id in chunk_ids if chunk_id not in pinned]
