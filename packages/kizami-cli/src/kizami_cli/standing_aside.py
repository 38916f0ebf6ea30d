"""Whether a hook of the Claude Code plugin stands aside, because a settings file runs the same hook.

Claude Code runs both, in parallel. Two memory blocks would come with each prompt, and two processes would do
the work of one, so the plugin's ends at once where an entry of a settings file does its work. Where that is
not certain (a matcher, a command of another shape, a program that is not there), it runs: shown twice is less
bad than lost.

On the way of every prompt (ARCHITECTURE.md, "The hook path"), so nothing of ``claude_settings`` is used here.
"""

from __future__ import annotations

import os
import sys

from kizami_core.json_text import parse
from kizami_core.paths import claude_config_dir, expand_user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": r"C:\Program Files\ClaudeCode\managed-settings.json",
}
_MANAGED_ELSEWHERE = "/etc/claude-code/managed-settings.json"
# Of an organization: of all hooks only its own, or those of plugins, run.
_MANAGED_LOCKS = ("allowManagedHooksOnly", "strictPluginOnlyCustomization")
# An entry with more says when or how it runs (`if`, `async`, `shell`).
_PLAIN_ENTRY = {"type", "command", "args", "timeout", "statusMessage"}
_BOM = b"\xef\xbb\xbf"
_SCRIPT_HEAD_BYTES = 512


def managed_settings_path() -> str:
    """Return where an organization's settings of Claude Code stand on this system."""
    return _MANAGED.get(sys.platform, _MANAGED_ELSEWHERE)


def stands_aside(event: str, hook: str, env: Mapping[str, str]) -> bool:
    """Tell whether a settings file runs this hook for this event of Claude Code, by a program that is there.

    Looked at are the user's settings and those of the project (``CLAUDE_PROJECT_DIR``, set by Claude Code).
    """
    files = [os.path.join(claude_config_dir(env), "settings.json")]
    if project := env.get("CLAUDE_PROJECT_DIR", ""):
        files += (os.path.join(project, ".claude", name) for name in ("settings.json", "settings.local.json"))
    is_served = False
    for file in files:
        settings = _settings(file)
        # The plugin's hook runs all the same: an organization enabled it. Then the others don't.
        if settings.get("disableAllHooks") is True:
            return False
        is_served = is_served or any(_runs(entry, hook, env) for entry in _entries(settings, event))
    return is_served and not any(_settings(managed_settings_path()).get(lock) for lock in _MANAGED_LOCKS)


def _settings(path: str) -> dict[str, object]:
    """Return the settings in a file, {} where there are none that can be read."""
    try:
        with open(path, "rb") as file:
            settings = parse(file.read().removeprefix(_BOM).decode())
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _entries(settings: dict[str, object], event: str) -> Iterator[dict[str, object]]:
    """Yield the hook entries that run whenever the event happens."""
    hooks = settings.get("hooks")
    blocks = hooks.get(event) if isinstance(hooks, dict) else None
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict) or block.get("matcher") not in (None, "", "*"):
            continue
        entries = block.get("hooks")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("type") == "command" and entry.keys() <= _PLAIN_ENTRY:
                yield entry


def _runs(entry: dict[str, object], hook: str, env: Mapping[str, str]) -> bool:
    """Tell whether an entry runs Kizami's hook, as `kizami setup` writes it, by a program that is there."""
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or "kizami" not in f"{command} {arguments}":
        return False
    words = [command, *map(str, arguments)] if isinstance(arguments, list) else _words(command)
    program = words[0] if words else ""
    is_module = "-m" in words[1:3] and "kizami_cli" in words[2:4]
    name = program.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    is_kizami = (name == "kizami" or is_module) and hook in words and "--stdin" in words
    return is_kizami and "--plugin" not in words and _is_there(program, env)


def _words(line: str) -> list[str]:
    """Split a command line as a shell does, as far as `kizami setup` quotes (``shlex`` needs ``re``)."""
    words: list[str] = []
    word, quote = "", ""
    for character in f"{line} ":
        if quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "'\"":
            quote = character
        elif character not in " \t\n;":
            word += character
        elif word:
            words.append(word)
            word = ""
    return words


def _is_there(program: str, env: Mapping[str, str]) -> bool:
    """Tell whether a program can be started: the file is there, and of a script its interpreter too."""
    program = expand_user(program, env) if program.startswith("~/") else program
    if program == os.path.basename(program):
        folders = env.get("PATH", "").split(os.pathsep)
        return any(_is_startable(os.path.join(folder, program)) for folder in folders if folder)
    return os.path.isabs(program) and _is_startable(program)


def _is_startable(path: str) -> bool:
    if os.name == "nt" and not path.endswith(".exe"):
        path += ".exe"
    try:
        with open(path, "rb") as file:
            head = file.read(_SCRIPT_HEAD_BYTES)
    except (OSError, ValueError):
        return False
    # The virtual environment, or the Python that it was made with, may have been deleted.
    words = head[2:].partition(b"\n")[0].split() if head.startswith(b"#!") else []
    return os.access(path, os.X_OK) and (not words or os.path.exists(words[0]))
