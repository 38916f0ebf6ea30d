"""Runs commands as a person would type them, at a terminal of 80 columns without colours; keeps what is seen.

`kizami` runs within this process, which is many times faster than starting it; what needs a shell (a pipe, a
variable before the command, another program) goes to one, where `kizami` is a process as ever.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing.spawn  # noqa: F401 - which remembers the interpreter that is named when it is imported
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from sample_home import NOW, SHOWN, make_home, write_transcripts

from kizami_cli.app import app
from kizami_core.paths import config_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 80
ELLIPSIS = "…"
FINDINGS = "findings"
LAST_PART = "last part"
_FREE_BYTES = 64_000_000_000
# A step of progress: on a terminal the next one is drawn over it.
_PROGRESS = re.compile(r"^[^\n:：]{1,40}[:：] *\d+ ?%(?: \([^\n]*\))?\n", re.MULTILINE)
_SHELL_WORDS = {"|", ">", "&&"}
_CLOCK = Path(__file__).parent / "clock"


class _DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


class _Stream(io.TextIOWrapper):
    def __init__(self, raw: io.BytesIO, *, is_terminal: bool) -> None:
        super().__init__(raw, encoding="utf-8", newline="", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class _Typed(io.StringIO):
    """What the person types; it is seen as a terminal echoes it."""

    def __init__(self, answers: str, screen: io.BytesIO) -> None:
        super().__init__(answers)
        self._screen = screen

    def isatty(self) -> bool:
        return True

    def readline(self, *arguments: int) -> str:
        line = super().readline(*arguments)
        self._screen.write(line.encode())
        return line


def environment(home: str, language: str) -> dict[str, str]:
    """Return all variables that the commands see."""
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {
        "HOME": home,
        "USER": "dev",
        "PATH": os.pathsep.join([f"{home}/.local/bin", os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([str(_CLOCK), *inherited])),
        "PYTHONUTF8": "1",
        "KIZAMI_DOCS_NOW": str(NOW.timestamp()),
        "KIZAMI_LANG": language,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "COLUMNS": str(COLUMNS),
        "XDG_RUNTIME_DIR": f"{home}/.run",
    }


class Terminal:
    """A home and a shell in it. ``blocks`` holds what the pages show, by name."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.blocks: dict[str, str] = {}
        self.home = ""
        self.free_bytes = _FREE_BYTES

    @contextlib.contextmanager
    def new_home(self) -> Iterator[str]:
        """Make a home for a block of commands, and take it away after it."""
        self.home = make_home()
        kept = dict(os.environ), os.getcwd(), sys.argv[0], sys.executable, shutil.disk_usage
        try:
            seen = environment(self.home, self.language)
            os.environ.clear()
            os.environ.update(seen)
            sys.executable = self._write_program("python3", kept[3])
            sys.argv[0] = self._write_program("kizami", f"{sys.executable} -P -m kizami_cli")
            shutil.disk_usage = lambda _: _DiskUsage(_FREE_BYTES, 0, self.free_bytes)
            self.free_bytes = _FREE_BYTES
            self.go("shiori")
            yield self.home
        finally:
            variables, folder, sys.argv[0], sys.executable, shutil.disk_usage = kept
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            shutil.rmtree(self.home)

    def go(self, folder: str) -> None:
        """Change into a folder of the home."""
        path = os.path.join(self.home, folder)
        os.makedirs(path, exist_ok=True)
        os.chdir(path)

    def at(self, moment: datetime) -> None:
        """Set the clock."""
        os.environ["KIZAMI_DOCS_NOW"] = str(moment.timestamp())

    def set_up(self) -> None:
        """Bring the home to where it stands after `kizami setup`: what Claude Code keeps is saved."""
        write_transcripts(self.home)
        self.run("kizami setup --yes")

    def configure(self, settings: object) -> None:
        """Write the configuration."""
        Path(config_path(os.environ)).write_text(json.dumps(settings), encoding="utf-8")

    def show(self, name: str, *commands: str | tuple[str, str], answers: str = "") -> None:
        """Run commands and keep what is seen as the block ``name``.

        A command may come with the lines of its output that are shown, such as "0:3 -1:" for the first three
        and the last, or ``FINDINGS`` for what `kizami doctor` finds wrong, or ``LAST_PART`` for what stands
        behind the last empty line; an ellipsis stands for the others.
        """
        seen = []
        for command in commands:
            typed, kept = (command, "") if isinstance(command, str) else command
            seen += [f"$ {typed}", *_excerpt(self.run(typed, answers=answers), kept)]
        if name in self.blocks:
            raise ValueError(f"two blocks are called {name}")
        self.blocks[name] = "\n".join(seen)

    def run(self, typed: str, *, answers: str = "") -> str:
        """Run a command and return what is seen."""
        words = shlex.split(typed)
        is_plain = words[0] == "kizami" and not _SHELL_WORDS & set(words)
        seen = self._run_here(words[1:], answers) if is_plain else self._run_shell(typed)
        return seen.replace(self.home, SHOWN)

    def send(self, prompt: str, session: str) -> None:
        """Send a prompt: Claude Code runs the hook in the current folder."""
        fields = {
            "session_id": session,
            "cwd": os.getcwd(),
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompt,
        }
        self.hook("recall", json.dumps(fields, ensure_ascii=False))

    def hook(self, name: str, fields: str) -> str:
        """Run a hook with JSON on its stdin, as Claude Code does."""
        done = subprocess.run(
            ["kizami", name, "--stdin"], input=fields.encode(), capture_output=True, check=True
        )
        return (done.stdout + done.stderr).decode()

    def _run_here(self, arguments: list[str], answers: str) -> str:
        raw = io.BytesIO()
        stdout, stderr = _Stream(raw, is_terminal=True), _Stream(raw, is_terminal=False)
        kept = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = _Typed(answers, raw), stdout, stderr
        try:
            app.main([os.path.expanduser(word) for word in arguments], prog_name="kizami")
        except SystemExit:
            pass
        finally:
            sys.stdin, sys.stdout, sys.stderr = kept
            stdout.detach()
            stderr.detach()
        return _PROGRESS.sub("", raw.getvalue().decode())

    def _run_shell(self, typed: str) -> str:
        done = subprocess.run(
            ["sh", "-c", typed], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
        return done.stdout.decode()

    def _write_program(self, name: str, call: str) -> str:
        """Write a program of ``~/.local/bin`` that passes its arguments on to another one."""
        path = Path(self.home, ".local", "bin", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {call} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return str(path)


def _excerpt(seen: str, kept: str) -> list[str]:
    lines = [line.rstrip() for line in seen.rstrip("\n").split("\n")] if seen.strip("\n") else []
    if not kept:
        return lines
    if kept == FINDINGS:
        chosen = _findings(lines)
    elif kept == LAST_PART:
        chosen = list(range(len(lines) - lines[::-1].index(""), len(lines)))
    else:
        chosen = sorted({number for part in kept.split() for number in range(len(lines))[_slice(part)]})
    excerpt: list[str] = []
    for before, number in zip([-1, *chosen], chosen, strict=False):
        if number > before + 1:
            excerpt.append(ELLIPSIS)
        if lines[number] or excerpt[-1:] != [ELLIPSIS]:
            excerpt.append(lines[number])
    is_cut = bool(lines) and (not chosen or chosen[-1] < len(lines) - 1)
    return [*excerpt, *([ELLIPSIS] if is_cut else [])]


def _findings(lines: list[str]) -> list[int]:
    """Return the numbers of the lines of `kizami doctor` that tell what is wrong, its heading and count."""
    well = next(line.split()[0] for line in lines if " python " in line)
    chosen = []
    is_shown = True  # the heading, and what a repair did before it
    for number, line in enumerate(lines[:-2]):
        if line and not line[0].isspace():
            is_shown = line.split()[0] != well
        if is_shown:
            chosen.append(number)
    return [*chosen, len(lines) - 1]


def _slice(part: str) -> slice:
    first, _, last = part.partition(":")
    return slice(int(first) if first else None, int(last) if last else None)
