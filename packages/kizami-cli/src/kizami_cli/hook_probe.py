"""Whether Claude Code's settings run Kizami's hooks, and whether these work: they are really started."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile

from kizami_cli import claude_settings
from kizami_cli.claude_plugins import plugins_with_kizami, program_of_plugin, read_json
from kizami_cli.hook_command import is_program_missing, is_typescript
from kizami_cli.standing_aside import managed_settings_path
from kizami_core.errors import SettingsError
from kizami_core.maintenance.findings import Finding, of_error
from kizami_core.messages import Message
from kizami_core.paths import PATH_VARIABLES
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kizami_cli.claude_settings import InstalledHook, SettingsFile
    from kizami_cli.hook_command import Program

_SETUP = Message("Run: kizami setup")
_TIMEOUT_SECONDS = 15
_SHOWN = 200  # characters of what a hook wrote
_HOME_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR")


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
    plugins = [plugin.name for plugin in plugins_with_kizami(env) if plugin.project in ("", project)]
    ours = _one_for_each_event(hooks)
    findings = [
        *_check_installed(path, hooks, ours, has_plugin=bool(plugins)),
        *_check_switches(path, project),
    ]
    if env.get("KIZAMI_DISABLE", "0") not in ("", "0"):
        found = Message(
            "KIZAMI_DISABLE is set here: a Claude Code started from this shell neither saves nor recalls."
        )
        findings.append(Finding("hooks", "warning", found, Message("Unset it where you want Kizami.")))
    if program.is_throwaway():
        found = Message("{program} lies in a cache that may be emptied.", program=program.executable)
        remedy = Message("Install Kizami for good: uv tool install kizami-cli. Then run: kizami setup")
        findings.append(Finding("hooks", "warning", found, remedy))
    if is_started:
        findings += _start_each(ours, env)
    if ours and not findings:
        events = ", ".join(ours)
        working = Message("{events} run Kizami, and it starts", events=events)
        found = working if is_started else Message("{events} run Kizami", events=events)
        findings = [Finding("hooks", "ok", found)]
    findings += [_check_plugin(plugin, path, env, is_beside=bool(ours)) for plugin in plugins]
    running = claude_settings.EVENTS if plugins else ours
    named = {event: hook for event, (hook, _) in claude_settings.EVENTS.items() if event in running}
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
    path: str, hooks: Sequence[InstalledHook], ours: Mapping[str, InstalledHook], *, has_plugin: bool
) -> Iterator[Finding]:
    missing = [event for event in claude_settings.EVENTS if event not in ours]
    if missing and not has_plugin:
        found = Message("{path} doesn't run Kizami for {events}", path=path, events=", ".join(missing))
        yield Finding("hooks", "problem", found, _SETUP)
    for hook in hooks:
        run = {"event": hook.event, "command": hook.command}
        if hook.owner == "mixed":
            found = Message("{event} runs Kizami together with something else: {command}", **run)
            remedy = Message("Take Kizami out there, then run: kizami setup")
            yield Finding("hooks", "warning", found, remedy)
        elif is_typescript(hook.command):
            found = Message("{event} runs the TypeScript Kizami: {command}", **run)
            if hook.event in ours:
                found = Message("{event} runs the TypeScript Kizami beside this one: {command}", **run)
            yield Finding("hooks", "warning", found, _SETUP)
        elif is_program_missing(hook.command):
            found = Message("{event} runs a program that is not there: {command}", **run)
            yield Finding("hooks", "problem", found, _SETUP)
        elif hook is not ours.get(hook.event):
            found = Message("{event} runs Kizami without need: {command}", **run)
            if hook.event in ours:
                found = Message("{event} runs Kizami more than once: {command}", **run)
            yield Finding("hooks", "warning", found, _SETUP)
        elif not hook.is_current:
            found = Message(
                "{event} runs another Kizami than this one, or without a timeout: {command}", **run
            )
            yield Finding("hooks", "warning", found, _SETUP)


def _check_plugin(plugin: str, path: str, env: Mapping[str, str], *, is_beside: bool) -> Finding:
    """Tell what an installed plugin does: its hooks stand aside for those of the settings."""
    if is_beside:
        found = Message(
            "{plugin} is installed too: its hooks stand aside for those in {path}", plugin=plugin, path=path
        )
        return Finding("plugin", "ok", found)
    program = program_of_plugin(env)
    if not program:
        found = Message("{plugin} finds no kizami on PATH: its hooks do nothing", plugin=plugin)
        remedy = Message("Run: kizami setup (its hooks name the program by its full path)")
        return Finding("plugin", "problem", found, remedy)
    found = Message("{plugin} runs the hooks, with {program}", plugin=plugin, program=program)
    return Finding("plugin", "ok", found)


def _check_switches(path: str, project: str) -> Iterator[Finding]:
    """Find what keeps Claude Code from running hooks at all, in every settings file that counts here."""
    managed = managed_settings_path()
    own = (os.path.join(project, ".claude", name) for name in ("settings.json", "settings.local.json"))
    for file in dict.fromkeys((path, *own, managed)):
        settings = read_json(file)
        if settings.get("disableAllHooks") is True:
            found = Message('"disableAllHooks" is true in {file}: Claude Code runs no hooks', file=file)
            yield Finding("hooks", "problem", found, Message("Set it to false, or take it out."))
        if file == managed and settings.get("allowManagedHooksOnly") is True:
            found = Message(
                "{file} allows only its own hooks: Claude Code doesn't run those of Kizami", file=file
            )
            remedy = Message("Ask who manages this machine to add Kizami's hooks there.")
            yield Finding("hooks", "problem", found, remedy)


def _start_each(ours: Mapping[str, InstalledHook], env: Mapping[str, str]) -> Iterator[Finding]:
    """Start every hook in a home that is thrown away.

    Recall is asked for nothing and goes all its way but for the database; the others only start.
    """
    started = set()
    with tempfile.TemporaryDirectory(prefix="kizami-doctor-", ignore_cleanup_errors=True) as home:
        # Those would lead out of that home.
        kept = {name: value for name, value in env.items() if name not in PATH_VARIABLES}
        probe_env = {**kept, **dict.fromkeys(_HOME_VARIABLES, home)}
        for event, hook in ours.items():
            if hook.owner == "mixed" or is_program_missing(hook.command) or hook.command in started:
                continue
            started.add(hook.command)
            disabled = "0" if event == "UserPromptSubmit" else "1"
            fault = _fault(hook.command, {**probe_env, "KIZAMI_DISABLE": disabled})
            if fault:
                found = Message(
                    "{event} runs what does not work ({fault}): {command}",
                    event=event,
                    fault=fault,
                    command=hook.command,
                )
                remedy = Message("Run: kizami setup, or install Kizami anew")
                yield Finding("hooks", "problem", found, remedy)


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
        return Message("no answer within {seconds} s", seconds=_TIMEOUT_SECONDS)
    except OSError as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode:
        return Message("exit code {code}: {said}", code=done.returncode, said=said[:_SHOWN])
    # Problems of a configuration that the command names are told by their own check.
    return "" if " configuration: " in said else said[:_SHOWN]


def _cleanup_days(settings: SettingsFile) -> float | None:
    value = json.loads(settings.text).get("cleanupPeriodDays")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None
