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
        (old, new, format_utc(now)),
    )
