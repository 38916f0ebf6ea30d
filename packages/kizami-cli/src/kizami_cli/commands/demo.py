"""`kizami demo`: a session saved and three prompts asked by the real hooks, in a home that is thrown away."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import click

from kizami_cli.console import show
from kizami_cli.invocation import common_options
from kizami_cli.language import _
from kizami_cli.recommended import write_recommended
from kizami_core.errors import KizamiError
from kizami_core.messages import Message
from kizami_core.paths import PATH_VARIABLES, config_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SESSION_ID = "5b1f0c6e-8d3a-4c57-9a41-2e7d60b3f918"
_NEW_SESSION_ID = "c07e93d2-41b5-4f86-b2aa-95d1e8f3604c"
_AGE = timedelta(days=2)  # of the sample session: as if it had ended the day before yesterday
_QUESTIONS = (
    "アップロードのエラー、前に何が原因だったっけ？",
    "Why did we decide against Redis for the mail queue?",
)
_OFF_TOPIC = "週末の東京の天気を教えて"
# Variables of the caller that would lead the hooks out of the throw-away home.
_LEADING_OUT = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "KIZAMI_DISABLE"),
    *PATH_VARIABLES,
)


@click.command("demo")
@common_options
def command() -> None:
    """Save a sample session into a throw-away home and show what Claude would receive for later prompts."""
    with tempfile.TemporaryDirectory(prefix="kizami-demo-", ignore_cleanup_errors=True) as home:
        env = _environment(home)
        project = os.path.join(home, "shiori")
        transcript = os.path.join(home, f"{_SESSION_ID}.jsonl")
        os.mkdir(project)
        write_recommended(config_path(env))
        prompts = _write_session(transcript, project)
        show(_("A sample session, as Claude Code writes it:"), style="bold")
        for prompt in prompts:
            show(f"> {prompt}", indent=2)
        began = time.monotonic()
        _run_hook("save", {"session_id": _SESSION_ID, "transcript_path": transcript, "cwd": project}, env)
        spent = time.monotonic() - began
        show(_("It ends, and `kizami save` keeps it ({seconds:.2f} s).", seconds=spent))
        for question in _QUESTIONS:
            show()
            show(_("Two days later, in another session: {question}", question=question), style="bold")
            show(_("Claude receives with it:"))
            show(_run_hook("recall", _prompt(question, project), env).rstrip("\n"))
        show()
        show(_("And about something else: {question}", question=_OFF_TOPIC), style="bold")
        block = _run_hook("recall", _prompt(_OFF_TOPIC, project), env)
        show(block.rstrip("\n") or _("Claude receives nothing: no memory is about this."))
    show()
    show(
        _(
            "All of this happened in a temporary directory that is gone now. "
            "For your own sessions: kizami setup"
        )
    )


def _environment(home: str) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in _LEADING_OUT}
    # A `pip install --user` is found by way of HOME, which changes here.
    env.setdefault("PYTHONUSERBASE", site.getuserbase())
    return {**env, "HOME": home, "USERPROFILE": home}


def _write_session(path: str, project: str) -> list[str]:
    """Write the sample transcript as if it had been made in ``project`` two days ago; return its prompts."""
    text = files("kizami_cli").joinpath("data", "demo_session.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.rstrip("\n").split("\n")]
    last = max(_moment(record["timestamp"]) for record in records if "timestamp" in record)
    shift = datetime.now(UTC) - _AGE - last
    prompts = []
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            if "timestamp" in record:
                moved = _moment(record["timestamp"]) + shift
                record["timestamp"] = moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            if "cwd" in record:
                record["cwd"] = project
            if record.get("operation") == "enqueue":
                prompts.append(record["content"])
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return prompts


def _moment(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp)


def _prompt(text: str, project: str) -> dict[str, str]:
    return {
        "session_id": _NEW_SESSION_ID,
        "cwd": project,
        "hook_event_name": "UserPromptSubmit",
        "prompt": text,
    }


def _run_hook(hook: str, fields: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Run a hook the way Claude Code does: a process of its own, JSON in, text out."""
    done = subprocess.run(  # noqa: S603 - this very interpreter and package
        [sys.executable, "-P", "-m", "kizami_cli", hook, "--stdin"],
        input=json.dumps(fields, ensure_ascii=False).encode(),
        env=dict(env),
        capture_output=True,
        check=False,
    )
    if done.stderr:
        raise KizamiError(
            Message(
                "The demonstration failed: {reason}", reason=done.stderr.decode("utf-8", "replace").strip()
            )
        )
    return done.stdout.decode("utf-8")
