"""Turns that importers bring: stored by identity like those of a transcript, with all that follows."""

from contextlib import closing

import pytest

from kizami_core.editing import delete_chunks, edit_chunk
from kizami_core.foreign_turns import ForeignChange, ForeignTurn, prepare_foreign, store_foreign
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.records import Metadata
from kizami_core.storage.chunks import find_chunk, session_chunks
from kizami_core.storage.connection import open_database
from kizami_core.storage.sessions import stored_session
from kizami_core.storage.turns import has_turns, known_turns

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
TURN = ForeignTurn(
    "row:1",
    "theirs:s1",
    "/p",
    "2025-11-01 09:00:00",
    ("[User]\nWhy is it slow?\n\n[Assistant]\nNo index on src/db/pool.py",),
    types=("discovery",),
    concepts=("gotcha", "", "gotcha", "x" * 101),
    file_paths=("docs/設計 メモ.md", "x" * 301),
)


@pytest.fixture
def connection(tmp_path):
    with closing(open_database(str(tmp_path / "memory.db"))) as opened:
        yield opened


def _store(connection, *turns, known=()):
    prepared = [(turn, prepare_foreign(turn, 512)) for turn in turns]
    return store_foreign(connection, prepared, known, now=NOW)


def _contents(connection, session="theirs:s1"):
    return [chunk.content for chunk in session_chunks(connection, session)]


def test_a_foreign_turn_becomes_chunks_of_its_session(connection):
    assert _store(connection, TURN) == ForeignChange(1, 1, 0)
    chunk = find_chunk(connection, "1")
    assert (chunk.content, chunk.project_path, chunk.created_at, chunk.role) == (
        TURN.texts[0],
        "/p",
        "2025-11-01 09:00:00",
        "mixed",
    )
    assert chunk.metadata == Metadata(
        ("docs/設計 メモ.md", "src/db/pool.py"), (), (), ("discovery",), ("gotcha",)
    )
    session = stored_session(connection, "theirs:s1")
    assert (session.chunk_count, session.first_message) == (1, "Why is it slow?")
    imported = connection.execute("SELECT imported_at FROM chunks").fetchall()
    assert imported == [("2026-01-01 00:00:00",)]
    assert check(connection) == IntegrityReport((), ())


def test_it_is_known_from_then_on_and_not_stored_again(connection):
    _store(connection, TURN)
    assert known_turns(connection, ["row:1", "row:2"]) == {"row:1": "theirs:s1"}
    assert _store(connection, TURN) == ForeignChange(0, 0, 0)


def test_a_longer_reading_of_it_replaces_the_shorter(connection):
    _store(connection, TURN)
    _store(connection, TURN.replace(texts=(f"{TURN.texts[0]}, and no cache",)))
    assert _contents(connection) == [f"{TURN.texts[0]}, and no cache"]


def test_what_a_person_deleted_or_edited_stays_so(connection):
    _store(connection, TURN, TURN.replace(uuid="row:2"))
    delete_chunks(connection, ["1"], now=NOW)
    edit_chunk(connection, "2", "Mine", now=NOW)
    longer = (f"{TURN.texts[0]} at all",)
    _store(connection, TURN.replace(texts=longer), TURN.replace(uuid="row:2", texts=longer))
    assert _contents(connection) == ["Mine"]


def test_secrets_are_masked_and_what_is_all_private_has_no_chunks(connection):
    (chunk,) = prepare_foreign(TURN.replace(texts=("[User]\nDB_PASSWORD=correct-horse-battery",)), 512).chunks
    assert "correct-horse" not in chunk.content
    assert prepare_foreign(TURN.replace(texts=("[User]\n<private>x</private>",)), 512).chunks == []


def test_each_text_is_cut_on_its_own(connection):
    turn = TURN.replace(texts=("[User]\n" + "Some words. " * 80, "[Assistant]\nDone."))
    pieces = [chunk.content for chunk in prepare_foreign(turn, 64).chunks]
    assert len(pieces) > 3
    assert pieces[-1] == "[Assistant]\nDone."
    assert all(piece.startswith("[User]\n") for piece in pieces[:-1])


def test_chunks_leave_the_project_that_stood_in_when_theirs_is_known(connection):
    _store(connection, TURN.replace(project_path="theirs:shop", placeholder="theirs:shop"))
    found = TURN.replace(placeholder="theirs:shop")
    assert _store(connection, known=[(found, "theirs:s1")]) == ForeignChange(0, 0, 1)
    assert find_chunk(connection, "1").project_path == "/p"
    assert stored_session(connection, "theirs:s1").project_path == "/p"
    # A row that comes later brings along those that came before it, too.
    other = TURN.replace(session_id="theirs:s2", uuid="row:2", project_path="theirs:shop")
    _store(connection, other)
    assert _store(connection, found.replace(session_id="theirs:s2", uuid="row:3")).moved == 1
    assert check(connection) == IntegrityReport((), ())


def test_provisional_turns_belong_to_no_turn_of_a_transcript(connection):
    turns = [TURN.replace(uuid=f"row:{n}", session_id="s", is_provisional=True) for n in (1, 2)]
    assert _store(connection, *turns) == ForeignChange(2, 2, 0)
    assert [chunk.turn_id for chunk in session_chunks(connection, "s")] == [None, None]
    edit_chunk(connection, "1", "Mine", now=NOW)
    assert not has_turns(connection, "s", besides="row:")
    assert has_turns(connection, "s", besides="another:")
    assert known_turns(connection, ["row:1"]) == {"row:1": "s"}
    assert check(connection) == IntegrityReport((), ())
