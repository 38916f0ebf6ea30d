"""Redaction of a whole turn, before any other step sees it and before tool output is cut short.

Each text is redacted on its own: a ``<private>`` tag that is never closed hides the rest of its message,
not of the turn. Tool inputs keep their structure and their keys.
"""

from __future__ import annotations

from kizami_core.privacy import redact
from kizami_core.privacy.dotenv import (
    mask_env_values,
    prints_secret_variable,
    reads_env_file,
    writes_env_file,
)
from kizami_core.privacy.private_tags import PRIVATE_MARKER
from kizami_core.privacy.secret_names import is_secret_name
from kizami_core.privacy.secrets import SECRET_MARKER
from kizami_core.records import ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Turn

# What tools write into a file; the rest of their input names it.
_WRITTEN_KEYS = frozenset({"content", "old_string", "new_string", "new_source", "file_text"})
_DEEPEST = 100


def redact_turn(turn: Turn) -> Turn:
    """Return the turn without private regions and secrets: prompt, texts, tool inputs and outputs."""
    parts = tuple(_redact_call(part) if isinstance(part, ToolCall) else redact(part) for part in turn.parts)
    return turn.replace(prompt=redact(turn.prompt), parts=parts)


def _redact_call(call: ToolCall) -> ToolCall:
    is_env = reads_env_file(call.name, call.input)
    output = call.output
    if output is not None:
        if prints_secret_variable(call.input) and output.strip():
            output = SECRET_MARKER
        output = redact(mask_env_values(output) if is_env else output)
    redacted = {key: _redact_value(value, key, 0, is_env=is_env) for key, value in call.input.items()}
    return call.replace(input=redacted, output=output)


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
    return redact(value)
