"""The table ``project_aliases``: projects that were moved to another folder.

The records of a transcript name for ever the folder that its session ran in. After ``kizami project rename
OLD NEW`` what is read at OLD, or below it, belongs to NEW: all that began before the renaming, and what began
later unless a folder stands at OLD again, which is then another project.
"""

from __future__ import annotations

import os

from kizami_core.storage.projects import resolve_project
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_SEPARATORS = ("", "/", "\\")


def is_within(path: str, folder: str) -> bool:
    """Whether a path is that of a folder or lies below it. Only the texts are compared."""
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in _SEPARATORS


def project_of(connection: sqlite3.Connection, cwd: str, *, started_at: str) -> str:
    """Return the project of a session by its working directory, where that stands today.

    ``started_at`` is when the session began, UTC ``YYYY-MM-DD HH:MM:SS``; "" counts as before every renaming.
    """
    path = resolve_project(cwd)
    aliases = connection.execute(
        """SELECT old, new, renamed_at FROM project_aliases ORDER BY length(old) DESC"""
    )
    for old, new, renamed_at in aliases.fetchall():
        # What lies below both is where it belongs already: the folder was moved into itself, one level down.
        if not is_within(path, old) or (is_within(new, old) and is_within(path, new)):
            continue
        if started_at < renamed_at or not os.path.isdir(old):
            return resolve_project(new + path[len(old) :])
    return path


def add_alias(connection: sqlite3.Connection, old: str, new: str, *, now: float) -> None:
    """Note that a folder was moved; earlier moves to it lead on to where it is now."""
    _add(connection, old, new, format_utc(now))


def all_aliases(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return what was moved, to where and when, by the old paths."""
    return connection.execute("""SELECT old, new, renamed_at FROM project_aliases ORDER BY old""").fetchall()


def join_alias(connection: sqlite3.Connection, alias: tuple[str, str, str]) -> bool:
    """Add a move that another database knows (old, new, UTC text); tell whether that changed anything.

    Of two moves from one place the later one counts. All are replayed in the order of their times, so that
    earlier ones lead on to where later ones went.
    """
    before = all_aliases(connection)
    latest: dict[str, tuple[str, str, str]] = {}
    for row in sorted({*before, alias}, key=lambda row: (row[2], row[1])):
        latest[row[0]] = row
    connection.execute("""DELETE FROM project_aliases""")
    for old, new, renamed_at in sorted(latest.values(), key=lambda row: (row[2], row[0])):
        _add(connection, old, new, renamed_at)
    return all_aliases(connection) != before


def moved_path(connection: sqlite3.Connection, path: str, *, started_at: str) -> str:
    """Return where the project of a session that began then is after all moves; no folder is looked at."""
    for old, new, renamed_at in sorted(all_aliases(connection), key=lambda row: -len(row[0])):
        if started_at < renamed_at and is_within(path, old) and not is_within(path, new):
            return new + path[len(old) :]
    return path


def _add(connection: sqlite3.Connection, old: str, new: str, renamed_at: str) -> None:
    for source, target in connection.execute("""SELECT old, new FROM project_aliases""").fetchall():
        if is_within(target, old):
            connection.execute(
                """UPDATE project_aliases SET new = ? WHERE old = ?""", (new + target[len(old) :], source)
            )
    connection.execute("""DELETE FROM project_aliases WHERE old = ?""", (new,))  # moved back
    connection.execute(
        """
        INSERT INTO project_aliases(old, new, renamed_at) VALUES (?, ?, ?)
        ON CONFLICT(old) DO UPDATE SET new = excluded.new, renamed_at = excluded.renamed_at
        """,
        (old, new, renamed_at),
    )
