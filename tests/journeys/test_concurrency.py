"""Many clients at work on one database: no error, no lost turn, and the rows of one after the other.

`benchmarks/concurrency.py` does it with 16 savers and 16 recallers for 100 rounds.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from busy_sessions import BusySessions, run_hooks
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.storage.connection import open_database
from transcripts import rows


@pytest.fixture
def data(claude):
    return claude.project.parent / ".local" / "share" / "kizami"


@pytest.fixture
def sessions(claude):
    folder = claude.project.parent / ".claude" / "projects" / "-shop"
    folder.parent.mkdir(parents=True)
    return BusySessions(folder, 4)


def said(results):
    assert {result.code for result in results} <= {0}
    return [result.err for result in results if result.err]


def final_rows(data):
    with closing(open_database(str(data / "memory.db"))) as connection:
        assert check(connection) == IntegrityReport((), ())
        return rows(connection)


def test_savers_and_recallers_at_once_lose_no_turn(claude, data, sessions, tmp_path):
    for _ in range(3):
        questions = sessions.questions(4)
        savers = [("save", fields) for fields in sessions.grow()]
        recallers = [("recall", fields) for fields, _ in questions]
        results = run_hooks(savers + recallers, claude.env, meanwhile=sessions.finish_writing)
        assert said(results) == []
        with closing(sqlite3.connect(data / "memory.db")) as connection:
            assert sessions.lost(connection) == []
        blocks = [result.out for result in results[len(savers) :]]
        assert [
            answer for (_, answer), block in zip(questions, blocks, strict=True) if answer not in block
        ] == []
    assert said(run_hooks([("save", fields) for fields in sessions.end()], claude.env)) == []
    assert not (data / "error.log").exists()
    assert final_rows(data) == sessions.rows_of_one_saver(tmp_path / "once.db")


def test_a_backfill_beside_live_hooks_saves_each_turn_once(claude, data, sessions, tmp_path):
    for _ in range(5):
        fields = sessions.grow()
        sessions.finish_writing()

    def backfill():
        command = [sys.executable, "-m", "kizami_cli", "backfill", "--workers", "0"]
        subprocess.run(command, env=claude.env, capture_output=True, check=True)

    for _ in range(2):
        assert said(run_hooks([("save", one) for one in fields], claude.env, meanwhile=backfill)) == []
        fields = sessions.grow()
        sessions.finish_writing()
    backfill()
    assert final_rows(data) == sessions.rows_of_one_saver(tmp_path / "once.db")


def test_while_another_program_keeps_the_lock_recall_answers_and_the_next_save_loses_nothing(
    claude, data, sessions, tmp_path
):
    first = sessions.grow()
    sessions.finish_writing()
    assert said(run_hooks([("save", fields) for fields in first], claude.env)) == []
    ((question, answer),) = sessions.questions(1)
    second = sessions.grow()
    with closing(sqlite3.connect(data / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hooks = [("recall", question), *(("save", fields) for fields in second)]
        recalled, *saved = run_hooks(hooks, claude.env, meanwhile=sessions.finish_writing)
        other.execute("ROLLBACK")
    assert (recalled.code, recalled.err, answer in recalled.out) == (0, "", True)
    lines = "".join(said(saved)).splitlines()
    assert len(lines) == len(second)
    assert all(
        line.endswith("memory.db is locked by another process. Try again when it has finished.")
        for line in lines
    )
    assert sorted((data / "error.log").read_text(encoding="utf-8").splitlines())[-len(lines) :] == sorted(
        lines
    )
    # The session goes on: one hook saves what the ones before could not.
    third = sessions.grow()
    sessions.finish_writing()
    assert said(run_hooks([("save", fields) for fields in [*third, *sessions.end()]], claude.env)) == []
    assert final_rows(data) == sessions.rows_of_one_saver(tmp_path / "once.db")
