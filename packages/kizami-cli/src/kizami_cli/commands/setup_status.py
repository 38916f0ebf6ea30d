"""What `kizami setup --status` tells: whether everything is in place, and what is in the way if not."""

from __future__ import annotations

import os

from kizami_cli import claude_settings
from kizami_cli.backends import mode_problem
from kizami_cli.claude_plugins import plugins_with_kizami
from kizami_cli.console import count, show_field, show_json, size
from kizami_cli.hook_command import is_program_missing
from kizami_cli.language import _
from kizami_core.config import load_config
from kizami_core.errors import KizamiError
from kizami_core.messages import Message
from kizami_core.storage.connection import open_database
from kizami_core.storage.statistics import read_statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kizami_cli.hook_command import Program


def show_status(config: str, settings: str, program: Program, explicit_config: str, *, as_json: bool) -> None:
    """Write the status to stdout; nothing is changed."""
    status = {
        "database": _database_status(config),
        "configuration": _config_status(config),
        "hooks": _hooks_status(settings, program, explicit_config),
    }
    if as_json:
        show_json(status)
        return
    database, configuration, hooks = status["database"], status["configuration"], status["hooks"]
    if database["error"]:
        show_field("Database", database["error"])
    elif database["exists"]:
        held = _(
            "{path}: {sessions}, {chunks}, {size}",
            path=database["path"],
            sessions=count(database["sessions"], "session"),
            chunks=count(database["chunks"], "chunk"),
            size=size(database["bytes"]),
        )
        show_field("Database", held)
    else:
        show_field("Database", _("{path}: not there yet", path=database["path"]))
    if configuration["exists"]:
        show_field("Configuration", _("{path}: read", path=configuration["path"]))
    else:
        show_field("Configuration", _("{path}: absent, the defaults apply", path=configuration["path"]))
    for problem in configuration["problems"]:
        show_field("", problem)
    show_field("Hooks", hooks["path"] if hooks["exists"] else _("{path}: not there", path=hooks["path"]))
    absent = _("by the plugin") if hooks["plugins"] else _("not installed")
    for event, line in hooks["events"].items():
        show_field("", f"{event}: {line or absent}")
    for plugin in hooks["plugins"]:
        show_field("Plugin", plugin)
    for warning in hooks["warnings"]:
        show_field("", _("Note: {warning}", warning=warning))


def _database_status(config: str) -> dict[str, Any]:
    path = load_config(config, os.environ)[0].database_path
    status = {"path": path, "exists": True, "sessions": 0, "chunks": 0, "bytes": 0, "error": ""}
    try:
        connection = open_database(path, read_only=True)
    except FileNotFoundError:
        return {**status, "exists": False}
    except KizamiError as error:
        return {**status, "error": error.args[0]}
    try:
        statistics = read_statistics(connection)
    finally:
        connection.close()
    return {
        **status,
        "sessions": statistics.sessions,
        "chunks": statistics.chunks,
        "bytes": statistics.database_bytes,
    }


def _config_status(path: str) -> dict[str, Any]:
    config, problems = load_config(path, os.environ)
    messages: list[str] = [
        Message("{key} {problem}", key=problem.key, problem=problem.message) for problem in problems
    ]
    if problem := mode_problem(config.search_mode):
        messages.append(problem)
    return {"path": path, "exists": os.path.exists(path), "problems": messages}


def _hooks_status(path: str, program: Program, config: str) -> dict[str, Any]:
    settings = claude_settings.read_settings(path)
    installed = claude_settings.installed_hooks(settings, program, config)
    events = dict.fromkeys(claude_settings.EVENTS, "")
    warnings = claude_settings.warnings(settings, program)
    for hook in installed:
        events.setdefault(hook.event, "")
        events[hook.event] = hook.command
        if hook.owner == "kizami" and not hook.is_current and not is_program_missing(hook.command):
            warnings.append(
                Message(
                    "{event} runs another Kizami than this one; `kizami setup` replaces it.", event=hook.event
                )
            )
    return {
        "path": path,
        "exists": settings.original is not None,
        "events": events,
        "plugins": [plugin.name for plugin in plugins_with_kizami(os.environ)],
        "warnings": warnings,
    }
