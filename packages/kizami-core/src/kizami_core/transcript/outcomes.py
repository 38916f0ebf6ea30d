"""What a turn says of the shell commands that ran in it: which failed, with what error, and which succeeded.

The client marks the result of a command that exited with another code than 0 as an error; since 2.1 its
output then begins with ``Exit code N``. A call that was refused, interrupted, cancelled or sent to the
background says nothing about its command and is left out.
"""

from __future__ import annotations

import re

from kizami_core.privacy.private_tags import PRIVATE_MARKER
from kizami_core.privacy.secrets import SECRET_MARKER
from kizami_core.records import Record, ToolCall
from kizami_core.transcript.excerpts import cut_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Turn

MAX_COMMAND_CHARS = 1_000
MAX_ERROR_LINES = 12
MAX_ERROR_CHARS = 1_000
_MAX_LINE_CHARS = 240
_COMMAND_TOOLS = frozenset({"Bash", "PowerShell"})
_EXIT_CODE = re.compile(r"Exit code (-?\d+)[ \t]*(?:\n|\Z)")
_NO_OUTPUT = "(no output)"
# What the client writes in place of an output when the command did not run, or not to its end.
_WITHOUT_STATUS = (
    "The user doesn't want to",
    "[Request interrupted",
    "Request interrupted",
    "Permission to use",
    "Claude requested permissions",
    "This command requires approval",
    "This Bash command contains",
    "Cancelled: parallel tool call",
    "InputValidationError",
    "PreToolUse:",
    "Bash operation blocked by hook",
    "cd to '",
    "Command running in background",
    "Command was manually backgrounded",
)
# What the lines that name an error have in common, whatever the program.
_TELLING = re.compile(
    r"err(?:or|no|!)|fail|exception|panic|fatal|cannot|can't|could not|unable|not found|no such|denied"
    r"|refused|conflict|timed out|unexpected|expected|undefined|invalid|missing|✗|✘|✖"
    r"|エラー|失敗|例外|ません",
    re.IGNORECASE,
)
# Source code that is shown beside an error.
_CODE_LINE = re.compile(r"\d+\s*[│|→]")
_FRAME = " \t│┃╭╰╮╯─━"


class Outcome(Record):
    """What one turn says of one command (the very text of it).

    ``error`` is the excerpt of its first failure in the turn, None where it did not fail. ``is_resolved``
    says that it succeeded after that, ``has_succeeded`` that it did at any time in the turn.
    """

    command: str
    error: str | None
    is_resolved: bool
    has_succeeded: bool


def command_outcomes(turn: Turn) -> tuple[Outcome, ...]:
    """Return the outcome of every command of a turn, in order of first appearance.

    ``turn`` is redacted. A command in which something was masked is left out, as is one that is longer than
    ``MAX_COMMAND_CHARS``: whether another is byte for byte the same could not be told from what is stored.
    """
    found: dict[str, Outcome] = {}
    for call in turn.parts:
        if not isinstance(call, ToolCall) or call.name not in _COMMAND_TOOLS:
            continue
        command = call.input.get("command")
        has_failed = _has_failed(call)
        if has_failed is None or not isinstance(command, str) or not _is_comparable(command):
            continue
        known = found.get(command) or Outcome(command, None, is_resolved=False, has_succeeded=False)
        if not has_failed:
            known = known.replace(has_succeeded=True, is_resolved=known.error is not None)
        elif known.error is None:
            known = known.replace(error=error_excerpt(call.output or ""))
        found[command] = known
    return tuple(found.values())


def error_excerpt(output: str) -> str:
    """Return the last lines of a failed command's output that look like its error, else its last lines.

    Repeated lines count once. At most ``MAX_ERROR_LINES`` lines and ``MAX_ERROR_CHARS`` characters.
    """
    code = _EXIT_CODE.match(output)
    # A progress display writes over its line; what it wrote last is what a person saw.
    shown = (line.rpartition("\r")[2] for line in output[code.end() if code else 0 :].split("\n"))
    lines = list(dict.fromkeys(" ".join(line.strip(_FRAME).split()) for line in shown))
    lines = [line for line in lines if line]
    telling = [line for line in lines if _TELLING.search(line) and not _CODE_LINE.match(line)]
    kept: list[str] = []
    room = MAX_ERROR_CHARS
    for line in reversed(telling or lines):
        short = cut_line(line, _MAX_LINE_CHARS)
        room -= len(short) + 1
        if room < 0 or len(kept) == MAX_ERROR_LINES:
            break
        kept.append(short)
    return "\n".join(reversed(kept)) or (f"Exit code {code[1]}" if code else _NO_OUTPUT)


def _has_failed(call: ToolCall) -> bool | None:
    """Return whether a command failed, None where that is not known."""
    output = call.output
    if output is None or call.input.get("run_in_background") or output.startswith(_WITHOUT_STATUS):
        return None
    code = _EXIT_CODE.match(output)
    return call.is_error or (code is not None and int(code[1]) != 0)


def _is_comparable(command: str) -> bool:
    return (
        0 < len(command.strip()) <= len(command) <= MAX_COMMAND_CHARS
        and SECRET_MARKER not in command
        and PRIVATE_MARKER not in command
    )
