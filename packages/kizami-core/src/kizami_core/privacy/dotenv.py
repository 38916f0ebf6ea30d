"""Environment files: every value in the output of a tool that read one is kept out, whatever its name.

``reads_env_file`` recognises the calls, ``mask_env_values`` masks ``KEY=value`` lines. Examples and
templates (``.env.example``) hold no secrets of their own and are left to ``secrets.mask_secrets``.
"""

from __future__ import annotations

import re

from kizami_core.privacy.secret_names import is_secret_name
from kizami_core.privacy.secrets import SECRET_MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# .env, .env.local, prod.env, .envrc; neither templates of them nor process.env in code.
_TEMPLATE = r"(?:example|sample|template|dist|defaults?|schema|tpl)"
_FILE = (
    rf"(?!(?:[\w.-]*[.-])?{_TEMPLATE}\.env)(?!(?:\w+\.)*(?:process|meta|deno|bun|self|this)\.env)"
    rf"(?:\.env(?:rc)?|[\w.-]{{0,80}}[\w-]\.env)(?![\w.-]*[.-]{_TEMPLATE}\b)(?:\.[\w-]+)*"
)
_FILE_IN_COMMAND = rf"(?:^|[\s\"'`/\\=<>(:;|&,@]){_FILE}(?=$|[\s\"'`;|&)<>,:\]])"
_FILE_WRITTEN = rf"(?:>|\btee\b(?:\s+-a)?)\s*[\"']?(?:[^\s\"'|;&<>]*[/\\])?{_FILE}(?=$|[\s\"'`;|&)<])"
_PATH = rf"(?:.*[/\\])?{_FILE}"
_PATH_KEYS = ("file_path", "path", "filename", "file", "absolute_path", "glob")
# Tools that name files and don't read them.
_LISTING_TOOLS = frozenset({"Glob", "LS"})
# Commands that print the whole environment, and those that print one variable.
_PRINTS_ENVIRONMENT = (
    r"(?:^|[\s;&|(`])(?:(?:env|set|export|declare\s+-[xp]+|export\s+-p)\s*(?:$|[|;&>)\n\"'])|printenv\b)"
    r"|\b(?:Get-ChildItem|Get-Item|gci|dir|ls)\s+Env:"
)
_PRINTS_VARIABLE = (
    r"\s*(?:printenv\s+|(?:echo|printf|Write-(?:Output|Host))\s+(?:-n\s+|[\"']%s(?:\\n)?[\"']\s+)?[\"']?\$\{?(?:env:)?|\$env:)"
    r"(\w+)[}\"']*\s*(?:\|[^|;&\n]*)?"
)
# What may stand before a name: Read's line numbers ("    1→", "1<tab>"), grep's "path:12:", a diff's sign,
# the word that exports it, the beginning of an echo.
_BEFORE_NAME = (
    r"^[ \t]*(?:(?:[\w./\\~-]{1,200}[:-])?\d{1,7}(?:→|\t|[:-])[ \t]*|[\w./\\~-]{0,200}\.env[\w.-]{0,40}:)?"
    r"(?:[+\-<>][ \t]?)?(?:(?:echo|printf)[ \t]+)?[\"']?(?:(?:export|set|declare[ \t]+-\w+)[ \t]+|\$env:)?"
)
_QUOTED = r"(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|`[^`]*+`)(?=[ \t]*(?:#[^\n]*)?\r?$)"
_LINE = (
    rf"(?P<name>{_BEFORE_NAME}(?:[A-Za-z_][\w.-]*=|[A-Z_][A-Z0-9_]*(?:[ \t]*=|:(?=[ \t]))))"
    rf"(?P<gap>[ \t]*)(?P<value>{_QUOTED}|[^\n]*)"
)
_COMMENT = r"[ \t]+#[^\n]*\Z"


def reads_env_file(tool_name: str, tool_input: Mapping[str, object]) -> bool:
    """Tell whether a tool call reads or writes an environment file, or prints the environment."""
    if tool_name in _LISTING_TOOLS:
        return False
    command = tool_input.get("command")
    if isinstance(command, str):
        lowered = command.lower()
        names_file = ".env" in lowered and re.search(_FILE_IN_COMMAND, command, re.IGNORECASE)
        may_print = "env" in lowered or "set" in lowered or "export" in lowered or "declare" in lowered
        return bool(names_file or (may_print and re.search(_PRINTS_ENVIRONMENT, command, re.IGNORECASE)))
    paths = [path for key in _PATH_KEYS if isinstance(path := tool_input.get(key), str)]
    return any(".env" in path.lower() and re.fullmatch(_PATH, path, re.IGNORECASE) for path in paths)


def writes_env_file(command: str) -> bool:
    """Tell whether a shell command writes an environment file itself, so that values stand in the command."""
    return ".env" in command and re.search(_FILE_WRITTEN, command, re.IGNORECASE) is not None


def prints_secret_variable(tool_input: Mapping[str, object]) -> bool:
    """Tell whether a command does nothing but print one secret variable: its whole output is the value."""
    command = tool_input.get("command")
    printed = re.fullmatch(_PRINTS_VARIABLE, command, re.IGNORECASE) if isinstance(command, str) else None
    return printed is not None and is_secret_name(printed[1])


def mask_env_values(text: str) -> str:
    """Replace the value on every ``KEY=value`` line; names, line numbers, comments and empty values stay.

    Idempotent. A quoted value may go over several lines.
    """
    return re.compile(_LINE, re.MULTILINE | re.DOTALL).sub(_masked_line, text)


def _masked_line(line: re.Match[str]) -> str:
    value = line["value"].rstrip()
    before, after = line["name"] + line["gap"], line["value"][len(value) :]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
        before, value, after = before + value[0], value[1:-1], value[0] + after
    elif line["gap"] and value.startswith("#"):
        return line[0]
    else:
        comment = re.search(_COMMENT, value)
        if comment:
            value, after = value[: comment.start()], comment[0] + after
    return before + (SECRET_MARKER if value else "") + after
