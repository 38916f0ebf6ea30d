"""The table ``sessions``: one row for each session that has chunks, derived from them."""

from __future__ import annotations

from kizami_core.errors import NotFoundError
from kizami_core.messages import Message
from kizami_core.records import Session
from kizami_core.transcript.graphemes import boundary_before
from kizami_core.transcript.rendering import ASSISTANT_MARK, TOOL_MARK, USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_DERIVED = """session_id, project_path, started_at, ended_at, chunk_count, first_message, last_message"""
_COLUMNS = f"""{_DERIVED}, parent_session_id"""
_MESSAGE_LENGTH = 200  # characters
_SHOWN_CANDIDATES = 5
_PROMPT_MARK = f"{USER_MARK}\n"
_OPENING_MARKS = (_PROMPT_MARK, f"{ASSISTANT_MARK}\n")
_ANSWER_MARKS = (f"\n\n{ASSISTANT_MARK}", f"\n\n{TOOL_MARK}")


def refresh_session(connection: sqlite3.Connection, session_id: str) -> bool:
    """Bring a session's row in line with its chunks, inside the caller's transaction.

    A session without chunks loses its row; the result says whether that happened now.
    """
    count, started_at, ended_at = connection.execute(
        """SELECT count(*), min(created_at), max(created_at) FROM chunks WHERE session_id = ?""",
        (session_id,),
    ).fetchone()
    if not count:
        return connection.execute("""DELETE FROM sessions WHERE session_id = ?""", (session_id,)).rowcount > 0
    project_path, first = connection.execute(
        """SELECT project_path, content FROM chunks WHERE session_id = ? ORDER BY chunk_index LIMIT 1""",
        (session_id,),
    ).fetchone()
    # A long prompt takes several chunks; the first one of its turn is where it begins.
    last = connection.execute(
        """
        SELECT coalesce(
          (SELECT content FROM chunks WHERE turn_id = latest.turn_id ORDER BY chunk_index LIMIT 1),
          latest.content
        )
        FROM (
          SELECT turn_id, content FROM chunks WHERE session_id = ? AND substr(content, 1, ?) = ?
          ORDER BY chunk_index DESC LIMIT 1
        ) AS latest
        """,
        (session_id, len(_PROMPT_MARK), _PROMPT_MARK),
    ).fetchone()
    connection.execute(
        f"""
        INSERT INTO sessions({_DERIVED}) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(session_id) DO UPDATE SET
          project_path = excluded.project_path,
          started_at = excluded.started_at, ended_at = excluded.ended_at, chunk_count = excluded.chunk_count,
          first_message = excluded.first_message,
          last_message = excluded.last_message
        """,  # noqa: S608 - the columns are this module's
        (
            session_id,
            project_path,
            started_at,
            ended_at,
            count,
            _message(first),
            _message(last[0] if last else first),
        ),
    )
    return False


def refresh_sessions(connection: sqlite3.Connection, session_ids: Iterable[str]) -> int:
    """Do ``refresh_session`` for each; return how many lost their row."""
    return sum(refresh_session(connection, session_id) for session_id in session_ids)


def agent_sessions(connection: sqlite3.Connection, session_id: str) -> list[str]:
    """Return the ids of the sessions of a session's sub-agents, the first one first."""
    rows = connection.execute(
        """SELECT session_id FROM sessions WHERE parent_session_id = ? ORDER BY started_at, session_id""",
        (session_id,),
    )
    return [row[0] for row in rows]


def name_parent(connection: sqlite3.Connection, session_id: str, parent: str) -> None:
    """Note that a session is a sub-agent's, and which session started it ("": unknown)."""
    connection.execute(
        """
        UPDATE sessions SET parent_session_id = ?
        WHERE session_id = ? AND coalesce(parent_session_id, '') = ''
        """,
        (parent, session_id),
    )


def drop_empty_sessions(connection: sqlite3.Connection) -> None:
    """Delete the rows of sessions without chunks (the TypeScript Kizami left them behind)."""
    connection.execute(
        """
        DELETE FROM sessions
        WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.session_id = sessions.session_id)
        """
    )


def move_session(connection: sqlite3.Connection, session_id: str, project_path: str) -> int:
    """Bring the chunks of a session to a project; return how many stood elsewhere."""
    return connection.execute(
        """UPDATE chunks SET project_path = ? WHERE session_id = ? AND project_path <> ?""",
        (project_path, session_id, project_path),
    ).rowcount


def list_sessions(
    connection: sqlite3.Connection,
    *,
    project_path: str | None = None,
    limit: int | None = None,
    include_agents: bool = False,
) -> list[Session]:
    """Return the sessions of one project, or of all (None), the last one first.

    Those of sub-agents are left out unless ``include_agents``.
    """
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM sessions
        WHERE (:project IS NULL OR project_path = :project) AND (:agents OR parent_session_id IS NULL)
        ORDER BY datetime(ended_at) DESC, session_id LIMIT :limit
        """,  # noqa: S608
        {"project": project_path, "agents": include_agents, "limit": -1 if limit is None else limit},
    )
    return [Session(*row) for row in rows]


def stored_session(connection: sqlite3.Connection, session_id: str) -> Session | None:
    """Return the session with exactly this id."""
    row = connection.execute(
        f"""SELECT {_COLUMNS} FROM sessions WHERE session_id = ?""",  # noqa: S608
        (session_id,),
    ).fetchone()
    return Session(*row) if row else None


def find_session(connection: sqlite3.Connection, prefix: str) -> Session:
    """Return the session with this id, or the only one whose id begins so; sub-agents' come second.

    Raises:
        NotFoundError: there is none, or more than one.
    """
    exact = stored_session(connection, prefix)
    if exact is not None:
        return exact
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM sessions WHERE substr(session_id, 1, ?) = ? ORDER BY ended_at DESC, session_id
        """,  # noqa: S608
        (len(prefix), prefix),
    ).fetchall()
    own = [row for row in rows if row[-1] is None]
    if len(own) == 1 and prefix:
        return Session(*own[0])
    if not rows or not prefix:
        raise NotFoundError(
            Message(
                "There is no session {prefix!r}. `kizami list --all-projects` shows the ids.", prefix=prefix
            )
        )
    if len(rows) > 1:
        names = ", ".join(row[0] for row in rows[:_SHOWN_CANDIDATES])
        if len(rows) > _SHOWN_CANDIDATES:
            names = Message("{names} and {count} more", names=names, count=len(rows) - _SHOWN_CANDIDATES)
        raise NotFoundError(
            Message(
                "{prefix!r} begins the ids of {count} sessions: {names}. Write more of the one.",
                prefix=prefix,
                count=len(rows),
                names=names,
            )
        )
    return Session(*rows[0])


def _message(content: str) -> str:
    """Return the beginning of what a person wrote in a chunk, where none did of what stands there instead."""
    text = content
    opening = next((mark for mark in _OPENING_MARKS if content.startswith(mark)), None)
    if opening is not None:
        ends = [end for mark in _ANSWER_MARKS if (end := text.find(mark, len(opening) - 2)) >= 0]
        text = text[len(opening) : min(ends, default=len(text))]
    text = text.strip()
    return text[: boundary_before(text, min(len(text), _MESSAGE_LENGTH))]
