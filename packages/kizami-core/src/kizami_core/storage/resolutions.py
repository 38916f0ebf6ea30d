"""The table ``resolutions``: commands that failed, and the turn in which the very same one succeeded.

A failure waits (``resolved_turn`` is NULL) until its session goes on, in the same save or in a later one.
What fixed an error is not stored: it stands in the chunks of the two turns and between them. Nothing here
opens a transaction.
"""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from kizami_core.transcript.outcomes import Outcome


class ResolvedFailure(Record):
    """A command that failed in one turn and succeeded in the same one or in a later one of the session."""

    id: int
    session_id: str
    command: str
    error: str
    failed_turn: int
    resolved_turn: int


_COLUMNS = """r.id, r.session_id, r.command, r.error, r.failed_turn, r.resolved_turn"""


def store_outcomes(
    connection: sqlite3.Connection,
    session_id: str,
    turn_id: int,
    outcomes: Iterable[Outcome],
    *,
    is_new_reading: bool,
) -> None:
    """Store what a turn says of its commands, and resolve what waited for it.

    Readings of a growing turn come in any order and any number: the first later turn in which the command
    succeeded counts. A turn that is read again and says nothing new brings no failure back that was removed.
    """
    for outcome in outcomes:
        if outcome.has_succeeded:
            connection.execute(
                """
                UPDATE resolutions SET resolved_turn = :turn
                WHERE session_id = :session AND command = :command AND failed_turn < :turn
                  AND (resolved_turn IS NULL OR resolved_turn > :turn)
                """,
                {"turn": turn_id, "session": session_id, "command": outcome.command},
            )
        if outcome.error is not None and is_new_reading:
            connection.execute(
                """
                INSERT INTO resolutions(session_id, command, error, failed_turn, resolved_turn)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT(failed_turn, command) DO UPDATE SET
                  error = excluded.error, resolved_turn = coalesce(excluded.resolved_turn, resolved_turn)
                """,
                (
                    session_id,
                    outcome.command,
                    outcome.error,
                    turn_id,
                    turn_id if outcome.is_resolved else None,
                ),
            )


def move_resolutions(connection: sqlite3.Connection, turn_id: int, session_id: str) -> None:
    """Follow a turn that moved to another session: pairs with turns that stayed behind are undone.

    The reading that moved it goes on to the turns after it, and what succeeded in those counts again.
    """
    connection.execute(
        """
        UPDATE resolutions SET session_id = :session,
          resolved_turn = CASE WHEN resolved_turn = :turn THEN resolved_turn END
        WHERE failed_turn = :turn
        """,
        {"session": session_id, "turn": turn_id},
    )
    connection.execute(
        """UPDATE resolutions SET resolved_turn = NULL WHERE resolved_turn = ? AND session_id <> ?""",
        (turn_id, session_id),
    )


def remove_resolutions(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> None:
    """Delete what was learnt from the turns of these chunks, before the chunks themselves go."""
    connection.executemany(
        """
        DELETE FROM resolutions
        WHERE failed_turn = (SELECT turn_id FROM chunks WHERE id = :chunk)
           OR resolved_turn = (SELECT turn_id FROM chunks WHERE id = :chunk)
        """,
        [{"chunk": chunk_id} for chunk_id in chunk_ids],
    )


def forget_failures(connection: sqlite3.Connection, moment: str) -> None:
    """Delete the failures of turns before ``moment`` (UTC text) that nothing resolved."""
    connection.execute(
        """
        DELETE FROM resolutions
        WHERE resolved_turn IS NULL AND failed_turn IN (SELECT id FROM turns WHERE started_at < ?)
        """,
        (moment,),
    )


def resolutions_of_turns(connection: sqlite3.Connection, turn_ids: Sequence[int]) -> list[ResolvedFailure]:
    """Return the resolved failures of these turns (a few tens at most), oldest first."""
    places = ", ".join("?" * len(turn_ids))
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM resolutions r
        WHERE r.failed_turn IN ({places}) AND r.resolved_turn IS NOT NULL ORDER BY r.id
        """,  # noqa: S608 - the columns are this module's
        tuple(turn_ids),
    )
    return [ResolvedFailure(*row) for row in rows]


def resolved_failures(
    connection: sqlite3.Connection, *, project_path: str | None, include_agents: bool = False
) -> list[ResolvedFailure]:
    """Return the resolved failures of one project, or of all (None), the latest one first."""
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM resolutions r
        JOIN sessions s ON s.session_id = r.session_id
        JOIN turns t ON t.id = r.resolved_turn
        WHERE (:project IS NULL OR s.project_path = :project) AND (:agents OR s.parent_session_id IS NULL)
        ORDER BY t.started_at DESC, r.id DESC
        """,  # noqa: S608
        {"project": project_path, "agents": include_agents},
    )
    return [ResolvedFailure(*row) for row in rows]


def session_resolutions(
    connection: sqlite3.Connection, session_id: str
) -> list[tuple[str, str, str, str | None]]:
    """Return the failures of a session: turn, command, error, the turn that resolved it; turns as uuids."""
    return connection.execute(
        """
        SELECT f.uuid, r.command, r.error, s.uuid FROM resolutions r
        JOIN turns f ON f.id = r.failed_turn LEFT JOIN turns s ON s.id = r.resolved_turn
        WHERE r.session_id = ? ORDER BY f.uuid, r.command
        """,
        (session_id,),
    ).fetchall()


def join_resolution(
    connection: sqlite3.Connection, failed: str, command: str, error: str, resolved: str | None
) -> str | None:
    """Add what another database knows of a failure, turns named by uuid, inside the caller's transaction.

    The earliest turn that resolved it counts. Nothing is learnt from turns that are not known here. Returns
    the session that the failure belongs to here.
    """
    ids = {
        uuid: row[0]
        for uuid in (failed, resolved)
        if (row := connection.execute("""SELECT id FROM turns WHERE uuid = ?""", (uuid,)).fetchone())
    }
    if failed not in ids:
        return None
    session_id: str = connection.execute(
        """
        INSERT INTO resolutions(session_id, command, error, failed_turn, resolved_turn)
        SELECT session_id, :command, :error, id, :resolved FROM turns WHERE id = :failed
        ON CONFLICT(failed_turn, command) DO UPDATE SET
          error = max(error, excluded.error),
          resolved_turn = (
            SELECT id FROM turns WHERE id IN (resolved_turn, excluded.resolved_turn)
            ORDER BY started_at, tie, uuid LIMIT 1
          )
        RETURNING session_id
        """,
        {"command": command, "error": error, "failed": ids[failed], "resolved": ids.get(resolved)},
    ).fetchone()[0]
    return session_id


def remove_deleted_resolutions(connection: sqlite3.Connection, session_id: str) -> None:
    """Delete what was learnt from turns of a session of which a person deleted something."""
    connection.execute(
        """
        DELETE FROM resolutions WHERE session_id = :session AND EXISTS (
          SELECT 1 FROM turns t WHERE t.id IN (failed_turn, resolved_turn)
            AND (t.is_deleted OR EXISTS (SELECT 1 FROM deleted_parts d WHERE d.turn_id = t.id))
        )
        """,
        {"session": session_id},
    )
