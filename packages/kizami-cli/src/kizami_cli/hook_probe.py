"""Whether Claude Code's settings run Kizami's hooks, and whether these work: they are really started."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile

from kizami_cli import claude_settings
from kizami_cli.hook_command import is_program_missing, is_typescript
from kizami_core.errors import SettingsError
from kizami_core.maintenance.findings import Finding, of_error
from kizami_core.paths import claude_config_dir
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from kizami_cli.claude_settings import InstalledHook, SettingsFile
    from kizami_cli.hook_command import Program

_SETUP = "Run: kizami setup"
_TIMEOUT_SECONDS = 15
_SHOWN = 200  # characters of what a hook wrote
_HOME_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR")
_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": r"C:\Program Files\ClaudeCode\managed-settings.json",
}
_MANAGED_ELSEWHERE = "/etc/claude-code/managed-settings.json"


class HookSettings(Record):
    """Claude Code's settings, as far as they concern Kizami.

    ``installed`` maps the events that run Kizami to its hook. ``changed_at`` is when the file last changed
    (seconds since the epoch). ``cleanup_days`` is None where the settings don't say.
    """

    installed: Mapping[str, str]
    changed_at: float | None
    cleanup_days: float | None
    findings: Sequence[Finding]


def check_hooks(
    env: Mapping[str, str], program: Program, config: str, project: str, *, is_started: bool = True
) -> HookSettings:
    """Look at the hooks in Claude Code's settings and start each of them once.

    Args:
        env: the environment.
        program: how this Kizami is started.
        config: a configuration file that was named explicitly, or "".
        project: the folder whose own settings are looked at too.
        is_started: whether the hooks are started.
    """
    path = claude_settings.settings_path(env)
    try:
        settings = claude_settings.read_settings(path)
        hooks = claude_settings.installed_hooks(settings, program, config)
    except SettingsError as error:
        return HookSettings({}, None, None, [of_error("hooks", error)])
    plugins = _plugins_with_kizami(env)
    ours = _one_for_each_event(hooks)
    findings = [*_check_installed(path, hooks, ours, plugins), *_check_switches(path, project)]
    if env.get("KIZAMI_DISABLE", "0") not in ("", "0"):
        found = "KIZAMI_DISABLE is set here: a Claude Code started from this shell neither saves nor recalls."
        findings.append(Finding("hooks", "warning", found, "Unset it where you want Kizami."))
    if program.is_throwaway():
        found = f"{program.executable} lies in a cache that may be emptied."
        remedy = "Install Kizami for good: uv tool install kizami-cli. Then run: kizami setup"
        findings.append(Finding("hooks", "warning", found, remedy))
    if is_started:
        findings += _start_each(ours, env)
    if not findings:
        how = f"plugin {', '.join(plugins)} runs Kizami" if plugins else f"{', '.join(ours)} run Kizami"
        findings = [Finding("hooks", "ok", f"{how}{', and it starts' if ours and is_started else ''}")]
    named = {event: hook for event, (hook, _) in claude_settings.EVENTS.items() if event in ours}
    changed_at = None if settings.original is None else os.stat(path).st_mtime
    return HookSettings(named, changed_at, _cleanup_days(settings), findings)


def _one_for_each_event(hooks: Sequence[InstalledHook]) -> dict[str, InstalledHook]:
    """Return the hook that serves each event, in the order of ``EVENTS``: the current one if there is one."""
    ours: dict[str, InstalledHook] = {}
    for event in claude_settings.EVENTS:
        for hook in hooks:
            if hook.event == event and not is_typescript(hook.command):
                served = ours.setdefault(event, hook)
                if hook.is_current and not served.is_current:
                    ours[event] = hook
    return ours


def _check_installed(
    path: str, hooks: Sequence[InstalledHook], ours: Mapping[str, InstalledHook], plugins: Sequence[str]
) -> Iterator[Finding]:
    missing = [event for event in claude_settings.EVENTS if event not in ours]
    if missing and not (plugins and not ours):
        yield Finding("hooks", "problem", f"{path} doesn't run Kizami for {', '.join(missing)}", _SETUP)
    if plugins and ours:
        found = f"both the plugin {', '.join(plugins)} and {path} run Kizami: all is done twice"
        remedy = "Keep one: disable the plugin in Claude Code (/plugin), or run: kizami setup --uninstall"
        yield Finding("hooks", "warning", found, remedy)
    for hook in hooks:
        where = f"{hook.event} runs"
        if hook.owner == "mixed":
            found = f"{where} Kizami together with something else: {hook.command}"
            yield Finding("hooks", "warning", found, "Take Kizami out there, then run: kizami setup")
        elif is_typescript(hook.command):
            beside = " beside this one" if hook.event in ours else ""
            yield Finding(
                "hooks", "warning", f"{where} the TypeScript Kizami{beside}: {hook.command}", _SETUP
            )
        elif is_program_missing(hook.command):
            yield Finding("hooks", "problem", f"{where} a program that is not there: {hook.command}", _SETUP)
        elif hook is not ours.get(hook.event):
            often = "more than once" if hook.event in ours else "without need"
            yield Finding("hooks", "warning", f"{where} Kizami {often}: {hook.command}", _SETUP)
        elif not hook.is_current:
            found = f"{where} another Kizami than this one, or without a timeout: {hook.command}"
            yield Finding("hooks", "warning", found, _SETUP)


def _check_switches(path: str, project: str) -> Iterator[Finding]:
    """Find what keeps Claude Code from running hooks at all, in every settings file that counts here."""
    managed = _MANAGED.get(sys.platform, _MANAGED_ELSEWHERE)
    own = (os.path.join(project, ".claude", name) for name in ("settings.json", "settings.local.json"))
    for file in dict.fromkeys((path, *own, managed)):
        settings = _json(file)
        if settings.get("disableAllHooks") is True:
            found = f'"disableAllHooks" is true in {file}: Claude Code runs no hooks'
            yield Finding("hooks", "problem", found, "Set it to false, or take it out.")
        if file == managed and settings.get("allowManagedHooksOnly") is True:
            found = f"{file} allows only its own hooks: Claude Code doesn't run those of Kizami"
            yield Finding(
                "hooks", "problem", found, "Ask who manages this machine to add Kizami's hooks there."
            )


def _start_each(ours: Mapping[str, InstalledHook], env: Mapping[str, str]) -> Iterator[Finding]:
    """Start every hook in a home that is thrown away.

    Recall is asked for nothing and goes all its way but for the database; the others only start.
    """
    started = set()
    with tempfile.TemporaryDirectory(prefix="kizami-doctor-", ignore_cleanup_errors=True) as home:
        probe_env = {**env, **dict.fromkeys(_HOME_VARIABLES, home)}
        for event, hook in ours.items():
            if hook.owner == "mixed" or is_program_missing(hook.command) or hook.command in started:
                continue
            started.add(hook.command)
            disabled = "0" if event == "UserPromptSubmit" else "1"
            fault = _fault(hook.command, {**probe_env, "KIZAMI_DISABLE": disabled})
            if fault:
                found = f"{event} runs what does not work ({fault}): {hook.command}"
                yield Finding("hooks", "problem", found, f"{_SETUP}, or install Kizami anew")


def _fault(command: str, env: Mapping[str, str]) -> str:
    """Run a hook's command as Claude Code does, on an empty prompt; return what is wrong, "" for nothing."""
    line = shlex.split(command) if os.name == "nt" else ["sh", "-c", command]
    try:
        done = subprocess.run(  # noqa: S603 - what the settings tell Claude Code to run before every prompt
            line,
            input=b'{"prompt": ""}',
            env=dict(env),
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_TIMEOUT_SECONDS} s"
    except OSError as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode:
        return f"exit code {done.returncode}: {said[:_SHOWN]}"
    # Problems of a configuration that the command names are told by their own check.
    return "" if " configuration: " in said else said[:_SHOWN]


def _plugins_with_kizami(env: Mapping[str, str]) -> list[str]:
    """Return the ids of the installed plugins whose hooks run Kizami, but for those switched off."""
    claude = claude_config_dir(env)
    enabled = _json(os.path.join(claude, "settings.json")).get("enabledPlugins")
    plugins = _json(os.path.join(claude, "plugins", "installed_plugins.json")).get("plugins")
    found = []
    for name, places in plugins.items() if isinstance(plugins, dict) else ():
        if isinstance(enabled, dict) and enabled.get(name) is False:
            continue
        for place in places if isinstance(places, list) else [places]:
            folder = place.get("installPath") if isinstance(place, dict) else None
            if not isinstance(folder, str):
                continue
            hooks = json.dumps(_json(os.path.join(folder, "hooks", "hooks.json")))
            if "kizami" in hooks and "--stdin" in hooks and name not in found:
                found.append(name)
    return found


def _cleanup_days(settings: SettingsFile) -> float | None:
    value = json.loads(settings.text).get("cleanupPeriodDays")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None


def _json(path: str) -> dict[str, Any]:
    """Return the object in a JSON file, {} for a file that is not there or holds something else."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
