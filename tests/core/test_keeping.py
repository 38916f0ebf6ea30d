"""What maintenance removes is archived first, and comes back by an import."""

import gzip
import json
import os

import pytest

from kizami_core.archive.files import archive_files, file_lines
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import import_archive
from kizami_core.archive.writing import export_archive
from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, edit_chunk
from kizami_core.errors import StorageError
from kizami_core.maintenance.keeping import archive_folder, keep_removed
from kizami_core.maintenance.merging import merge
from kizami_core.maintenance.retention import prune, run_maintenance
from kizami_core.records import Metadata
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.maintenance_log import last_entries
from kizami_core.storage.marks import set_mark
from kizami_core.storage.sessions import list_sessions, refresh_session
from kizami_core.storage.turns import NewTurn, store_turn
from kizami_core.timestamps import epoch_seconds, format_utc

_NOW = epoch_seconds("2026-06-01 12:00:00")
_DAY = 86_400
_POOL = "The pool is exhausted because every request opens a connection of its own and never closes it."


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "data" / "memory.db"))
    yield connection
    connection.close()


def _config(**maintenance):
    return parse_config({"maintenance": maintenance}, {"HOME": "/nowhere"})[0]


def _save(connection, session, *texts, age_days=100):
    with transaction(connection):
        for number, text in enumerate(texts):
            chunks = [NewChunk(piece, "mixed", Metadata(), 1) for piece in text.split("|")]
            turn = NewTurn(f"{session}-{number}", format_utc(_NOW - age_days * _DAY), len(text), chunks)
            store_turn(connection, session, "/p", turn)
        refresh_session(connection, session)
        word_index.refresh(connection)


def _archives(connection):
    folder = archive_folder(connection)
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _import_all(connection):
    for path in archive_files(archive_folder(connection)):
        import_archive(connection, read_lines(file_lines(path), path), now=_NOW)


def _contents(connection):
    return [
        row[0] for row in connection.execute("SELECT content FROM chunks ORDER BY session_id, chunk_index")
    ]


def test_what_maintenance_took_for_its_age_comes_back_as_it_was(connection):
    _save(connection, "old", "a|b", "c")
    edit_chunk(connection, "2", "edited", now=_NOW)
    _save(connection, "new", "d", age_days=1)
    before = list(export_archive(connection))
    assert run_maintenance(connection, config=_config(), now=_NOW).too_old.chunks == 3
    assert _contents(connection) == ["d"]
    assert _archives(connection) == ["20260601-120000-deleted-001.jsonl.gz"]
    assert "20260601-120000-deleted-001.jsonl.gz" in last_entries(connection, 1)[0].detail
    _import_all(connection)
    assert list(export_archive(connection)) == before
    assert run_maintenance(connection, config=_config(), now=_NOW + 2 * _DAY).too_old.chunks == 0
    assert _contents(connection) == ["d", "a", "edited", "c"]


def test_what_was_taken_for_the_size_comes_back_too(connection):
    for session in ("one", "two"):
        numbers = range(70_000)
        _save(
            connection,
            session,
            " ".join(f"{session}{number * 7919 % 99991}" for number in numbers),
            age_days=2,
        )
    config = _config(maxDbSizeMB=3)
    assert run_maintenance(connection, config=config, now=_NOW).over_size.sessions == 1
    _import_all(connection)
    assert {session.session_id for session in list_sessions(connection)} == {"one", "two"}


def test_what_a_person_deletes_is_in_no_archive_and_does_not_come_back(connection):
    _save(connection, "s", "secret|b", "old|other")
    delete_chunks(connection, ["1"], now=_NOW)
    run_maintenance(connection, config=_config(), now=_NOW)
    (name,) = _archives(connection)
    with gzip.open(os.path.join(archive_folder(connection), name), "rt", encoding="utf-8") as file:
        assert "secret" not in file.read()
    _import_all(connection)
    assert _contents(connection) == ["b", "old", "other"]
    prune(connection, older_than_days=1, now=_NOW)
    assert _archives(connection) == [name]
    _import_all(connection)
    assert _contents(connection) == []


def test_nothing_is_archived_where_nothing_goes_or_archives_are_off(connection):
    _save(connection, "new", "d", age_days=1)
    run_maintenance(connection, config=_config(), now=_NOW)
    assert _archives(connection) == []
    _save(connection, "old", "a")
    run_maintenance(connection, config=_config(archiveMaxMB=0), now=_NOW + 2 * _DAY)
    assert _contents(connection) == ["d"]
    assert not os.path.exists(archive_folder(connection))


def test_the_oldest_archives_go_and_files_of_others_stay(connection):
    for number, session in enumerate("abcdefghij"):
        _save(connection, session, os.urandom(40_000).hex(), age_days=100 - number)
    os.makedirs(archive_folder(connection), exist_ok=True)
    with open(os.path.join(archive_folder(connection), "mine.jsonl.gz"), "wb") as file:
        file.write(b"0" * 2_000_000)
    run_maintenance(connection, config=_config(archiveMaxMB=0.2), now=_NOW + _DAY)
    assert list_sessions(connection) == []
    kept = _archives(connection)
    assert "mine.jsonl.gz" in kept
    own = [name for name in kept if name != "mine.jsonl.gz"]
    assert own[-1] == "20260602-120000-deleted-010.jsonl.gz"
    assert 0 < sum(os.path.getsize(os.path.join(archive_folder(connection), name)) for name in own) < 200_000


def test_nothing_is_removed_when_the_archive_can_not_be_written(connection):
    _save(connection, "old", "a")
    with open(archive_folder(connection), "wb"):
        pass
    with pytest.raises(
        StorageError, match=r"so nothing was removed\. Free space, or set maintenance\.archiveMaxMB"
    ):
        run_maintenance(connection, config=_config(), now=_NOW)
    assert _contents(connection) == ["a"]


def test_an_import_undoes_a_merge(connection):
    _save(connection, "one", f"{_POOL}|something else entirely, about the parser and its tests")
    _save(connection, "two", f"{_POOL} So it runs dry.")
    before = list(export_archive(connection))
    (pair,) = merge(connection, project_path="/p", now=_NOW, archive_max_mb=200)
    (name,) = _archives(connection)
    assert name == "20260601-120000-merged-001.jsonl.gz"
    detail = last_entries(connection, 1)[0].detail
    assert f"#{pair.kept.id} ← #{pair.removed.id}; archived in {name}" in detail
    _save(connection, "one", f"{_POOL}|something else entirely, about the parser and its tests")
    assert len(_contents(connection)) == 2
    with gzip.open(os.path.join(archive_folder(connection), name), "rt", encoding="utf-8") as file:
        turns = [line for line in map(json.loads, file) if line.get("type") == "turn"]
    assert [[part["part"] for part in turn["parts"]] for turn in turns] == [[0]]
    _import_all(connection)
    assert list(export_archive(connection)) == before


def test_pinned_memories_are_pinned_again_after_a_way_through_the_archive(connection):
    _save(connection, "old", "a")
    set_mark(connection, [1], "pinned")
    with transaction(connection):
        keep_removed(connection, [1], kind="deleted", max_mb=200, now=_NOW)
        connection.execute("DELETE FROM marks")
    _import_all(connection)
    assert connection.execute("SELECT chunk_id, mark FROM marks").fetchall() == [(1, "pinned")]
