"""The plugin beside the hooks of settings files: nothing is done twice, and nothing is lost."""

import json
import os
import shlex
import sys

import pytest

from kizami_cli import standing_aside
from kizami_cli.claude_settings import EVENTS

DECISION = ("再試行は何回まで？", "決済ワーカーの再試行は五回まで、その後はデッドレターキューへ送ります。")
QUESTION = "決済ワーカーの再試行は何回までだった？"
MODULE = f"{sys.executable} -P -m kizami_cli"


def entry(command, **more):
    return {"type": "command", "command": command, "timeout": 10, **more}


def hooks(*entries, event="UserPromptSubmit", **block):
    return {"hooks": {event: [{**block, "hooks": list(entries)}]}}


def write(path, settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def recall_of_plugin(home, **env):
    """Return what the plugin's hook brings back for a prompt."""
    env = {"CLAUDE_PROJECT_DIR": str(home.project), **env}
    arguments = ("--plugin", "UserPromptSubmit")
    done = home.hook("recall", home.prompt(QUESTION), arguments=arguments, env=env)
    assert done.err == ""
    return done.out


@pytest.fixture
def saved(home):
    home.save(DECISION)
    return home


@pytest.fixture
def link(home):
    """A program named kizami, in a folder whose name has a space."""
    path = home.path / "my tools" / "kizami"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_plugin_alone_recalls_and_saves(home):
    path = home.write_transcript(DECISION)
    fields = {"session_id": "x", "transcript_path": path, "cwd": str(home.project), "hook_event_name": "Stop"}
    done = home.hook("save", fields, arguments=("--plugin", "Stop"))
    assert (done.out, done.err) == ("", "")
    assert "デッドレターキュー" in recall_of_plugin(home)


def test_beside_the_hooks_that_setup_installs_the_plugin_is_silent_and_leaves_no_trace(saved):
    saved.run("setup", "--yes")
    log = saved.database.parent / "recalls.jsonl"
    assert (recall_of_plugin(saved), log.exists()) == ("", False)
    for event, (hook, _) in EVENTS.items():
        fields = {**saved.prompt(QUESTION), "hook_event_name": event}
        saved.hook(hook, fields, arguments=("--plugin", event))
        assert not (saved.database.parent / "runs" / event).exists()


def test_each_event_is_looked_at_by_itself(saved):
    write(saved.settings, hooks(entry(f"{MODULE} save --stdin"), event="Stop"))
    assert "デッドレターキュー" in recall_of_plugin(saved)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_hooks_of_the_project_count_too(saved, name):
    write(saved.project / ".claude" / name, hooks(entry(f"{MODULE} recall --stdin")))
    assert recall_of_plugin(saved) == ""


def test_the_settings_are_looked_for_where_claude_code_keeps_them(saved, tmp_path):
    write(tmp_path / "elsewhere" / "settings.json", hooks(entry(f"{MODULE} recall --stdin")))
    assert "デッドレターキュー" in recall_of_plugin(saved)
    assert recall_of_plugin(saved, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")) == ""


def test_a_prompt_that_is_longer_than_a_pipe_is_read_to_its_end(saved):
    write(saved.settings, hooks(entry(f"{MODULE} recall --stdin")))
    arguments = ("--plugin", "UserPromptSubmit")
    assert saved.hook("recall", saved.prompt("長い" * 200_000), arguments=arguments).out == ""


def stands_aside(home, hook="recall", event="UserPromptSubmit", **env):
    return standing_aside.stands_aside(event, hook, {**home.env, **env})


@pytest.mark.parametrize("quoted", [shlex.quote, lambda path: f'"{path}"'], ids=["'", '"'])
def test_a_path_with_spaces_is_recognised_in_either_quotes(home, link, quoted):
    write(home.settings, hooks(entry(f"{quoted(str(link))} recall --stdin --config '/a b.json'")))
    assert stands_aside(home)


def test_the_exec_form_is_recognised(home, link):
    write(home.settings, hooks(entry(str(link), args=["recall", "--stdin"])))
    assert stands_aside(home)


def test_a_bare_name_counts_where_it_is_on_path(home, link):
    write(home.settings, hooks(entry("kizami recall --stdin; exit 0")))
    assert stands_aside(home, PATH=f"/gone{os.pathsep}{link.parent}")
    assert not stands_aside(home, PATH="/gone")


def test_a_path_in_the_home_counts(home):
    program = home.path / ".local" / "bin" / "kizami"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n", encoding="utf-8")
    program.chmod(0o755)
    write(home.settings, hooks(entry("~/.local/bin/kizami recall --stdin")))
    assert stands_aside(home)


def test_a_file_with_a_byte_order_mark_is_read(home, link):
    text = json.dumps(hooks(entry(shlex.join([str(link), "recall", "--stdin"]))))
    home.settings.parent.mkdir()
    home.settings.write_text("\ufeff" + text, encoding="utf-8")
    assert stands_aside(home)


@pytest.mark.parametrize(
    "settings",
    [
        hooks(entry("/gone/kizami recall --stdin")),
        hooks(entry("kizami-gone/kizami recall --stdin")),
        hooks(entry(f"{sys.executable} -P -m kizami_cli save --stdin")),
        hooks(entry(f"{sys.executable} -P -m kizami_cli recall")),
        hooks(entry(f"{MODULE} recall --stdin --plugin UserPromptSubmit")),
        hooks(entry(f"test -e /x && {MODULE} recall --stdin")),
        hooks(entry("echo kizami recall --stdin")),
        hooks(entry("kizami-managed; node /opt/kizami/cli.js recall --stdin # kizami-managed")),
        hooks(entry(f"{MODULE} recall --stdin", **{"if": "Bash(git *)"})),
        hooks(entry(f"{MODULE} recall --stdin", **{"async": True})),
        hooks(entry(f"{MODULE} recall --stdin"), matcher="startup"),
        hooks({"type": "prompt", "prompt": "kizami recall --stdin"}),
        hooks(entry(["kizami", "recall", "--stdin"])),
        hooks(entry("\0/kizami recall --stdin")),
        hooks(entry("/\0/kizami recall --stdin")),
        hooks(entry("kizami '")),
        hooks("kizami recall --stdin"),
        hooks(entry(f"{MODULE} recall --stdin"), event="Stop"),
        {"hooks": {"UserPromptSubmit": [f"{MODULE} recall --stdin", {"hooks": {}}, {"hooks": None}]}},
        {"hooks": {"UserPromptSubmit": {}}},
        {"hooks": []},
        {"disableAllHooks": True, **hooks(entry(f"{MODULE} recall --stdin"))},
        [],
    ],
    ids=range(23),
)
def test_where_it_is_not_certain_that_the_settings_do_it_the_plugin_does(home, settings):
    write(home.settings, settings)
    assert not stands_aside(home)


@pytest.mark.parametrize("data", [b"{ // mine\n}", b"\xff\xfe{}", b"", b"[" * 100_000], ids=range(4))
def test_settings_that_cant_be_read_stop_nothing(home, data):
    home.settings.parent.mkdir()
    home.settings.write_bytes(data)
    assert not stands_aside(home)


def test_a_script_whose_interpreter_is_gone_does_not_count(home, link):
    write(home.settings, hooks(entry(shlex.join([str(link), "recall", "--stdin"]))))
    link.write_text(f"#!{sys.executable}-gone\nprint()\n", encoding="utf-8")
    assert not stands_aside(home)


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no mode of that kind")
def test_a_file_that_nobody_may_start_does_not_count(home, link):
    write(home.settings, hooks(entry(shlex.join([str(link), "recall", "--stdin"]))))
    link.chmod(0o644)
    assert not stands_aside(home)


@pytest.mark.parametrize("lock", ["allowManagedHooksOnly", "strictPluginOnlyCustomization"])
def test_where_an_organization_lets_no_settings_of_the_person_run_hooks_the_plugin_does(
    home, link, tmp_path, monkeypatch, lock
):
    write(home.settings, hooks(entry(shlex.join([str(link), "recall", "--stdin"]))))
    managed = tmp_path / "managed-settings.json"
    monkeypatch.setattr(standing_aside, "managed_settings_path", lambda: str(managed))
    write(managed, {lock: True})
    assert not stands_aside(home)
    write(managed, {lock: False})
    assert stands_aside(home)
