"""What the database knows of each turn, as one value: read to be exported, written when archives are merged.

A turn is known by its uuid. The chunks of a session that belong to no turn (the TypeScript Kizami's) make one
value together, under the uuid ``unidentified:<session>``, where the chunk's index is its place.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.storage.chunk_changes import unidentified_mark
from kizami_core.storage.marks import set_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from kizami_core.records import Role
    from kizami_core.storage.marks import Mark

    Reading = Literal["dropped", "open", "settled"]

_UNIDENTIFIED = unidentified_mark("")
_COLUMNS = """id, uuid, session_id, started_at, tie, reading, text_length, part_count, awaited_answer,
       awaited_after, is_deleted"""
_BEHIND = -(2**40)  # no row id makes an index below it, see _make_room
_INSERT = """
INSERT INTO chunks(content, role, metadata, created_at, token_count, edited_at, session_id, project_path,
                   turn_id, part, is_agent, imported_at, chunk_index)
VALUES (:content, :role, :metadata, :created_at, :token_count, :edited_at, :session, :project, :turn,
        :part, :is_agent, :imported_at,
        coalesce(:index, (SELECT min(coalesce(min(chunk_index), 0), :behind) - 1 FROM chunks
                          WHERE session_id = :session)))
RETURNING id
"""
_PARTS = """id, part, content, role, metadata, created_at, token_count, edited_at"""


class Part(Record):
    """One chunk of a turn. ``metadata`` is the column's JSON; ``edited_at`` None: no person changed it."""

    content: str
    role: Role
    metadata: str
    created_at: str
    token_count: int
    edited_at: str | None
    marks: tuple[Mark, ...] = ()


class TurnState(Record):
    """All that is known of a turn (the columns stand in ``schema``); parts by their place in it.

    ``started_at`` of an unidentified one is "" unless a person changed or marked a part of it.
    """

    uuid: str
    session_id: str
    started_at: str
    tie: int
    reading: Reading
    text_length: int
    part_count: int
    awaited_answer: str | None
    awaited_after: int | None
    is_deleted: bool
    deleted_parts: frozenset[int]
    parts: Mapping[int, Part]

    @property
    def is_unidentified(self) -> bool:
        """Whether it stands for the chunks of a session that belong to no turn."""
        return self.uuid.startswith(_UNIDENTIFIED)

    @property
    def is_locked(self) -> bool:
        """Whether a later save must leave it as it is."""
        return (
            self.is_unidentified
            or self.reading != "open"
            or self.is_deleted
            or bool(self.deleted_parts)
            or len(self.parts) < self.part_count
            or any(part.edited_at for part in self.parts.values())
        )


def session_ids(connection: sqlite3.Connection, project_path: str | None) -> Iterator[str]:
    """Yield the sessions of which anything is known, of one project or of all (None), ordered by id."""
    rows = connection.execute(
        """
        SELECT session_id FROM turns
        WHERE :project IS NULL
          OR session_id IN (SELECT session_id FROM sessions WHERE project_path = :project)
        UNION
        SELECT session_id FROM chunks WHERE :project IS NULL OR project_path = :project
        ORDER BY session_id
        """,
        {"project": project_path},
    )
    for row in rows:
        yield row[0]


def session_states(connection: sqlite3.Connection, session_id: str) -> Iterator[TurnState]:
    """Yield what is known of a session: the chunks without a turn, then the turns by their time."""
    unidentified = turn_state(connection, unidentified_mark(session_id))
    if unidentified is not None:
        yield unidentified
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM turns WHERE session_id = ? AND uuid <> ? ORDER BY started_at, tie, uuid
        """,  # noqa: S608 - the columns are this module's
        (session_id, unidentified_mark(session_id)),
    )
    for row in rows:
        yield _state(connection, row)


def turn_state(connection: sqlite3.Connection, uuid: str) -> TurnState | None:
    """Return what is known of one turn."""
    row = connection.execute(f"""SELECT {_COLUMNS} FROM turns WHERE uuid = ?""", (uuid,)).fetchone()  # noqa: S608
    if row is not None:
        return _state(connection, row)
    session_id = uuid.removeprefix(_UNIDENTIFIED)
    if session_id == uuid:
        return None
    state = _state(connection, (None, uuid, session_id, "", 0, "open", 0, 0, None, None, 0))
    return state if state.parts else None


def places_of(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[str, dict[str, set[int]]]:
    """Return where chunks stand: by session, then by the uuid of the turn, their places in it."""
    places: dict[str, dict[str, set[int]]] = {}
    for chunk_id in chunk_ids:
        for session_id, uuid, place in connection.execute(
            """
            SELECT c.session_id, coalesce(t.uuid, ? || c.session_id), coalesce(c.part, c.chunk_index)
            FROM chunks c LEFT JOIN turns t ON t.id = c.turn_id WHERE c.id = ?
            """,
            (_UNIDENTIFIED, chunk_id),
        ):
            places.setdefault(session_id, {}).setdefault(uuid, set()).add(place)
    return places


def write_state(
    connection: sqlite3.Connection,
    state: TurnState,
    *,
    project_path: str,
    is_agent: bool,
    imported_at: str,
) -> None:
    """Bring a turn to a state, inside the caller's transaction; rows that stay keep their ids.

    New chunks are put at negative indexes, until ``order_session``.
    """
    turn_id = _write_turn(connection, state)
    stored = dict(_part_rows(connection, turn_id, state))
    gone = [row_id for part, (row_id, _) in stored.items() if part not in state.parts]
    connection.executemany("""DELETE FROM chunks WHERE id = ?""", [(row_id,) for row_id in gone])
    if state.is_unidentified:
        _make_room(connection, state.session_id)
    for number, part in state.parts.items():
        row_id, before = stored.get(number, (None, None))
        columns = (part.content, part.role, part.metadata, part.created_at, part.token_count, part.edited_at)
        if row_id is None:
            values = {
                **part.as_dict(),
                "session": state.session_id,
                "project": project_path,
                "turn": None if state.is_unidentified else turn_id,
                "part": None if state.is_unidentified else number,
                "is_agent": is_agent,
                "imported_at": imported_at,
                "index": number if state.is_unidentified else None,
                "behind": _BEHIND,
            }
            del values["marks"]
            row_id = connection.execute(_INSERT, values).fetchone()[0]
        elif before != part:
            connection.execute(
                """
                UPDATE chunks SET content = ?, role = ?, metadata = ?, created_at = ?, token_count = ?,
                  edited_at = ?
                WHERE id = ?
                """,
                (*columns, row_id),
            )
        for mark in part.marks:
            set_mark(connection, [row_id], mark)


def move_turn(connection: sqlite3.Connection, uuid: str, session_id: str, project_path: str) -> None:
    """Move the chunks of a turn and what was learnt from it to another session; ``order_session`` follows."""
    connection.execute(
        """
        UPDATE chunks SET session_id = ?, project_path = ?, chunk_index = -1 - id
        WHERE turn_id = (SELECT id FROM turns WHERE uuid = ?)
        """,
        (session_id, project_path, uuid),
    )
    connection.execute(
        """UPDATE resolutions SET session_id = ? WHERE failed_turn = (SELECT id FROM turns WHERE uuid = ?)""",
        (session_id, uuid),
    )


def order_session(connection: sqlite3.Connection, session_id: str) -> None:
    """Give the chunks of a session their indexes: those without a turn keep theirs, turns follow by time."""
    rows = connection.execute(
        """
        SELECT c.id, c.chunk_index, c.turn_id FROM chunks c LEFT JOIN turns t ON t.id = c.turn_id
        WHERE c.session_id = ?
        ORDER BY c.turn_id IS NOT NULL, t.started_at, t.tie, t.uuid, c.part, c.chunk_index
        """,
        (session_id,),
    ).fetchall()
    first = max((index + 1 for _, index, turn_id in rows if turn_id is None), default=0)
    chunks = [(row_id, index) for row_id, index, turn_id in rows if turn_id is not None]
    if all(index == number for number, (_, index) in enumerate(chunks, start=first)):
        return
    _make_room(connection, session_id)
    connection.executemany(
        """UPDATE chunks SET chunk_index = ? WHERE id = ?""",
        [(number, row_id) for number, (row_id, _) in enumerate(chunks, start=first)],
    )


def drop_repeated(connection: sqlite3.Connection, session_id: str) -> int:
    """Delete the chunks without a turn that say what identified turns of the session say; return how many.

    As a save does (``turn_writer``): those that a person edited or marked stay, and so does what is older
    than the first identified turn.
    """
    return connection.execute(
        """
        DELETE FROM chunks
        WHERE session_id = :session AND turn_id IS NULL AND edited_at IS NULL
          AND id NOT IN (SELECT chunk_id FROM marks)
          AND datetime(created_at) >= (
            SELECT min(datetime(started_at)) FROM turns
            WHERE session_id = :session AND uuid <> :unidentified AND (is_deleted OR reading <> 'dropped')
          )
        """,
        {"session": session_id, "unidentified": unidentified_mark(session_id)},
    ).rowcount


def _state(connection: sqlite3.Connection, row: tuple[object, ...]) -> TurnState:
    turn_id, *columns, is_deleted = row
    state = TurnState(*columns, bool(is_deleted), frozenset(), {})  # type: ignore[arg-type,call-arg]  # the table's types
    if state.is_unidentified:
        state = state.replace(reading="open")  # of none: their transcript was never read
    deleted = connection.execute("""SELECT part FROM deleted_parts WHERE turn_id = ?""", (turn_id,))
    return state.replace(
        deleted_parts=frozenset(part for (part,) in deleted),
        parts={number: part for number, (_, part) in _part_rows(connection, turn_id, state)},
    )


def _part_rows(
    connection: sqlite3.Connection, turn_id: object, state: TurnState
) -> Iterator[tuple[int, tuple[int, Part]]]:
    """Yield the parts of a turn in order: the place, the row's id and the part."""
    if state.is_unidentified:
        where, value = """session_id = ? AND turn_id IS NULL""", state.session_id
    else:
        where, value = """turn_id = ?""", turn_id  # type: ignore[assignment]  # a row id
    rows = connection.execute(
        f"""SELECT {_PARTS}, chunk_index FROM chunks WHERE {where} ORDER BY chunk_index""",  # noqa: S608
        (value,),
    ).fetchall()
    for position, (row_id, number, content, role, metadata, *rest, index) in enumerate(rows):
        marks = connection.execute("""SELECT mark FROM marks WHERE chunk_id = ? ORDER BY mark""", (row_id,))
        part = Part(content, role, metadata or "{}", *rest, tuple(mark for (mark,) in marks))  # type: ignore[call-arg]
        place = index if state.is_unidentified else position if number is None else number
        yield place, (row_id, part)


def _write_turn(connection: sqlite3.Connection, state: TurnState) -> int | None:
    """Write the row of a turn and what a person deleted of it; return its id, None where there is none."""
    if state.is_unidentified and not (state.started_at or state.deleted_parts or state.is_deleted):
        return None
    turn_id: int = connection.execute(
        """
        INSERT INTO turns(uuid, session_id, started_at, tie, reading, text_length, part_count, awaited_answer,
                          awaited_after, is_deleted, is_locked)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(uuid) DO UPDATE SET
          session_id = excluded.session_id, started_at = excluded.started_at, tie = excluded.tie,
          reading = excluded.reading, text_length = excluded.text_length, part_count = excluded.part_count,
          awaited_answer = excluded.awaited_answer, awaited_after = excluded.awaited_after,
          is_deleted = excluded.is_deleted, is_locked = excluded.is_locked
        RETURNING id
        """,
        (state.uuid, state.session_id, state.started_at, state.tie, state.reading, state.text_length,
         state.part_count, state.awaited_answer, state.awaited_after, state.is_deleted, state.is_locked),
    ).fetchone()[0]  # fmt: skip
    connection.execute("""DELETE FROM deleted_parts WHERE turn_id = ?""", (turn_id,))
    connection.executemany(
        """INSERT INTO deleted_parts(turn_id, part) VALUES (?, ?)""",
        [(turn_id, part) for part in sorted(state.deleted_parts)],
    )
    return turn_id


def _make_room(connection: sqlite3.Connection, session_id: str) -> None:
    """Put the chunks of a session's turns at negative indexes: each index must stay unique."""
    connection.execute(
        """
        UPDATE chunks SET chunk_index = -1 - id
        WHERE session_id = ? AND turn_id IS NOT NULL
        """,
        (session_id,),
    )
