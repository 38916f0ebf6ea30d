"""Kizami's hooks in Claude Code's settings.json: installed, looked at and removed, nothing else touched.

The file is the person's. Every change keeps a backup beside it, replaces the file in one step, and leaves
each character outside Kizami's own entries as it was (``json_source``). What can't be understood is refused.
"""

from __future__ import annotations

import os

from kizami_cli import json_source
from kizami_cli.file_replacement import replace_file
from kizami_cli.hook_command import command_line, handler, is_program_missing, is_same_command, owner_of
from kizami_core.errors import SettingsError
from kizami_core.messages import Message
from kizami_core.paths import claude_config_dir
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_cli.hook_command import Owner, Program
    from kizami_cli.json_source import Node

# Claude Code's event → our hook and its timeout in seconds. SessionEnd's budget is 1.5 s unless an entry of a
# settings file asks for more; a person waits for the others.
EVENTS = {
    "Stop": ("save", 30),
    "PreCompact": ("save", 30),
    "SessionEnd": ("save", 30),
    "UserPromptSubmit": ("recall", 10),
    "SessionStart": ("inject", 10),
}
_BOM = b"\xef\xbb\xbf"


class InstalledHook(Record):
    """One hook entry that runs Kizami, and where it stands: event, matcher block, entry."""

    event: str
    block: int
    index: int
    command: str
    owner: Owner
    is_current: bool


class SettingsFile(Record):
    """The settings as they were read: the bytes (None when there is no file) and the text in them."""

    path: str
    original: bytes | None
    text: str


def settings_path(env: Mapping[str, str]) -> str:
    """Return the path of the user's settings.json (``CLAUDE_CONFIG_DIR`` is honoured)."""
    return os.path.join(claude_config_dir(env), "settings.json")


def read_settings(path: str) -> SettingsFile:
    """Read the settings; a file that is missing or empty counts as ``{}``.

    Raises:
        SettingsError: it can't be read, or isn't JSON of the shape that Claude Code documents.
    """
    try:
        with open(path, "rb") as file:
            original = file.read()
    except FileNotFoundError:
        return SettingsFile(path, None, "{}\n")
    except OSError as error:
        raise SettingsError(
            Message(
                "{path} can't be read ({reason}). Mend its permissions, then try again.",
                path=path,
                reason=error.strerror,
            )
        ) from error
    try:
        text = original.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(
            Message(
                "{path} is not UTF-8 text; it was left as it is. Save it as UTF-8, then try again.", path=path
            )
        ) from error
    if not text.strip():
        text = "{}\n"
    settings = SettingsFile(path, original, text)
    installed_hooks(settings)
    return settings


def installed_hooks(
    settings: SettingsFile, program: Program | None = None, config: str = ""
) -> list[InstalledHook]:
    """Return the entries that run Kizami, in file order; ``is_current``: as ``program``'s setup has it.

    Raises:
        SettingsError: the file is not JSON, or ``hooks`` has another shape than Claude Code's.
    """
    found = []
    for event, blocks in _hooks_by_event(settings):
        wanted = _wanted(event, program, config) if program else None
        for block_index, block in enumerate(blocks.children):
            entries = block.member("hooks")
            if entries is None or entries.kind != "array":
                continue
            for index, entry in enumerate(entries.children):
                if not isinstance(entry.value, dict) or (owner := owner_of(entry.value)) == "other":
                    continue
                is_current = wanted is not None and _does_the_same(entry.value, wanted)
                line = command_line(entry.value)
                found.append(InstalledHook(event, block_index, index, line, owner, is_current))
    return found


def with_hooks(settings: SettingsFile, program: Program, config: str = "") -> str:
    """Return the text with each of ``EVENTS`` running Kizami exactly once; older entries are replaced."""
    text = settings.text
    missing = list(EVENTS)
    stale = []
    for hook in installed_hooks(settings, program, config):
        if hook.is_current and hook.event in missing:
            missing.remove(hook.event)
        elif hook.owner == "kizami":
            stale.append(hook)
    for hook in list(stale):
        if hook.event in missing:
            entries, index = _places(text, hook)[-1]
            text = json_source.replace(text, entries.children[index], _wanted(hook.event, program, config))
            missing.remove(hook.event)
            stale.remove(hook)
    text = _cut(text, stale)
    for event in missing:
        text = _add(text, event, {"hooks": [_wanted(event, program, config)]})
    return text


def without_hooks(settings: SettingsFile) -> str:
    """Return the text without Kizami's entries and without the lists and objects that they leave empty."""
    return _cut(settings.text, [hook for hook in installed_hooks(settings) if hook.owner == "kizami"])


def warnings(settings: SettingsFile, program: Program) -> list[str]:
    """Return what would keep the hooks from working, or working for long, each with what to do."""
    found: list[str] = []
    hooks = installed_hooks(settings)
    switch = _parse(settings).member("disableAllHooks")
    if switch is not None and switch.value is True:
        found.append(
            Message('"disableAllHooks" is true there, so Claude Code runs none of them. Set it to false.')
        )
    found += [
        Message(
            "{event} runs Kizami together with something else; take it out there: {command}",
            event=hook.event,
            command=hook.command,
        )
        for hook in hooks
        if hook.owner == "mixed"
    ]
    found += [
        Message(
            "{event} runs a program that is not there; `kizami setup` replaces it: {command}",
            event=hook.event,
            command=hook.command,
        )
        for hook in hooks
        if hook.owner == "kizami" and is_program_missing(hook.command)
    ]
    if program.is_throwaway():
        found.append(
            Message(
                "{program} lies in a cache that may be emptied. Install Kizami for good (uv tool install "
                "kizami-cli, or pipx install kizami-cli), then run setup again.",
                program=program.executable,
            )
        )
    return found


def write_settings(settings: SettingsFile, text: str, now: float) -> str:
    """Replace the file by ``text`` in one step; return the backup's path ("" when there was no file).

    The file's permissions stay, and a symbolic link stays a link.

    Raises:
        SettingsError: it can't be written, or changed since it was read; nothing was changed then.
    """
    mark = _BOM if (settings.original or b"").startswith(_BOM) else b""
    return replace_file(settings.path, settings.original, mark + text.encode(), now, refusal=SettingsError)


def _parse(settings: SettingsFile) -> Node:
    try:
        root = json_source.parse(settings.text)
    except ValueError as error:
        raise SettingsError(
            Message(
                "{path} is not valid JSON ({reason}); it was left as it is. Comments and trailing commas are "
                "not allowed there. Repair it, then try again.",
                path=settings.path,
                reason=error,
            )
        ) from error
    if root.kind != "object":
        raise _unexpected(settings, Message("the file"), Message("an object"))
    return root


def _hooks_by_event(settings: SettingsFile) -> list[tuple[str, Node]]:
    hooks = _parse(settings).member("hooks")
    if hooks is None:
        return []
    if hooks.kind != "object":
        raise _unexpected(settings, '"hooks"', Message("an object"))
    for event, blocks in zip(hooks.keys, hooks.children, strict=True):
        if event in EVENTS and blocks.kind != "array":
            raise _unexpected(settings, f'"hooks.{event}"', Message("a list"))
    return list(zip(hooks.keys, hooks.children, strict=True))


def _unexpected(settings: SettingsFile, what: str, wanted: str) -> SettingsError:
    return SettingsError(
        Message(
            "{path}: {what} is not {wanted}, as Claude Code's settings have it; the file was left as it is. "
            "Repair it, then try again.",
            path=settings.path,
            what=what,
            wanted=wanted,
        )
    )


def _wanted(event: str, program: Program, config: str) -> dict[str, object]:
    hook, timeout = EVENTS.get(event, ("", 0))
    return handler(program, hook, config=config, timeout=timeout, windows=os.name == "nt")


def _does_the_same(entry: dict[str, object], wanted: dict[str, object]) -> bool:
    # The length of the timeout is the person's to choose; without one the session's end is cut short.
    return "timeout" in entry and is_same_command(command_line(entry), command_line(wanted))


def _places(text: str, hook: InstalledHook) -> list[tuple[Node, int]]:
    """Return the way to an entry: each container from the whole file inwards, with the place in it."""
    root = json_source.parse(text)
    hooks = root.children[root.keys.index("hooks")]
    blocks = hooks.children[hooks.keys.index(hook.event)]
    block = blocks.children[hook.block]
    entries = block.children[block.keys.index("hooks")]
    places = ((root, root.keys.index("hooks")), (hooks, hooks.keys.index(hook.event)))
    return [*places, (blocks, hook.block), (entries, hook.index)]


def _cut(text: str, stale: Sequence[InstalledHook]) -> str:
    """Remove entries, each with the containers around it that hold nothing else."""
    # From the last to the first: what is cut doesn't move those before it.
    for hook in reversed(stale):
        places = _places(text, hook)
        level = len(places) - 1
        while level > 0 and len(places[level][0].children) == 1:
            level -= 1
        text = json_source.remove(text, *places[level])
    return text


def _add(text: str, event: str, block: dict[str, object]) -> str:
    root = json_source.parse(text)
    hooks = root.member("hooks")
    if hooks is None:
        return json_source.append(text, root, {event: [block]}, key="hooks")
    blocks = hooks.member(event)
    if blocks is None:
        return json_source.append(text, hooks, [block], key=event)
    return json_source.append(text, blocks, block)
