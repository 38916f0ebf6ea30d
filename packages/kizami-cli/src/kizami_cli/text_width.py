"""How many columns of a terminal text takes, and lines of text that fit into a number of columns."""

from __future__ import annotations

import re
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# What is never broken: a run of letters and signs without a space, or one wide character, with the
# punctuation and small letters that must not begin a line and the brackets that must not end one.
_OPENERS = r"[「『（(\[]*"
_PIECE = re.compile(
    rf"{_OPENERS}(?:[\x21-\x7e]+|[^\x00-\x7f])"
    r"[、。，．・：；？！」』）)\]ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ]*|\s+"
)
# What is broken only where the line would else end early: a word with its inflection and particles.
_PHRASE = re.compile(
    rf"\s+|{_OPENERS}(?:[\x21-\x7e]+|[一-鿿々〆ヶ]+|[ァ-ヴー]+|[^\x00-\x7fぁ-ん])?[ぁ-ん]*"
    r"(?:[、。，．・：；？！」』）)\]ー…]+[ぁ-ん]*)*"
)
_SHARE_OF_LINE = 3  # a phrase of more than a third of a line is broken like anything else
_BETWEEN_WIDE = re.compile(r"(?<=[^\x00-\x7f]) +(?=[^\x00-\x7f])")


def columns_of(text: str) -> int:
    """Return how many columns text takes: two for each full-width character."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def wrapped(paragraph: str, width: int) -> list[str]:
    """Return the lines of a paragraph, each of at most ``width`` columns where it has a place to be broken.

    Line ends of the paragraph itself count as spaces, and as nothing between two Japanese characters.
    """
    line = _BETWEEN_WIDE.sub("", paragraph.replace("\n", " ")).strip()
    starts = [0, *line_breaks(line, width)]
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True) if line]


def line_breaks(line: str, width: int) -> list[int]:
    """Return where a line is to be broken for a number of columns, as offsets; spaces end a line unseen."""
    breaks: list[int] = []
    used = 0
    for start, end in _unbroken(line, width):
        taken = columns_of(line[start:end])
        if used and used + taken > width:
            is_space = line[start:end].isspace()
            breaks.append(end if is_space else start)
            used = 0 if is_space else taken % width if taken > width else taken
        else:
            used += taken
    return [offset for offset in breaks if offset < len(line)]


def _unbroken(line: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the spans that stay in one line: phrases, and of long ones their pieces."""
    for phrase in _PHRASE.finditer(line):
        start, end = phrase.span()
        if columns_of(phrase[0]) * _SHARE_OF_LINE <= width:
            if end > start:
                yield start, end
        else:
            yield from (piece.span() for piece in _PIECE.finditer(line, start, end))
