"""Values of another program's columns as text that can be stored and shown."""

from __future__ import annotations

import re

from kizami_core.json_text import parse
from kizami_core.timestamps import epoch_seconds, format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Control characters besides tab and line feed; some end a text for other programs, some drive a terminal.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("|\Z)')
_MILLISECONDS_FROM = 1e11  # as seconds, the year 5138
_EARLIEST = 946_684_800  # 2000-01-01: what lies before is no time that anything here was written
_LATEST = 253_402_300_799


def text_of(value: object) -> str:
    """Return a value as text without control characters, lines ended by a line feed alone."""
    if value is None:
        return ""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def items_of(value: object, *, is_list_of_names: bool) -> tuple[str, ...]:
    """Return the items of a column that should hold a JSON list of strings.

    Of an object come its pairs, of what is cut off the strings that can still be read. What is no JSON is one
    item, or as many as commas separate where they are names.
    """
    text = text_of(value)
    if not text:
        return ()
    try:
        parsed = parse(text)
    except ValueError:
        if text.startswith("["):
            return tuple(filter(None, (text_of(found[0]) for found in _JSON_STRING.findall(text))))
        parts = re.split(r"[,\n]", text) if is_list_of_names else [text]
        return tuple(part.strip() for part in parts if part.strip())
    if is_list_of_names and not isinstance(parsed, (list, str)):
        return ()
    found = [] if parsed is None else list(_strings(parsed, is_list_of_names=is_list_of_names))
    return tuple(filter(None, map(text_of, found)))


def moment_of(epoch: object, text: object) -> str:
    """Return a time as UTC ``YYYY-MM-DD HH:MM:SS``, "" where neither column holds one.

    ``epoch`` is in milliseconds, or in seconds where it is small.
    """
    try:
        seconds = float(text_of(epoch))
    except ValueError:
        seconds = 0.0
    seconds = seconds / 1000 if abs(seconds) >= _MILLISECONDS_FROM else seconds
    if not _EARLIEST <= seconds <= _LATEST:
        told = epoch_seconds(text_of(text))
        if told is None or not _EARLIEST <= told <= _LATEST:
            return ""
        seconds = told
    return format_utc(seconds)


def _strings(value: object, *, is_list_of_names: bool) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, is_list_of_names=is_list_of_names)
    elif is_list_of_names or value is None:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{key}: {', '.join(_strings(item, is_list_of_names=False))}"
    elif isinstance(value, bool):
        yield "true" if value else "false"
    else:
        yield str(value)
