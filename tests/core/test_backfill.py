"""Backfill: the whole history on disk becomes memories, in any number of attempts."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kizami_core.backfill import Step, backfill, count_turns, unsaved, within_project
from kizami_core.errors import TranscriptError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.memory import Memory
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.project_aliases import add_alias
from kizami_core.storage.transcripts import read_states
from kizami_core.transcript.history import TranscriptFile, find_transcripts
from memories import config
from transcripts import Transcript, rows

NOW = 1_780_000_000.0


@pytest.fixture
def claude_dir(tmp_path):
    return tmp_path / "claude"


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _session(session_id, turns=2, **fields):
    transcript = Transcript(session_id, **fields)
    for number in range(turns):
        transcript.ask(f"{session_id}: question {number} 接続プール").answer(
            f"answer {number} in src/db/pool.ts"
        )
    return transcript


def _write(claude_dir, session_id, *, age=0, folder="-home-dev", **options):
    """Write a transcript that changed ``age`` seconds before ``NOW``."""
    path = _session(session_id, **options).write(claude_dir / "projects" / folder)
    os.utime(path, (NOW - age, NOW - age))
    return path


def _write_agent(claude_dir, parent, agent_id, *, age=0):
    folder = claude_dir / "projects" / "-home-dev" / parent / "subagents"
    transcript = Transcript(parent).ask(f"task of {agent_id}", agentId=agent_id).answer("done")
    path = transcript.write(folder, name=f"agent-{agent_id}.jsonl")
    os.utime(path, (NOW - age, NOW - age))
    return path


def _names(files):
    return [Path(file.path).name for file in files]


def _backfill(connection, claude_dir, *, workers=0):
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    return list(backfill(connection, files, config=config(), now=NOW, workers=workers))


def _saved_one_by_one(claude_dir, tmp_path):
    """Return the rows that saving each transcript by itself makes, the last changed one first."""
    with closing(open_database(str(tmp_path / "single.db"))) as connection:
        for file in find_transcripts(str(claude_dir)):
            save_transcript(connection, file.path, config=config(), now=NOW)
        return rows(connection), read_states(connection)


def test_history_is_every_transcript_the_last_changed_first(claude_dir):
    _write(claude_dir, "old", age=300, folder="-home-dev-b")
    new = _write(claude_dir, "new", age=100)
    _write_agent(claude_dir, "new", "a1", age=200)
    _write_agent(claude_dir, "gone", "a2", age=250)
    (claude_dir / "projects" / "-home-dev" / "agent-flat.jsonl").write_text("{}\n", encoding="utf-8")
    os.utime(claude_dir / "projects" / "-home-dev" / "agent-flat.jsonl", (NOW, NOW))
    found = find_transcripts(str(claude_dir))
    assert _names(found) == [
        "agent-flat.jsonl",
        "new.jsonl",
        "agent-a1.jsonl",
        "agent-a2.jsonl",
        "old.jsonl",
    ]
    assert found[1] == TranscriptFile(new, os.path.getsize(new), NOW - 100)


def test_what_is_no_transcript_is_left_out(claude_dir):
    project = claude_dir / "projects" / "-home-dev"
    _write_agent(claude_dir, "s", "acompact-1")
    (project / "empty.jsonl").touch()
    (project / "sessions-index.json").write_text("{}", encoding="utf-8")
    (project / "nowhere.jsonl").symlink_to(project / "missing.jsonl")
    (claude_dir / "projects" / "file.jsonl").write_text("{}\n", encoding="utf-8")
    assert find_transcripts(str(claude_dir)) == []


def test_without_a_history_there_is_nothing_to_do(connection, claude_dir):
    assert find_transcripts(str(claude_dir)) == []
    assert _backfill(connection, claude_dir) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_backfill_saves_what_saving_one_by_one_saves(connection, claude_dir, tmp_path, workers):
    for number in range(12):
        _write(claude_dir, f"session-{number}", age=number, turns=number + 1)
    _write_agent(claude_dir, "session-3", "a1")
    steps = _backfill(connection, claude_dir, workers=workers)
    assert (rows(connection), read_states(connection)) == _saved_one_by_one(claude_dir, tmp_path)
    assert all(step.is_done and not step.error for step in steps)
    assert sum(step.advanced for step in steps) == sum(
        file.size for file in find_transcripts(str(claude_dir))
    )
    assert sum(step.turns_written for step in steps) == sum(range(13)) + 1
    assert [step.session_id for step in steps][:3] == ["session-0", "agent-a1", "session-1"]


def test_copies_in_one_transaction_are_saved_as_one_by_one(connection, claude_dir, tmp_path):
    parent = _session("parent", turns=3)
    for name, more in (("fork", "and so it went on"), ("copy", "")):
        fork = Transcript(name)
        fork.lines = [line if more else line.replace('"parent"', f'"{name}"') for line in parent.lines]
        if more:
            fork.answer(more).ask("a question of its own").answer("an answer")
        path = fork.write(claude_dir / "projects" / "-home-dev")
        os.utime(path, (NOW, NOW))
    path = parent.write(claude_dir / "projects" / "-home-dev")
    os.utime(path, (NOW - 10, NOW - 10))
    # Two folders, one session: what the first has is there when the second is read.
    _write(claude_dir, "moved", age=20)
    _write(claude_dir, "moved", age=30, folder="-home-other", turns=3, cwd="/home/other")
    assert len(_backfill(connection, claude_dir)) == 5
    assert (rows(connection), read_states(connection)) == _saved_one_by_one(claude_dir, tmp_path)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_long_transcript_comes_in_several_steps(connection, claude_dir, tmp_path, workers):
    _write(claude_dir, "long", turns=450)
    _write(claude_dir, "short", age=1)
    steps = _backfill(connection, claude_dir, workers=workers)
    assert [(step.session_id, step.is_done) for step in steps] == [
        ("long", False),
        ("long", False),
        ("long", True),
        ("short", True),
    ]
    assert sum(step.advanced for step in steps) == sum(
        file.size for file in find_transcripts(str(claude_dir))
    )
    assert (rows(connection), read_states(connection)) == _saved_one_by_one(claude_dir, tmp_path)


def test_a_second_run_has_nothing_to_do(connection, claude_dir):
    _write(claude_dir, "one")
    _backfill(connection, claude_dir)
    before = rows(connection)
    assert unsaved(connection, find_transcripts(str(claude_dir))) == []
    assert (_backfill(connection, claude_dir), rows(connection)) == ([], before)


def test_only_what_was_added_is_read_again(connection, claude_dir):
    path = _write(claude_dir, "one", turns=40)
    _backfill(connection, claude_dir)
    before = os.path.getsize(path)
    _write(claude_dir, "one", turns=41, age=-5)
    (step,) = _backfill(connection, claude_dir)
    assert step == Step(path, "one", os.path.getsize(path) - before, 1, 1, 1, is_done=True)


def test_a_run_that_ends_early_is_carried_on(connection, claude_dir, tmp_path):
    for number in range(30):
        _write(claude_dir, f"session-{number}", age=number, turns=30)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    with closing(backfill(connection, files, config=config(), now=NOW)) as steps:
        first = next(steps)
    left = unsaved(connection, find_transcripts(str(claude_dir)))
    assert first.session_id == "session-0"
    assert 0 < len(left) < 30
    _backfill(connection, claude_dir)
    assert (rows(connection), read_states(connection)) == _saved_one_by_one(claude_dir, tmp_path)


def test_a_run_interrupted_within_a_transcript_goes_on_there(connection, claude_dir, tmp_path):
    _write(claude_dir, "long", turns=450)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    with closing(backfill(connection, files, config=config(), now=NOW)) as steps:
        first = next(steps)
    (second, third) = _backfill(connection, claude_dir)
    assert (first.turns_written, second.turns_written, third.turns_written) == (200, 200, 50)
    assert sum(step.advanced for step in (first, second, third)) == files[0].size
    assert rows(connection) == _saved_one_by_one(claude_dir, tmp_path)[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_transcript_that_cant_be_read_does_not_stop_the_rest(connection, claude_dir, workers):
    _write(claude_dir, "first")
    folder = claude_dir / "projects" / "-home-dev" / "folder.jsonl"
    folder.mkdir()
    (folder / "x").touch()
    os.utime(folder, (NOW - 1, NOW - 1))
    _write(claude_dir, "gone", age=2)
    _write(claude_dir, "last", age=3)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    os.remove(next(file.path for file in files if file.path.endswith("gone.jsonl")))
    steps = list(backfill(connection, files, config=config(), now=NOW, workers=workers))
    by_session = {step.session_id: step for step in steps}
    assert {name: bool(step.error) for name, step in by_session.items()} == {
        "first": False,
        "folder": True,
        "gone": True,
        "last": False,
    }
    assert by_session["gone"].error.endswith(
        "(No such file or directory). Check the path and its permissions."
    )
    assert all(step.is_done for step in steps)


def test_what_has_lost_its_source_stays(connection, claude_dir):
    path = _write(claude_dir, "one")
    _backfill(connection, claude_dir)
    before = rows(connection)
    shutil.rmtree(claude_dir / "projects")
    assert _backfill(connection, claude_dir) == []
    assert rows(connection) == before
    assert list(read_states(connection)) == [path]


def test_sidechains_are_saved_with_their_transcript(connection, claude_dir, tmp_path):
    transcript = _session("main")
    transcript.ask("find the pool", isSidechain=True, agentId="inner")
    transcript.raw(
        '{"type":"assistant","isSidechain":true,"agentId":"inner","uuid":"side-1","sessionId":"main",'
        '"message":{"role":"assistant","content":[{"type":"text","text":"src/db/pool.ts"}]}}'
    )
    transcript.write(claude_dir / "projects" / "-home-dev")
    (step,) = _backfill(connection, claude_dir)
    assert (step.session_id, step.turns_written) == ("main", 3)
    assert rows(connection) == _saved_one_by_one(claude_dir, tmp_path)[0]
    assert [row[0] for row in rows(connection)["sessions"]] == ["agent-inner", "main"]
    assert unsaved(connection, find_transcripts(str(claude_dir))) == []


def test_another_writer_gets_its_turn_between_two_steps(connection, claude_dir, tmp_path):
    for number in range(20):
        _write(claude_dir, f"session-{number}", age=number, turns=30)
    live = _session("live").write(tmp_path)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    with closing(open_database(str(tmp_path / "memory.db"), busy_timeout_ms=0)) as other:
        for _ in backfill(connection, files, config=config(), now=NOW):
            save_transcript(other, live, config=config(), now=NOW)
    assert len(rows(connection)["turns"]) == 20 * 30 + 2


def test_a_project_can_be_chosen(connection, claude_dir, tmp_path):
    shop, blog = (tmp_path.resolve() / name for name in ("shop", "blog"))
    for folder in (shop, blog):
        folder.mkdir()
    _write(claude_dir, "known", cwd=str(shop))
    _backfill(connection, claude_dir)
    _write(claude_dir, "known", cwd=str(shop), turns=3, age=-1)
    _write(claude_dir, "new", cwd=str(shop / "sub" / ".."), age=1)
    _write(claude_dir, "moved", cwd="/before/shop", age=2)
    _write(claude_dir, "other", cwd=str(blog), age=3)
    _write(claude_dir, "empty", turns=0, age=4)
    (claude_dir / "projects" / "-home-dev" / "empty.jsonl").write_text("{}\n", encoding="utf-8")
    (claude_dir / "projects" / "-home-dev" / "folder.jsonl").mkdir()
    with transaction(connection):
        add_alias(connection, "/before/shop", str(shop), now=NOW)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    chosen = sorted(_names(within_project(connection, files, str(shop))))
    assert chosen == ["known.jsonl", "moved.jsonl", "new.jsonl"]


def test_turns_to_come_are_counted_without_saving(connection, claude_dir):
    path = _write(claude_dir, "one", turns=5)
    (file,) = find_transcripts(str(claude_dir))
    assert count_turns(connection, file) == 5
    assert rows(connection)["turns"] == []
    _backfill(connection, claude_dir)
    _write(claude_dir, "one", turns=7)
    # The last one that was read may have grown.
    assert count_turns(connection, file) == 3
    os.remove(path)
    with pytest.raises(TranscriptError):
        count_turns(connection, file)


def test_a_session_saved_by_its_hook_is_skipped(connection, claude_dir):
    path = _write(claude_dir, "hooked")
    save_transcript(connection, path, config=config(), now=NOW)
    _write(claude_dir, "missed", age=1)
    assert _names(unsaved(connection, find_transcripts(str(claude_dir)))) == ["missed.jsonl"]


def test_a_library_user_backfills_without_other_processes(claude_dir, tmp_path):
    _write(claude_dir, "one")
    with Memory(tmp_path / "memory.db", env={"HOME": str(tmp_path)}) as memory:
        assert [step.turns_written for step in memory.backfill(claude_dir)] == [2]
        assert list(memory.backfill(claude_dir)) == []
        assert [project.sessions for project in memory.projects()] == [1]
        (tmp_path / "new").mkdir()
        assert memory.rename_project("my-app", tmp_path / "new").sessions == 1


@pytest.mark.heavy
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_processes_that_are_killed_cost_nothing(connection, claude_dir, tmp_path):
    for number in range(30):
        _write(claude_dir, f"session-{number}", age=number, turns=30)
    files = unsaved(connection, find_transcripts(str(claude_dir)))
    for _ in backfill(connection, files, config=config(), now=NOW, workers=1):
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
    assert rows(connection) == _saved_one_by_one(claude_dir, tmp_path)[0]


# The parent is killed while its readers have work: they must end, too.
_KILLED = """
import os, signal, sys
from kizami_core.config import parse_config
from kizami_core.reading_ahead import ReadersAhead, Request
from kizami_core.segments import transcript_state
if __name__ == "__main__":
    with ReadersAhead(1, parse_config({}, {})[0]) as readers:
        readers.prepare(Request(transcript_state(sys.argv[1]), None, {})).result()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_processes_that_read_ahead_end_with_the_one_that_writes(claude_dir, tmp_path):
    path = _write(claude_dir, "one")
    script = tmp_path / "killed.py"
    script.write_text(_KILLED, encoding="utf-8")
    # Its output is a pipe that every process of its holds: reading to the end waits for all of them.
    done = subprocess.run([sys.executable, str(script), path], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-9, b"")
