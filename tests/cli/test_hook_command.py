import os

import pytest

from kizami_cli.hook_command import (
    Program,
    find_program,
    handler,
    is_program_missing,
    is_same_command,
    owner_of,
)


@pytest.mark.parametrize(
    "command",
    [
        "kizami save --stdin",
        "/home/dev/.local/bin/kizami recall --stdin",
        "'/home/de v/bin/kizami' inject --stdin --config /etc/k.json",
        "/opt/venv/bin/python -P -m kizami_cli save --stdin",
        r"C:\Users\dev\bin\kizami.exe recall --stdin",
        "kizami save --stdin 2>> ~/.local/share/kizami/error.log",
        "kizami save --stdin > /dev/null 2>&1",
        "KIZAMI_LOG=1 exec kizami save --stdin",
        """bash -c 'trap "" INT TERM; kizami save --stdin 2>> /home/dev/.local/share/kizami/error.log'""",
        """bash -c 'input=$(cat); (printf %s "$input" | kizami save --stdin 2>>/l) & exit 0'""",
        "node /home/dev/src/kizami/dist/cli.js recall --stdin",
        "run-memory-hook # kizami-managed",
    ],
)
def test_hooks_of_any_kizami_are_recognised(command):
    assert owner_of({"type": "command", "command": command}) == "kizami"


@pytest.mark.parametrize(
    "command",
    [
        "mytool",
        "echo not-kizami is here",
        "my-kizami save --stdin",
        "kizami search x",
        "kizami save /a/transcript.jsonl",
        "/opt/kizami/notify.sh save --stdin",
        "python -m other_cli save --stdin",
        "bash -c 'mytool",
        "",
    ],
)
def test_other_commands_are_others(command):
    assert owner_of({"type": "command", "command": command}) == "other"


def test_a_command_that_also_runs_another_tool_is_mixed():
    assert owner_of({"command": "mytool --end && kizami save --stdin"}) == "mixed"
    assert owner_of({"command": "sh -c 'kizami recall --stdin; mytool'"}) == "mixed"


@pytest.mark.parametrize("entry", [{}, {"type": "prompt", "prompt": "kizami save --stdin"}, {"command": 3}])
def test_entries_without_a_command_are_others(entry):
    assert owner_of(entry) == "other"


def test_what_setup_writes_is_recognised_on_every_system():
    program = Program("/home/de v/bin/kizami")
    posix = handler(program, "save", config="", timeout=30, windows=False)
    assert posix == {"type": "command", "command": "'/home/de v/bin/kizami' save --stdin", "timeout": 30}
    exe = Program(r"C:\Program Files\kizami\kizami.exe")
    windows = handler(exe, "recall", config=r"C:\k.json", timeout=10, windows=True)
    assert windows == {
        "type": "command",
        "command": r"C:\Program Files\kizami\kizami.exe",
        "args": ["recall", "--stdin", "--config", r"C:\k.json"],
        "timeout": 10,
    }
    assert [owner_of(posix), owner_of(windows)] == ["kizami", "kizami"]


def make_script(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_kizami_on_path_is_used_when_it_is_this_one(tmp_path):
    real = make_script(tmp_path / "tools" / "kizami" / "bin" / "kizami")
    link = tmp_path / "bin" / "kizami"
    link.parent.mkdir()
    link.symlink_to(real)
    assert find_program(str(real), "/usr/bin/python3", {"PATH": str(link.parent)}) == Program(str(link))


def test_another_kizami_on_path_is_not_used(tmp_path):
    other = make_script(tmp_path / "old" / "kizami")
    real = make_script(tmp_path / "new" / "kizami")
    link = tmp_path / "links" / "kizami"
    link.parent.mkdir()
    link.symlink_to(real)
    assert find_program(str(link), "/usr/bin/python3", {"PATH": str(other.parent)}) == Program(str(link))


def test_a_program_is_the_same_by_its_link_but_interpreters_are_not(tmp_path):
    script, link = make_script(tmp_path / "kizami"), tmp_path / "bin" / "kizami"
    link.parent.mkdir()
    link.symlink_to(script)
    assert is_same_command(f"{link} save --stdin", f"'{script}'  save --stdin")
    assert not is_same_command(f"{link} save --stdin", f"{script} save --stdin --config x")
    assert not is_same_command("kizami save --stdin", f"{script} save --stdin")
    python, other = make_script(tmp_path / "a" / "python"), tmp_path / "python"
    other.symlink_to(python)
    assert not is_same_command(f"{python} -m kizami_cli", f"{other} -m kizami_cli")
    assert not is_same_command("kizami 'save", "kizami 'save")


@pytest.mark.parametrize("argv0", ["", "-c", "/gone/kizami", "/lib/kizami_cli/__main__.py"])
def test_without_a_script_the_interpreter_runs_the_module(argv0):
    expected = Program(os.path.abspath("/usr/bin/python3"), ("-P", "-m", "kizami_cli"))
    assert find_program(argv0, "/usr/bin/python3", {"PATH": ""}) == expected


@pytest.mark.parametrize(
    ("executable", "expected"),
    [
        ("/home/dev/.local/bin/kizami", False),
        ("/home/dev/.local/share/uv/tools/kizami-cli/bin/kizami", False),
        ("/home/dev/.local/pipx/venvs/kizami-cli/bin/kizami", False),
        ("/home/dev/.cache/uv/archive-v0/Hk3/bin/kizami", True),
        ("/home/dev/.local/pipx/.cache/0a1b/bin/kizami", True),
        (r"C:\Users\dev\AppData\Local\uv\cache\archive-v0\Hk3\Scripts\kizami.exe", True),
    ],
)
def test_programs_in_caches_are_told_apart(executable, expected):
    assert Program(executable).is_throwaway() is expected


def test_a_program_that_is_gone_is_noticed(tmp_path):
    here = make_script(tmp_path / "b in" / "kizami")
    lines = [f"'{here}' save --stdin", "/gone/kizami save --stdin", "kizami save --stdin", "", "'"]
    assert [is_program_missing(line) for line in lines] == [False, True, False, False, False]
