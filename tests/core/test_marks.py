"""Muted and pinned memories: what the marks outlive, and what they protect."""

import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, edit_chunk
from kizami_core.maintenance.retention import prune, run_maintenance
from kizami_core.records import Metadata
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import Deleted, NewChunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.marks import all_marks, marked_ids, marks_by_session, remove_mark, set_mark
from kizami_core.storage.sessions import refresh_session
from kizami_core.storage.statistics import read_statistics
from kizami_core.storage.turns import NewTurn, store_turn
from kizami_core.timestamps import epoch_seconds, format_utc
from memories import MemoryBook

NOW = epoch_seconds("2026-06-01 12:00:00")
DAY = 86_400


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    connection.close()


def save(connection, name, *texts, age_days=0, session="s"):
    """Store one turn with a chunk for each text; return the ids of its chunks."""
    started_at = format_utc(NOW - age_days * DAY)
    chunks = [NewChunk(text, "mixed", Metadata(), 1) for text in texts]
    with transaction(connection):
        store_turn(connection, session, "/p", NewTurn(name, started_at, sum(map(len, texts)), chunks))
        refresh_session(connection, session)
        word_index.refresh(connection)
    rows = connection.execute(
        "SELECT c.id FROM chunks c JOIN turns t ON t.id = c.turn_id WHERE t.uuid = ? ORDER BY c.id", (name,)
    )
    return [row[0] for row in rows]


def mark(connection, ids, name):
    with transaction(connection):
        set_mark(connection, ids, name)


def test_a_chunk_can_carry_both_marks_and_lose_each(connection):
    first, second = save(connection, "turn", "a", "b")
    mark(connection, [first, second], "muted")
    mark(connection, [first], "pinned")
    mark(connection, [first], "pinned")
    assert all_marks(connection) == {first: ["muted", "pinned"], second: ["muted"]}
    assert marks_by_session(connection) == {"s": {"muted": 2, "pinned": 1}}
    statistics = read_statistics(connection)
    assert (statistics.muted, statistics.pinned) == (2, 1)
    with transaction(connection):
        remove_mark(connection, [first, second], "muted")
        remove_mark(connection, [second], "pinned")
    assert all_marks(connection) == {first: ["pinned"]}


def test_marks_outlive_that_the_turn_grows_and_is_edited(connection):
    (chunk_id,) = save(connection, "turn", "a")
    mark(connection, [chunk_id], "muted")
    assert len(save(connection, "turn", "a and more", "b")) == 2
    assert marked_ids(connection, "muted") == [chunk_id]
    edit_chunk(connection, str(chunk_id), "corrected", now=NOW)
    assert marked_ids(connection, "muted") == [chunk_id]


def test_marks_outlive_that_the_turn_moves_to_the_session_where_it_first_stood(connection):
    (chunk_id,) = save(connection, "turn", "a", session="copy")
    mark(connection, [chunk_id], "muted")
    turn = NewTurn("turn", format_utc(NOW), 1, [NewChunk("a", "mixed", Metadata(), 1)])
    with transaction(connection):
        store_turn(connection, "original", "/p", turn, begun="2026-01-01T00:00:00.000Z")
    assert marks_by_session(connection) == {"original": {"muted": 1}}


def test_a_mark_goes_with_its_chunk_whoever_deletes_it(connection):
    ids = save(connection, "turn", "a", "b")
    mark(connection, ids, "pinned")
    delete_chunks(connection, [str(ids[0])], now=NOW)
    assert all_marks(connection) == {ids[1]: ["pinned"]}
    connection.execute("DELETE FROM chunks")
    assert all_marks(connection) == {}


def test_a_marked_chunk_without_a_turn_is_not_replaced_by_a_later_save(tmp_path):
    book = MemoryBook(tmp_path / "memory.db")
    chunk_id = book.add("状態管理は？", "useState です。", session="typescript")
    mark(book.connection, [chunk_id], "muted")
    locked = book.connection.execute("SELECT uuid, is_locked FROM turns").fetchall()
    book.connection.close()
    assert locked == [("unidentified:typescript", 1)]


def config(**maintenance):
    config, problems = parse_config({"maintenance": maintenance}, {"HOME": "/nowhere"})
    assert problems == []
    return config


def test_pinned_chunks_do_not_grow_too_old(connection):
    kept, gone = save(connection, "turn", "a", "b", age_days=400)
    mark(connection, [kept], "pinned")
    assert prune(connection, older_than_days=1, now=NOW, dry_run=True) == Deleted(1, 0)
    report = run_maintenance(connection, config=config(), now=NOW)
    assert report.too_old == Deleted(1, 0)
    assert prune(connection, older_than_days=1, now=NOW) == Deleted(0, 0)
    assert [row[0] for row in connection.execute("SELECT id FROM chunks")] == [kept]
    assert gone != kept


def test_a_muted_chunk_grows_old_like_any_other(connection):
    mark(connection, save(connection, "turn", "a", age_days=400), "muted")
    assert prune(connection, older_than_days=1, now=NOW) == Deleted(1, 1)


@pytest.mark.heavy
def test_size_is_kept_at_the_cost_of_what_is_not_pinned(connection):
    text = " ".join(f"{(number * 104_729) % 99_991:05d}語" for number in range(30_000))
    pinned = []
    for number in range(4):
        ids = save(connection, f"t{number}", text[number:], age_days=9 - number, session=f"s{number}")
        pinned += ids if number < 2 else []
    mark(connection, pinned, "pinned")
    report = run_maintenance(connection, config=config(maxDbSizeMB=1), now=NOW)
    # The oldest two are pinned, the newest session always stays.
    assert report.over_size == Deleted(1, 1)
    left = [row[0] for row in connection.execute("SELECT session_id FROM chunks ORDER BY session_id")]
    assert left == ["s0", "s1", "s3"]
