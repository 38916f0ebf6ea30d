"""Editing and deleting by hand, and the dates and ages that go with it."""

import os
import time

import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_before, delete_chunks, delete_session, edit_chunk
from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import save_transcript
from kizami_core.records import Metadata
from kizami_core.storage.chunks import Deleted, find_chunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.maintenance_log import LogEntry, last_entries
from kizami_core.storage.sessions import find_session, list_sessions
from kizami_core.storage.statistics import ProjectStatistics, Statistics, read_statistics
from kizami_core.timestamps import format_utc, parse_age, parse_date
from kizami_core.transcript.tokens import estimate_tokens
from transcripts import Transcript

_NOW = 1_780_000_000.0


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "memory.db")


@pytest.fixture
def connection(path, tmp_path):
    """Two sessions of two turns each, in two projects."""
    connection = open_database(path)
    for session, cwd in (("aaaa", "/p"), ("bbbb", "/q")):
        transcript = (
            Transcript(session, cwd=cwd).ask(f"first of {session}").answer("yes").ask("second").answer("no")
        )
        save_transcript(connection, transcript.write(tmp_path), config=parse_config({}, {})[0], now=_NOW)
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _ids(connection):
    return [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]


def test_an_edited_chunk_is_measured_and_read_anew(connection):
    chunk = edit_chunk(
        connection, "#1", "[User]\nsee src/new.py\n\n[Tool: Bash] make → Error: 失敗\n", now=_NOW
    )
    assert chunk == find_chunk(connection, "1")
    assert chunk.content == "[User]\nsee src/new.py\n\n[Tool: Bash] make → Error: 失敗"
    assert chunk.token_count == estimate_tokens(chunk.content)
    assert chunk.metadata == Metadata(("src/new.py",), ("Bash",), ("Error: 失敗",))
    assert find_session(connection, "aaaa").first_message == "see src/new.py"
    assert connection.execute(
        "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH '\"new.py\"'"
    ).fetchall() == [(1,)]
    assert connection.execute("SELECT count(*) FROM word_queue").fetchone() == (0,)


def test_secrets_in_an_edit_are_masked(connection):
    assert "hunter2" not in edit_chunk(connection, "1", "password = hunter2-secret", now=_NOW).content


def test_a_chunk_can_not_be_emptied(connection):
    with pytest.raises(ConfigError, match="kizami delete --chunk 1"):
        edit_chunk(connection, "1", " \n", now=_NOW)
    with pytest.raises(NotFoundError):
        edit_chunk(connection, "99", "x", now=_NOW)


def test_chunks_are_deleted_and_the_session_with_the_last_of_them(connection):
    assert delete_chunks(connection, ["1", "#1"], now=_NOW) == Deleted(1, 0)
    session = find_session(connection, "aaaa")
    assert (session.chunk_count, session.first_message) == (1, "second")
    assert delete_chunks(connection, ["2", "3"], now=_NOW) == Deleted(2, 1)
    assert [session.session_id for session in list_sessions(connection)] == ["bbbb"]
    assert _ids(connection) == [4]


def test_what_is_deleted_is_not_in_the_file_any_more(connection, path, tmp_path):
    transcript = Transcript("cccc").ask("the kumquat plan")
    save_transcript(connection, transcript.write(tmp_path), config=parse_config({}, {})[0], now=_NOW)
    delete_session(connection, "cccc", now=_NOW)
    with open(path, "rb") as file:
        assert b"umq" not in file.read()
    assert os.path.getsize(f"{path}-wal") == 0


def test_one_unknown_chunk_keeps_all_from_being_deleted(connection):
    with pytest.raises(NotFoundError, match="99"):
        delete_chunks(connection, ["1", "99"], now=_NOW)
    assert _ids(connection) == [1, 2, 3, 4]


def test_a_session_is_deleted_by_a_unique_prefix(connection):
    assert delete_session(connection, "b", now=_NOW) == Deleted(2, 1)
    with pytest.raises(NotFoundError):
        delete_session(connection, "b", now=_NOW)
    assert last_entries(connection, 1)[0].replace(bytes_freed=0) == LogEntry(
        "delete", "session bbbb; sessions touched: 1, removed: 1", 2, 0, format_utc(_NOW)
    )


def test_a_session_without_chunks_is_deleted_too(connection):
    with transaction(connection):
        connection.execute("INSERT INTO sessions(session_id, project_path) VALUES ('empty', '/p')")
    assert delete_session(connection, "empty", now=_NOW) == Deleted(0, 0)
    with pytest.raises(NotFoundError):
        find_session(connection, "empty")


def test_what_is_older_than_a_moment_is_deleted_in_one_project_or_in_all(connection):
    moment = find_chunk(connection, "2").created_at
    assert delete_before(connection, moment, project_path="/p", now=_NOW, dry_run=True) == Deleted(1, 0)
    assert delete_before(connection, moment, project_path=None, now=_NOW, dry_run=True) == Deleted(2, 0)
    assert delete_before(connection, moment, project_path="/p", now=_NOW) == Deleted(1, 0)
    assert _ids(connection) == [2, 3, 4]
    assert delete_before(connection, "2100-01-01 00:00:00", project_path=None, now=_NOW) == Deleted(3, 2)
    assert delete_before(connection, "2100-01-01 00:00:00", project_path=None, now=_NOW) == Deleted(0, 0)


def test_a_dry_run_counts_on_a_connection_that_only_reads(connection, path):
    reader = open_database(path, read_only=True)
    assert delete_chunks(reader, ["1", "3", "4"], now=_NOW, dry_run=True) == Deleted(3, 1)
    assert delete_session(reader, "a", now=_NOW, dry_run=True) == Deleted(2, 1)
    reader.close()


def test_statistics_tell_what_is_stored_and_what_was_removed(connection, path):
    delete_chunks(connection, ["4"], now=_NOW)
    statistics = read_statistics(connection)
    tokens = connection.execute("SELECT sum(token_count) FROM chunks").fetchone()[0]
    assert statistics == Statistics(
        chunks=3,
        sessions=2,
        tokens=tokens,
        database_bytes=statistics.database_bytes,
        oldest="2026-03-04 05:07:07",
        newest="2026-03-04 05:09:07",
        projects=(ProjectStatistics("/p", 1, 2), ProjectStatistics("/q", 1, 1)),
        maintenance=tuple(last_entries(connection, 1)),
    )
    assert statistics.database_bytes > 4096
    assert statistics.maintenance[0].detail == "chunks named by a person; sessions touched: 1, removed: 0"


def test_statistics_of_nothing_are_zeros(tmp_path):
    connection = open_database(str(tmp_path / "empty.db"))
    statistics = read_statistics(connection)
    connection.close()
    assert statistics == Statistics(0, 0, 0, statistics.database_bytes, None, None, (), ())


@pytest.mark.parametrize(("text", "days"), [("12h", 0.5), ("90d", 90), (" 6W ", 42), ("0d", 0), ("1d", 1)])
def test_an_age_is_a_number_and_a_unit(text, days):
    assert parse_age(text) == days


@pytest.mark.parametrize(
    "text", ["", "d", "90", "1m", "3y", "-1d", "1.5d", "１d", "1 d d", "9999999d", "1e3d", "²d"]
)
def test_anything_else_is_no_age(text):
    with pytest.raises(ConfigError, match="12h, 90d, 6w"):
        parse_age(text)


@pytest.fixture
def in_tokyo(monkeypatch):
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-01", "2023-12-31 15:00:00"),
        ("2024-01-01 09:30", "2024-01-01 00:30:00"),
        ("2024-01-01T00:00Z", "2024-01-01 00:00:00"),
        ("2024-01-01T00:00:00.5-05:00", "2024-01-01 05:00:00"),
        (" 2024-02-29 ", "2024-02-28 15:00:00"),
        ("0999-05-05", "0999-05-04 15:00:00"),
    ],
)
def test_a_date_without_a_zone_is_local(text, moment):
    assert parse_date(text) == moment


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(
    "text", ["", "yesterday", "2024-13-01", "2023-02-29", "01/02/2024", "90d", "0001-01-01"]
)
def test_anything_else_is_no_date(text):
    with pytest.raises(ConfigError, match="2024-01-31"):
        parse_date(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.9, "1970-01-01 00:00:00"),
        (1_780_000_000.0, "2026-05-28 20:26:40"),
        (-5, "1970-01-01 00:00:00"),
        (1e300, "9999-12-31 23:59:59"),
    ],
)
def test_times_are_written_in_sqlites_form(seconds, text):
    assert format_utc(seconds) == text
