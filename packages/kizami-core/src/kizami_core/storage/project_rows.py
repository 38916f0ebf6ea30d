"""The projects that have memories, and giving what is stored of one another path."""

from __future__ import annotations

import os

from kizami_core.errors import NotFoundError
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.storage.project_aliases import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


class ProjectRow(Record):
    """What is stored of a project. ``last_at`` is the time of its latest turn, UTC; agents count too."""

    project_path: str
    sessions: int
    chunks: int
    last_at: str


class Rows(Record):
    """How many rows were (or would be) given another path."""

    sessions: int
    chunks: int


def list_projects(connection: sqlite3.Connection) -> list[ProjectRow]:
    """Return the projects, the one that was last worked on first."""
    rows = connection.execute(
        """
        SELECT project_path, count(DISTINCT session_id), count(*), max(created_at) FROM chunks
        GROUP BY project_path ORDER BY max(datetime(created_at)) DESC, project_path
        """
    )
    return [ProjectRow(*row) for row in rows]


def find_folder(connection: sqlite3.Connection, text: str) -> str:
    """Return the folder that a person means by ``text``: a project's, or one that projects lie below.

    It is a path, or the last part of the path of just one project.

    Raises:
        NotFoundError: nothing is stored of it, or the last part is that of several projects.
    """
    stored = [project.project_path for project in list_projects(connection)]
    path = os.path.abspath(text)
    for folder in (text, path, os.path.realpath(path)) if text.strip() else ():
        if any(is_within(project, folder) for project in stored):
            return folder.rstrip("/") or folder
    tail = text.strip("/\\")
    named = [project for project in stored if tail and project.replace("\\", "/").endswith(f"/{tail}")]
    if not named:
        raise NotFoundError(
            Message("Nothing is stored of a project {text!r}. `kizami project list` shows them.", text=text)
        )
    if len(named) > 1:
        raise NotFoundError(
            Message(
                "{text!r} can be each of {count} projects: {names}. Write the whole path.",
                text=text,
                count=len(named),
                names=", ".join(sorted(named)),
            )
        )
    return named[0]


def count_rows(connection: sqlite3.Connection, project_path: str) -> Rows:
    """Return how many rows carry the path."""
    return Rows(
        *connection.execute(
            """SELECT count(DISTINCT session_id), count(*) FROM chunks WHERE project_path = ?""",
            (project_path,),
        ).fetchone()
    )


def move_session_rows(connection: sqlite3.Connection, session_id: str, old: str, new: str) -> int:
    """Bring a session's chunks of one project to another, in the caller's transaction; return how many."""
    return connection.execute(
        """UPDATE chunks SET project_path = ? WHERE session_id = ? AND project_path = ?""",
        (new, session_id, old),
    ).rowcount


def move_rows(connection: sqlite3.Connection, old: str, new: str) -> Rows:
    """Give everything stored of a project another path, inside the caller's transaction."""
    rows = count_rows(connection, old)
    connection.execute("""UPDATE chunks SET project_path = ? WHERE project_path = ?""", (new, old))
    connection.execute("""UPDATE sessions SET project_path = ? WHERE project_path = ?""", (new, old))
    return rows
