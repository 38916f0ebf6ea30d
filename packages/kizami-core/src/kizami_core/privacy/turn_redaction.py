"""Redaction of a whole turn, before any other step sees it and before tool output is cut short.

Each text is redacted on its own: a ``<private>`` tag that is never closed hides the rest of its message,
not of the turn. Tool inputs keep their structure and their keys.
"""

from __future__ import annotations

from kizami_core.privacy.dotenv import (
    mask_env_values,
    prints_secret_variable,
    reads_env_file,
    writes_env_file,
)
from kizami_core.privacy.private_tags import PRIVATE_MARKER, strip_private
from kizami_core.privacy.secret_names import is_secret_name
from kizami_core.privacy.secrets import SECRET_MARKER, mask_secrets
from kizami_core.records import ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Turn

# What tools write into a file; the rest of their input names it.
_WRITTEN_KEYS = frozenset({"content", "old_string", "new_string", "new_source", "file_text"})
_DEEPEST = 100
_SHELL_TOOLS = ("Bash", "PowerShell")
# What these print is in the database already, or was to be erased from it; so is what they are asked for.
_MEMORY_COMMANDS = frozenset("export forget inject list recall resolutions search show why".split())
# The slash commands of Kizami's plugin for Claude Code.
_MEMORY_PROMPT = "/kizami:"


def redact_turn(turn: Turn) -> Turn:
    """Return the turn without private regions and secrets: prompt, texts, tool inputs and outputs."""
    parts = tuple(_redact_call(part) if isinstance(part, ToolCall) else _redact(part) for part in turn.parts)
    return turn.replace(prompt=_redact(turn.prompt), parts=parts)


def is_about_memory(turn: Turn) -> bool:
    """Tell whether a turn only asks Kizami itself: kept, it would be found instead of what it found."""
    return turn.prompt.lstrip().startswith(_MEMORY_PROMPT)


def _redact_call(call: ToolCall) -> ToolCall:
    if call.name in _SHELL_TOOLS and (command := _memory_command(call.input.get("command"))):
        return call.replace(input={"command": command}, output=None if call.output is None else "")
    is_env = reads_env_file(call.name, call.input)
    output = call.output
    if output is not None:
        if prints_secret_variable(call.input) and output.strip():
            output = SECRET_MARKER
        output = _redact(mask_env_values(output) if is_env else output)
    redacted = {key: _redact_value(value, key, 0, is_env=is_env) for key, value in call.input.items()}
    return call.replace(input=redacted, output=output)


def _memory_command(command: object) -> str:
    """Return Kizami's command, without arguments, where a shell line begins with one that prints memories."""
    words = command.split(None, 2)[:2] if isinstance(command, str) else []
    return " ".join(words) if words[:1] == ["kizami"] and words[-1] in _MEMORY_COMMANDS else ""


def _redact_value(value: object, key: str, depth: int, *, is_env: bool) -> object:
    if depth > _DEEPEST:
        return SECRET_MARKER
    if isinstance(value, dict):
        return {
            name: _redact_value(item, str(name), depth + 1, is_env=is_env) for name, item in value.items()
        }
    if isinstance(value, list):
        return [_redact_value(item, key, depth + 1, is_env=is_env) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if is_secret_name(key):
        # Numbers beside "token" are counts.
        is_count = not isinstance(value, str) and key.lower().endswith("token")
        return value if is_count or value in {"", PRIVATE_MARKER} else SECRET_MARKER
    if not isinstance(value, str):
        return value
    if is_env and (key in _WRITTEN_KEYS or (key == "command" and writes_env_file(value))):
        value = mask_env_values(value)
    return _redact(value)


def _redact(text: str) -> str:
    # As ``privacy.redact``, whose imports at each call would take a tenth of the time of most texts.
    return mask_secrets(strip_private(text))
