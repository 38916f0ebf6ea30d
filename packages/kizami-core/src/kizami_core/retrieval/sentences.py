"""Sentences of a chunk, each with the section it stands in: what a snippet is put together from."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.transcript.graphemes import boundary_before, is_boundary
from kizami_core.transcript.tokens import WEIGHT_OF_A_TOKEN, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

USER, ASSISTANT, TOOL = "[User]", "[Assistant]", "[Tool: "
_FENCE = "```"
_JAPANESE_ENDS = "。！？｡"
# A sentence inside brackets ends the one around it no more than ！ ends ！？.
_NO_BEGINNING = _JAPANESE_ENDS + "」』）)"
_ENGLISH_ENDS = (". ", "! ", "? ")
# "1. first" and "e.g. this" are no ends of sentences.
_NO_ENDS = (*(f"{digit}. " for digit in "0123456789"), "e.g. ", "i.e. ", "vs. ")
# An item of a list says one thing, in however many sentences.
_SHORT_LINE = 30 * WEIGHT_OF_A_TOKEN
_BREAKS = "、，；,; 　"


class Sentence(Record):
    """A sentence, a line of code, or a clause of a sentence that is too long.

    ``section`` counts the markers before it; ``marker`` is the one it stands under, "" before the first.
    ``kind`` is "line" for what begins a line, "continued" for a sentence behind another, "clause" for what
    continues a sentence, "fence" for the lines around a block of code.
    """

    section: int
    marker: str
    text: str
    kind: Literal["line", "continued", "clause", "fence"]


def split_chunk(content: str) -> list[Sentence]:
    """Return the sentences of a chunk in order, short lines whole; empty lines are left out."""
    found: list[Sentence] = []
    section, marker, is_code = 0, "", False
    for whole_line in content.split("\n"):
        line = whole_line.rstrip()
        begun = _marker(line)
        if begun:
            # A fence that an excerpt left open ends with its section.
            section, marker, is_code = section + 1, begun, False
            line = line[len(begun) :]
        text = line.strip()
        if text.startswith(_FENCE):
            is_code = not is_code and _FENCE not in text[len(_FENCE) :]
            found.append(Sentence(section, marker, text, "fence"))
        elif is_code and text:
            found.append(Sentence(section, marker, line, "line"))
        elif text:
            first, *rest = split_line(text) if weigh(text) > _SHORT_LINE else (text,)
            found.append(Sentence(section, marker, first, "line"))
            found += [Sentence(section, marker, sentence, "continued") for sentence in rest]
    return found


def _marker(line: str) -> str:
    """Return the marker that a line begins with, a tool's with its name; else ""."""
    if line.startswith(TOOL):
        return line[: line.find("]") + 1]
    return next((marker for marker in (USER, ASSISTANT) if line.startswith(marker)), "")


def split_line(line: str) -> list[str]:
    """Cut a line after its sentences; the white space between two stays with the one before."""
    for end in _JAPANESE_ENDS:
        line = line.replace(end, end + "\n")
    for closing in _NO_BEGINNING:
        line = line.replace("\n" + closing, closing)
    for space in " \u3000":
        line = line.replace("\n" + space, space + "\n")
    for end in _ENGLISH_ENDS:
        line = line.replace(end, end + "\n")
    if ". \n" in line:
        for no_end in _NO_ENDS:
            line = line.replace(no_end + "\n", no_end)
    return [sentence for sentence in line.split("\n") if sentence]


def shorten(sentences: list[Sentence], longest: int, clause: int) -> list[Sentence]:
    """Replace each sentence heavier than ``longest`` by its clauses of at most ``clause`` (``weigh``)."""
    shortened: list[Sentence] = []
    for sentence in sentences:
        if weigh(sentence.text) <= longest:
            shortened.append(sentence)
            continue
        for number, text in enumerate(_clauses(sentence.text, clause)):
            shortened.append(sentence.replace(text=text, kind="clause" if number else sentence.kind))
    return shortened


def _clauses(text: str, limit: int) -> Iterator[str]:
    """Cut a text after a comma or a space in the second half of what fits, else between any characters."""
    while text:
        end = max(1, fitting(text, limit))
        if end < len(text):
            end = max((text.rfind(mark, end // 2, end) + 1 for mark in _BREAKS), default=0) or end
        end = boundary_before(text, end) or end
        while not is_boundary(text, end):
            end += 1
        yield text[:end]
        text = text[end:]


def fitting(text: str, limit: int) -> int:
    """Return how many characters of a text weigh at most ``limit``; 0 for none."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if weigh(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low
