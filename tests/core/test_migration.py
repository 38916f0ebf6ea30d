"""Opening databases: new, of the specification's schema 1, of other programs, damaged, at once."""

import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from kizami_core.errors import (
    DatabaseBusyError,
    DatabaseCorruptError,
    ForeignSchemaError,
    SchemaTooNewError,
    StorageError,
    UnsupportedSqliteError,
)
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.retrieval import word_index
from kizami_core.storage import connection as connection_module
from kizami_core.storage.connection import database_path, open_database, reading, transaction
from kizami_core.storage.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION, apply_migration

# Of the specification ("SQLiteスキーマ"): what the TypeScript Kizami creates.
_SPEC_SCHEMA = """
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  project_path TEXT NOT NULL,
  chunk_index INTEGER NOT NULL,
  content TEXT NOT NULL,
  role TEXT NOT NULL CHECK(role IN ('human', 'assistant', 'mixed')),
  metadata TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  token_count INTEGER NOT NULL DEFAULT 0,
  UNIQUE(session_id, chunk_index)
);
CREATE INDEX idx_chunks_project ON chunks(project_path);
CREATE INDEX idx_chunks_created ON chunks(created_at DESC);
CREATE INDEX idx_chunks_session ON chunks(session_id);
CREATE VIRTUAL TABLE chunks_fts USING fts5(content, content=chunks, content_rowid=id, tokenize='trigram');
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts(rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, content) VALUES('delete', old.id, old.content);
END;
CREATE TRIGGER chunks_au AFTER UPDATE OF content ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, content) VALUES('delete', old.id, old.content);
  INSERT INTO chunks_fts(rowid, content) VALUES (new.id, new.content);
END;
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  project_path TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT NOT NULL DEFAULT (datetime('now')),
  chunk_count INTEGER DEFAULT 0,
  first_message TEXT,
  last_message TEXT
);
CREATE INDEX idx_sessions_project ON sessions(project_path);
CREATE TABLE schema_version (
  version INTEGER PRIMARY KEY,
  applied_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE maintenance_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  action TEXT NOT NULL,
  chunks_deleted INTEGER NOT NULL DEFAULT 0,
  bytes_freed INTEGER NOT NULL DEFAULT 0,
  executed_at TEXT NOT NULL DEFAULT (datetime('now'))
);
"""
_OLD_CHUNKS = [
    (
        1,
        "s-old",
        "/p",
        0,
        "[User]\nReactのフォーム\n\n[Assistant]\nRHF",
        "mixed",
        None,
        "2026-01-02 03:04:05",
        9,
        None,
        0,
        None,
        None,
        None,
    ),
    (
        2,
        "s-old",
        "/p",
        1,
        "[User]\nnext",
        "human",
        '{"filePaths":["a.py"]}',
        "2026-01-02 03:05:05",
        3,
        None,
        0,
        None,
        None,
        None,
    ),
]


def _typescript_database(path, *, version=1, extra="", wal=False):
    connection = sqlite3.connect(path, isolation_level=None)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_SPEC_SCHEMA + extra)
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [row[:9] for row in _OLD_CHUNKS]
    )
    connection.execute(
        "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('s-old', '/p', 2)"
    )
    connection.executemany(
        "INSERT INTO schema_version(version) VALUES (?)", [(n,) for n in range(1, version + 1)]
    )
    return connection


def _digests(folder):
    return {entry.name: hashlib.sha256(entry.read_bytes()).hexdigest() for entry in folder.iterdir()}


def _mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


def test_new_database_has_the_tables_of_the_specification(path):
    connection = open_database(str(path))
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    spec = sqlite3.connect(":memory:")
    spec.executescript(_SPEC_SCHEMA)
    assert {row[0] for row in spec.execute("SELECT name FROM sqlite_master")} <= names
    for table in ("chunks", "sessions", "schema_version", "maintenance_log"):
        columns = [row[1:6] for row in spec.execute(f"PRAGMA table_info({table})")]
        assert [row[1:6] for row in connection.execute(f"PRAGMA table_info({table})")][
            : len(columns)
        ] == columns
    assert check(connection) == IntegrityReport((), ())
    spec.close()
    connection.close()


def test_connection_is_in_wal_mode_with_foreign_keys_and_a_busy_timeout(path):
    connection = open_database(str(path))
    settings = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "foreign_keys", "busy_timeout")
    ]
    assert settings == ["wal", 1, 5000]
    assert database_path(connection) == str(path)
    connection.close()


def test_files_and_folders_are_private_from_birth_whatever_the_umask(tmp_path):
    path = tmp_path / "new" / "deeper" / "memory.db"
    before = os.umask(0)
    try:
        connection = open_database(str(path))
        with transaction(connection):
            connection.execute("INSERT INTO projects(path) VALUES ('/p')")
        modes = {entry.name: _mode(entry) for entry in path.parent.iterdir()}
        connection.close()
    finally:
        os.umask(before)
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}
    assert [_mode(path.parent), _mode(path.parent.parent)] == [0o700, 0o700]


def test_a_relative_path_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_database("memory.db").close()
    assert (tmp_path / "memory.db").exists()


def test_schema_1_of_the_typescript_kizami_is_carried_on(path):
    _typescript_database(path).close()
    path.chmod(0o644)
    connection = open_database(str(path))
    assert connection.execute("SELECT * FROM chunks ORDER BY id").fetchall() == _OLD_CHUNKS
    assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (SCHEMA_VERSION,)
    with transaction(connection):
        assert word_index.refresh(connection) == 2
    assert check(connection) == IntegrityReport((), ())
    connection.close()
    assert _mode(path) == 0o600


@pytest.mark.parametrize("wal", [False, True])
def test_schema_1_is_backed_up_before_it_changes(path, wal):
    connection = _typescript_database(path, wal=wal)
    open_database(str(path)).close()
    connection.close()
    backup = path.with_name("memory.db.schema1.backup")
    old = sqlite3.connect(backup)
    assert old.execute("SELECT * FROM chunks").fetchall() == [row[:9] for row in _OLD_CHUNKS]
    assert old.execute("SELECT max(version) FROM schema_version").fetchone() == (1,)
    old.close()
    assert _mode(backup) == 0o600


def test_a_backup_never_overwrites_another(path):
    _typescript_database(path).close()
    other = path.with_name("memory.db.schema1.backup")
    other.write_bytes(b"precious")
    open_database(str(path)).close()
    assert other.read_bytes() == b"precious"
    assert path.with_name("memory.db.schema1.backup2").exists()


def test_second_opening_changes_and_backs_up_nothing(path):
    _typescript_database(path).close()
    open_database(str(path)).close()
    before = _digests(path.parent)
    open_database(str(path)).close()
    assert _digests(path.parent) == before


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_later_schemas_of_the_typescript_kizami_are_left_untouched(path, version, wal):
    extra = "CREATE TABLE turn_checkpoints(id INTEGER PRIMARY KEY, revision INTEGER);"
    connection = _typescript_database(path, version=version, extra=extra, wal=wal)
    before = _digests(path.parent)
    for read_only in (False, True):
        with pytest.raises(
            ForeignSchemaError, match=rf"schema {version}.*untouched.*database\.path"
        ) as raised:
            open_database(str(path), read_only=read_only)
        assert f"`kizami import-typescript --source {path}`" in str(raised.value)
    after = _digests(path.parent)
    connection.close()
    shared_memory = {"memory.db-shm"}  # read marks of the live connection: no data
    assert {name: after[name] for name in after.keys() - shared_memory} == {
        name: before[name] for name in before.keys() - shared_memory
    }


def test_a_foreign_write_ahead_log_is_left_where_it_is(path, tmp_path):
    live = tmp_path / "live.db"
    connection = _typescript_database(live, version=5, wal=True)
    path.write_bytes(live.read_bytes())  # as a killed process leaves it: the log is not in the file yet
    path.with_name("memory.db-wal").write_bytes(live.with_name("live.db-wal").read_bytes())
    connection.close()
    before = [path.read_bytes(), path.with_name("memory.db-wal").read_bytes()]
    with pytest.raises(ForeignSchemaError):
        open_database(str(path))
    assert [path.read_bytes(), path.with_name("memory.db-wal").read_bytes()] == before


def test_the_tables_of_any_other_program_are_refused(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes(text)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignSchemaError, match=r"another program.*move this one away\.$"):
        open_database(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["sessions", "chunks_fts", "maintenance_log"])
def test_a_file_of_schema_1_that_was_never_finished_is_refused_untouched(path, table):
    connection = sqlite3.connect(path)
    connection.executescript(_SPEC_SCHEMA)
    connection.execute("INSERT INTO schema_version(version) VALUES (1)")
    connection.execute(f"DROP TABLE {table}")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignSchemaError, match=r"move this one away"):
        open_database(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_of_ours_asks_for_an_upgrade(path, read_only):
    connection = open_database(str(path))
    connection.execute("INSERT INTO schema_version(version) VALUES (99)")
    connection.close()
    with pytest.raises(SchemaTooNewError, match=r"schema 99.*pip install --upgrade"):
        open_database(str(path), read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "content", [b"this is no database, only text" * 100, b"SQLite format 3\0" + b"\xff" * 8000]
)
def test_a_damaged_file_says_how_to_go_on(path, content, read_only):
    path.write_bytes(content)
    with pytest.raises(DatabaseCorruptError, match="kizami export"):
        open_database(str(path), read_only=read_only)
    assert path.read_bytes() == content


def test_reading_needs_a_database(path):
    with pytest.raises(FileNotFoundError):
        open_database(str(path), read_only=True)
    assert not path.exists()
    path.touch()  # as another process leaves it for a moment
    with pytest.raises(FileNotFoundError):
        open_database(str(path), read_only=True)


def test_reading_schema_1_asks_for_setup(path):
    _typescript_database(path).close()
    with pytest.raises(StorageError, match="kizami setup"):
        open_database(str(path), read_only=True)


def test_a_read_only_connection_can_not_write(path):
    open_database(str(path)).close()
    connection = open_database(str(path), read_only=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM chunks")
    connection.close()


def test_a_path_that_can_not_be_a_file_says_so(tmp_path):
    with pytest.raises(StorageError, match=r"can't be created or opened.*database\.path"):
        open_database(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be created or opened"):
        open_database(str(tmp_path / "file" / "memory.db"))


def test_signs_in_the_path_mean_nothing(tmp_path):
    path = str(tmp_path / "100%41 #1?mode=rwc 日本語.db")
    open_database(path).close()
    open_database(path, read_only=True).close()
    assert os.path.exists(path)


def test_an_interrupted_creation_is_taken_up_again(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE chunks(x)")
    connection.execute("ROLLBACK")
    connection.close()
    connection = open_database(str(path))
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()


def test_a_failing_migration_leaves_schema_1_as_it_was(path):
    _typescript_database(path, extra="CREATE TABLE turns(other);").close()
    with pytest.raises(StorageError, match="turns"):
        open_database(str(path))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM pragma_table_info('chunks')").fetchone() == (9,)
    connection.close()


def test_an_interrupted_write_is_undone_before_the_migration(path, tmp_path):
    live = tmp_path / "live.db"
    connection = _typescript_database(live)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE chunks SET content = 'half written'")
    connection.executemany(
        "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
        "VALUES ('x', '/p', ?, ?, 'mixed')",
        [(number, "z" * 5000) for number in range(50)],
    )
    path.write_bytes(live.read_bytes())  # as a killed process leaves it, with the journal that undoes it
    path.with_name("memory.db-journal").write_bytes(live.with_name("live.db-journal").read_bytes())
    connection.execute("ROLLBACK")
    connection.close()
    connection = open_database(str(path))
    assert connection.execute("SELECT * FROM chunks ORDER BY id").fetchall() == _OLD_CHUNKS
    connection.close()


def test_a_reader_that_blocks_the_write_ahead_log_for_too_long_is_reported(path):
    open_database(str(path)).close()
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("PRAGMA journal_mode = DELETE")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunks").fetchone()
    with pytest.raises(DatabaseBusyError):
        open_database(str(path), busy_timeout_ms=50)
    reader.close()
    open_database(str(path)).close()


def test_an_sqlite_that_is_too_old_is_named(path, monkeypatch):
    monkeypatch.setattr("kizami_core.storage.connection._MIN_SQLITE", (99, 0, 0))
    with pytest.raises(UnsupportedSqliteError, match="newer Python"):
        open_database(str(path))


def test_an_sqlite_without_the_trigram_tokenizer_is_named(path, monkeypatch):
    script = MIGRATIONS[1].replace("tokenize='trigram'", "tokenize='no_such_thing'")
    monkeypatch.setitem(MIGRATIONS, 1, script)
    with pytest.raises(UnsupportedSqliteError, match="another Python"):
        open_database(str(path))


def test_errors_of_reading_come_out_as_ours(path):
    connection = open_database(str(path))
    with pytest.raises(StorageError, match="no such table: missing"), reading(connection):
        connection.execute("SELECT * FROM missing")
    with pytest.raises(ZeroDivisionError), reading(connection):
        raise ZeroDivisionError
    connection.close()


def test_transaction_is_all_or_nothing(path):
    connection = open_database(str(path))
    with pytest.raises(ZeroDivisionError), transaction(connection):
        connection.execute("INSERT INTO projects(path) VALUES ('/p')")
        raise ZeroDivisionError
    with pytest.raises(StorageError, match="UNIQUE"), transaction(connection):
        connection.execute("INSERT INTO projects(path) VALUES ('/p')")
        connection.execute("INSERT INTO projects(path) VALUES ('/p')")
    assert connection.execute("SELECT count(*) FROM projects").fetchone() == (0,)
    connection.close()


def test_a_lock_that_is_held_too_long_is_reported_as_busy(path):
    holder = open_database(str(path))
    other = open_database(str(path), busy_timeout_ms=10)
    with transaction(holder), pytest.raises(DatabaseBusyError, match="Try again"), transaction(other):
        pass
    holder.close()
    other.close()


def test_a_commit_that_fails_is_reported(path):
    connection = open_database(str(path))
    with pytest.raises(StorageError, match="FOREIGN KEY"), transaction(connection):
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, turn_id) "
            "VALUES ('s', '/p', 0, 'x', 'human', 99)"
        )
    assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (0,)
    connection.close()


def test_a_database_that_another_process_creates_meanwhile_is_taken_as_it_is(path, monkeypatch):
    """Both find it empty; the second one must look again when it gets the lock."""
    found_empty = threading.Event()
    check_kind = connection_module.check_kind

    def check_and_tell(connection, name):
        version = check_kind(connection, name)
        found_empty.set()
        return version

    monkeypatch.setattr(connection_module, "check_kind", check_and_tell)
    path.touch()
    first = sqlite3.connect(path, isolation_level=None)
    second = threading.Thread(target=lambda: open_database(str(path)).close())
    with transaction(first):
        second.start()
        assert found_empty.wait(30)
        for version in MIGRATIONS:
            apply_migration(first, version)
    second.join()
    assert first.execute("SELECT version FROM schema_version").fetchall() == [(1,), (2,)]
    first.close()


_CREATE = """
import sys
from kizami_core.storage.connection import open_database, transaction
connection = open_database(sys.argv[1])
with transaction(connection):
    connection.execute("INSERT INTO projects(path) VALUES (?)", (sys.argv[2],))
connection.close()
"""


@pytest.mark.parametrize("is_old", [False, True])
def test_processes_that_create_the_database_at_once_agree(path, is_old):
    if is_old:
        _typescript_database(path).close()
    command = [sys.executable, "-W", "error", "-c", _CREATE, str(path)]
    processes = [subprocess.Popen([*command, f"/p{n}"], stderr=subprocess.PIPE) for n in range(6)]
    assert [process.communicate()[1] for process in processes] == [b""] * 6
    connection = open_database(str(path))
    assert connection.execute("SELECT path FROM projects ORDER BY path").fetchall() == [
        (f"/p{n}",) for n in range(6)
    ]
    assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,), (2,)]
    assert len(list(path.parent.glob("*.backup*"))) == is_old
    connection.close()
