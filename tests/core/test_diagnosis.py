"""What `kizami doctor` finds in the database and around it, and what its repair makes anew."""

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager

import pytest

from kizami_core.errors import StorageError
from kizami_core.maintenance.coverage import Coverage, check_coverage, measure_coverage
from kizami_core.maintenance.diagnosis import (
    check_database,
    check_disk,
    check_foreign_database,
    check_runtime,
    free_bytes,
)
from kizami_core.maintenance.error_log import LoggedError, check_error_log, read_error_log
from kizami_core.maintenance.findings import Finding, of_error
from kizami_core.maintenance.hook_runs import check_hook_runs, last_run
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.maintenance.permissions import check_permissions, mend_permissions
from kizami_core.maintenance.repair import RepairReport, repair
from kizami_core.paths import append_error_line, begin_error_log, run_stamp_path, touch_run_stamp
from kizami_core.retrieval.word_index import index_row
from kizami_core.storage.connection import open_database
from kizami_core.storage.schema import SCHEMA_VERSION
from kizami_core.timestamps import local_minute
from kizami_core.transcript.history import TranscriptFile
from memories import NOW, MemoryBook, config

DAY = 86_400
REPAIR = "Run: kizami doctor --repair"


@pytest.fixture
def path(tmp_path):
    """Return a database of three chunks in two sessions of two projects."""
    path = str(tmp_path / "memory.db")
    book = MemoryBook(path)
    book.add("Why is the build red?", "A missing semicolon.", session="a", project="/p/one")
    book.add("状態管理は？", "React Hook Form を採用します。", session="a", project="/p/one")
    book.add("フォームは？", "検証が複雑です。", session="b", project="/p/two")
    book.connection.close()
    return path


def states(findings):
    return {(finding.check, finding.state) for finding in findings}


def diagnose(path, *, now=NOW, **changes):
    return check_database(config(database_path=path, **changes), now, busy_timeout_ms=50)


def damage(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)


def chunk_rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM chunks ORDER BY id").fetchall()


# --- the interpreter, the disk ---


def test_this_python_has_what_is_needed():
    python, sqlite = check_runtime()
    assert (python.check, python.state, sqlite.check, sqlite.state) == ("python", "ok", "sqlite", "ok")
    assert sys.executable in python.found
    assert sqlite3.sqlite_version in sqlite.found


def test_a_disk_with_too_little_space_is_a_problem(tmp_path):
    missing = str(tmp_path / "later" / "memory.db")
    assert free_bytes(missing) > 0
    assert check_disk(missing, 3 * 1024 * 1024 * 1024) == Finding(
        "disk", "ok", f"3,072 MB free at {missing}", figures={"free_mb": 3072.0}
    )
    full = check_disk(missing, 1024 * 1024)
    assert (full.state, full.figures) == ("problem", {"free_mb": 1.0})
    assert full.remedy.startswith("Free space")


# --- the database ---


def test_a_sound_database_is_told_with_its_figures(path):
    database, integrity, size = diagnose(path)
    assert database == Finding(
        "database", "ok", f"{path}: 3 chunks in 2 sessions", figures={"chunks": 3, "sessions": 2}
    )
    assert integrity == Finding("integrity", "ok", "sound; both full-text indexes agree with the chunks")
    assert (size.check, size.state, size.figures["max_mb"]) == ("size", "ok", 100.0)


def test_looking_at_a_database_changes_no_row(path):
    before = dump(path)
    diagnose(path)
    assert dump(path) == before


def dump(path):
    """Return every row of every table that can be read row by row."""
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: connection.execute(f"SELECT * FROM {name}").fetchall()
            for name in names
            if name != "chunks_words"
        }


def test_a_database_that_is_not_there_is_not_created(tmp_path):
    path = str(tmp_path / "memory.db")
    assert diagnose(path) == [
        Finding("database", "warning", f"{path} is not there yet.", "Run: kizami setup")
    ]
    assert os.listdir(tmp_path) == []
    (tmp_path / "memory.db").touch()
    assert diagnose(path) == [Finding("database", "warning", f"{path} is still empty.", "Run: kizami setup")]


def test_a_database_that_is_no_database_says_how_to_rescue_it(tmp_path):
    path = str(tmp_path / "memory.db")
    (tmp_path / "memory.db").write_bytes(b"no database at all" * 1000)
    (finding,) = diagnose(path)
    assert (finding.check, finding.state) == ("database", "problem")
    assert finding.found == f"{path} is damaged (file is not a database)"
    assert "kizami export --format json > kizami-rescue.json" in finding.remedy
    assert f'"{path}" "{path}.damaged"' in finding.remedy
    assert "kizami backfill" in finding.remedy


def test_a_damaged_page_is_a_problem_with_the_commands_of_the_rescue(path):
    with open(path, "rb") as file:
        content = file.read()
    page_bytes = int.from_bytes(content[16:18], "big")
    at = content.index(b"A missing semicolon.") // page_bytes * page_bytes
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * page_bytes)
    finding = diagnose(path)[-1]
    assert finding.state == "problem"
    assert "kizami export --format json" in finding.remedy
    assert "--repair" not in finding.remedy


def test_a_database_that_is_locked_is_a_warning(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        (finding,) = diagnose(path)
    assert finding == Finding(
        "database", "warning", f"{path} is locked by another process.", "Try again when it has finished."
    )


def test_a_database_of_a_newer_kizami_asks_for_an_upgrade(path):
    damage(path, f"INSERT INTO schema_version(version) VALUES ({SCHEMA_VERSION + 1})")
    (finding,) = diagnose(path)
    assert (finding.state, finding.remedy) == ("problem", "Upgrade: pip install --upgrade kizami-cli")


def test_chunks_that_the_word_index_has_yet_to_follow_are_a_warning(path):
    damage(path, "UPDATE chunks SET content = 'changed by another program' WHERE id = 1")
    integrity = diagnose(path)[1]
    assert (integrity.state, integrity.figures) == ("warning", {"queued": 1})
    assert integrity.found == "sound, but the word index has yet to follow 1 chunk"


def test_size_is_told_with_its_limit(path):
    assert diagnose(path, max_db_size_mb=0.01)[2].state == "warning"
    assert "maintenance.maxDbSizeMB" in diagnose(path, max_db_size_mb=0.01)[2].remedy
    off = diagnose(path, max_db_size_mb=0.01, maintenance_enabled=False)[2]
    assert (off.state, off.found.endswith("maintenance is off, so there is no limit")) == ("ok", True)


def test_what_a_clock_that_ran_ahead_dated_is_named(path):
    damage(path, "UPDATE chunks SET created_at = '2030-05-01 00:00:00' WHERE id < 3")
    clock = diagnose(path)[3]
    assert (clock.check, clock.state, clock.figures) == ("clock", "warning", {"chunks": 2})
    assert "up to 2030-05-01 00:00:00 UTC" in clock.found
    assert "clock" not in {finding.check for finding in diagnose(path, now=NOW + 10 * 366 * DAY)}


def test_the_typescript_kizamis_database_is_named_where_ours_stands_elsewhere(path, tmp_path):
    other = str(tmp_path / "other.db")
    assert check_foreign_database(other, path) == []
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE chunks (id)")
    (finding,) = check_foreign_database(other, path)
    assert (finding.check, finding.state) == ("typescript", "ok")
    assert finding.found.startswith(other)
    assert check_foreign_database(path, other) == []
    assert check_foreign_database(path, path) == []


# --- a home that can't be written to ---


@contextmanager
def without_rights():
    """Be a user who may read what all may read, and write nowhere."""
    ids = os.getresuid()
    if os.geteuid() == 0:
        os.setresuid(65_534, 65_534, 0)
    try:
        yield
    finally:
        os.setresuid(*ids)


@pytest.fixture
def read_only_folder():
    """Return a folder that everybody can read, outside of pytest's own, which only its user can enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield folder
        os.chmod(folder, 0o755)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="needs to be another user for a while")
def test_what_can_not_be_written_can_still_be_read(read_only_folder):
    path = os.path.join(read_only_folder, "memory.db")
    book = MemoryBook(path)
    book.add("状態管理は？", "React Hook Form を採用します。")
    book.connection.close()
    os.chmod(path, 0o444)
    os.chmod(read_only_folder, 0o555)
    with without_rights():
        with closing(open_database(path, read_only=True)) as connection:
            assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
        (finding,) = diagnose(path)
        env = {"HOME": read_only_folder}
        unwritable = check_permissions(env, config=os.path.join(read_only_folder, "c.json"), database=path)
    assert (finding.check, finding.state) == ("database", "problem")
    assert "can't be created or opened for writing" in finding.found
    assert [(item.state, item.found) for item in unwritable] == [
        ("problem", f"{read_only_folder} can't be written to, so nothing can be saved there"),
        ("problem", f"{path} can't be written to, so nothing can be saved"),
    ]


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="needs to be another user for a while")
def test_what_waits_in_the_write_ahead_log_is_not_passed_over(read_only_folder):
    path = os.path.join(read_only_folder, "memory.db")
    book = MemoryBook(path)
    book.add("状態管理は？", "React Hook Form を採用します。")
    for name in os.listdir(read_only_folder):
        os.chmod(os.path.join(read_only_folder, name), 0o444)
    with open(path + "-wal", "rb") as log:
        waiting = log.read()
    book.connection.close()
    with open(path + "-wal", "wb") as log:
        log.write(waiting)
    os.chmod(path + "-wal", 0o444)
    os.chmod(read_only_folder, 0o555)
    with without_rights(), pytest.raises(StorageError, match="unable to open"):
        open_database(path, read_only=True)


# --- repair ---

INDEX = (
    "UPDATE sqlite_master SET sql = 'CREATE INDEX idx_chunks_project ON chunks({})'"
    " WHERE name = 'idx_chunks_project'"
)
NEW_CHUNK = (
    "INSERT INTO chunks(session_id, project_path, chunk_index, content, role)"
    " VALUES ('c', '/p', 0, '', 'mixed')"
)


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE chunks_fts_data SET block = zeroblob(40) WHERE id > 10"],
        ["UPDATE chunks_words_data SET block = zeroblob(40) WHERE id > 10"],
        ["DELETE FROM chunks_fts_data"],
        ["DELETE FROM chunks_words_data WHERE id = 10"],
        ["DELETE FROM chunks_fts_config"],
        ["DROP TABLE chunks_words_idx"],
        ["DROP TABLE chunks_fts"],
        ["DROP TABLE chunks_words"],
        ["DROP TRIGGER chunks_words_au", "DROP INDEX idx_chunks_turn"],
        ["INSERT INTO chunks_fts(rowid, content) VALUES (1, 'what no chunk says')"],
        ["INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')"],
        ["INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')"],
        ["DELETE FROM sessions WHERE session_id = 'a'"],
        ["UPDATE sessions SET chunk_count = 7"],
        ["INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('gone', '/p', 0)"],
    ],
    ids=lambda statements: statements[0][:50],
)
def test_repair_makes_anew_what_is_derived_and_touches_no_chunk(path, statements):
    before = chunk_rows(path)
    with closing(open_database(path)) as connection:
        sessions = connection.execute("SELECT * FROM sessions ORDER BY session_id").fetchall()
    damage(path, *statements)
    finding = diagnose(path)[1]
    assert (finding.check, finding.state, finding.remedy) == ("integrity", "problem", REPAIR)
    with closing(open_database(path)) as connection:
        report = repair(connection)
        assert (report.chunks_indexed, report.sessions) == (3, 2)
        assert check(connection) == IntegrityReport((), ())
    with closing(open_database(path)) as connection:
        assert check(connection) == IntegrityReport((), ())
        for index, query, row in (
            ("chunks_fts", '"semicolon"', 1),
            ("chunks_words", "semicolon", index_row(1)),
        ):
            rows = connection.execute(f"SELECT rowid FROM {index} WHERE {index} MATCH ?", (query,)).fetchall()
            assert rows == [(row,)]
        columns = "SELECT session_id, project_path, chunk_count FROM sessions ORDER BY session_id"
        assert connection.execute(columns).fetchall() == [(row[0], row[1], row[4]) for row in sessions]
    assert chunk_rows(path) == before
    assert ("integrity", "ok") in states(diagnose(path))


def test_an_index_of_sqlite_that_lost_rows_is_made_anew(path):
    damage(path, INDEX.format("session_id"))
    damage(path, NEW_CHUNK)
    damage(path, INDEX.format("project_path"))
    finding = diagnose(path)[1]
    assert (finding.state, finding.remedy) == ("problem", REPAIR)
    assert "missing from index idx_chunks_project" in finding.found
    with closing(open_database(path)) as connection:
        repair(connection)
    assert ("integrity", "ok") in states(diagnose(path))


def test_repair_says_what_was_missing_and_drops_sessions_without_chunks(path):
    damage(
        path,
        "DROP TRIGGER chunks_ai",
        "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('gone', '/p', 0)",
    )
    with closing(open_database(path)) as connection:
        assert repair(connection) == RepairReport(3, 2, 1, ("chunks_ai",))
        assert repair(connection) == RepairReport(3, 2, 0, ())


def test_repair_keeps_the_sessions_of_sub_agents_apart(path):
    damage(path, "UPDATE chunks SET is_agent = 1 WHERE session_id = 'b'", "DELETE FROM sessions")
    with closing(open_database(path)) as connection:
        repair(connection)
        assert check(connection) == IntegrityReport((), ())
        rows = connection.execute("SELECT session_id, parent_session_id FROM sessions ORDER BY session_id")
        assert rows.fetchall() == [("a", None), ("b", "")]


def test_repair_is_all_or_nothing(path):
    before = dump(path)
    with closing(open_database(path)) as connection:
        connection.execute(
            "CREATE TEMP TRIGGER stop BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(Exception, match="no"):
            repair(connection)
    assert dump(path) == before


# --- transcripts ---


def transcript(age_days):
    return TranscriptFile(f"/claude/projects/-p/{age_days}.jsonl", 10, NOW - age_days * DAY)


def test_transcripts_that_are_not_saved_are_counted_with_the_days_that_are_left():
    _saved, grown, old, now = files = [transcript(age) for age in (29, 5, 27.5, 0.01)]
    coverage = measure_coverage(files, [grown, old, now], now=NOW, cleanup_days=30)
    assert coverage == Coverage(on_disk=4, unsaved=3, in_use=1, at_risk=1, first_days=2)
    finding = check_coverage(coverage, 30)
    assert (finding.state, finding.remedy) == ("problem", "Run now: kizami backfill")
    assert finding.found == (
        "4 on disk, 1 saved to their end, 1 in use now; 2 not saved, and Claude Code deletes 1 of them "
        "within 7 days, the first in 2 days (cleanupPeriodDays 30)"
    )
    assert finding.figures == {
        "on_disk": 4, "unsaved": 3, "in_use": 1, "at_risk": 1, "cleanup_days": 30, "first_days": 2,
    }  # fmt: skip


def test_a_longer_cleanup_period_makes_it_a_warning():
    old = [transcript(27.5)]
    finding = check_coverage(measure_coverage(old, old, now=NOW, cleanup_days=90), 90)
    assert (finding.state, finding.remedy) == ("warning", "Run: kizami backfill")
    assert "deletes the first in 62 days (cleanupPeriodDays 90)" in finding.found


def test_what_is_overdue_goes_at_the_next_start():
    old = [transcript(31)]
    finding = check_coverage(measure_coverage(old, old, now=NOW, cleanup_days=30), 30)
    assert "the first at its next start" in finding.found
    assert finding.figures["first_days"] == 0


def test_without_transcripts_there_is_nothing_to_save():
    coverage = measure_coverage([], [], now=NOW, cleanup_days=30)
    assert coverage == Coverage(0, 0, 0, 0, None)
    assert check_coverage(coverage, 30).state == "ok"


# --- the error log ---


def log_line(age_days, text):
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(NOW - age_days * DAY))} {text}\n"


def test_errors_of_the_last_days_are_told_once_for_each_kind(tmp_path):
    log = tmp_path / "error.log"
    log.write_text(
        "What goes wrong stands here.\n"
        + log_line(9, "save: long ago. Do this.")
        + log_line(3, "save: /home/a/memory.db is locked by another process. Try again when it has finished.")
        + log_line(2, "recall: TypeError: no")
        + log_line(
            1, "save: /home/b/memory.db is locked by another process. Try again when it has finished."
        ),
        encoding="utf-8",
    )
    locked, bug = check_error_log(str(log), NOW)
    assert locked == Finding(
        "errors",
        "warning",
        f"save, 2 times, last {local_minute(NOW - DAY)}: /home/b/memory.db is locked by another process",
        "Try again when it has finished.",
        {"count": 2, "last": NOW - DAY},
    )
    assert bug.found == f"recall, {local_minute(NOW - 2 * DAY)}: TypeError: no"
    assert bug.remedy
    assert read_error_log(str(log), since=NOW - 2 * DAY)[0] == LoggedError(
        NOW - 2 * DAY, "recall", "TypeError: no"
    )


def test_many_kinds_of_errors_are_bounded(tmp_path):
    log = tmp_path / "error.log"
    log.write_text(
        "".join(log_line(1, f"save: {'x' * n} {'y' * 1000}.") for n in range(1, 9)), encoding="utf-8"
    )
    findings = check_error_log(str(log), NOW)
    assert [finding.found for finding in findings][5:] == ["and 3 more kinds"]
    assert max(len(finding.found) for finding in findings) < 500


def test_no_errors_are_fine_and_a_log_that_can_not_be_read_is_not(tmp_path):
    log = tmp_path / "error.log"
    assert check_error_log(str(log), NOW) == [Finding("errors", "ok", "none in the last 7 days")]
    log.mkdir()
    (finding,) = check_error_log(str(log), NOW)
    assert finding.state == "problem"


def test_the_error_log_keeps_the_newer_lines_within_its_bound(tmp_path):
    log = tmp_path / "kept" / "error.log"
    for number in range(300):
        append_error_line(str(log), f"line {number:03}", max_bytes=1000)
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines == [f"line {number:03}" for number in range(300 - len(lines), 300)]
    assert 500 <= log.stat().st_size <= 1009
    assert os.listdir(log.parent) == ["error.log"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_error_log_begins_with_a_line_of_its_own_once(tmp_path):
    log = tmp_path / "error.log"
    begin_error_log(str(log))
    begin_error_log(str(log))
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1
    assert check_error_log(str(log), NOW)[0].state == "ok"


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_on_a_full_disk_older_lines_make_room_for_the_last_one(tmp_path):
    log = tmp_path / "error.log"
    log.write_text("".join(f"line {number:03}\n" for number in range(100)), encoding="utf-8")
    script = (
        "import resource, sys; from kizami_core.paths import append_error_line; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (905, 905)); "
        "append_error_line(sys.argv[1], 'the disk is full')"
    )
    subprocess.run([sys.executable, "-c", script, str(log)], check=True)
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == ["line 099", "the disk is full"]
    assert 40 < len(lines) < 60


def test_an_error_log_that_can_not_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    append_error_line(str(tmp_path / "file" / "error.log"), "nowhere")
    assert (tmp_path / "file").read_bytes() == b""


# --- the runs of the hooks ---


@pytest.fixture
def env(tmp_path):
    return {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
    }


def stamp(env, event, at):
    touch_run_stamp(env, event)
    os.utime(run_stamp_path(env, event), (at, at))


def runs(env, hooks, errors=(), *, since=None, newest=None):
    return check_hook_runs(env, hooks, errors, since=since, newest_transcript=newest)


def test_a_stamp_is_private_and_follows_each_run(env):
    assert last_run(env, "SessionEnd") is None
    stamp(env, "SessionEnd", 1000)
    assert last_run(env, "SessionEnd") == 1000
    touch_run_stamp(env, "SessionEnd")
    assert last_run(env, "SessionEnd") > 1000
    assert stat.S_IMODE(os.stat(run_stamp_path(env, "SessionEnd")).st_mode) == 0o600


@pytest.mark.parametrize("event", ["", "../../evil", "a b", "x" * 5000, "名前"])
def test_what_is_no_event_leaves_no_stamp(env, tmp_path, event):
    touch_run_stamp(env, event)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_stamp_that_can_not_be_left_is_no_error(env, tmp_path):
    (tmp_path / "data").touch()
    touch_run_stamp(env, "Stop")
    assert last_run(env, "Stop") is None


def test_runs_are_told_with_their_time_and_a_failure_since(env):
    stamp(env, "SessionEnd", NOW - 100)
    stamp(env, "UserPromptSubmit", NOW - 100)
    hooks = {"SessionEnd": "save", "UserPromptSubmit": "recall", "SessionStart": "inject"}
    errors = [
        LoggedError(NOW - 200, "save", "was locked."),
        LoggedError(NOW - 50, "recall", "is damaged."),
        LoggedError(NOW - 40, "save", "configuration: search.mode is unknown."),
    ]
    assert runs(env, hooks, errors) == [
        Finding(
            "runs", "ok", f"SessionEnd: last ran {local_minute(NOW - 100)}", figures={"last_run": NOW - 100}
        ),
        Finding(
            "runs",
            "warning",
            f"UserPromptSubmit: last ran {local_minute(NOW - 100)}; failed {local_minute(NOW - 50)}",
            "What went wrong, and what to do, stands under errors.",
            {"last_run": NOW - 100, "last_failure": NOW - 50},
        ),
        Finding("runs", "ok", "SessionStart: has not run yet"),
    ]


def test_hooks_that_claude_code_does_not_run_are_a_problem(env):
    hooks = {"Stop": "save"}
    assert states(runs(env, hooks, since=NOW, newest=NOW + 60)) == {("runs", "ok")}
    assert states(runs(env, hooks, since=NOW, newest=NOW + 2 * 3600)) == {("runs", "ok"), ("runs", "problem")}
    stamp(env, "Stop", NOW + 2 * 3600)
    assert states(runs(env, hooks, since=NOW, newest=NOW + 2 * 3600)) == {("runs", "ok")}
    assert runs(env, {}, newest=NOW) == []


# --- permissions ---


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_others_can_read_is_named_and_mended(env, tmp_path):
    database = tmp_path / "data" / "kizami" / "memory.db"
    config = tmp_path / "c" / "kizami" / "config.json"
    places = {"config": str(config), "database": str(database)}
    assert check_permissions(env, **places) == [
        Finding("permissions", "ok", "only you can read what is kept")
    ]
    touch_run_stamp(env, "Stop")
    append_error_line(str(database.parent / "error.log"), "x")
    config.parent.mkdir(parents=True)
    files = [
        database,
        database.with_name("memory.db-wal"),
        database.with_name("memory.db.schema1.backup"),
        config,
    ]
    for file in files:
        file.touch()
        file.chmod(0o644)
    for folder in (database.parent, config.parent):
        folder.chmod(0o755)
    (finding,) = check_permissions(env, **places)
    assert (finding.state, finding.remedy) == ("warning", REPAIR)
    opened = finding.found.removeprefix("open to others: ").split(", ")
    assert f"{config} (0644)" in opened
    assert len(opened) == 6
    assert len(mend_permissions(env, **places)) == 6
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (database.parent, config.parent)} == {0o700}
    assert mend_permissions(env, **places) == []


def test_a_file_in_place_of_the_directory_is_a_problem(env, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kizami").touch(mode=0o600)
    database = str(tmp_path / "data" / "kizami" / "memory.db")
    found = [
        finding
        for finding in check_permissions(env, config=str(tmp_path / "config.json"), database=database)
        if finding.state == "problem"
    ]
    (finding,) = found
    assert finding.found.startswith(str(tmp_path / "data" / "kizami"))
    assert "can't be written to" in finding.found


def test_the_directory_of_a_chosen_database_is_left_to_its_owner(env, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o755)
    (mine / "config.json").touch(mode=0o600)
    (mine / "memory.db").touch(mode=0o600)
    places = {"config": str(mine / "config.json"), "database": str(mine / "memory.db")}
    assert states(check_permissions(env, **places)) == {("permissions", "ok")}


def test_the_last_sentence_of_an_error_is_its_remedy():
    assert of_error("x", ValueError("It is full. Free space.")) == Finding(
        "x", "problem", "It is full.", "Free space."
    )
    assert of_error("x", ValueError("Only this.")) == Finding("x", "problem", "Only this.")
