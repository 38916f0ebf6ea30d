"""Snippets: the part of a chunk that holds the evidence, in whole sentences where they fit."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.retrieval.normalize import fold
from kizami_core.transcript.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_USER, _ASSISTANT, _TOOL = "[User]", "[Assistant]", "[Tool: "
_MARKERS = (_USER, _ASSISTANT, _TOOL)
_SENTENCE_ENDS = "。！？．"
_CLOSING = "」』）)"
_GAP = "…"
# Of the budget for the question; the reader's own prompt resembles it, the answer is what is new.
_QUESTION_SHARE = 0.3
# Statements with code or numbers hold answers more often than others; neighbours read better than strangers.
_CONCRETE_BONUS = 0.3
_NEIGHBOUR_BONUS = 0.2
# What a tool printed is rarely what was decided.
_TOOL_WEIGHT = 0.5


class _Unit(Record):
    """A sentence or a line, the marker of the section it stands in, and its weight as evidence."""

    marker: str
    text: str
    begins_line: bool
    tokens: int
    weight: float


def snippet(content: str, rarities: Mapping[str, float], max_tokens: int) -> str:
    """Return at most ``max_tokens`` of a chunk: its question and the sentences that hold the evidence.

    Args:
        content: the chunk's text, with ``[User]``, ``[Assistant]`` and ``[Tool: …]`` markers.
        rarities: the query's terms (folded) with how telling each is.
        max_tokens: by ``estimate_tokens``.
    """
    units = _units(content, rarities)
    everything = range(len(units))
    whole = _assemble(units, everything)
    if estimate_tokens(whole) <= max_tokens:
        return whole
    questions = [place for place in everything if units[place].marker == _USER]
    answers = [place for place in everything if units[place].marker != _USER]
    share = _QUESTION_SHARE if answers else 1.0
    chosen = _choose(units, questions, int(max_tokens * share))
    left = max_tokens - sum(units[place].tokens for place in chosen)
    chosen += _choose(units, answers, left)
    return cut(_assemble(units, sorted(chosen)), max_tokens)


def cut(text: str, max_tokens: int) -> str:
    """Return the text, or its beginning within ``max_tokens`` with an ellipsis."""
    if estimate_tokens(text) <= max_tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle] + _GAP) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _GAP if low else ""


def _units(content: str, rarities: Mapping[str, float]) -> list[_Unit]:
    units: list[_Unit] = []
    marker = ""
    for line in content.split("\n"):
        begun = next((known for known in _MARKERS if line.startswith(known)), None)
        if begun is not None:
            marker = begun
            # The tool's name belongs to the text; the other markers are set anew where they are shown.
            line = line if begun == _TOOL else line[len(begun) :]  # noqa: PLW2901
        for number, sentence in enumerate(_sentences(line.strip())):
            units.append(_unit(marker, sentence, rarities, begins_line=number == 0))
    return units


def _unit(marker: str, sentence: str, rarities: Mapping[str, float], *, begins_line: bool) -> _Unit:
    folded = fold(sentence)
    weight = sum(rarity for term, rarity in rarities.items() if term in folded)
    if "`" in sentence or any(character.isdigit() for character in sentence):
        weight += _CONCRETE_BONUS
    if marker == _TOOL:
        weight *= _TOOL_WEIGHT
    return _Unit(marker, sentence, begins_line, estimate_tokens(sentence) + 1, weight)


def _sentences(line: str) -> list[str]:
    """Cut a line after its sentences; the white space between them stays with the one before."""
    found: list[str] = []
    begin = 0
    for at in range(1, len(line)):
        before, here = line[at - 1], line[at]
        ends_japanese = before in _SENTENCE_ENDS and here not in _SENTENCE_ENDS + _CLOSING
        # "1. first" and "3.11" are no ends of sentences.
        ends_english = before == " " and line[at - 2] in ".!?" and not line[max(0, at - 3)].isdigit()
        if ends_japanese or ends_english:
            found.append(line[begin:at])
            begin = at
    return [*found, line[begin:]] if line[begin:] else found


def _choose(units: Sequence[_Unit], places: Sequence[int], max_tokens: int) -> list[int]:
    """Take the weightiest units that fit, neighbours of those taken before strangers; at least one."""
    chosen: list[int] = []
    waiting = set(places)
    left = max_tokens
    while waiting:
        best = max(waiting, key=lambda place: (units[place].weight + _nearness(place, chosen), -place))
        waiting.remove(best)
        if units[best].tokens <= left or not chosen:
            chosen.append(best)
            left -= units[best].tokens
    return chosen


def _nearness(place: int, chosen: Sequence[int]) -> float:
    return _NEIGHBOUR_BONUS if place - 1 in chosen or place + 1 in chosen else 0.0


def _assemble(units: Sequence[_Unit], places: Sequence[int]) -> str:
    lines: list[str] = []
    previous = -1
    for place in places:
        unit = units[place]
        # Places left out are shown as a gap; so is the beginning of an answer that is not shown.
        gap = _GAP if place - previous > 1 and (previous >= 0 or places[0] > 0) else ""
        if previous < 0 or units[previous].marker != unit.marker:
            shown_marker = "" if unit.marker in ("", _TOOL) else unit.marker + " "
            lines.append(shown_marker + gap + unit.text)
        elif unit.begins_line:
            lines.append(gap + unit.text)
        else:
            lines[-1] = lines[-1].rstrip() + gap + unit.text if gap else lines[-1] + unit.text
        previous = place
    return "\n".join(line.rstrip() for line in lines)
