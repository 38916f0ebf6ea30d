"""How many columns of a terminal text takes, and lines of text that fit into a number of columns."""

from __future__ import annotations

import re
import unicodedata

# What is never broken: a run of letters and signs without a space, or one wide character, with the
# punctuation and small letters that must not begin a line and the brackets that must not end one.
_PIECE = re.compile(
    r"[「『（]*(?:[\x21-\x7e]+|[^\x00-\x7f])[、。，．・：；？！」』）ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ]*|\s+"
)
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
    for piece in _PIECE.finditer(line):
        taken = columns_of(piece[0])
        if used and used + taken > width:
            is_space = piece[0].isspace()
            breaks.append(piece.end() if is_space else piece.start())
            used = 0 if is_space else taken % width if taken > width else taken
        else:
            used += taken
    return [offset for offset in breaks if offset < len(line)]
