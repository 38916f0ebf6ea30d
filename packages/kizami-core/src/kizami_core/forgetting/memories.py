"""Forgetting in the database: chunks, and what was learnt from their turns."""

from __future__ import annotations

from itertools import groupby

from kizami_core.archive.joining import join
from kizami_core.maintenance.deletion import remove_chunks
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import ids_of_turn, session_chunks
from kizami_core.storage.resolutions import remove_deleted_resolutions, session_resolutions
from kizami_core.storage.sessions import (
    drop_empty_sessions,
    list_sessions,
    refresh_session,
    refresh_sessions,
)
from kizami_core.storage.turn_states import TurnState, session_ids, turn_state, write_state
from kizami_core.storage.turns import awaited_answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

    from kizami_core.forgetting.wanted import Wanted
    from kizami_core.records import Chunk
    from kizami_core.storage.chunks import Deleted


def chunks_holding(connection: sqlite3.Connection, wanted: Wanted) -> list[int]:
    """Return the ids of the chunks that hold a text, sub-agents' too; every chunk is read once.

    All chunks of a turn count where none of them holds it but what was learnt from the turn does: the error
    of a command, or an answer that its transcript did not hold yet.
    """
    found: set[int] = set()
    for session_id in list(session_ids(connection, wanted.project_path)):
        chunks = [
            chunk for chunk in session_chunks(connection, session_id) if wanted.is_of(chunk.project_path)
        ]
        for _, turn in groupby(chunks, key=lambda chunk: chunk.turn_id):
            found |= _held(wanted, list(turn))
        told = {
            uuid
            for uuid, command, error, _ in session_resolutions(connection, session_id)
            if wanted.is_held_by(command) or wanted.is_held_by(error)
        }
        answers = awaited_answers(connection, session_id)
        told |= {uuid for uuid, answer in answers.items() if wanted.is_held_by(answer.text)}
        for uuid in told:
            ids = ids_of_turn(connection, uuid)
            if found.isdisjoint(ids):
                found.update(ids)
    return sorted(found)


def _held(wanted: Wanted, chunks: list[Chunk]) -> set[int]:
    found = wanted.places({chunk.id: chunk.content for chunk in chunks})
    return found | {
        chunk.id
        for chunk in chunks
        if wanted.is_held_by("\0".join(text for texts in chunk.metadata.as_dict().values() for text in texts))
    }


def erase_chunks(connection: sqlite3.Connection, wanted: Wanted, ids: list[int], *, now: float) -> Deleted:
    """Delete the chunks that hold a text inside the caller's transaction, as a person's deletion.

    What was learnt from their turns goes with them, and so does what other programs left of the text.
    """
    deleted = remove_chunks(
        connection, ids, action="forget", reason="text named by a person", now=now, is_for_good=True
    )
    drop_empty_sessions(connection)
    # What another program changed before still stands in the queue and in the rows of sessions.
    word_index.refresh(connection)
    sessions = list_sessions(connection, include_agents=True)
    refresh_sessions(
        connection,
        [
            session.session_id
            for session in sessions
            if any(wanted.is_held_by(text or "") for text in (session.first_message, session.last_message))
        ],
    )
    return deleted


def keep_away(
    connection: sqlite3.Connection, uuid: str, session_id: str, started_at: str, places: Collection[int]
) -> None:
    """Let nothing bring parts of a turn in, now or later, inside the caller's transaction.

    What the database holds at these places stays, for it was looked at: it is another reading of the turn,
    which from now on is the last one.
    """
    known = turn_state(connection, uuid)
    kept = known.parts if known else {}
    away = TurnState(
        uuid=uuid,
        session_id=session_id,
        started_at=started_at,
        tie=0,
        reading="dropped",
        text_length=0,
        part_count=0,
        awaited_answer=None,
        awaited_after=None,
        is_deleted=False,
        deleted_parts=frozenset(places) - kept.keys(),
        parts={},
    )
    joined = away if known is None else join(known, away)
    if joined.reading == "open" and not kept.keys().isdisjoint(places):
        joined = joined.replace(reading="settled")
    if joined == known:
        return
    write_state(connection, joined, project_path="", is_agent=False, imported_at="")
    remove_deleted_resolutions(connection, joined.session_id)
    refresh_session(connection, joined.session_id)
