"""Archives: databases that saved, edited, deleted and forgot different things become one and the same."""

import contextlib
import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.archive.joining import join
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import import_archive
from kizami_core.archive.writing import export_archive
from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.errors import NotFoundError
from kizami_core.maintenance.deletion import remove_chunks
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.records import Metadata
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.marks import set_mark
from kizami_core.storage.project_aliases import add_alias
from kizami_core.storage.sessions import refresh_session
from kizami_core.storage.turn_states import Part, TurnState
from kizami_core.storage.turns import NewTurn, store_turn
from kizami_core.transcript.awaiting import AwaitedAnswer
from kizami_core.transcript.outcomes import Outcome

_NOW = 1_780_000_000.0
_TURNS = [("one", "2026-01-01 00:00:00"), ("two", "2026-01-01 00:00:00"), ("three", "2026-01-02 00:00:00")]


def _export(connection):
    return list(export_archive(connection))


def _import(connection, lines):
    return import_archive(connection, read_lines([line.encode() for line in lines], "archive"), now=_NOW)


@contextlib.contextmanager
def _databases(count):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(contextlib.closing(open_database(f"{folder}/{number}.db")))
            for number in range(count)
        ]


def _save(connection, turn, length, session, pieces):
    uuid, started_at = _TURNS[turn]
    chunks = [
        NewChunk(f"{uuid} {length} {piece}", "mixed", Metadata((f"{uuid}.py",)), 1) for piece in range(pieces)
    ]
    awaited = AwaitedAnswer("told", 1) if length == 2 and pieces == 2 else None
    outcomes = [Outcome(f"make {uuid}", f"Error {uuid}", is_resolved=True, has_succeeded=True)]
    with transaction(connection):
        new = NewTurn(uuid, started_at, length, chunks, awaited, outcomes)
        change = store_turn(connection, session, f"/{session}", new)
        if change:
            refresh_session(connection, change.session_id)
        word_index.refresh(connection)


def _insert_unidentified(connection, session, index, text):
    with transaction(connection):
        connection.execute(
            "INSERT OR IGNORE INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
            " VALUES (?, ?, ?, ?, 'human', '2025-12-31T00:00:00Z')",
            (session, f"/{session}", index, text),
        )
        refresh_session(connection, session)
        word_index.refresh(connection)


def _ids(connection):
    return [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY session_id, chunk_index")]


def _remove(connection, ids):
    """Remove chunks as retention and merging do."""
    with transaction(connection):
        remove_chunks(connection, ids, action="delete-old", reason="old", now=_NOW, is_for_good=False)


_NUMBER = st.integers(0, 5)
_OPERATION = st.one_of(
    st.tuples(
        st.just("save"), st.integers(0, 2), st.integers(1, 3), st.sampled_from("ab"), st.integers(0, 3)
    ),
    st.tuples(st.just("unidentified"), st.sampled_from(["ts", "a"]), st.integers(0, 2)),
    st.tuples(st.just("edit"), _NUMBER, st.sampled_from(["edited", "直した"]), st.integers(0, 3)),
    st.tuples(st.just("delete"), _NUMBER),
    st.tuples(st.just("delete session"), st.sampled_from(["a", "b", "ts"])),
    st.tuples(st.just("remove"), _NUMBER),
    st.tuples(st.just("remove all"), _NUMBER),
    st.tuples(st.just("move"), st.integers(0, 3)),
    st.tuples(st.just("import"), st.integers(0, 2)),
)


def _apply(databases, number, operation):
    connection = databases[number]
    kind, *values = operation
    ids = _ids(connection)
    if kind == "save":
        _save(connection, *values)
    elif kind == "unidentified":
        _insert_unidentified(connection, values[0], values[1], f"of database {number}")
    elif kind == "import":
        _import(connection, _export(databases[values[0]]))
    elif kind == "delete session":
        with contextlib.suppress(NotFoundError):
            delete_session(connection, values[0], now=_NOW)
    elif kind == "move":
        with transaction(connection):
            add_alias(connection, "/nowhere", f"/new{values[0]}", now=_NOW + values[0])
    elif not ids:
        return
    elif kind == "edit":
        edit_chunk(connection, str(ids[values[0] % len(ids)]), values[1], now=_NOW + values[2])
    elif kind == "delete":
        delete_chunks(connection, [str(ids[values[0] % len(ids)])], now=_NOW)
    elif kind == "remove":
        _remove(connection, [ids[values[0] % len(ids)]])
    else:
        session = connection.execute(
            "SELECT session_id FROM chunks WHERE id = ?", (ids[values[0] % len(ids)],)
        ).fetchone()
        _remove(
            connection,
            [row[0] for row in connection.execute("SELECT id FROM chunks WHERE session_id = ?", session)],
        )


@settings(max_examples=50, deadline=None)
@given(
    history=st.lists(st.tuples(st.integers(0, 2), _OPERATION), max_size=14),
    orders=st.lists(st.permutations([0, 1, 2]), min_size=3, max_size=3),
)
def test_databases_that_import_each_other_in_any_order_are_equal(history, orders):
    with _databases(4) as (*databases, empty):
        for number, operation in history:
            _apply(databases, number, operation)
        exports = [_export(connection) for connection in databases]
        for connection, order in zip(databases, orders, strict=True):
            for number in order:
                _import(connection, exports[number])
        results = [_export(connection) for connection in databases]
        assert results[0] == results[1] == results[2]
        for connection in databases:
            report = _import(connection, exports[0])
            assert (report.turns_added, report.turns_changed) == (0, 0)
            assert check(connection) == IntegrityReport((), ())
        _import(empty, results[0])
        assert _export(empty) == results[0]


_TEXT = st.sampled_from(["", "a", "b"])
_PART = st.builds(
    Part,
    content=_TEXT,
    role=st.just("mixed"),
    metadata=st.just("{}"),
    created_at=_TEXT,
    token_count=st.integers(0, 1),
    edited_at=st.none() | st.sampled_from(["2026-01-01 00:00:00", "2026-01-02 00:00:00"]),
    marks=st.just(()),
)
_STATE = st.builds(
    TurnState,
    uuid=st.just("turn"),
    session_id=_TEXT,
    started_at=_TEXT,
    tie=st.integers(0, 1),
    reading=st.sampled_from(["dropped", "open", "settled"]),
    text_length=st.integers(0, 1),
    part_count=st.integers(0, 2),
    awaited_answer=st.none(),
    awaited_after=st.none() | st.integers(0, 1),
    is_deleted=st.sampled_from([False, False, False, True]),
    deleted_parts=st.frozensets(st.integers(0, 2), max_size=1),
    parts=st.dictionaries(st.integers(0, 2), _PART, max_size=2),
)


@given(one=_STATE, other=_STATE, third=_STATE, is_unidentified=st.booleans())
def test_joining_is_a_least_upper_bound(one, other, third, is_unidentified):
    if is_unidentified:
        one, other, third = (
            state.replace(
                uuid="unidentified:s",
                reading="open",
                session_id="s",
                text_length=0,
                part_count=0,
                tie=0,
                awaited_after=None,
            )
            for state in (one, other, third)
        )
    # What maintenance dropped has no chunks.
    known = [
        state.replace(parts={}) if state.reading == "dropped" else state for state in (one, other, third)
    ]
    one, other, third = (join(state, state) for state in known)
    assert join(one, one) == one
    assert join(one, other) == join(other, one)
    assert join(join(one, other), third) == join(one, join(other, third))


@settings(max_examples=20, deadline=None)
@given(
    marks=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from(["muted", "pinned"])), max_size=6
    ),
    lengths=st.tuples(st.integers(3, 4), st.integers(3, 4)),
)
def test_marks_are_joined_whatever_reading_each_database_has(marks, lengths):
    with _databases(2) as databases:
        for connection, length in zip(databases, lengths, strict=True):
            _save(connection, 0, length, "a", pieces=length)
        expected = {}
        for number, part, mark in marks:
            with transaction(databases[number]):
                set_mark(databases[number], [_ids(databases[number])[part]], mark)
            expected.setdefault(part, set()).add(mark)
        exports = [_export(connection) for connection in databases]
        for number, connection in enumerate(databases):
            _import(connection, exports[1 - number])
            rows = connection.execute(
                "SELECT c.part, m.mark FROM marks m JOIN chunks c ON c.id = m.chunk_id ORDER BY 1, 2"
            ).fetchall()
            assert rows == sorted((part, mark) for part, names in expected.items() for mark in names)
        assert _export(databases[0]) == _export(databases[1])
