"""The Claude Code plugin: its manifests, its hooks (those that setup installs) and its slash commands."""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

from kizami_cli.app import BUILT_IN
from kizami_cli.claude_settings import EVENTS
from kizami_core import __version__

PLUGIN = "plugin/.claude-plugin/plugin.json"
# What would let a shell, or the client before Claude reads it, act on what a person typed.
EXPANDING = re.compile(r"!`|^```!|\"\$ARGUMENTS|'\$ARGUMENTS|kizami [^`\n]*\$ARGUMENTS", re.MULTILINE)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def hooks(root) -> dict:
    """Each event of hooks.json with its one entry."""
    events = read(root / "plugin/hooks/hooks.json")["hooks"]
    entries = {
        event: [entry for block in blocks for entry in block["hooks"]] for event, blocks in events.items()
    }
    assert {len(found) for found in entries.values()} == {1}
    return {event: entry for event, (entry,) in entries.items()}


@pytest.fixture(params=["forget", "search", "why"])
def slash_command(request, root) -> tuple[str, str, str]:
    """The name, the front matter and the text of a slash command."""
    text = (root / f"plugin/commands/{request.param}.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    return request.param, front, body


def test_the_manifest_names_the_plugin_and_the_version_of_the_packages(root):
    manifest = read(root / PLUGIN)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert manifest["version"] == __version__


def test_the_marketplace_leads_to_the_plugin(root):
    marketplace = read(root / ".claude-plugin/marketplace.json")
    (plugin,) = marketplace["plugins"]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", marketplace["name"])
    assert marketplace["owner"]["name"]
    assert plugin["name"] == read(root / PLUGIN)["name"]
    assert (root / plugin["source"] / ".claude-plugin/plugin.json").samefile(root / PLUGIN)
    # One place says the version, or one of two would be wrong one day.
    assert "version" not in plugin


def test_the_hooks_are_those_of_setup_with_its_timeouts(hooks):
    assert {event: entry["timeout"] for event, entry in hooks.items()} == {
        event: timeout for event, (_, timeout) in EVENTS.items()
    }
    for event, (hook, _) in EVENTS.items():
        assert f"; kizami {hook} --stdin --plugin {event}; " in hooks[event]["command"]
        assert {"type", "command", "timeout"} == set(hooks[event])


@pytest.fixture
def start(hooks, tmp_path):
    """Run a hook of the plugin in `sh`, with a `kizami` in these folders and no other on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    shell = shutil.which("sh") or pytest.skip("there is no sh here")
    (tools / "sh").symlink_to(shell)

    def start(event, *folders):
        for folder in folders:
            program = tmp_path / folder / "kizami"
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!{shell}\necho "$@"\nread -r line\necho "$line"\n', encoding="utf-8")
            program.chmod(0o755)
        return subprocess.run(
            [shell, "-c", hooks[event]["command"]],
            input="{}\n",
            env={"PATH": f"{tools}{os.pathsep}{tmp_path / 'bin'}", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return start


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("folder", ["bin", ".local/bin"])
def test_a_hook_finds_the_program_on_path_or_where_uv_and_pipx_put_it(start, event, folder):
    done = start(event, folder)
    hook, _ = EVENTS[event]
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{hook} --stdin --plugin {event}\n{{}}\n", "")


@pytest.mark.parametrize("event", [event for event in EVENTS if event != "SessionStart"])
def test_without_the_program_a_hook_succeeds_and_says_nothing(start, event):
    done = start(event)
    # What stands on stderr is shown to nobody when the exit code is 0.
    assert (done.returncode, done.stdout) == (0, "")


def test_without_the_program_the_start_of_a_session_tells_the_person_how_to_install_it(start):
    done = start("SessionStart")
    assert done.returncode == 0
    # Of JSON the client shows `systemMessage` to the person, and nothing to Claude.
    told = json.loads(done.stdout)
    assert list(told) == ["systemMessage"]
    assert "uv tool install kizami-cli" in told["systemMessage"]
    assert "\n" not in told["systemMessage"]


def test_a_slash_command_may_run_its_own_command_of_kizami_and_nothing_else(slash_command):
    name, front, body = slash_command
    allowed = {"forget": "kizami forget --dry-run", "search": "kizami search", "why": "kizami why"}
    assert re.findall(r"^allowed-tools: (.*)$", front, re.MULTILINE) == [f"Bash({allowed[name]}:*)"]
    assert re.search(r"^description: \S", front, re.MULTILINE)
    assert re.search(r"^argument-hint: \S", front, re.MULTILINE)
    assert {*re.findall(r"kizami ([a-z]+)", body)} <= {*BUILT_IN}


def test_what_a_person_typed_is_never_expanded_by_a_shell(slash_command):
    _, _, body = slash_command
    assert body.count("$ARGUMENTS") == 1
    assert "\n---\n$ARGUMENTS\n---\n" in body
    assert EXPANDING.search(body) is None
    assert "single quotes" in body


def test_claude_may_only_search_unasked_and_nothing_is_erased_without_an_answer(root):
    commands = {path.stem: path.read_text(encoding="utf-8") for path in root.glob("plugin/commands/*.md")}
    unasked = {name for name, text in commands.items() if "\ndisable-model-invocation: true\n" not in text}
    assert unasked == {"search"}
    assert commands["forget"].index("--dry-run --matching") < commands["forget"].index("3. Ask")
    assert commands["forget"].index("3. Ask") < commands["forget"].index("--yes --matching")


def test_the_quoting_that_the_slash_commands_ask_for_is_what_a_shell_takes_back():
    text = 'it\'s $(touch x) `id` "a b" \\ !'
    quoted = "'" + text.replace("'", r"'\''") + "'"
    assert shlex.split(quoted) == [text]
