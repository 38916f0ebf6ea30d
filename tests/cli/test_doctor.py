"""`kizami doctor` as a person runs it, and what storage faults leave for it to name."""

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import pytest
from rich.cells import cell_len

from kizami_cli.claude_settings import EVENTS

DECISION = ("状態管理は？", "React Hook Form を採用します。")
SESSION_ID = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"


def doctor(home, *arguments, **options):
    """Run `kizami doctor --json`; returns its exit code and its object."""
    done = home.run("doctor", "--json", *arguments, **options)
    assert done.stderr == b""
    return done.returncode, json.loads(done.stdout)


def found(report, check):
    return [
        (item["state"], item["found"], item["remedy"]) for item in report["checks"] if item["check"] == check
    ]


def state_of(report, check):
    (state,) = {item["state"] for item in report["checks"] if item["check"] == check}
    return state


def edit_settings(home, change):
    settings = json.loads(home.settings.read_text(encoding="utf-8"))
    change(settings)
    home.settings.write_text(json.dumps(settings), encoding="utf-8")


def save_by_hook(home, path, event="SessionEnd", **options):
    fields = {
        "session_id": SESSION_ID,
        "transcript_path": path,
        "cwd": str(home.project),
        "hook_event_name": event,
    }
    return home.hook("save", fields, **options)


def snapshot(home):
    """Return every file in the home with its bytes, but for what SQLite writes when it only looks."""
    return {
        str(path.relative_to(home.path)): path.read_bytes()
        for path in home.path.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def test_with_nothing_installed_it_says_how_to_begin_and_creates_nothing(home):
    code, report = doctor(home)
    assert (code, report["state"], report["repaired"]) == (1, "problem", [])
    assert found(report, "hooks") == [
        ("problem", f"{home.settings} doesn't run Kizami for {', '.join(EVENTS)}", "Run: kizami setup")
    ]
    assert found(report, "database") == [
        ("warning", f"{home.database} is not there yet.", "Run: kizami setup")
    ]
    assert snapshot(home) == {}


def test_after_setup_and_a_session_all_is_well_and_nothing_is_changed(home):
    home.run("setup", "--yes")
    save_by_hook(home, home.write_transcript(DECISION))
    home.hook("recall", home.prompt("React Hook Form"))
    damage(home, "UPDATE chunks SET created_at = '2026-01-01 09:00:00'")
    before = snapshot(home)
    code, report = doctor(home)
    assert {item["state"] for item in report["checks"]} == {"ok"}
    assert (code, report["state"], snapshot(home)) == (0, "ok", before)
    assert set(report) == {"state", "version", "checks", "repaired"}
    assert {tuple(item) for item in report["checks"]} == {("check", "state", "found", "remedy", "figures")}
    assert list(dict.fromkeys(item["check"] for item in report["checks"])) == [
        "python", "sqlite", "configuration", "hooks", "runs", "database", "integrity", "size", "transcripts",
        "permissions", "disk", "errors",
    ]  # fmt: skip
    runs = {
        item["found"].split(":")[0]: item["figures"] for item in report["checks"] if item["check"] == "runs"
    }
    assert set(runs) == set(EVENTS)
    assert {event for event, figures in runs.items() if figures} == {"SessionEnd", "UserPromptSubmit"}
    assert abs(runs["SessionEnd"]["last_run"] - time.time()) < 3600


def test_a_pipe_gets_one_line_for_each_check(home):
    home.run("setup", "--yes")
    done = home.run("doctor")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0].split("\t")[:2] == ["ok", "python"]
    assert all(line.split("\t")[0] in ("ok", "warning", "problem") for line in lines)


def test_a_terminal_of_80_columns_shows_japanese_paths_within_them(home, on_terminal):
    home.project = home.path / "仕事" / "買い物アプリの設計と実装" / "とても長い名前のフォルダ"
    home.project.mkdir(parents=True)
    home.write_config(database={"path": str(home.project / "記憶.db")})
    home.run("setup", "--yes")
    code, seen = on_terminal("doctor")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert code == 0
    assert plain.startswith("state    check")
    assert "記憶.db" in plain.replace("\n", "").replace(" ", "")
    assert max(cell_len(line) for line in plain.splitlines()) <= 80
    assert plain.rstrip().endswith("0 problems, 1 warning.")


# --- the hooks ---


def test_a_hook_whose_program_is_gone_is_a_problem(home):
    home.run("setup", "--yes")
    edit_settings(home, lambda settings: set_command(settings, "SessionEnd", "/gone/kizami save --stdin"))
    code, report = doctor(home)
    assert code == 1
    text = "SessionEnd runs a program that is not there: /gone/kizami save --stdin"
    assert ("problem", text, "Run: kizami setup") in found(report, "hooks")


def set_command(settings, event, command):
    settings["hooks"][event][0]["hooks"][0]["command"] = command


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("exit 3", "exit code 3: "),
        ("echo 'ModuleNotFoundError: no kizami_core' >&2", "ModuleNotFoundError: no kizami_core"),
    ],
)
def test_a_hook_that_does_not_start_is_a_problem(home, script, fault):
    home.run("setup", "--yes")
    program = home.path / "bin" / "kizami"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    command = f"{program} recall --stdin"
    edit_settings(home, lambda settings: set_command(settings, "UserPromptSubmit", command))
    _, report = doctor(home)
    assert (
        "problem",
        f"UserPromptSubmit runs what does not work ({fault}): {command}",
        "Run: kizami setup, or install Kizami anew",
    ) in found(report, "hooks")
    # A program at another place than this one's is told too.
    assert ("warning", f"UserPromptSubmit runs another Kizami than this one, or without a timeout: {command}",
            "Run: kizami setup") in found(report, "hooks")  # fmt: skip


@pytest.mark.parametrize("place", ["user", "project", "local"])
def test_hooks_that_are_switched_off_are_a_problem_wherever_that_stands(home, place):
    home.run("setup", "--yes")
    own = home.project / ".claude"
    own.mkdir()
    file = {"user": home.settings, "project": own / "settings.json", "local": own / "settings.local.json"}[
        place
    ]
    settings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**settings, "disableAllHooks": True}), encoding="utf-8")
    code, report = doctor(home)
    assert code == 1
    assert found(report, "hooks") == [
        (
            "problem",
            f'"disableAllHooks" is true in {file}: Claude Code runs no hooks',
            "Set it to false, or take it out.",
        )
    ]


def test_the_typescript_kizamis_hooks_beside_ours_are_named(home):
    home.run("setup", "--yes")
    line = "node /opt/kizami/dist/cli.js recall --stdin"
    entry = {"hooks": [{"type": "command", "command": line}]}
    edit_settings(home, lambda settings: settings["hooks"]["UserPromptSubmit"].append(entry))
    code, report = doctor(home)
    assert code == 0
    assert found(report, "hooks") == [
        (
            "warning",
            f"UserPromptSubmit runs the TypeScript Kizami beside this one: {line}",
            "Run: kizami setup",
        )
    ]
    home.run("setup", "--yes")
    assert state_of(doctor(home)[1], "hooks") == "ok"


def test_other_oddities_of_the_hooks_are_warnings(home):
    home.run("setup", "--yes")

    def change(settings):
        command = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
        copy = {"type": "command", "command": command, "timeout": 30}
        settings["hooks"]["SessionEnd"].insert(0, {"hooks": [copy]})
        settings["hooks"]["PostToolUse"] = [{"hooks": [{"type": "command", "command": command}]}]
        mixed = {"type": "command", "command": f"mytool; {command}"}
        settings["hooks"]["Notification"] = [{"hooks": [mixed]}]

    edit_settings(home, change)
    code, report = doctor(home, env={"KIZAMI_DISABLE": "1"})
    assert code == 0
    texts = [text for _, text, _ in found(report, "hooks")]
    assert [text.split(" runs ")[-1].split(":")[0] for text in texts] == [
        "Kizami more than once",
        "Kizami without need",
        "Kizami together with something else",
        "KIZAMI_DISABLE is set here",
    ]


def test_the_plugin_alone_is_enough_where_it_finds_the_program(home, install_plugin, program):
    install_plugin()
    report = doctor(home, env=program)[1]
    assert found(report, "hooks") == []
    assert found(report, "plugin") == [
        ("ok", f"kizami@kizami runs the hooks, with {home.path / 'bin' / 'kizami'}", "")
    ]
    assert [text.partition(":")[0] for _, text, _ in found(report, "runs")] == list(EVENTS)


def test_a_plugin_that_finds_no_program_is_a_problem(home, install_plugin):
    install_plugin()
    ((state, text, remedy),) = found(doctor(home, env={"PATH": "/gone"})[1], "plugin")
    assert (state, text) == ("problem", "kizami@kizami finds no kizami on PATH: its hooks do nothing")
    assert "kizami setup" in remedy


def test_beside_the_hooks_of_the_settings_the_plugin_stands_aside(home, install_plugin):
    home.run("setup", "--yes")
    install_plugin()
    report = doctor(home)[1]
    assert state_of(report, "hooks") == "ok"
    assert found(report, "plugin") == [
        ("ok", f"kizami@kizami is installed too: its hooks stand aside for those in {home.settings}", "")
    ]


def test_a_plugin_that_is_switched_off_or_for_another_project_does_not_count(home, install_plugin):
    install_plugin(scope="project", projectPath="/elsewhere")
    report = doctor(home)[1]
    assert (state_of(report, "hooks"), found(report, "plugin")) == ("problem", [])
    install_plugin()
    home.settings.write_text(json.dumps({"enabledPlugins": {"kizami@kizami": False}}), encoding="utf-8")
    report = doctor(home)[1]
    assert (state_of(report, "hooks"), found(report, "plugin")) == ("problem", [])


def test_settings_that_are_no_json_are_a_problem(home):
    home.settings.parent.mkdir()
    home.settings.write_text("{ // mine\n}", encoding="utf-8")
    code, report = doctor(home)
    ((state, text, remedy),) = found(report, "hooks")
    assert (code, state, remedy) == (1, "problem", "Repair it, then try again.")
    assert "is not valid JSON" in text


def test_configuration_problems_are_told_one_by_one(home):
    home.run("setup", "--yes")
    home.write_config(search={"mode": "core", "defaultLimit": "five"}, color={}, hooks={"autoRecall": False})
    code, report = doctor(home)
    assert code == 0
    limit = "search.defaultLimit must be a whole number from 1 to 1000; the default is used."
    color = "color is no section of Kizami's configuration; it is ignored."
    assert found(report, "configuration") == [
        ("warning", limit, f"Correct it in {home.config}"),
        ("warning", color, f"Correct it in {home.config}"),
        ("ok", "hooks.autoRecall is false: prompts bring nothing back", ""),
    ]
    # The probe of the hooks leaves no line of its own.
    assert state_of(report, "errors") == "ok"


# --- transcripts, permissions, repair ---


def test_transcripts_that_claude_code_will_delete_unsaved_are_a_problem(home):
    home.run("setup", "--yes")
    saved = home.write_transcript(DECISION)
    save_by_hook(home, saved)
    lost = home.write_transcript(DECISION, session_id="lost")
    day = time.time() - 17.5 * 86_400
    os.utime(lost, (day, day))
    assert state_of(doctor(home)[1], "transcripts") == "warning"
    edit_settings(home, lambda settings: settings.update(cleanupPeriodDays=20))
    code, report = doctor(home)
    (transcripts,) = (item for item in report["checks"] if item["check"] == "transcripts")
    assert (code, transcripts["state"], transcripts["remedy"]) == (1, "problem", "Run now: kizami backfill")
    assert transcripts["figures"] == {
        "on_disk": 2, "unsaved": 1, "in_use": 0, "at_risk": 1, "cleanup_days": 20, "first_days": 2,
    }  # fmt: skip


def damage(home, *statements):
    with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_repair_mends_indexes_and_permissions_and_says_so(home):
    home.run("setup", "--yes")
    home.save(DECISION)
    damage(home, "DELETE FROM chunks_fts_data", "DROP TRIGGER chunks_ai", "DELETE FROM sessions")
    if os.name == "posix":
        home.database.chmod(0o644)
    code, report = doctor(home)
    assert (code, state_of(report, "integrity")) == (1, "problem")
    code, report = doctor(home, "--repair")
    assert (code, state_of(report, "integrity"), state_of(report, "permissions")) == (0, "ok", "ok")
    assert report["repaired"][-3:] == [
        "chunks_ai: was missing, made anew",
        "full-text indexes: rebuilt from 1 chunk",
        "sessions: 1 row brought in line with their chunks",
    ]
    assert stat.S_IMODE(home.database.stat().st_mode) == 0o600
    assert "React Hook Form" in home.hook("recall", home.prompt("React Hook Form")).out


def test_repair_of_what_is_no_database_fails_with_the_rescue(home):
    home.run("setup", "--yes")
    home.database.write_bytes(b"not a database" * 1000)
    code, report = doctor(home, "--repair")
    assert (code, report["repaired"]) == (1, [])
    assert "kizami export" in found(report, "database")[0][2]
    assert state_of(report, "repair") == "problem"


# --- storage faults: the hook ends with 0 and one line, and doctor names it ---


def test_a_database_that_is_locked_for_long_is_named_afterwards(home):
    home.run("setup", "--yes")
    path = home.write_transcript(DECISION)
    with closing(sqlite3.connect(home.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = save_by_hook(home, path)
    assert f"save: {home.database} is locked by another process." in done.err
    assert len(done.err.splitlines()) == 1
    _, report = doctor(home)
    ((state, text, remedy),) = found(report, "errors")
    assert (state, remedy) == ("warning", "Try again when it has finished.")
    assert text.startswith("save, ")
    assert text.endswith(f": {home.database} is locked by another process")
    assert any("; failed " in text for _, text, _ in found(report, "runs"))
    assert save_by_hook(home, path).err == ""
    assert "React Hook Form" in home.hook("recall", home.prompt("React Hook Form")).out


def test_a_damaged_database_sends_to_doctor(home):
    home.run("setup", "--yes")
    home.save(DECISION)
    home.database.write_bytes(b"not a database" * 1000)
    done = home.hook("recall", home.prompt("React Hook Form"))
    assert (done.out, "`kizami doctor`" in done.err) == ("", True)
    code, report = doctor(home)
    assert (code, state_of(report, "database"), state_of(report, "errors")) == (1, "problem", "warning")


def test_a_broken_full_text_index_sends_to_doctor_and_repair_heals_it(home):
    home.run("setup", "--yes")
    home.save(DECISION)
    damage(home, "DELETE FROM chunks_words_data")
    done = home.hook("recall", home.prompt("React Hook Form"))
    assert (done.out, "Run `kizami doctor`: it tells whether `--repair` mends it" in done.err) == ("", True)
    assert found(doctor(home)[1], "integrity")[0][2] == "Run: kizami doctor --repair"
    doctor(home, "--repair")
    assert "React Hook Form" in home.hook("recall", home.prompt("React Hook Form")).out


def test_a_file_in_place_of_the_directory_is_named(home):
    home.database.parent.parent.mkdir(parents=True)
    home.database.parent.write_bytes(b"")
    done = save_by_hook(home, home.write_transcript(DECISION))
    assert len(done.err.splitlines()) == 1
    code, report = doctor(home)
    assert code == 1
    assert ("problem", f"{home.database.parent} can't be written to, so nothing can be saved there") in [
        (state, text) for state, text, _ in found(report, "permissions")
    ]


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_disk_that_fills_up_leaves_what_was_saved_and_one_line(home):
    home.run("setup", "--yes")
    home.save(DECISION)
    long = home.write_transcript(("なぜ？", "決済の理由。" * 40_000), session_id="long")
    size = home.database.stat().st_size
    script = (
        "import resource, runpy, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 50_000}, {size + 50_000})); "
        "sys.argv = ['kizami', 'save', '--stdin']; runpy.run_module('kizami_cli', run_name='__main__')"
    )
    fields = {
        "session_id": "long",
        "transcript_path": long,
        "cwd": str(home.project),
        "hook_event_name": "Stop",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(fields).encode(),
        env=home.env,
        cwd=home.project,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    (line,) = done.stderr.decode().splitlines()
    assert f"save: {home.database}: " in line
    assert home.error_log.read_text(encoding="utf-8").splitlines()[-1] == line
    _, report = doctor(home)
    assert (state_of(report, "integrity"), state_of(report, "errors")) == ("ok", "warning")
    assert "React Hook Form" in home.hook("recall", home.prompt("React Hook Form")).out
    # Once there is space, the next hook saves what is missing.
    assert save_by_hook(home, long).err == ""
    assert found(doctor(home)[1], "transcripts")[0][1].startswith("2 on disk, 2 saved")


_MOUNTS = shutil.which("unshare") and subprocess.run(
    ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
)
_SMALL_DISK = """
set -e
mount -t tmpfs -o size=64m none "$DISK"
cp -a "$HOME/." "$DISK"
export HOME="$DISK"
save() { "$PYTHON" -m kizami_cli save --stdin < "$HOME/save.json" || echo "exit code $?"; }
recall() { "$PYTHON" -m kizami_cli recall --stdin < "$HOME/recall.json" || echo "exit code $?"; }
echo == read-only
mount -o remount,ro "$DISK"
save
recall
echo == full
mount -o remount,rw "$DISK"
dd if=/dev/zero of="$HOME/rest" bs=64k 2> /dev/null || true
save
recall
cat "$HOME/.local/share/kizami/error.log"
"$PYTHON" -m kizami_cli doctor || true
echo == free again
rm "$HOME/rest"
save
"$PYTHON" -m kizami_cli doctor
"""


@pytest.mark.skipif(not _MOUNTS or _MOUNTS.returncode != 0, reason="needs the right to mount a file system")
def test_on_a_read_only_or_full_disk_hooks_go_on_and_doctor_names_it(home, tmp_path):
    """Read-only, recall still answers and save says why not; full, the error log has the line too."""
    disk = tmp_path / "disk"
    disk.mkdir()
    home.run("setup", "--yes")
    home.save(DECISION)
    late = home.write_transcript(("なぜ？", "検証のため。"), session_id="late").replace(
        str(home.path), str(disk)
    )
    fields = {"session_id": "late", "transcript_path": late, "cwd": str(home.project)}
    (home.path / "save.json").write_text(json.dumps(fields), encoding="utf-8")
    (home.path / "recall.json").write_text(json.dumps(home.prompt("React Hook Form")), encoding="utf-8")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _SMALL_DISK],
        env=home.env | {"PYTHON": sys.executable, "DISK": str(disk)},
        cwd=home.project,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert "exit code" not in done.stdout
    read_only, full, free = (part.split("\n", 1)[1] for part in done.stdout.split("== ")[1:])
    assert "React Hook Form を採用します。" in read_only
    said = done.stderr.splitlines()
    assert [line.split(" ")[1] for line in said] == ["save:", "save:"]
    assert "Read-only file system" in said[0]
    assert "React Hook Form を採用します。" in full
    assert said[1] in full.splitlines()
    assert any(line.startswith("problem\tdisk\t0 MB free") for line in full.splitlines())
    assert any(line.startswith("warning\terrors\tsave, ") for line in full.splitlines())
    assert "\tintegrity\tsound" in free
    assert "2 chunks in 2 sessions" in free


def test_hooks_that_claude_code_runs_leave_a_stamp_and_the_probe_does_not(home):
    home.run("setup", "--yes")
    doctor(home)
    runs = home.database.parent / "runs"
    assert not runs.exists()
    home.hook("recall", home.prompt("React Hook Form"))
    assert os.listdir(runs) == ["UserPromptSubmit"]
    stamp = runs / "UserPromptSubmit"
    os.utime(stamp, (1000, 1000))
    home.hook("recall", {**home.prompt("x"), "hook_event_name": ""})
    assert stamp.stat().st_mtime == 1000
    home.hook("recall", home.prompt("x"))
    assert stamp.stat().st_mtime > 1000
