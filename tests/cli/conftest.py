"""A home of its own for each test, Kizami's processes in it, and small transcripts."""

import contextlib
import json
import os
import shutil
import site
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kizami_cli.app import app

SESSION_ID = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"


class Home:
    """A throw-away home with a project in it."""

    def __init__(self, folder):
        self.path = folder / "home"
        self.project = self.path / "work" / "shop"
        self.project.mkdir(parents=True)
        leading_out = ("XDG_", "CLAUDE", "KIZAMI_", "LC_", "LANG", "NO_COLOR", "COLUMNS")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(leading_out)}
        self.env |= {"HOME": str(self.path), "USERPROFILE": str(self.path), "TZ": "UTC"}
        self.env.setdefault("PYTHONUSERBASE", site.getuserbase())
        self.database = self.path / ".local" / "share" / "kizami" / "memory.db"
        self.error_log = self.database.parent / "error.log"
        self.config = self.path / ".config" / "kizami" / "config.json"
        self.settings = self.path / ".claude" / "settings.json"

    def write_config(self, **sections):
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps(sections), encoding="utf-8")

    def write_transcript(self, *turns, session_id=SESSION_ID, cwd=None, name=None):
        """Write a transcript of (prompt, answer) pairs; returns its path."""
        path = self.path / ".claude" / "projects" / "-work-shop" / f"{name or session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        common = {"sessionId": session_id, "cwd": str(cwd or self.project), "version": "2.1.332"}
        lines = []
        for number, (prompt, answer) in enumerate(turns):
            stamp = f"2099-01-0{number + 1}T09:00:00.000Z"
            user = {"role": "user", "content": prompt}
            reply = {
                "id": f"msg_{session_id[:4]}_{number}",
                "role": "assistant",
                "content": [{"type": "text", "text": answer}],
            }
            ids = {"uuid": f"{session_id}-{number}-u", "timestamp": stamp}
            lines.append({**common, **ids, "type": "user", "message": user})
            ids = {"uuid": f"{session_id}-{number}-a", "timestamp": stamp}
            lines.append({**common, **ids, "type": "assistant", "message": reply})
        path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
        )
        return str(path)

    def run(self, *arguments, stdin=b"", env=None, cwd=None):
        """Run `python -m kizami_cli` as a process; bytes in, bytes out."""
        return subprocess.run(
            [sys.executable, "-m", "kizami_cli", *arguments],
            input=stdin,
            capture_output=True,
            env=self.env | (env or {}),
            cwd=cwd or self.project,
            check=False,
            timeout=60,
        )

    def hook(self, hook, fields, **options):
        """Run a hook with these fields as its JSON; it must exit with 0. Returns what it printed."""
        data = fields if isinstance(fields, bytes) else json.dumps(fields, ensure_ascii=False).encode()
        arguments = options.pop("arguments", ())
        done = self.run(hook, "--stdin", *arguments, stdin=data, **options)
        assert done.returncode == 0, done
        return SimpleNamespace(out=done.stdout.decode("utf-8"), err=done.stderr.decode("utf-8"))

    def save(self, *turns, **options):
        """Save a transcript of these turns by the hook."""
        path = self.write_transcript(*turns, **options)
        session_id = options.get("session_id", SESSION_ID)
        done = self.hook(
            "save",
            {
                "session_id": session_id,
                "transcript_path": path,
                "cwd": str(options.get("cwd") or self.project),
            },
        )
        assert (done.out, done.err) == ("", "")
        return path

    def prompt(self, text, *, session_id="another", cwd=None):
        """Return the input of UserPromptSubmit."""
        return {
            "session_id": session_id,
            "transcript_path": "/gone.jsonl",
            "cwd": str(cwd or self.project),
            "hook_event_name": "UserPromptSubmit",
            "prompt": text,
        }


def run_on_terminal(home, *arguments, answer=b""):
    """Run `python -m kizami_cli` on a terminal of 80 columns; returns its exit code and what was seen."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kizami_cli", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={"PAGER": "cat"} | home.env | {"COLUMNS": "80", "TERM": "xterm-256color"},
        cwd=home.project,
    )
    os.close(follower)
    os.write(leader, answer)
    seen = b""
    with contextlib.suppress(OSError):  # Linux says so when the last process has closed its end
        while piece := os.read(leader, 65_536):
            seen += piece
    os.close(leader)
    return process.wait(timeout=60), seen.decode("utf-8").replace("\r\n", "\n")


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture
def install_plugin(home):
    """Put the plugin of this repository where Claude Code installs it (2.1.332), for the user by default."""

    def install(**place):
        plugins = home.path / ".claude" / "plugins"
        folder = plugins / "cache" / "kizami" / "kizami" / "0.1.0"
        shutil.copytree(Path(__file__).resolve().parents[2] / "plugin", folder, dirs_exist_ok=True)
        places = [{"scope": "user", "installPath": str(folder), "version": "0.1.0", **place}]
        record = {"version": 2, "plugins": {"kizami@kizami": places}}
        (plugins / "installed_plugins.json").write_text(json.dumps(record), encoding="utf-8")

    return install


@pytest.fixture
def program(home):
    """The variables of a shell that finds a `kizami` on PATH."""
    name = "kizami.exe" if os.name == "nt" else "kizami"
    path = home.path / "bin" / name
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"PATH": str(path.parent)}


@pytest.fixture
def on_terminal(home):
    return partial(run_on_terminal, home)


@pytest.fixture
def kizami(home, monkeypatch):
    """Run the command line in this process, in the home and its project."""
    for name in set(os.environ) - set(home.env):
        monkeypatch.delenv(name)
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home.project)

    def invoke(*arguments, stdin=None):
        return CliRunner().invoke(app, arguments, input=stdin, prog_name="kizami")

    return invoke
