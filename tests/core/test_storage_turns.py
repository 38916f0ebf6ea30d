"""Turns into rows: the identity of a turn, its place in the session, and what is left alone."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.records import Metadata, Session
from kizami_core.retrieval import word_index
from kizami_core.storage.chunk_changes import delete_chunks, update_chunk
from kizami_core.storage.chunks import NewChunk, find_chunk, ids_of_session, session_chunks
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.new_chunks import NewChunks
from kizami_core.storage.sessions import refresh_session, stored_session
from kizami_core.storage.turns import NewTurn, TurnChange, store_turn

_TIME = "2026-03-04 05:06:07"


def _piece(text):
    return NewChunk(text, "mixed", Metadata((f"{text}.py",), ("Edit",), ()), len(text))


def _turn(uuid, *texts, started_at=_TIME, length=None):
    text_length = sum(map(len, texts)) if length is None else length
    return NewTurn(uuid, started_at, text_length, [_piece(text) for text in texts])


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    with transaction(connection):
        word_index.refresh(connection)
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _store(connection, session_id, *turns, project="/p"):
    with transaction(connection):
        changes = [store_turn(connection, session_id, project, turn) for turn in turns]
        for changed in {session_id, *(change.session_id for change in changes if change)}:
            refresh_session(connection, changed)
    return changes


def _rows(connection, session_id):
    return [(chunk.chunk_index, chunk.content) for chunk in session_chunks(connection, session_id)]


def test_unknown_turns_go_to_the_end_of_their_session(connection):
    changes = _store(connection, "s", _turn("t1", "a", "b"), _turn("t2"), _turn("t3", "c"))
    assert changes == [TurnChange("s", 2, 0), None, TurnChange("s", 1, 0)]
    assert _rows(connection, "s") == [(0, "a"), (1, "b"), (2, "c")]
    chunk = find_chunk(connection, "1")
    assert (chunk.project_path, chunk.created_at, chunk.metadata, chunk.token_count) == (
        "/p",
        _TIME,
        Metadata(("a.py",), ("Edit",), ()),
        1,
    )


def test_gathered_chunks_go_where_they_would_have_gone_at_once(connection):
    turns = [(f"s{number % 3}", _turn(f"t{number}", *"abc"[: number % 4])) for number in range(150)]
    turns += [("s0", _turn("t1", "a", "longer")), ("s2", _turn("t4", "copy")), ("s0", _turn("t200", "last"))]
    with transaction(connection):
        gathered = NewChunks(connection)
        changes = [
            store_turn(connection, session, "/p", turn, new_chunks=gathered) for session, turn in turns
        ]
        gathered.insert()
        found = {session: _rows(connection, session) for session in ("s0", "s1", "s2")}
        connection.execute("DELETE FROM chunks")
        connection.execute("DELETE FROM turns")
        assert changes == [store_turn(connection, session, "/p", turn) for session, turn in turns]
        for session in found:
            refresh_session(connection, session)
    assert found == {session: _rows(connection, session) for session in ("s0", "s1", "s2")}
    assert found["s0"][-1] == (len(found["s0"]) - 1, "last")


def test_gathered_chunks_make_few_segments_of_the_index(connection):
    with transaction(connection):
        gathered = NewChunks(connection)
        for number in range(50):
            store_turn(
                connection, "s", "/p", _turn(f"t{number}", f"chunk number {number}"), new_chunks=gathered
            )
        gathered.insert()
        refresh_session(connection, "s")
    # With one row a statement there would be one for each.
    assert connection.execute("SELECT count(DISTINCT segid) FROM chunks_fts_idx").fetchone() == (1,)


def test_storing_the_same_turn_again_changes_nothing(connection):
    turn = _turn("t1", "a", "b")
    _store(connection, "s", turn)
    before = list(session_chunks(connection, "s"))
    changes_before = connection.total_changes
    with transaction(connection):
        assert store_turn(connection, "s", "/p", turn) is None
    assert connection.total_changes == changes_before
    assert list(session_chunks(connection, "s")) == before


def test_a_turn_that_grew_keeps_the_row_ids_of_its_chunks(connection):
    _store(connection, "s", _turn("t1", "a", "b"))
    before = ids_of_session(connection, "s")
    assert _store(connection, "s", _turn("t1", "a", "bb", "c")) == [TurnChange("s", 2, 0)]
    assert ids_of_session(connection, "s")[:2] == before
    assert _rows(connection, "s") == [(0, "a"), (1, "bb"), (2, "c")]


def test_a_turn_that_grows_in_the_middle_moves_the_later_ones(connection):
    _store(connection, "s", _turn("t1", "a"), _turn("t2", "b"), _turn("t3", "c", "d"))
    _store(connection, "s", _turn("t2", "b1", "b2", "b3"))
    assert _rows(connection, "s") == list(enumerate(["a", "b1", "b2", "b3", "c", "d"]))


def test_a_turn_that_takes_fewer_chunks_than_before_closes_the_gap(connection):
    _store(connection, "s", _turn("t1", "a", "b", "c", length=3), _turn("t2", "d"))
    assert _store(connection, "s", _turn("t1", "abc", length=3)) == [TurnChange("s", 1, 2)]
    assert _rows(connection, "s") == [(0, "abc"), (1, "d")]


def test_a_turn_without_text_that_gains_some_takes_its_own_place(connection):
    _store(connection, "s", _turn("t1", "a"), _turn("t2"), _turn("t3", "c"))
    _store(connection, "s", _turn("t2", "b"))
    assert _rows(connection, "s") == [(0, "a"), (1, "b"), (2, "c")]


def test_an_older_reading_of_a_turn_does_not_undo_a_newer_one(connection):
    _store(connection, "s", _turn("t1", "a", "b", "c"))
    assert _store(connection, "s", _turn("t1", "a")) == [None]
    assert _rows(connection, "s") == [(0, "a"), (1, "b"), (2, "c")]


def test_copies_in_a_forked_session_count_once(connection):
    _store(connection, "parent", _turn("t1", "a"), _turn("t2", "b"))
    changes = _store(connection, "fork", _turn("t1", "a"), _turn("t2", "b"), _turn("t3", "c"), project="/q")
    assert changes == [None, None, TurnChange("fork", 1, 0)]
    assert _rows(connection, "parent") == [(0, "a"), (1, "b")]
    assert _rows(connection, "fork") == [(0, "c")]
    assert stored_session(connection, "fork").project_path == "/q"


def test_a_copy_of_the_same_length_changes_nothing_even_if_cut_differently(connection):
    _store(connection, "parent", _turn("t1", "ab"))
    assert _store(connection, "fork", _turn("t1", "a", "b")) == [None]
    assert _rows(connection, "parent") == [(0, "ab")]


def test_a_turn_that_went_on_in_a_copy_grows_where_it_first_stood(connection):
    _store(connection, "parent", _turn("t1", "a"), _turn("t2", "b"))
    assert _store(connection, "copy", _turn("t2", "b", "c"), project="/q") == [TurnChange("parent", 1, 0)]
    assert _rows(connection, "parent") == [(0, "a"), (1, "b"), (2, "c")]
    assert {chunk.project_path for chunk in session_chunks(connection, "parent")} == {"/p"}
    assert _rows(connection, "copy") == []
    assert _store(connection, "parent", _turn("t1", "a"), _turn("t2", "b")) == [None, None]


def test_an_empty_turn_that_went_on_in_a_copy_takes_the_copys_project(connection):
    _store(connection, "parent", _turn("t1"))
    assert _store(connection, "copy", _turn("t1", "a"), project="/q") == [TurnChange("parent", 1, 0)]
    assert stored_session(connection, "parent").project_path == "/q"


def test_an_edited_chunk_stays_as_the_person_left_it(connection):
    _store(connection, "s", _turn("t1", "a", "b"))
    with transaction(connection):
        update_chunk(connection, 1, _piece("edited"), edited_at="2026-01-01 00:00:00")
    assert _store(connection, "s", _turn("t1", "a", "b", "grown")) == [None]
    assert _rows(connection, "s") == [(0, "edited"), (1, "b")]


def test_deleted_chunks_do_not_come_back(connection):
    _store(connection, "s", _turn("t1", "a", "b"), _turn("t2", "c"))
    with transaction(connection):
        assert delete_chunks(connection, [1, 3]) == 2
        refresh_session(connection, "s")
    assert _store(connection, "s", _turn("t1", "a", "b"), _turn("t2", "c", "d"), _turn("t3", "e")) == [
        None,
        None,
        TurnChange("s", 1, 0),
    ]
    assert _rows(connection, "s") == [(1, "b"), (2, "e")]


def test_a_change_of_time_role_or_size_alone_is_stored(connection):
    _store(connection, "s", _turn("t1", "a"))
    other = NewTurn("t1", "2026-03-04 09:00:00", 1, [NewChunk("a", "human", Metadata(), 7)])
    assert _store(connection, "s", other) == [TurnChange("s", 1, 0)]
    chunk = find_chunk(connection, "1")
    assert (chunk.created_at, chunk.role, chunk.metadata, chunk.token_count) == (
        "2026-03-04 09:00:00",
        "human",
        Metadata(),
        7,
    )


def test_turns_after_chunks_without_identity_follow_them(connection):
    with transaction(connection):
        connection.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
            "VALUES ('s', '/p', 7, 'old', 'mixed')"
        )
    _store(connection, "s", _turn("t1", "a"))
    assert _rows(connection, "s") == [(7, "old"), (8, "a")]


def test_the_row_of_a_session_follows_its_chunks(connection):
    _store(
        connection,
        "s",
        _turn("t1", "[User]\nfirst\n\n[Assistant]\nyes", started_at="2026-03-04 05:06:07"),
        _turn("t2", "[User]\nlast", "[User]\ngoes on", "[Assistant]\nok", started_at="2026-03-04 04:00:00"),
    )
    session = Session("s", "/p", "2026-03-04 04:00:00", "2026-03-04 05:06:07", 4, "first", "last")
    assert stored_session(connection, "s") == session
    with transaction(connection):
        delete_chunks(connection, ids_of_session(connection, "s"))
        assert refresh_session(connection, "s") is True
        assert refresh_session(connection, "s") is False
    assert stored_session(connection, "s") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[User]\n" + "あ" * 300, "あ" * 200),
        ("[User]\n" + "x" * 199 + "👨‍👩‍👧" + "y", "x" * 199),
        ("[User]\n" + "x" * 199 + "か\u3099z", "x" * 199),
        ("[User]\nquoted\n\n [Assistant]\nstays\n\n[Tool: Bash] ls", "quoted\n\n [Assistant]\nstays"),
        ("[User]\n[Assistant] is a word\n\n[Assistant]\nno", "[Assistant] is a word"),
        ("[Assistant]\nno prompt here\n\n[Tool: Bash] ls", "no prompt here"),
        ("[Tool: Bash] ls → src", "[Tool: Bash] ls → src"),
    ],
)
def test_messages_are_the_prompts_or_what_stands_there_instead_200_characters_of_them(
    connection, content, message
):
    _store(connection, "s", _turn("t1", content))
    session = stored_session(connection, "s")
    assert (session.first_message, session.last_message) == (message, message)


_TEXT = st.text(alphabet="ab", min_size=1, max_size=2)
_GROWTH = st.lists(st.tuples(st.integers(0, 5), st.lists(_TEXT, max_size=4)), max_size=12)


@pytest.mark.heavy
@settings(max_examples=40, deadline=None)
@given(steps=_GROWTH, seed=st.integers(0, 100))
def test_any_growth_of_any_turns_ends_with_the_rows_of_the_last_state(tmp_path_factory, steps, seed):
    connection = open_database(str(tmp_path_factory.mktemp("growth") / "memory.db"))
    state = {f"t{number}": ["x"] for number in range(6)}
    _store(connection, "s", *(_turn(uuid, *texts, length=0) for uuid, texts in state.items()))
    for length, (number, texts) in enumerate(steps, start=1):
        state[f"t{number}"] = texts
        _store(connection, "s", _turn(f"t{number}", *texts, length=length))
        stale = random.Random(seed).choice(list(state))
        _store(connection, "s", _turn(stale, "stale", length=-1))
    expected = list(enumerate(text for texts in state.values() for text in texts))
    assert _rows(connection, "s") == expected
    with transaction(connection):
        word_index.refresh(connection)
    assert check(connection) == IntegrityReport((), ())
    connection.close()
