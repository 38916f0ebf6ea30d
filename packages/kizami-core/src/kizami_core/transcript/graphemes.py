"""Where a text may be cut without tearing a character that a person sees as one.

The rules of Unicode's UAX #29 for extended grapheme clusters, without the tables that are not in the standard
library: combining marks, variation selectors, emoji with modifiers and joiners, flags, Hangul jamo,
half-width voiced marks.
"""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"
_ZERO_WIDTH_NON_JOINER = "\u200c"
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_FIRST_COMBINING = "\u0300"


def is_boundary(text: str, at: int) -> bool:
    """Whether a new character, as a person counts them, begins at ``at``; both ends of the text count."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < _FIRST_COMBINING:
        return not (before == "\r" and after == "\n")
    if before in "\r\n":
        return True
    if _extends(after) or before == _ZERO_WIDTH_JOINER:
        return False
    if _is_regional(after) and _is_regional(before):
        return _regionals_before(text, at) % 2 == 0
    return not _joins_jamo(before, after)


def boundary_before(text: str, at: int) -> int:
    """Return the last boundary at or before ``at``."""
    while not is_boundary(text, at):
        at -= 1
    return at


def _extends(char: str) -> bool:
    if char in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER) or char in _HALF_WIDTH_MARKS:
        return True
    code = ord(char)
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:  # skin tones, the letters of tag flags
        return True
    return unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_regional(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _regionals_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_regional(text[at - 1 - count]):
        count += 1
    return count


def _joins_jamo(before: str, after: str) -> bool:
    """Whether two parts of a Hangul syllable belong together (leading, vowel, trailing)."""
    first, second = ord(before), ord(after)
    is_syllable = 0xAC00 <= first <= 0xD7A3
    if 0x1100 <= first <= 0x115F:
        return 0x1100 <= second <= 0x11A7 or 0xAC00 <= second <= 0xD7A3
    if 0x1160 <= first <= 0x11A7 or (is_syllable and (first - 0xAC00) % 28 == 0):
        return 0x1160 <= second <= 0x11FF
    return (0x11A8 <= first <= 0x11FF or is_syllable) and 0x11A8 <= second <= 0x11FF
