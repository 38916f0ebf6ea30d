"""Where a value begins and ends in a text: between quotes, or as a run of characters without white space."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int]

_OPENING_QUOTE = r"(?P<prefix>[rbfuRBFU$@]{0,2})(?P<quote>\\{0,4}(?:\"\"\"|'''|[\"'`]))"
_LONGEST_QUOTED = 4096
# A run ends at white space, at what ends a value in code, shell and URLs, at an escaped line break, and where
# Japanese goes on.
_RUN_CHARACTER = (
    r"(?:[^\s\"'`\\,;&|<>(){}\[\]\u3000-\u30ff\u4e00-\u9fff\uff08\uff09\uff0c\uff1b]|\\(?![nrt\"'\\])"
    r"|&(?=\w)(?!\w{1,40}[=;]))"
)
# Longer runs are judged by their beginning: hostile text would else be read over and over.
_LONGEST_JUDGED = 256
_RUN = rf"{_RUN_CHARACTER}{{1,{_LONGEST_JUDGED}}}+"
_REST_OF_RUN = rf"{_RUN_CHARACTER}*+"
_LONGEST_LINE_START = 60


def quoted_span(text: str, position: int) -> Span | None:
    """Return the span between the quotes that open at ``position``, or None when none open there.

    The span is empty where the text between them is a template that code fills. Where the quotes don't close,
    it is that of the run after them.
    """
    opening = re.compile(_OPENING_QUOTE).match(text, position)
    if opening is None:
        return None
    quote, start = opening["quote"], opening.end()
    end = text.find(quote, start, start + _LONGEST_QUOTED)
    while end > 0 and not quote.startswith("\\") and _is_escaped(text, start, end):
        end = text.find(quote, end + 1, start + _LONGEST_QUOTED)
    if end < 0 or (quote in {'"', "'"} and "\n" in text[start:end]):
        return run_span(text, start) or (start, start)
    is_template = any(letter in "fF$" for letter in opening["prefix"]) and "{" in text[start:end]
    return (start, start) if is_template else (start, end)


def run_span(text: str, position: int) -> Span | None:
    """Return the span of the run at ``position``, at most 256 characters, without a full stop at its end."""
    run = re.compile(_RUN).match(text, position)
    return (position, position + len(run[0].rstrip(".:*"))) if run else None


def whole_run(text: str, span: Span) -> Span:
    """Return the span of the whole run of which ``run_span`` gave the beginning."""
    if span[1] - span[0] < _LONGEST_JUDGED:
        return span
    rest = re.compile(_REST_OF_RUN).match(text, span[1])
    return span[0], rest.end() if rest else span[1]


def line_before(text: str, position: int) -> str | None:
    r"""Return what stands before ``position`` on its line (``\n`` in JSON ends it), None if that is long."""
    low = max(0, position - _LONGEST_LINE_START)
    before = text[low:position]
    begin = max(before.rfind("\n") + 1, before.rfind("\\n") + 2 if "\\n" in before else 0)
    return before[begin:] if begin or not low else None


def _is_escaped(text: str, start: int, position: int) -> bool:
    before = text[max(start, position - 20) : position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
