"""The other program's database is read as it is now, and left exactly as it was."""

import hashlib
import os
import sqlite3
import tempfile
import threading
from contextlib import closing

import pytest

from kizami_core.errors import StorageError
from kizami_import.snapshot import select, snapshot


def _state(folder):
    return {
        entry.name: (entry.stat().st_mtime_ns, hashlib.sha256(entry.read_bytes()).hexdigest())
        for entry in folder.iterdir()
    }


@pytest.fixture
def writer(tmp_path):
    """A program that has a database open, with rows that stand in its write-ahead log alone."""
    (tmp_path / "theirs").mkdir()
    with closing(sqlite3.connect(tmp_path / "theirs" / "a.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("INSERT INTO notes VALUES (1, 'in the log')")
        yield connection


def test_rows_in_the_write_ahead_log_are_read_and_nothing_is_touched(writer, tmp_path):
    writer.execute("BEGIN IMMEDIATE")  # whoever holds the write lock is not in the way
    before = _state(tmp_path / "theirs")
    with snapshot(str(tmp_path / "theirs" / "a.db")) as connection:
        assert list(select(connection, "notes", {"text": ("text",)})) == [{"text": "in the log"}]
    assert _state(tmp_path / "theirs") == before
    writer.execute("INSERT INTO notes VALUES (2, 'later')")
    writer.execute("COMMIT")


def test_no_copy_is_left_behind_even_while_it_is_read(writer, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with snapshot(str(tmp_path / "theirs" / "a.db")) as connection:
        assert os.name != "posix" or list((tmp_path / "tmp").iterdir()) == []
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_columns_are_taken_by_the_first_name_that_is_there(writer, tmp_path):
    with snapshot(str(tmp_path / "theirs" / "a.db")) as connection:
        wanted = {"said": ("narrative", "text"), "type": ("type",)}
        assert list(select(connection, "notes", wanted)) == [{"said": "in the log", "type": None}]


def test_text_that_is_no_utf_8_is_read_with_replacement_characters(writer, tmp_path):
    writer.execute("UPDATE notes SET text = CAST(x'61ff62' AS TEXT)")
    with snapshot(str(tmp_path / "theirs" / "a.db")) as connection:
        assert connection.execute("SELECT text FROM notes").fetchone() == ("a\N{REPLACEMENT CHARACTER}b",)


def test_a_damaged_database_is_an_error_with_its_remedy(tmp_path):
    path = tmp_path / "damaged.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises(StorageError, match=r"can't be read.*--source"), snapshot(str(path)):
        pass


def test_an_interrupted_write_is_undone_in_the_copy(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO notes VALUES (1, 'before')")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE notes SET text = 'half-way'")
        connection.executemany("INSERT INTO notes(text) VALUES (?)", [("x" * 3_000,)] * 50)
        with snapshot(str(path)) as copy:
            assert copy.execute("SELECT text FROM notes").fetchall() == [("before",)]
        connection.execute("ROLLBACK")


def test_a_database_that_is_always_written_to_is_read_as_of_one_moment(tmp_path):
    path = tmp_path / "busy.db"
    begun, ended = threading.Event(), threading.Event()

    def write():
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE debit (n INTEGER)")
            connection.execute("CREATE TABLE credit (n INTEGER)")
            connection.execute("CREATE TABLE bulk AS SELECT zeroblob(20000000)")  # copying takes its time
            while not ended.is_set():
                connection.execute("BEGIN")
                for table in ("debit", "credit"):
                    connection.execute(f"INSERT INTO {table} VALUES (1)")
                connection.execute("COMMIT")
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(timeout=60)
        with snapshot(str(path)) as copy:
            (debit,), (credit,) = (
                copy.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("debit", "credit")
            )
    finally:
        ended.set()
        writer.join()
    assert debit == credit > 0
