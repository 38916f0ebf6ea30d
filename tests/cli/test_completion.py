"""Tab completion: what is offered, that asking is quick and silent, and real shells with the script."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from kizami_cli.app import BUILT_IN, ELSEWHERE

FIRST, SECOND = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10", "0f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"
FORMS = ("フォームの状態管理はどうする？", "React Hook Form を採用します。")


@pytest.fixture
def shell_home(home):
    """A home with two sessions and a `kizami` on PATH."""
    home.save(FORMS, ("続きは？", "これです。"), session_id=FIRST)
    home.save(("Which queue?", "PostgreSQL"), session_id=SECOND)
    program = home.path / "bin" / "kizami"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kizami_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    home.env["PATH"] = f"{program.parent}{os.pathsep}{home.env['PATH']}"
    return home


@pytest.fixture
def offered(home):
    """Ask as bash does; returns what is offered."""

    def ask(*words, env=None):
        variables = {"COMP_WORDS": " ".join(("kizami", *words)), "COMP_CWORD": str(len(words))}
        done = home.run(env={"_KIZAMI_COMPLETE": "bash_complete", **variables, **(env or {})})
        assert done.stderr == b"", done
        return [line.partition(",")[2] for line in done.stdout.decode().splitlines() if line]

    return ask


def test_every_command_that_is_there_is_offered(offered):
    assert [name for name in offered("") if name not in ELSEWHERE] == list(BUILT_IN)
    assert offered("s") == [name for name in BUILT_IN if name.startswith("s")]
    assert "--version" in offered("-")


def test_options_and_choices_are_offered(offered):
    assert {"--limit", "--all-projects", "--include-agents"} <= set(offered("list", "--"))
    assert offered("search", "--role", "") == ["user", "assistant"]
    assert offered("completion", "") == ["bash", "zsh", "fish"]
    assert offered("config", "get", "hooks.r") == ["hooks.recallLimit"]
    assert offered("project", "re") == ["rename"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("show", "0f6a2c41-a"), [SECOND]),
        (("show", "0"), [SECOND, FIRST]),
        (("show", "#"), ["#3", "#2", "#1"]),
        (("delete", "--session", "0f6a2c41-7"), [FIRST]),
        (("delete", "--chunk", "2"), ["2"]),
        (("why", "--session", "0f6a2c41-7"), [FIRST]),
        (("mute", "1", "3"), ["3"]),
        (("pin", ""), ["3", "2", "1"]),
        (("edit", "1"), ["1"]),
    ],
)
def test_ids_of_this_project_are_offered(shell_home, offered, words, expected):
    assert sorted(offered(*words)) == sorted(expected)


def test_projects_are_offered_and_ids_of_the_named_one(shell_home, offered):
    project = os.path.realpath(shell_home.project)
    elsewhere = shell_home.path / "elsewhere"
    elsewhere.mkdir()
    assert offered("list", "--project", project[:-2]) == [project]
    assert offered("--project", str(elsewhere), "show", "0f") == []
    assert offered("--all-projects", "show", "0f6a2c41-7") == [FIRST]


@pytest.mark.parametrize(
    "words", [("show", ""), ("nonsense", "x"), ("--project", "x", "--all-projects", "show", "")]
)
def test_where_something_is_wrong_nothing_is_said(home, offered, words):
    assert offered(*words) == []
    home.database.parent.mkdir(parents=True, exist_ok=True)
    home.database.write_bytes(b"no database" * 1000)
    home.config.parent.mkdir(parents=True, exist_ok=True)
    home.config.write_text("{ broken", encoding="utf-8")
    assert offered(*words) == []


@pytest.mark.parametrize(
    ("words", "loaded"), [("kizami s", set()), ("kizami show 0f", {"show"}), ("kizami list --", {"list"})]
)
def test_only_the_command_that_is_completed_is_imported(shell_home, words, loaded):
    code = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: os.write(2, ','.join(sys.modules).encode()))\n"
        "from kizami_cli.__main__ import main\n"
        "main()\n"
    )
    variables = {"_KIZAMI_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=shell_home.env | variables,
        cwd=shell_home.project,
        capture_output=True,
        check=False,
    )
    modules = set(done.stderr.decode().split(","))
    assert done.stdout.strip()
    assert {name.rpartition(".")[2] for name in modules if name.startswith("kizami_cli.commands.")} == loaded
    assert modules & {"rich", "importlib.metadata", "pygments", "multiprocessing", "kizami_hybrid"} == set()


def shell(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed here")
    return name


def script(home, name):
    done = home.run("completion", name)
    assert (done.returncode, done.stderr) == (0, b"")
    path = home.path / f"completion.{name}"
    path.write_bytes(done.stdout)
    return path


def run_shell(home, *command):
    done = subprocess.run(
        command,
        env=home.env,
        cwd=home.project,
        capture_output=True,
        check=False,
        timeout=60,
        encoding="utf-8",
    )
    assert done.stderr == "", done
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("kizami", "resol"), ["resolutions"]), (("kizami", "show", "0f6a2c41-a"), [SECOND])],
)
def test_bash_completes(shell_home, words, expected):
    path = script(shell_home, "bash") if shell("bash") else None
    typed = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{path}'; complete -p kizami >/dev/null || exit 1; COMP_WORDS=({typed}); "
        f"COMP_CWORD={len(words) - 1}; _kizami_completion kizami; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    assert run_shell(shell_home, "bash", "--norc", "-c", code) == expected


@pytest.mark.parametrize(
    ("typed", "expected"), [("kizami resol", "resolutions\t"), ("kizami show 0f6a2c41-a", f"{SECOND}\t")]
)
def test_fish_completes(shell_home, typed, expected):
    path = script(shell_home, shell("fish"))
    (line,) = run_shell(shell_home, "fish", "--no-config", "-c", f"source '{path}'; complete -C '{typed}'")
    assert line.startswith(expected)


@pytest.mark.parametrize(
    ("typed", "expected"), [("kizami resol", "resolutions"), ("kizami show 0f6a2c41-a", SECOND)]
)
def test_zsh_completes(shell_home, typed, expected):
    path = script(shell_home, shell("zsh"))
    # zsh completes on a terminal only: one of its own, where Tab is typed.
    code = (
        "zmodload zsh/zpty; zpty -b shell zsh -f -i; "
        f"zpty -w shell 'PS1=; autoload -Uz compinit && compinit -u -D && source {path} && print REA\"\"DY'; "
        "zpty -r shell seen '*READY*'; "
        f"zpty -n -w shell $'{typed}\\t'; "
        f"zpty -r shell seen '*{expected}*'; print -r -- \"$seen\"; zpty -d shell"
    )
    assert expected in "\n".join(run_shell(shell_home, "zsh", "-f", "-c", code))


def test_another_shell_is_refused_with_those_that_there_are(kizami):
    done = kizami("completion", "csh")
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.search(r"bash.*zsh.*fish", done.stderr)
