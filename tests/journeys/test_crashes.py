"""Killed at whatever moment: what was committed stays, nothing is half-written, the next one goes on.

`benchmarks/crash.py` kills at random instants, over real transcripts. tests/cli/test_doctor.py has full and
read-only disks.
"""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from killed import Killed, sound_rows
from kizami_core.config import parse_config
from kizami_core.maintenance.retention import run_maintenance
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from kizami_core.storage.schema import apply_migration
from transcripts import BEGIN, Transcript, rows

pytestmark = pytest.mark.heavy

_CONFIG = parse_config({}, {})[0]
_LATER = datetime(2099, 1, 1, tzinfo=UTC)  # never too old to be kept
_DAY = 86_400.0


@pytest.fixture
def database(claude):
    path = claude.project.parent / ".local" / "share" / "kizami" / "memory.db"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def transcript(claude):
    """Three transactions, a sub-agent in the same file, and a command that failed and later succeeded."""
    session = Transcript("long", cwd=str(claude.project), begin=_LATER)
    for number in range(410):
        session.ask(f"問い {number}").answer(f"答え {number}: 接続プールの上限を変えました。")
        if number in (5, 300):
            session.call(f"c{number}", "Bash", command="npm test")
            session.result(f"c{number}", "boom", is_error=number == 5)
        if number == 7:
            session.ask("調べて", isSidechain=True, agentId="a1")
    return session.write(claude.project.parent / ".claude" / "projects" / "-shop")


def save(database, *paths):
    with closing(open_database(str(database))) as connection:
        for path in paths:
            save_transcript(connection, path, config=_CONFIG, now=_LATER.timestamp())


def remove(database):
    for path in database.parent.glob("memory.db*"):
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "committed"),
    [(("save", "--stdin"), {0, 200, 400, 410, 411}), (("backfill", "--workers", "0"), {0, 200, 400, 411})],
    ids=["save", "backfill"],
)
def test_a_save_killed_at_any_statement_is_completed_by_the_next_one(
    claude, database, transcript, arguments, committed
):
    fields = {"session_id": "long", "transcript_path": transcript, "hook_event_name": "SessionEnd"}
    killed = Killed(database, claude.env, arguments, fields)
    save(claude.project / "whole.db", transcript)
    expected = sound_rows(claude.project / "whole.db")
    left = []
    for place in killed.places(6):
        remove(database)
        killed.run(last=place)
        left.append(len(killed.rows_left()["turns"]))
        killed.run()
        assert sound_rows(database) == expected, place
    # What was committed stays: the turns of one, two and three transactions, the last one the sub-agent's.
    assert left == sorted(left)
    assert set(left) == committed


def test_a_database_of_the_typescript_kizami_survives_a_kill_while_it_is_carried_on(
    claude, database, tmp_path
):
    session = Transcript("new", begin=_LATER).ask("新しい問い").answer("新しい答え")
    fields = {"session_id": "new", "transcript_path": session.write(tmp_path), "hook_event_name": "Stop"}
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        apply_migration(connection, 1)
        connection.execute(
            "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('old', '/p', 30)"
        )
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role)"
            " VALUES ('old', '/p', ?, ?, 'mixed')",
            [(number, f"[User]\n昔の問い {number}") for number in range(30)],
        )
        connection.execute("COMMIT")
    killed = Killed(database, claude.env, ("save", "--stdin"), fields)
    shutil.copy(tmp_path / "old.db", database)
    places = killed.places(6)
    expected = sound_rows(database)
    assert (len(expected["chunks"]), expected["queued"]) == (31, 0)
    for place in places:
        remove(database)
        shutil.copy(tmp_path / "old.db", database)
        killed.run(last=place)
        assert len(killed.rows_left()["chunks"]) in (30, 31)
        killed.run()
        assert sound_rows(database) == expected, place


@pytest.mark.parametrize(
    "arguments",
    [
        ("prune", "--older-than", "1d", "--yes"),
        ("delete", "--session", "old", "--yes"),
        ("project", "rename", "/gone", "/", "--yes"),
        ("merge", "--all-projects", "--yes"),
        ("doctor", "--repair"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_killed_at_any_statement_has_done_all_or_nothing(claude, database, tmp_path, arguments):
    old = Transcript("old", cwd="/gone")
    new = Transcript("new", begin=_LATER)
    for number in range(20):
        old.ask(f"古い問い {number}").answer("同じ答えが何度も出てくる。" * 10)
        new.ask(f"新しい問い {number}").answer(f"答え {number}")
    claude("setup")
    save(tmp_path / "before.db", old.write(tmp_path), new.write(tmp_path))
    before = sound_rows(tmp_path / "before.db")
    killed = Killed(database, claude.env, arguments)
    shutil.copy(tmp_path / "before.db", database)
    places = killed.places(6)
    after = sound_rows(database)
    assert (after != before) == (arguments[0] != "doctor")
    for place in places:
        remove(database)
        shutil.copy(tmp_path / "before.db", database)
        killed.run(last=place)
        left = killed.rows_left()
        assert left in (before, after), place
        if left == before:
            killed.run()
        assert sound_rows(database) == after, place


def test_a_database_thrown_away_beside_the_log_of_a_killed_save_begins_anew(claude, database, tmp_path):
    session = Transcript("session", begin=_LATER).ask("問い").answer("答え")
    transcript = session.write(tmp_path)
    fields = {"session_id": "session", "transcript_path": transcript, "hook_event_name": "SessionEnd"}
    killed = Killed(database, claude.env, ("save", "--stdin"), fields)
    last = max(killed.places(2))
    remove(database)
    killed.run(last=last)
    assert database.with_name("memory.db-wal").stat().st_size
    database.unlink()
    killed.run()
    assert len(sound_rows(database)["turns"]) == 1


def test_a_clock_that_jumps_ahead_and_back_costs_no_turn(tmp_path):
    """Neither does maintenance take what a clock that is years ahead makes look old."""
    session = Transcript("session", begin=BEGIN)
    moments = [0.0, 10.0, 3_650 * _DAY, 3_650 * _DAY + 60, 60.0, -5 * _DAY, 30.0, 400 * _DAY, 120.0]
    with closing(open_database(str(tmp_path / "memory.db"))) as connection:
        for number, moment in enumerate(moments):
            now = BEGIN.timestamp() + moment
            stamp = datetime.fromtimestamp(now, UTC).isoformat()
            session.ask(f"問い {number}", timestamp=stamp).answer(f"答え {number}")
            save_transcript(connection, session.write(tmp_path), config=_CONFIG, now=now)
            run_maintenance(connection, config=_CONFIG, now=now)
        found = rows(connection) | {"queued": 0}
    save(tmp_path / "once.db", session.write(tmp_path))
    assert found == sound_rows(tmp_path / "once.db")
    assert [row[3].count("問い") for row in found["chunks"]] == [1] * len(moments)
