"""Importing the TypeScript Kizami: its database of every schema, and its JSONL store."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import save_transcript
from kizami_import import detect
from transcripts import rows
from typescript_kizami import (
    checkpoint,
    chunk,
    database,
    deletion,
    reset,
    transaction,
    write_store,
)

NOW = 1_798_761_600.0
_ONE = "[User]\nHow is it built?\n\n[Assistant]\nWith make."
_TWO = "[User]\n検索は？\n\n[Assistant]\nFTS5です。"
_CHUNKS = [
    ("s1", "/p", 1, _TWO, "2026-03-01 00:00:00"),
    ("s1", "/p", 0, _ONE, "2026-01-05 01:30:00"),
]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_chunks_of_every_schema_join_their_session(target, tmp_path, version):
    database(tmp_path / "old.db", _CHUNKS, version=version)
    report = target.import_typescript(tmp_path / "old.db")
    assert (target.contents(), target.projects()) == ([_ONE, _TWO], [("s1", "/p")])
    # What `recover` saved long after the session ended took place when it ended.
    assert target.times() == ["2026-01-05 01:30:00", "2026-01-05 02:00:00"]
    assert (report.imported, report.sessions) == ({"chunk": 2}, 1)
    assert check(target.connection) == IntegrityReport((), ())


def test_a_database_that_was_never_finished_gives_what_it_holds(target, tmp_path):
    database(tmp_path / "old.db", _CHUNKS)
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("DROP TABLE sessions")
    target.import_typescript(tmp_path / "old.db")
    assert target.contents() == [_ONE, _TWO]


def test_a_second_import_and_the_store_of_the_same_chunks_add_nothing(target, tmp_path):
    database(tmp_path / "old.db", _CHUNKS)
    target.import_typescript(tmp_path / "old.db")
    before = rows(target.connection)
    assert target.import_typescript(tmp_path / "old.db").known == {"chunk": 2}
    store = write_store(tmp_path / "jsonl", chunk(_ONE), chunk(_TWO, number=1))
    assert target.import_typescript(store).known == {"chunk": 2}
    assert rows(target.connection) == before


def test_the_last_line_of_a_chunk_and_the_highest_revision_of_a_turn_count(target, tmp_path):
    store = write_store(
        tmp_path / "jsonl",
        chunk("[User]\nold wording", name="a"),
        *transaction(checkpoint("first reading", revision=0), tx="x"),
        *transaction(checkpoint("second reading", "its rest", revision=1), tx="y"),
        *transaction(checkpoint("first reading", revision=0), tx="z"),
        chunk("[User]\nnew wording", name="a"),
    )
    report = target.import_typescript(store)
    assert sorted(target.contents()) == ["[User]\nnew wording", "its rest", "second reading"]
    assert report.skipped == {}


def test_what_was_reset_or_deleted_there_stays_away(target, tmp_path):
    store = write_store(
        tmp_path / "jsonl",
        chunk("[User]\nbefore the reset"),
        *transaction(reset(epoch=2), checkpoint("kept", turn="t2", epoch=2)),
        *transaction(checkpoint("of an older epoch", turn="t3", epoch=1), tx="y"),
        chunk("[User]\nalso gone", session="s2", name="b"),
        *transaction(deletion("b", session="s2"), tx="z"),
    )
    report = target.import_typescript(store)
    assert target.contents() == ["kept"]
    assert report.skipped == {"deleted there": {"chunk": 3}}


def test_transactions_that_are_not_whole_and_broken_lines_count_as_broken(target, tmp_path):
    torn = transaction(checkpoint("torn"))[:-1]
    store = write_store(
        tmp_path / "jsonl",
        *torn,
        *transaction(checkpoint("abandoned"), tx="b")[:-1],
        *transaction(checkpoint("whole", turn="t2"), tx="c"),
        *transaction(checkpoint("wrong count"), tx="d", count=7),
        checkpoint("outside of any"),
        "",
        "{broken",
        "[]",
        *torn,
    )
    report = target.import_typescript(store)
    assert target.contents() == ["whole"]
    assert report.skipped == {"broken": {"chunk": 7}}


def test_files_of_several_months_are_one_store(target, tmp_path):
    store = write_store(tmp_path / "jsonl", chunk("later", number=1), name="2026-02-host.jsonl")
    write_store(store, chunk("earlier", number=0), name="2026-01-host.jsonl")
    (store / "notes.txt").write_text("not a part of it", encoding="utf-8")
    target.import_typescript(store)
    assert target.contents() == ["earlier", "later"]
    assert target.import_typescript(store / "2026-01-host.jsonl").known == {"chunk": 1}


def test_the_transcript_of_a_session_replaces_what_was_imported(target, tmp_path):
    database(tmp_path / "old.db", _CHUNKS)
    target.import_typescript(tmp_path / "old.db")
    path = target.transcript("s1", tmp_path)
    save_transcript(target.connection, str(path), config=target.config, now=NOW)
    assert target.contents() == ["[User]\nHello"]
    report = target.import_typescript(tmp_path / "old.db")
    assert (target.contents(), report.imported) == (["[User]\nHello"], {})
    assert report.skipped == {"saved from its transcript": {"chunk": 2}}


def test_what_a_person_deleted_or_edited_stays_so(target, tmp_path):
    database(tmp_path / "old.db", _CHUNKS)
    target.import_typescript(tmp_path / "old.db")
    delete_chunks(target.connection, ["1"], now=NOW)
    edit_chunk(target.connection, "2", "Mine now", now=NOW)
    target.import_typescript(tmp_path / "old.db")
    assert target.contents() == ["Mine now"]


def test_a_session_that_was_saved_and_deleted_does_not_come_back(target, tmp_path):
    save_transcript(target.connection, str(target.transcript("s1", tmp_path)), config=target.config, now=NOW)
    delete_session(target.connection, "s1", now=NOW)
    database(tmp_path / "old.db", _CHUNKS)
    report = target.import_typescript(tmp_path / "old.db")
    assert (target.contents(), report.skipped) == ([], {"saved from its transcript": {"chunk": 2}})


def test_the_transcript_knows_a_folder_better_than_recover_guessed(target, tmp_path):
    folder = tmp_path / "my-app"
    folder.mkdir()
    target.transcript("s1", folder)
    database(tmp_path / "old.db", [("s1", "/my/app", 0, _ONE, "2026-01-05 01:00:00")])
    target.import_typescript(tmp_path / "old.db")
    assert target.projects() == [("s1", str(folder))]


def test_secrets_that_it_kept_are_masked(target, tmp_path):
    stored = "[User]\nlogin\n\n[Assistant]\nDB_PASSWORD=correct-horse-battery <private>x</private>done"
    database(
        tmp_path / "old.db",
        [
            ("s1", "/p", 0, stored, "2026-01-05 01:00:00"),
            ("s1", "/p", 1, "<private>all of it</private>", "2026-01-05 01:00:00"),
            ("s1", "/p", 2, " ", "2026-01-05 01:00:00"),
            ("s1", "/p", 3, stored, "2026-01-05 01:00:00"),
        ],
    )
    report = target.import_typescript(tmp_path / "old.db")
    (content,) = target.contents()
    assert "correct-horse" not in content
    assert content.endswith("[private]done")
    assert report.skipped == {"empty": {"chunk": 1}, "private": {"chunk": 1}, "repeated": {"chunk": 1}}


def test_one_project_alone_and_a_dry_run(target, tmp_path):
    database(tmp_path / "old.db", [*_CHUNKS, ("s2", "/q", 0, "[User]\nother", "2026-01-05 01:00:00")])
    report = target.import_typescript(tmp_path / "old.db", project="/q", dry_run=True)
    assert (report.imported, report.skipped) == ({"chunk": 1}, {"other project": {"chunk": 2}})
    assert target.contents() == []


def test_what_is_neither_is_refused(target, tmp_path):
    with pytest.raises(NotFoundError, match="--source"):
        target.import_typescript(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no memories of the TypeScript Kizami"):
        target.import_typescript(tmp_path / "empty")
    with pytest.raises(ConfigError, match="Kizami's own"):
        target.import_typescript(target.path)
    shutil.copy(target.path, tmp_path / "ours.db")
    with pytest.raises(ConfigError, match="no database of the TypeScript Kizami"):
        target.import_typescript(tmp_path / "ours.db")


def test_a_memory_is_told_by_what_lies_at_the_path(target, source, tmp_path):
    database(tmp_path / "old.db", _CHUNKS)
    store = write_store(tmp_path / "jsonl", "{broken", chunk(_ONE))
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.jsonl").write_text('{"type": "user"}\n[]\n', encoding="utf-8")
    shutil.copy(target.path, tmp_path / "ours.db")
    assert [detect(str(path)) for path in (source.path, source.path.parent)] == ["claude-mem"] * 2
    assert [detect(str(path)) for path in (tmp_path / "old.db", store, store / "2026-01-host.jsonl")] == [
        "typescript"
    ] * 3
    assert [detect(str(tmp_path / name)) for name in ("empty", "notes.jsonl", "ours.db")] == [None] * 3
