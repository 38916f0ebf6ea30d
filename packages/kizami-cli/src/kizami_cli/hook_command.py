"""The command line of a Claude Code hook: the one that setup writes, and how Kizami's own are recognised."""

from __future__ import annotations

import os
import re
import shlex
import shutil

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    Owner = Literal["kizami", "mixed", "other"]

_HOOK_NAMES = ("save", "recall", "inject")
_SHELLS = ("sh", "bash", "dash", "zsh")
_WRAPPERS = ("{", "}", "exec", "nohup", "setsid", "command", "env", "node", "nodejs")
# What the TypeScript Kizami's hooks hold around the call: nothing that another tool would need.
_HARMLESS = (":", "cat", "disown", "echo", "exit", "printf", "read", "trap", "true", "wait")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REDIRECTION = re.compile(r"[0-9]*[<>]")
_TYPESCRIPT_MARK = "kizami-managed"
# Where uvx and `pipx run` keep programs, only until their cache is cleaned.
_THROWAWAY = re.compile(
    r"/(?:uv/(?:cache/)?(?:archive|builds|environments)-v[0-9]+|pipx/\.cache|\.cache/pipx)/", re.IGNORECASE
)


class Program(Record):
    """How to start Kizami: an executable and the arguments that always follow it."""

    executable: str
    arguments: tuple[str, ...] = ()

    def is_throwaway(self) -> bool:
        """Tell whether the executable lies in a cache that can be emptied at any time (uvx, `pipx run`)."""
        paths = (self.executable, os.path.realpath(self.executable))
        return any(_THROWAWAY.search(path.replace("\\", "/")) for path in paths)


def find_program(argv0: str, interpreter: str, env: Mapping[str, str]) -> Program:
    """Return how this installation is started by a path that survives its upgrades.

    The ``kizami`` on PATH is best when it is this very program; then the path that it was started by, with
    its links kept (pipx and uv point them at the current version); then the interpreter's module
    (``-P``: hooks run in the project's directory, whose files must not be imported).
    """
    started = os.path.abspath(argv0) if argv0 else ""
    # The launchers that pip and uv write on Windows take ".exe" off.
    if not os.path.isfile(started) and os.path.isfile(started + ".exe"):
        started += ".exe"
    if os.path.splitext(os.path.basename(started))[0] != "kizami" or not os.path.isfile(started):
        return Program(os.path.abspath(interpreter), ("-P", "-m", "kizami_cli"))
    found = shutil.which("kizami", path=env.get("PATH"))
    if found and os.path.realpath(found) == os.path.realpath(started):
        return Program(os.path.abspath(found))
    return Program(started)


def handler(program: Program, hook: str, *, config: str, timeout: int, windows: bool) -> dict[str, object]:
    """Return the hook entry for settings.json.

    On Windows the exec form (``args``) is used: no shell there quotes backslashes and spaces reliably.

    Args:
        program: how Kizami is started.
        hook: its hook's name.
        config: a configuration file that was named explicitly, or "".
        timeout: seconds; Claude Code grants SessionEnd 1.5 s unless an entry asks for more.
        windows: whether the entry is for Windows.
    """
    arguments = [*program.arguments, hook, "--stdin", *(["--config", config] if config else [])]
    if windows:
        return {"type": "command", "command": program.executable, "args": arguments, "timeout": timeout}
    return {"type": "command", "command": shlex.join([program.executable, *arguments]), "timeout": timeout}


def command_line(entry: Mapping[str, object]) -> str:
    """Return an entry's command with its arguments as one line, "" for entries without a command."""
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str):
        return ""
    if isinstance(arguments, list):
        return shlex.join([command, *map(str, arguments)])
    return command


def owner_of(entry: Mapping[str, object]) -> Owner:
    """Tell whose hook an entry is: Kizami's (any version's), another tool's, or one command of both."""
    line = command_line(entry)
    if not line:
        return "other"
    if f"# {_TYPESCRIPT_MARK}" in line:
        return "kizami"
    owner = _owner_of_line(line)
    # A path of Windows written without quotes loses its backslashes to shlex.
    return _owner_of_line(line.replace("\\", "/")) if owner == "other" else owner


def is_typescript(line: str) -> bool:
    """Tell whether a hook of Kizami's is the TypeScript Kizami's, as far as its command line tells."""
    return f"# {_TYPESCRIPT_MARK}" in line or "cli.js" in line.replace("\\", "/").replace("/", " ").split()


def is_same_command(line: str, other: str) -> bool:
    """Tell whether two command lines start the same program with the same arguments, by a link or without."""
    try:
        words, other_words = shlex.split(line), shlex.split(other)
    except ValueError:
        return False
    return bool(words and other_words) and _resolved(words) == _resolved(other_words)


def _resolved(words: Sequence[str]) -> list[str]:
    # Interpreters stay as they are: those of two virtual environments are links to the same one.
    program = os.path.realpath(words[0]) if _base_name(words[0]) == "kizami" else words[0]
    return [program, *words[1:]]


def is_program_missing(line: str) -> bool:
    """Tell whether a command line begins with the full path of a file that is not there."""
    try:
        program = shlex.split(line)[0]
    except (ValueError, IndexError):
        return False
    return os.path.isabs(program) and not os.path.exists(program)


def _owner_of_line(line: str) -> Owner:
    found = set()
    for segment in _segments(line):
        words = _without_wrappers(segment)
        if not words:
            continue
        name = _base_name(words[0])
        if name in _SHELLS and "-c" in words[:-1]:
            found.add(_owner_of_line(words[words.index("-c") + 1]))
        elif _is_kizami_hook(words):
            found.add("kizami")
        elif name not in _HARMLESS:
            found.add("other")
    if found == {"kizami"}:
        return "kizami"
    return "mixed" if found & {"kizami", "mixed"} else "other"


def _segments(line: str) -> list[list[str]]:
    """Split a shell line into its simple commands."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    segments: list[list[str]] = [[]]
    try:
        for token in lexer:
            words = segments[-1]
            if words and words[-1].endswith((">", ">&")):
                words[-1] += token  # the target of a redirection: 2> & 1
            elif token and set(token) <= set(";&|()"):
                segments.append([])
            else:
                words.append(token)
    except ValueError:  # an open quote: no shell runs it
        return []
    return [[word for word in words if not _REDIRECTION.match(word)] for words in segments]


def _without_wrappers(words: Sequence[str]) -> list[str]:
    """Drop assignments, ``exec`` and the like from the front of a simple command."""
    rest = list(words)
    while rest and (_base_name(rest[0]) in _WRAPPERS or _ASSIGNMENT.match(rest[0])):
        del rest[0]
    return rest


def _is_kizami_hook(words: Sequence[str]) -> bool:
    name, rest = _base_name(words[0]), words[1:]
    is_module = "-m" in rest[:-1] and rest[rest.index("-m") + 1] == "kizami_cli"
    is_typescript = name == "cli.js" and "kizami" in words[0].replace("\\", "/").split("/")
    is_kizami = name == "kizami" or is_module or is_typescript
    return is_kizami and "--stdin" in rest and any(word in _HOOK_NAMES for word in rest)


def _base_name(word: str) -> str:
    name = word.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in (".exe", ".cmd", ".bat"):
        name = name.removesuffix(suffix)
    return name
