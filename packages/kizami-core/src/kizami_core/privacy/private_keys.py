"""PEM blocks of private keys, whole or cut off at either end (RFC 7468, and OpenSSH's and PGP's likes).

The lines that name the block stay; the key material between them is masked. It may stand in source code, in
a JSON string with escaped line breaks, quoted, or behind the line numbers that Claude Code's Read writes.
"""

from __future__ import annotations

import re

from kizami_core.privacy.triggers import occurrences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.spans import Span

_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_LONGEST_BLOCK = 65_536
# What stands between two lines of a key: line breaks (escaped ones too), quotes, line numbers, concatenation.
_BREAK = r"(?:\s|\\{1,4}[nrt]|[\"'`+,>|*#]|(?<![A-Za-z0-9+/])\d{1,6}(?:→|:)|\\(?=\s))"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]*"
# A line of the key; a short one only where it is alone on its line.
_LINE = r"[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/=]{1,15}(?=\s*(?:\\[nr]|[\n\"'`]|\Z))"
_MATERIAL = rf"(?:{_BREAK}|{_HEADER}|{_LINE})++"
_SOME_KEY = r"\d|[A-Za-z0-9+/=]{16,}"
_CUT = r"[A-Za-z0-9+/=]{40,}"
# A line before an END whose BEGIN was cut off.
_LINE_ALONE = r"[ \t>|\"'+*#]*(?:\d{1,6}(?:→|\t|:))?[ \t\"'+]*(?P<key>[A-Za-z0-9+/=]{4,})[ \t\"'+,\\]*"


def find_private_keys(text: str) -> Iterator[Span]:
    """Yield the spans of key material, from left to right."""
    end_pattern = re.compile(_END)
    begins = [
        match
        for start in occurrences(text, "-----BEGIN ")
        if (match := re.compile(_BEGIN).match(text, start))
    ]
    ends = [match for start in occurrences(text, "-----END ") if (match := end_pattern.match(text, start))]
    behind = 0  # everything before it is done
    for index, begin in enumerate(begins):
        limit = begins[index + 1].start() if index + 1 < len(begins) else len(text)
        while ends and ends[0].start() < begin.end():
            yield from _tail_of_key(text, behind, ends[0].start())
            behind = ends.pop(0).end()
        if ends and ends[0].start() <= min(limit, begin.end() + _LONGEST_BLOCK):
            end = ends.pop(0)
            yield from _whole_key(text, begin.end(), end.start())
            behind = end.end()
        else:
            yield from _head_of_key(text, begin.end(), limit)
            behind = begin.end()
    for end in ends:
        yield from _tail_of_key(text, behind, end.start())
        behind = end.end()


def _whole_key(text: str, start: int, end: int) -> Iterator[Span]:
    material = re.compile(_MATERIAL).fullmatch(text, start, end)
    # Lines left out of the middle ("...(truncated)") don't make the rest public.
    if (material and re.search(_SOME_KEY, material[0])) or re.compile(_CUT).search(text, start, end):
        yield from _without_breaks(text, start, end)


def _head_of_key(text: str, start: int, limit: int) -> Iterator[Span]:
    material = re.compile(_MATERIAL).match(text, start, limit)
    if material and re.search(r"[A-Za-z0-9+/=]{16,}", material[0]):
        yield from _without_breaks(text, start, material.end())


def _tail_of_key(text: str, start: int, end: int) -> Iterator[Span]:
    begin = position = end
    start = max(start, end - _LONGEST_BLOCK)
    for line in reversed(text[start:end].splitlines(keepends=True)):
        match = re.fullmatch(_LINE_ALONE, line.rstrip("\r\n"))
        if line.strip() and match is None:
            break
        position -= len(line)
        begin = position + match.start("key") if match else begin
    if begin < end and re.compile(r"[A-Za-z0-9+/=]{16,}").search(text, begin, end):
        yield from _without_breaks(text, begin, end)


def _without_breaks(text: str, start: int, end: int) -> Iterator[Span]:
    leading = re.compile(r"(?:\s|\\[nrt]|[\"'`+,])*").match(text, start, end)
    start += len(leading[0]) if leading else 0
    trailing = re.search(
        r"(?:\s|\\[nrt]|[\"'`+,>|*#]|(?<=\s)\d{1,6}(?:→|:))*\Z", text[max(start, end - 40) : end]
    )
    end -= len(trailing[0]) if trailing else 0
    if start < end:
        yield start, end
