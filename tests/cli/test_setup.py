import json
import os
import sqlite3
import stat
import subprocess

import pytest

from kizami_cli.recommended import SETTINGS

OURS = {
    "Stop": "save",
    "PreCompact": "save",
    "SessionEnd": "save",
    "UserPromptSubmit": "recall",
    "SessionStart": "inject",
}
STANDS_ASIDE = "kizami@kizami is installed too: its hooks stand aside for these"


def installed(home):
    hooks = json.loads(home.settings.read_text(encoding="utf-8"))["hooks"]
    return {
        event: [entry["command"] for block in hooks[event] for entry in block["hooks"]] for event in hooks
    }


def snapshot(home):
    """Return every file in the home with its bytes, but for what SQLite writes when it only looks."""
    return {
        str(path.relative_to(home.path)): path.read_bytes()
        for path in home.path.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def test_setup_creates_everything_private_and_says_so(home):
    done = home.run("setup")
    assert (done.returncode, done.stderr) == (0, b"")
    out = done.stdout.decode()
    assert f"Configuration  {home.config}: written with the recommended settings" in out
    assert f"Database       {home.database}: created" in out
    assert f"Hooks          {home.settings}: {', '.join(OURS)} run Kizami" in out
    assert json.loads(home.config.read_text(encoding="utf-8")) == SETTINGS
    assert SETTINGS["hooks"]["minRelevanceScore"] > 0
    assert SETTINGS["search"] == {"mode": "core", "projectScope": "tiered", "crossProjectPenalty": 0.3}
    for path in (home.config, home.database, home.settings):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_hooks_that_setup_installs_run(home):
    home.run("setup")
    path = home.write_transcript(("状態管理は？", "React Hook Form を採用します。"))
    fields = {"session_id": "x", "transcript_path": path, "cwd": str(home.project)}
    (command,) = installed(home)["SessionEnd"]
    # The project's own files must not be taken for Python's.
    (home.project / "signal.py").write_text("raise SystemExit(3)", encoding="utf-8")
    done = subprocess.run(
        command,
        shell=True,
        input=json.dumps(fields).encode(),
        env=home.env,
        cwd=home.project,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    shown = json.loads(home.run("list", "--json", "--all-projects", cwd=home.path).stdout)
    assert [session["first_message"] for session in shown] == ["状態管理は？"]


def test_setup_a_second_time_changes_nothing(home):
    home.run("setup")
    before = snapshot(home)
    done = home.run("setup")
    out = done.stdout.decode()
    assert (done.returncode, snapshot(home)) == (0, before)
    assert "kept as it is" in out
    assert "installed already, nothing changed" in out


@pytest.mark.parametrize(
    "text",
    [
        '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)", "Read"]}\n}\n',
        '{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"mytool"}]}]}}',
        "{}",
    ],
)
def test_uninstall_restores_settings_byte_for_byte(home, text):
    home.settings.parent.mkdir()
    home.settings.write_text(text, encoding="utf-8")
    home.run("setup")
    assert home.settings.read_text(encoding="utf-8") != text
    done = home.run("setup", "--uninstall")
    assert (done.returncode, home.settings.read_text(encoding="utf-8")) == (0, text)
    out = done.stdout.decode()
    assert all(f"removed from {event}: " in out for event in OURS)
    assert str(home.database) in out
    assert home.database.exists()
    assert "nothing changed" in home.run("setup", "--uninstall").stdout.decode()


def test_older_hooks_are_replaced_and_named(home):
    home.settings.parent.mkdir()
    old = {"type": "command", "command": "bash -c 'trap \"\" INT TERM; kizami save --stdin 2>> /x/error.log'"}
    home.settings.write_text(json.dumps({"hooks": {"SessionEnd": [{"hooks": [old]}]}}), encoding="utf-8")
    out = home.run("setup").stdout.decode()
    assert f"replaced in SessionEnd: {old['command']}" in out
    assert len(installed(home)["SessionEnd"]) == 1


def test_claudes_own_directory_variable_is_honoured(home):
    other = home.path / "claude-work"
    home.run("setup", env={"CLAUDE_CONFIG_DIR": str(other)})
    assert not home.settings.exists()
    assert "hooks" in json.loads((other / "settings.json").read_text(encoding="utf-8"))


def test_settings_that_are_not_json_stop_everything_before_it_begins(home):
    home.settings.parent.mkdir()
    home.settings.write_text('{\n  // mine\n  "model": "opus"\n}\n', encoding="utf-8")
    before = snapshot(home)
    done = home.run("setup")
    assert (done.returncode, done.stdout, snapshot(home)) == (1, b"", before)
    assert b"line 2" in done.stderr
    assert b"Repair it" in done.stderr


def test_an_existing_configuration_keeps_every_byte(home):
    text = '{"search": {"mode": "core"},\n "hooks": {"recallLimit": 1, "autoRecal": true}}'
    home.config.parent.mkdir(parents=True)
    home.config.write_text(text, encoding="utf-8")
    out = home.run("setup").stdout.decode()
    assert home.config.read_text(encoding="utf-8") == text
    assert "recommended, but not set: search.projectScope" in out
    assert "recommended, but not set: hooks.minRelevanceScore" in out
    assert "recallLimit =" not in out
    assert "hooks.autoRecal is no setting of Kizami" in out


def test_a_configuration_that_is_not_json_is_refused(home):
    home.config.parent.mkdir(parents=True)
    home.config.write_text("{search: core}", encoding="utf-8")
    done = home.run("setup")
    assert done.returncode == 1
    assert b"Repair or delete it" in done.stderr
    assert home.config.read_text(encoding="utf-8") == "{search: core}"
    assert not home.settings.exists()


def test_a_named_configuration_is_written_and_given_to_the_hooks(home):
    config = home.path / "my config.json"
    home.run("setup", "--config", str(config))
    assert json.loads(config.read_text(encoding="utf-8")) == SETTINGS
    assert all(commands[0].endswith(f" --stdin --config '{config}'") for commands in installed(home).values())
    assert b"nothing changed" in home.run("--config", str(config), "setup").stdout


def test_a_later_typescript_database_stops_setup_with_the_way_on(home):
    home.database.parent.mkdir(parents=True)
    connection = sqlite3.connect(home.database)
    connection.execute("CREATE TABLE schema_version(version INTEGER PRIMARY KEY)")
    connection.execute("INSERT INTO schema_version VALUES (5)")
    connection.commit()
    connection.close()
    before = home.database.read_bytes()
    done = home.run("setup")
    assert done.returncode == 1
    assert b'"database": {"path":' in done.stderr
    assert (home.settings.exists(), home.database.read_bytes()) == (False, before)


def test_a_database_of_the_specification_is_carried_on_after_a_backup(home):
    from kizami_core.storage.schema import MIGRATIONS

    home.database.parent.mkdir(parents=True)
    connection = sqlite3.connect(home.database)
    connection.executescript(MIGRATIONS[1])
    connection.execute("INSERT INTO schema_version(version) VALUES (1)")
    content = "[User]\nキャッシュの方針\n\n[Assistant]\nRedis に 10 分置きます。"
    connection.execute(
        "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
        " VALUES ('old', ?, 0, ?, 'mixed', '2099-01-01 00:00:00')",
        (str(home.project), content),
    )
    connection.execute(
        "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('old', ?, 1)",
        (str(home.project),),
    )
    connection.commit()
    connection.close()
    out = home.run("setup").stdout.decode()
    assert "ready (1 session, 1 chunk)" in out
    assert f"{home.database}.schema1.backup" in out
    assert (
        "Redis に 10 分置きます。"
        in home.hook("recall", home.prompt("Redis のキャッシュの方針は 10 分だった？")).out
    )


def test_status_tells_before_and_after(home):
    before = json.loads(home.run("setup", "--status", "--json").stdout)
    assert before["hooks"]["events"] == dict.fromkeys(OURS, "")
    assert (before["database"]["exists"], before["configuration"]["exists"]) == (False, False)
    assert snapshot(home) == {}
    home.run("setup")
    after = json.loads(home.run("setup", "--status", "--json").stdout)
    assert {event: line.split()[-2] for event, line in after["hooks"]["events"].items()} == OURS
    assert after["hooks"]["warnings"] == []
    assert (after["database"]["sessions"], after["database"]["error"]) == (0, "")
    text = home.run("setup", "--status").stdout.decode()
    assert f"{home.database}: 0 sessions, 0 chunks" in text


def test_status_of_a_database_file_that_is_still_empty_is_that_of_none(home):
    home.database.parent.mkdir(parents=True)
    home.database.touch()
    status = json.loads(home.run("setup", "--status", "--json").stdout)
    assert (status["database"]["exists"], status["database"]["error"]) == (False, "")


def test_status_warns_of_what_will_not_work(home):
    home.settings.parent.mkdir()
    gone = {"type": "command", "command": "/gone/bin/kizami recall --stdin", "timeout": 10}
    hooks = {"UserPromptSubmit": [{"hooks": [gone]}]}
    home.settings.write_text(json.dumps({"disableAllHooks": True, "hooks": hooks}), encoding="utf-8")
    home.write_config(search={"mode": "vectors"})
    status = json.loads(home.run("setup", "--status", "--json").stdout)
    assert [warning.split(" ")[0] for warning in status["hooks"]["warnings"]] == [
        '"disableAllHooks"',
        "UserPromptSubmit",
    ]
    problem = (
        'search.mode must be "core" or "hybrid", not "vectors"; core mode is used. '
        "Correct it: kizami config set search.mode core"
    )
    assert status["configuration"]["problems"] == [problem]


def test_setup_does_not_warn_of_a_hook_that_it_just_replaced(home):
    home.settings.parent.mkdir()
    gone = {"type": "command", "command": "/gone/bin/kizami recall --stdin", "timeout": 10}
    hooks = {"UserPromptSubmit": [{"hooks": [gone]}]}
    home.settings.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    told = home.run("setup", "--yes").stdout.decode("utf-8")
    assert "replaced in UserPromptSubmit: /gone/bin/kizami recall --stdin" in told
    assert "is not there" not in told


@pytest.fixture
def without_hybrid(tmp_path):
    """An environment in which kizami-hybrid can't be imported, as where it is not installed."""
    package = tmp_path / "absent" / "kizami_hybrid"
    package.mkdir(parents=True)
    absent = "raise ModuleNotFoundError(\"No module named 'kizami_hybrid'\", name='kizami_hybrid')\n"
    (package / "__init__.py").write_text(absent, encoding="utf-8")
    places = (str(package.parent), os.environ.get("PYTHONPATH"))
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


def test_hybrid_mode_without_its_package_is_core_mode_with_a_remedy(home, without_hybrid):
    home.write_config(search={"mode": "hybrid"})
    problem = (
        'search.mode is "hybrid", but kizami-hybrid is not installed; core mode is used. '
        "Install it beside kizami-cli: pip install kizami-hybrid"
    )
    status = json.loads(home.run("setup", "--status", "--json", env=without_hybrid).stdout)
    assert status["configuration"]["problems"] == [problem]
    done = home.hook("recall", home.prompt("フォームの状態管理"), env=without_hybrid)
    assert done.err.endswith(f"recall: configuration: {problem}\n")


def test_setup_hybrid_without_its_package_says_what_to_install_and_changes_nothing(home, without_hybrid):
    done = home.run("setup", "--hybrid", "--yes", env=without_hybrid)
    assert (done.returncode, done.stdout, snapshot(home)) == (1, b"", {})
    assert "pip install kizami-hybrid" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model-dir", "."], 2, "--model-dir goes with --hybrid"),
        (["--status", "--uninstall"], 2, "exclude each other"),
        (["--json"], 2, "--json goes with --status"),
    ],
)
def test_what_cant_be_done_is_said_and_nothing_changes(home, arguments, code, message):
    done = home.run("setup", *arguments)
    assert (done.returncode, done.stdout, snapshot(home)) == (code, b"", {})
    assert message in done.stderr.decode()


@pytest.mark.parametrize(("answer", "is_installed"), [(b"y\n", True), (b"\n", True), (b"n\n", False)])
def test_on_a_terminal_setup_asks_before_it_changes_settings(home, on_terminal, answer, is_installed):
    code, seen = on_terminal("setup", answer=answer)
    assert "Add Kizami's hooks to " in seen
    assert (code, home.settings.exists()) == (0, is_installed)


def test_setup_asks_nothing_with_yes_or_when_there_is_nothing_to_change(home, on_terminal):
    for arguments in (["setup", "--yes"], ["setup"]):
        code, seen = on_terminal(*arguments)
        assert (code, "Add Kizami's hooks" in seen) == (0, False)
    assert home.settings.exists()


def test_where_the_plugin_runs_the_hooks_setup_leaves_the_settings_alone(home, install_plugin, program):
    install_plugin()
    done = home.run("setup", env=program)
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"Hooks          kizami@kizami runs them: {home.settings} stays as it is" in done.stdout.decode()
    assert not home.settings.exists()
    assert home.config.exists()
    status = json.loads(home.run("setup", "--status", "--json", env=program).stdout)["hooks"]
    assert (status["plugins"], status["events"]) == (["kizami@kizami"], dict.fromkeys(OURS, ""))
    shown = home.run("setup", "--status", env=program).stdout.decode()
    assert shown.count(": by the plugin\n") == len(OURS)
    assert "Plugin         kizami@kizami\n" in shown


@pytest.mark.parametrize(
    ("place", "arguments"),
    [({"scope": "project", "projectPath": "/p"}, ()), ({}, ("--config",))],
    ids=["of one project", "a configuration of its own"],
)
def test_where_the_plugin_is_not_enough_setup_installs_the_hooks(
    home, install_plugin, program, place, arguments
):
    install_plugin(**place)
    done = home.run(*arguments, *(str(home.config) for _ in arguments), "setup", env=program)
    assert f"run Kizami\nPlugin         {STANDS_ASIDE}\n" in done.stdout.decode()
    assert set(installed(home)) == set(OURS)


def test_a_plugin_that_finds_no_program_is_not_left_to_run_the_hooks(home, install_plugin):
    install_plugin()
    home.run("setup", env={"PATH": "/gone"})
    assert set(installed(home)) == set(OURS)


def test_hooks_that_are_there_are_kept_up_to_date_beside_the_plugin(home, install_plugin, program):
    home.run("setup")
    install_plugin()
    before = home.settings.read_bytes()
    done = home.run("setup", env=program)
    assert f"installed already, nothing changed\nPlugin         {STANDS_ASIDE}\n" in done.stdout.decode()
    assert home.settings.read_bytes() == before


def test_uninstall_says_that_the_plugin_goes_on(home, install_plugin):
    home.run("setup")
    install_plugin()
    out = home.run("setup", "--uninstall").stdout.decode()
    assert "Plugin         kizami@kizami goes on running Kizami." in out
    assert "claude plugin uninstall kizami@kizami" in out
