"""Fixes: where a command stands in the rendered text, and what lies between its failure and its success."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.retrieval.terms import index_terms
from kizami_core.transcript.excerpts import cut_line
from kizami_core.transcript.rendering import MARKS, TOOL_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Of what a prompt and a memory share, this much by rarity must stand in the error itself.
_QUOTED_SHARE = 0.5
_ARROW = " → "
_FAILED_OUTPUTS = ("Error", "error", "Exit code ")


class Call(Record):
    """A call of a command: in which of several texts, from where to where, and how it ended."""

    place: int
    start: int
    end: int
    has_failed: bool


def is_quoted(rarities: Mapping[str, float], content: str, error: str) -> bool:
    """Tell whether a memory answers a query by the error in it, more than by anything else.

    Args:
        rarities: the query's terms with their rarity in (0, 1].
        content: the memory, in which the error occurred.
        error: the excerpt of the error.
    """
    in_error = rarities.keys() & set(index_terms(error))
    shared = in_error | (rarities.keys() & set(index_terms(content)))
    quoted = sum(rarities[term] for term in in_error)
    return quoted > 0 and quoted >= _QUOTED_SHARE * sum(rarities[term] for term in shared)


def failure_and_success(
    command: str, contents: Sequence[str], *, failed: Sequence[int], resolved: Sequence[int]
) -> tuple[Call | None, Call | None]:
    """Return the first call of a command that failed and the first one after it that succeeded.

    Args:
        command: the command.
        contents: the contents of chunks, in the order of the conversation.
        failed: the places of the failing turn in ``contents``.
        resolved: the places of the resolving turn.

    Returns:
        None for a call that is not found: a person may have edited the text.
    """
    calls = _calls(command, contents)
    failure = next((call for call in calls if call.has_failed and call.place in failed), None)
    begun = (failure.place, failure.start) if failure else (-1, 0)
    success = next(
        (
            call
            for call in calls
            if not call.has_failed and call.place in resolved and (call.place, call.start) > begun
        ),
        None,
    )
    return failure, success


def _calls(command: str, contents: Sequence[str]) -> list[Call]:
    """Return the calls of a command in order. A command of several lines is told by the first two.

    The continuation of a call in the next chunk, under a mark of its own, is none.
    """
    first, *more = map(cut_line, command.strip("\n").rstrip().split("\n"))
    line = f"] {first}"
    found: list[Call] = []
    for place, content in enumerate(contents):
        at = content.find(line)
        while at >= 0:
            start = content.rfind("\n", 0, at) + 1
            end = _end_of_section(content, at + len(line))
            rest = content[at + len(line) : end].rstrip()
            is_whole = rest.startswith(f"\n{more[0]}") if more else not rest or rest.startswith(_ARROW)
            if is_whole and content.startswith(TOOL_MARK, start):
                has_failed = rest.partition(_ARROW)[2].startswith(_FAILED_OUTPUTS)
                found.append(Call(place, start, end, has_failed))
            at = content.find(line, at + len(line))
    return found


def _end_of_section(content: str, start: int) -> int:
    """Return where the section around ``start`` ends: before the next mark at the beginning of a line."""
    ends = [at for mark in MARKS if (at := content.find(f"\n{mark}", start)) >= 0]
    return min(ends, default=len(content))
