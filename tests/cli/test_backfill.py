"""`kizami backfill`, and the offer of `kizami setup` to run it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUEUE = ("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED.")
FORMS = ("フォームの状態管理はどうする？", "React Hook Form を採用します。")
FIRST, SECOND = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10", "5f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"


@pytest.fixture
def history(home):
    """Two sessions that no hook has seen, of two projects; the second one is ten days old."""
    blog = home.path / "work" / "blog"
    blog.mkdir()
    first = home.write_transcript(QUEUE, session_id=FIRST)
    second = home.write_transcript(FORMS, QUEUE, session_id=SECOND, cwd=blog)
    old = time.time() - 10 * 86_400
    os.utime(second, (old, old))
    return os.path.getsize(first), os.path.getsize(second)


def _report(done):
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    report.pop("seconds", None)
    return report


def _rows(kizami):
    return json.loads(kizami("list", "--all-projects", "--limit", "1000", "--json").stdout)


def _sessions(kizami):
    return {row["session_id"] for row in _rows(kizami)}


def test_everything_on_disk_is_saved(kizami, history):
    done = kizami("backfill", "--workers", "0")
    assert done.exit_code == 0
    assert done.stdout.startswith("Saved 3 turns (3 chunks) of 2 transcripts (")
    assert "Saving: 100 %" in done.stderr
    assert _sessions(kizami) == {FIRST, SECOND}
    again = kizami("backfill")
    assert (again.exit_code, again.stdout) == (0, "Nothing to do: 2 transcripts on disk, all saved.\n")


def test_the_report_counts(kizami, history):
    counts = {"transcripts": 2, "bytes": sum(history), "turns_written": 3, "turns_unchanged": 0}
    assert _report(kizami("backfill", "--json")) == {**counts, "chunks_written": 3, "failures": []}


def test_a_dry_run_counts_and_writes_nothing(kizami, home, history):
    plan = {"on_disk": 2, "transcripts": 2, "bytes": sum(history), "turns": 3, "left_out": 0, "failures": []}
    assert _report(kizami("backfill", "--dry-run", "--json")) == plan
    assert not home.database.exists()
    kizami("backfill", "--since", "1d")
    done = kizami("backfill", "--dry-run")
    assert done.stdout.startswith("Would save 1 transcript (")
    assert done.stdout.endswith(") with 2 turns, of 2 on disk.\n")
    assert _sessions(kizami) == {FIRST}


def test_a_time_and_a_project_choose(kizami, home, history):
    tomorrow = time.strftime("%Y-%m-%d", time.localtime(time.time() + 2 * 86_400))
    assert _report(kizami("backfill", "--since", tomorrow, "--json"))["transcripts"] == 0
    blog = str(home.path / "work" / "blog")
    assert _report(kizami("backfill", "--project", blog, "--since", "9d", "--json"))["transcripts"] == 0
    assert _report(kizami("backfill", "--project", blog, "--json"))["transcripts"] == 1
    assert _sessions(kizami) == {SECOND}
    assert _report(kizami("backfill", "--since", "2024-01-31", "--json"))["transcripts"] == 1


def test_what_is_no_time_is_refused(kizami, history):
    done = kizami("backfill", "--since", "lately")
    assert (done.exit_code, "12h, 90d, 6w or 2024-01-31" in done.stderr) == (1, True)


def test_claude_config_dir_is_honoured(home, history):
    moved = home.path / "elsewhere"
    os.rename(home.path / ".claude", moved)
    assert json.loads(home.run("backfill", "--json").stdout)["transcripts"] == 0
    done = home.run("backfill", "--json", env={"CLAUDE_CONFIG_DIR": str(moved)})
    assert json.loads(done.stdout)["transcripts"] == 2


def test_a_transcript_that_cant_be_read_is_named_and_the_rest_is_saved(kizami, home, history):
    for number in range(7):
        folder = home.path / ".claude" / "projects" / "-work-shop" / f"folder-{number}.jsonl"
        folder.mkdir()
        (folder / "x").touch()
    done = kizami("backfill")
    assert done.exit_code == 1
    assert done.stderr.count("can't be read (Is a directory). Check the path and its permissions.") == 5
    assert "2 more transcripts can't be read; --json names them all." in done.stderr
    assert _sessions(kizami) == {FIRST, SECOND}
    again = kizami("backfill", "--json")
    assert (again.exit_code, len(json.loads(again.stdout)["failures"])) == (1, 7)
    plan = kizami("backfill", "--dry-run", "--json")
    assert (plan.exit_code, len(json.loads(plan.stdout)["failures"])) == (1, 7)


def test_it_says_what_maintenance_will_take_away(kizami, home, history):
    home.write_config(maintenance={"maxDbSizeMB": 1})
    old = Path(home.write_transcript(QUEUE, session_id="old"))
    text = old.read_text(encoding="utf-8").replace("2099-", "2001-").replace("for mails", "x " * 600_000)
    old.write_text(text, encoding="utf-8")
    done = kizami("backfill")
    assert "Maintenance will remove turns older than 90 days." in done.stderr
    assert "raise maintenance.maxDbSizeMB (1) in config.json." in done.stderr
    home.write_config(maintenance={"maxDbSizeMB": 1, "enabled": False})
    home.write_transcript(QUEUE, session_id="one more")
    assert "aintenance" not in kizami("backfill").output


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_ends_with_the_way_to_go_on_and_loses_nothing(kizami, home, workers):
    names = [f"session-{number:03}" for number in range(150)]
    for name in names:
        home.write_transcript(*[(f"{name} {turn}", "word " * 300) for turn in range(9)], session_id=name)
    process = subprocess.Popen(
        [sys.executable, "-m", "kizami_cli", "backfill", "--workers", workers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.env,
        cwd=home.project,
        start_new_session=True,
        # Tests that were started in the background of a shell pass on a SIGINT that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    assert process.stderr.readline() == b"Saving: 10 %\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of its processes
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert (
        err.decode().splitlines()[-1] == "Stopped. What was saved stays; to go on from there: kizami backfill"
    )
    rest = _report(kizami("backfill", "--json"))
    assert 0 < rest["turns_written"] < 150 * 9
    assert sum(row["chunk_count"] for row in _rows(kizami)) == 150 * 9
    assert _sessions(kizami) == set(names)


def test_a_terminal_gets_a_bar(history, on_terminal):
    code, seen = on_terminal("backfill")
    assert code == 0
    assert ("━" in seen, "Saving" in seen, "Saved 3 turns" in seen) == (True, True, True)


def test_setup_names_the_command_when_nobody_can_be_asked(home, history):
    out = home.run("setup").stdout.decode()
    assert "Claude Code keeps 2 sessions (" in out
    assert "that are not saved. To save them: kizami backfill" in out
    assert b"0 sessions" in home.run("setup", "--status").stdout


def test_setup_with_yes_saves_the_history(home, kizami, history):
    assert "Saved 3 turns" in home.run("setup", "--yes").stdout.decode()
    assert _sessions(kizami) == {FIRST, SECOND}
    assert "Claude Code keeps" not in home.run("setup", "--yes").stdout.decode()


@pytest.mark.parametrize(("answer", "is_saved"), [(b"y\ny\n", True), (b"y\nn\n", False)])
def test_setup_asks_on_a_terminal(kizami, history, on_terminal, answer, is_saved):
    code, seen = on_terminal("setup", answer=answer)
    assert code == 0
    assert "Save them now?" in " ".join(seen.split())
    assert _sessions(kizami) == ({FIRST, SECOND} if is_saved else set())
    assert ("`kizami backfill` saves them when you want them." in seen) != is_saved
