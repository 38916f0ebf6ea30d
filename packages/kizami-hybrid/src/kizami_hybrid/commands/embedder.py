"""`kizami embedder`: the process that holds the model, for a person who wants to see, start or end it."""

from __future__ import annotations

import json
import os

import click

from kizami_core.config import load_config
from kizami_core.messages import Message
from kizami_core.paths import config_path
from kizami_hybrid.commands.telling import told
from kizami_hybrid.resident.control import (
    ask_status,
    is_running,
    last_failure,
    start_and_wait,
    stop_and_wait,
)
from kizami_hybrid.resident.endpoint import find_endpoint
from kizami_hybrid.settings import load_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MEGABYTE = 1_000_000
_STATES = {
    "running": Message("running"),
    "stopped": Message("stopped"),
    "failed": Message("failed"),
    "unresponsive": Message("unresponsive"),
}


@click.group("embedder")
def command() -> None:
    """Show, start or end the process that holds the embedding model.

    There is rarely a reason to: the first prompt starts it without waiting for it, and it ends by itself when
    nothing has asked it for a quarter of an hour.
    """


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@click.pass_context
def status_command(context: click.Context, *, as_json: bool) -> None:
    """Tell whether the process runs, with which model, its memory, and how many chunks await their vectors.

    \b
    --json prints one object:
      state            "running", "stopped", "failed" or "unresponsive"
      remedy           what to do, "" if nothing
    and, while it runs:
      version, pid     Kizami's version and the process's number
      model            name, revision and dimensions
      uptime_seconds   since it was started
      resident_bytes   its memory
      waiting          chunks without a vector, by database
      problem          what went wrong in the background last, or ""
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    settings, _ = load_settings(_config_path(context), os.environ)
    endpoint = find_endpoint(settings, os.environ)
    status = ask_status(endpoint)
    failure = last_failure(endpoint)
    if status is not None:
        found: dict[str, object] = {"state": "running", "remedy": "", **status}
    elif is_running(endpoint):
        remedy = Message("It may be loading its model. If this does not change, run: kizami embedder stop")
        found = {"state": "unresponsive", "remedy": remedy}
    elif failure:
        found = {"state": "failed", "remedy": failure}
    else:
        remedy = Message("The next prompt starts it in hybrid mode; so does: kizami embedder start")
        found = {"state": "stopped", "remedy": remedy}
    click.echo(json.dumps(found, ensure_ascii=False, indent=2) if as_json else _text(found))


@command.command("start")
@click.pass_context
def start_command(context: click.Context) -> None:
    """Start the process and wait until it is ready; from then on it looks after the database."""
    path = _config_path(context)
    settings, _ = load_settings(path, os.environ)
    database = load_config(path, os.environ)[0].database_path
    endpoint = find_endpoint(settings, os.environ)
    click.echo(_text({"state": "running", **start_and_wait(endpoint, settings, database, os.environ)}))


@command.command("stop")
@click.pass_context
def stop_command(context: click.Context) -> None:
    """End the process; one that does not listen any more is ended by force."""
    settings, _ = load_settings(_config_path(context), os.environ)
    was_running = stop_and_wait(find_endpoint(settings, os.environ))
    if was_running:
        click.echo(told(Message("The embedding process has ended.")))
    else:
        click.echo(told(Message("No embedding process was running.")))


def _config_path(context: click.Context) -> str:
    """Return the file that ``--config`` names, which `kizami` takes for every command, or the usual."""
    return getattr(context.obj, "config_path", "") or config_path(os.environ)


def _text(found: Mapping[str, object]) -> str:
    lines = [("state", told(_STATES[str(found["state"])]))]
    model = found.get("model")
    if isinstance(model, dict):
        waiting = found.get("waiting")
        counts = waiting.items() if isinstance(waiting, dict) else ()
        of_model = Message(
            "{name}, {dimensions} dimensions, files {revision}",
            name=model["name"],
            dimensions=model["dimensions"],
            revision=model["revision"],
        )
        process = Message(
            "{pid}, Kizami {version}, up {seconds} s",
            pid=found["pid"],
            version=found["version"],
            seconds=found["uptime_seconds"],
        )
        memory = f"{float(str(found['resident_bytes'])) / _MEGABYTE:.0f} MB"
        lines += [("model", told(of_model)), ("process", told(process)), ("memory", memory)]
        for path, number in counts:
            lines.append(("waiting", told(Message("{count:,} chunks of {path}", count=number, path=path))))
    for name in ("problem", "remedy"):
        text = found.get(name)
        if text:
            lines.append((name, told(text) if isinstance(text, Message) else str(text)))
    return "\n".join(f"{name:<9} {text}" for name, text in lines)
