r"""The lines of a transcript: bytes → JSON objects with their byte offsets.

A line ends with the byte ``\n`` and with nothing else (U+2028 and its kin are ordinary characters). Nothing
that stands in a line stops the reading: a line that can't be used is counted and the next one is read.
"""

from __future__ import annotations

import re

from kizami_core.errors import TranscriptError
from kizami_core.json_text import parse_prefix
from kizami_core.messages import Message
from kizami_core.records import ReadReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet
    from typing import BinaryIO

    # A parsed object with the offsets of its first byte and of the byte after its last one.
    Located = tuple[dict[str, object], int, int]

# The longest line that is parsed. Real ones reach 741 KB; beyond this the memory for one line is not bounded.
MAX_LINE_BYTES = 32_000_000
# An object printed over several lines is put together up to these bounds.
_MAX_PRINTED_LINES = 10_000
_MAX_PRINTED_BYTES = 4_000_000
# Type names are counted; a file that is no transcript must not fill the memory with them.
_MAX_NAMES = 64
_MAX_NAME_CHARS = 48

# The type of a record whose key `type` stands before any nested object: what is skipped need not be parsed.
_LEADING_TYPE = re.compile(rb'\s*\{[^{}]*?"type": ?"([^"\\]+)"')
_WHOLE_LINE_ENDS = (b"}\n", b"}\r\n")
# White space, NUL runs of a crashed file system, byte order marks (as Latin-1).
_BETWEEN_OBJECTS = " \t\r\n\0\xef\xbb\xbf"
_RECORD_STARTS = (b'{"parentUuid"', b'{"type"')
_MAX_RECORD_STARTS = 16

# A surrogate escape that has no partner can't be encoded: in UTF-8 it would stop at the database.
_MAYBE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class ReadTally:
    """What was met while reading: a counter that fills as the lines go by."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes_read = 0
        self.broken_lines = 0
        self.skipped: dict[str, int] = {}

    def skip(self, name: object) -> None:
        """Count a record that is no part of the conversation, by its type and the reason, if any."""
        text = name[:_MAX_NAME_CHARS] if isinstance(name, str) and name else "(no type)"
        if text not in self.skipped and len(self.skipped) >= _MAX_NAMES:
            text = "(other types)"
        self.skipped[text] = self.skipped.get(text, 0) + 1

    def report(self, turns: int) -> ReadReport:
        """Return the counts so far as a record."""
        return ReadReport(self.lines, turns, dict(sorted(self.skipped.items())), self.broken_lines)


def unreadable(path: str, error: OSError) -> TranscriptError:
    """Return the error for a transcript that can't be opened or read."""
    reason = error.strerror or error
    return TranscriptError(
        Message(
            "{path} can't be read ({reason}). Check the path and its permissions.", path=path, reason=reason
        )
    )


def read_objects(
    stream: BinaryIO, tally: ReadTally, *, wanted: AbstractSet[str], start: int = 0
) -> Iterator[Located]:
    """Read the JSON objects of a transcript from byte ``start`` on, holding one line at a time.

    Objects whose ``type`` is not in ``wanted`` may be counted as skipped instead of being returned. A line is
    broken when not everything in it could be read. A torn last line (without newline) is not: the client is
    still writing it, and a later reading will find it whole.
    """
    wanted_type = re.compile(
        rb'"type"\s*:\s*"(?:' + "|".join(map(re.escape, sorted(wanted))).encode() + rb')"'
    )
    stream.seek(start)
    position = start
    printed: list[bytes] = []  # an object printed over several lines, as far as it was read
    printed_begin = 0
    while line := stream.readline(MAX_LINE_BYTES):
        begin, position = position, position + len(line)
        tally.lines += 1
        tally.bytes_read += len(line)
        if printed:
            if _continues_printed(line, len(printed), position - printed_begin):
                printed.append(line)
                if not line.startswith(b"}"):
                    continue
                objects, is_whole = _recover(b"".join(printed), may_be_torn=False)
                tally.broken_lines += 0 if is_whole else len(printed)
                printed = []
                for value, _, _ in objects:
                    yield value, printed_begin, position
                continue
            tally.broken_lines += len(printed)
            printed = []
        if line in (b"{\n", b"{\r\n"):
            printed, printed_begin = [line], begin
            continue
        is_complete = line.endswith(b"\n")
        if len(line) == MAX_LINE_BYTES and not is_complete:
            position += _skip_line(stream)
            tally.broken_lines += 1
            continue
        unwanted = _unwanted_type(line, wanted_type)
        if unwanted is not None:
            tally.skip(unwanted)
            continue
        whole = _parse_line(line)
        if whole is not None:
            yield whole, begin, position
            continue
        objects, is_whole = _recover(line, may_be_torn=not is_complete)
        tally.broken_lines += 0 if is_whole or not is_complete else 1
        for value, first, last in objects:
            yield value, begin + first, begin + last


def _unwanted_type(line: bytes, wanted: re.Pattern[bytes]) -> str | None:
    """Return the type of a record that is not wanted, where it can be told without parsing the line."""
    # All of the line is searched: another object may be joined to this one, or appended where it is torn.
    if wanted.search(line) or not line.endswith(_WHOLE_LINE_ENDS):
        return None
    leading = _LEADING_TYPE.match(line)
    return leading[1].decode("utf-8", "replace") if leading else None


def _parse_line(line: bytes) -> dict[str, object] | None:
    """Return the object of an ordinary line: one object and nothing else."""
    text = _decode(line)
    try:
        value, end = parse_prefix(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and not text[end:].strip() else None


def _decode(line: bytes) -> str:
    """Decode UTF-8, bytes and surrogates that are none replaced, so that the text can be encoded again."""
    text = line.decode("utf-8", "replace")
    if _MAYBE_SURROGATE.search(line):
        text = _ESCAPE.sub(_paired, text)
    return text


def _paired(escape: re.Match[str]) -> str:
    is_lone = (escape[1] is not None and escape[2] is None) or escape[3] is not None
    return "\\ufffd" if is_lone else escape[0]


def _recover(line: bytes, *, may_be_torn: bool) -> tuple[list[Located], bool]:
    """Return every object on a line that is not just one object, and whether all of the line was used."""
    raw = line.decode("latin-1")  # one character a byte: JSON's structure is ASCII, so positions are offsets
    objects: list[Located] = []
    is_whole = True
    at = 0
    while at < len(raw):
        if raw[at] in _BETWEEN_OBJECTS:
            at = len(raw) - len(raw[at:].lstrip(_BETWEEN_OBJECTS))
            continue
        try:
            value, end = parse_prefix(raw, at)
        except ValueError:
            is_whole = False
            at = len(raw) if may_be_torn else _appended_record(raw, at + 1)
            continue
        if isinstance(value, dict):
            value, _ = parse_prefix(_decode(line[at:end]))
        if isinstance(value, dict):
            objects.append((value, at, end))
        else:
            is_whole = False
        at = end
    return objects, is_whole


def _appended_record(raw: str, at: int) -> int:
    """Return where the record begins that was appended to a torn one, or the end of the line.

    Only a record that reaches to the end of the line counts: an object inside the torn record never does.
    """
    for start in _RECORD_STARTS:
        found = at
        for _ in range(_MAX_RECORD_STARTS):
            found = raw.find(start.decode(), found)
            if found < 0:
                break
            try:
                _, end = parse_prefix(raw, found)
            except ValueError:
                end = found
            if end > found and not raw[end:].strip(_BETWEEN_OBJECTS):
                return found
            found += 1
    return len(raw)


def _continues_printed(line: bytes, lines: int, size: int) -> bool:
    """Whether a line belongs to an object printed over several lines: indented, blank, or its last one."""
    is_inside = line[:1].isspace() or line.rstrip() == b"}"
    return is_inside and lines < _MAX_PRINTED_LINES and size <= _MAX_PRINTED_BYTES


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of an overlong line; return how many bytes that took."""
    size = 0
    while rest := stream.readline(MAX_LINE_BYTES):
        size += len(rest)
        if rest.endswith(b"\n"):
            break
    return size
