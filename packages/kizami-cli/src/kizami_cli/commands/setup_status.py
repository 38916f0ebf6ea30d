"""What `kizami setup --status` tells: whether everything is in place, and what is in the way if not."""

from __future__ import annotations

import os

from kizami_cli import claude_settings
from kizami_cli.backends import mode_problem
from kizami_cli.console import count, show_field, show_json, size
from kizami_cli.hook_command import is_program_missing
from kizami_core.config import load_config
from kizami_core.errors import KizamiError
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
        held = f"{count(database['sessions'], 'session')}, {count(database['chunks'], 'chunk')}"
        show_field("Database", f"{database['path']}: {held}, {size(database['bytes'])}")
    else:
        show_field("Database", f"{database['path']}: not there yet")
    state = "read" if configuration["exists"] else "absent, the defaults apply"
    show_field("Configuration", f"{configuration['path']}: {state}")
    for problem in configuration["problems"]:
        show_field("", problem)
    show_field("Hooks", f"{hooks['path']}{'' if hooks['exists'] else ': not there'}")
    for event, line in hooks["events"].items():
        show_field("", f"{event}: {line or 'not installed'}")
    for warning in hooks["warnings"]:
        show_field("", f"Note: {warning}")


def _database_status(config: str) -> dict[str, Any]:
    path = load_config(config, os.environ)[0].database_path
    status = {"path": path, "exists": True, "sessions": 0, "chunks": 0, "bytes": 0, "error": ""}
    try:
        connection = open_database(path, read_only=True)
    except FileNotFoundError:
        return {**status, "exists": False}
    except KizamiError as error:
        return {**status, "error": str(error)}
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
    messages = [f"{problem.key} {problem.message}" for problem in problems]
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
            warnings.append(f"{hook.event} runs another Kizami than this one; `kizami setup` replaces it.")
    return {"path": path, "exists": settings.original is not None, "events": events, "warnings": warnings}
