"""Turns → chunks: pieces of at most so many tokens, each readable on its own.

A text is cut at the best place within reach: before a new section (``[User]``, ``[Assistant]``, ``[Tool:
X]``), between paragraphs, at the border of a code fence, between lines, sentences, words, characters. Where a
piece does not begin with a mark it gets that of the section that it stands in; where it begins or ends inside
a code fence, the fence is opened or closed. Nothing else is added, and nothing but white space is lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from kizami_core.transcript.graphemes import is_boundary
from kizami_core.transcript.rendering import ASSISTANT_MARK, MARKS, TOOL_MARK, USER_MARK
from kizami_core.transcript.tokens import LINE_BREAK_WEIGHT, WEIGHT_OF_A_TOKEN, weigh, weigh_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kizami_core.records import Role

# The kinds of places to cut at, best first.
_SECTION, _PARAGRAPH, _FENCE, _LINE, _SENTENCE, _WORD, _CHARACTER = range(7)
# Cutting here tears apart what means nothing alone: a mark from its text, a fence from its code.
_WORST = _CHARACTER + 1

# Shares of the limit. Together a mark, a fence's two ends and one atom always fit.
_MARK_SHARE = 6
_FENCE_SHARE = 6
_FENCE_END_SHARE = 12
_LARGEST_ATOM_SHARE = 2
# Atoms are no larger than this where a character allows it, so that chunks fill well.
_ATOM_SHARE = 4

_FENCE_LINE = re.compile(r"[ \t]*(`{3,}|~{3,})([^`\n]*)\n?")
_SENTENCE_END = re.compile(r"""[。．！？]+[」』）】”’"')\]]*|[.!?]+["')\]]*(?=\s)""")
_WORD_END = re.compile(r"\s+|[、，；：]")


class _Atom:
    """A part of the text that is not cut, and its weight.

    ``rank`` is the kind of place before it, ``mark`` that of its section ("" where it begins with it),
    ``fence`` the opening line of the code fence that it begins in ("" outside). There is one for each line of
    a long text, hence no record, which takes ten times as long to make.
    """

    __slots__ = ("fence", "mark", "rank", "text", "weight")

    def __init__(self, text: str, weight: int, rank: int, mark: str, fence: str) -> None:
        self.text = text
        self.weight = weight
        self.rank = rank
        self.mark = mark
        self.fence = fence


def split_chunks(text: str, max_tokens: int) -> list[str]:
    """Split a rendered turn into chunks of at most ``max_tokens`` estimated tokens each, in order.

    ``max_tokens`` is at least 32. A text that fits is one chunk, a blank one is none. A character as a person
    counts them stays whole unless it alone takes half a chunk.
    """
    limit = max_tokens * WEIGHT_OF_A_TOKEN
    weights = weigh_lines(text)
    if sum(weights) - LINE_BREAK_WEIGHT <= limit:
        return [text.strip("\n").rstrip()] if text.strip() else []
    atoms = list(_atoms(text, weights, limit))
    sums = [0, *accumulate(atom.weight for atom in atoms)]
    chunks: list[str] = []
    first = 0
    while first < len(atoms):
        end = _best_end(atoms, sums, first, limit)
        body = "".join(atom.text for atom in atoms[first:end])
        body = (body.lstrip("\n") if atoms[first].rank <= _LINE else body.lstrip()).rstrip()
        if body:
            chunks.append(_prefix(atoms[first]) + body + _suffix(atoms, end))
        first = end
    return chunks


def chunk_role(text: str) -> Role:
    """Return whose words a chunk holds, by the marks that begin its lines; "mixed" where it has none."""
    lines = f"\n{text}"
    is_human = f"\n{USER_MARK}" in lines
    is_assistant = f"\n{ASSISTANT_MARK}" in lines or f"\n{TOOL_MARK}" in lines
    if is_human == is_assistant:
        return "mixed"
    return "human" if is_human else "assistant"


def _best_end(atoms: Sequence[_Atom], sums: Sequence[int], first: int, limit: int) -> int:
    """Return the end of the chunk that begins at an atom: the best place near an even share of the rest."""
    room = limit - weigh(_prefix(atoms[first]))
    rest = sums[-1] - sums[first]
    if rest <= room:
        return len(atoms)
    last = bisect_right(sums, sums[first] + room) - 1
    while last > first + 1 and sums[last] - sums[first] + weigh(_suffix(atoms, last)) > room:
        last -= 1
    share = rest / -(-rest // room)
    best = last
    best_value = (_WORST + 1, 0.0)
    for end in range(last, first, -1):
        size = sums[end] - sums[first]
        if size < share / 2:
            break
        is_end_tiny = sums[-1] - sums[end] < share / 4
        value = (_WORST if is_end_tiny else atoms[end].rank, abs(size - share))
        if value < best_value:
            best, best_value = end, value
    return best


def _prefix(atom: _Atom) -> str:
    return (f"{atom.mark}\n" if atom.mark else "") + (f"{atom.fence}\n" if atom.fence else "")


def _suffix(atoms: Sequence[_Atom], end: int) -> str:
    fence = atoms[end].fence if end < len(atoms) else ""
    return f"\n{_fence_end(fence)}" if fence else ""


def _fence_end(fence: str) -> str:
    return fence[: len(fence) - len(fence.lstrip(fence[0]))]


def _atoms(text: str, weights: Sequence[int], limit: int) -> Iterator[_Atom]:
    lines = [f"{line}\n" for line in text.split("\n")]
    section = ""
    before = ""
    for line, weight, (fence, place) in zip(lines, weights, _fences(lines, limit), strict=True):
        is_mark = line.startswith(MARKS)
        mark = "" if is_mark else section
        if is_mark:
            section = _mark_of(line, limit)
        rank = _SECTION if is_mark else _rank(before, line, place)
        if weight <= limit // _ATOM_SHARE:
            yield _Atom(line, weight, rank, mark, fence)
        else:
            for number, (piece, inner_rank) in enumerate(_split_line(line, limit)):
                own_rank, own_mark = (inner_rank, section) if number else (rank, mark)
                yield _Atom(piece, weigh(piece), own_rank, own_mark, fence)
        before = line


def _rank(before: str, line: str, place: str) -> int:
    """Return what kind of place lies between two lines, the second of which is no mark."""
    if not line.strip() or before.strip() in (USER_MARK, ASSISTANT_MARK) or place in ("first inside", "end"):
        return _WORST
    if place == "inside":
        return _LINE
    if not before.strip():
        return _PARAGRAPH
    return _FENCE if place in ("begin", "behind") else _LINE


def _mark_of(line: str, limit: int) -> str:
    """Return what stands above a piece that continues a section: its first line where that is short."""
    head = line.partition(" → ")[0].rstrip()
    if line.startswith(TOOL_MARK):
        for mark in (head, head.partition("]")[0] + "]"):
            if weigh(f"{mark}\n") <= limit // _MARK_SHARE:
                return mark
    return USER_MARK if line.startswith(USER_MARK) else ASSISTANT_MARK


def _fences(lines: Sequence[str], limit: int) -> list[tuple[str, str]]:
    """Return for each line the opening line of the fence that it begins in, and its place in or beside one.

    A fence that its section does not close is none: it can't be told where it ends.
    """
    places = [("", "")] * len(lines)
    begin = -1
    fence = ""
    for number, line in enumerate(lines):
        if line.startswith(MARKS):
            begin = -1
        match = _FENCE_LINE.fullmatch(line) if "```" in line or "~~~" in line else None
        if match is None:
            continue
        ticks, info = match[1], match[2].strip()
        if begin < 0:
            is_short = (
                weigh(line) <= limit // _ATOM_SHARE and weigh(f"\n{ticks}") <= limit // _FENCE_END_SHARE
            )
            if is_short:
                begin, fence = number, _reopening(ticks, info, limit)
            continue
        if info or not ticks.startswith(_fence_end(fence)):
            continue
        places[begin] = ("", "begin")
        places[begin + 1 : number] = [(fence, "inside")] * (number - begin - 1)
        places[number] = (fence, "end")
        if begin + 1 < number:
            places[begin + 1] = (fence, "first inside")
        if number + 1 < len(lines):
            places[number + 1] = ("", "behind")
        begin = -1
    return places


def _reopening(ticks: str, info: str, limit: int) -> str:
    """Return the line that opens a fence again: with its info string, as far as that is short."""
    for line in (f"{ticks}{info}", f"{ticks}{info.partition(' ')[0]}"):
        if weigh(f"{line}\n") <= limit // _FENCE_SHARE:
            return line
    return ticks


def _split_line(line: str, limit: int) -> Iterator[tuple[str, int]]:
    """Split a long line into sentences, those that are too long into words, and those into characters."""
    size = limit // _ATOM_SHARE
    for sentence in _cut_behind(line, _SENTENCE_END):
        rank = _SENTENCE
        words = [sentence] if weigh(sentence) <= size else _cut_behind(sentence, _WORD_END)
        for word in words:
            for piece in (
                [word] if weigh(word) <= size else _cut_characters(word, size, limit // _LARGEST_ATOM_SHARE)
            ):
                yield piece, rank
                rank = _CHARACTER
            rank = _WORD


def _cut_behind(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Cut a text behind every match, wherever that tears no character."""
    start = 0
    for match in pattern.finditer(text):
        if match.end() < len(text) and is_boundary(text, match.end()):
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]


def _cut_characters(text: str, size: int, largest: int) -> Iterator[str]:
    """Cut a text into pieces of about the weight ``size``; only one that reaches ``largest`` is torn."""
    start = weight = 0
    for at, char in enumerate(text):
        added = weigh(char)
        if at > start and weight + added > size and (is_boundary(text, at) or weight + added > largest):
            yield text[start:at]
            start, weight = at, 0
        weight += added
    yield text[start:]
