"""Patterns for folders, as in ``privacy.excludeProjects``: which folders one covers.

``*`` and ``?`` stand for characters within a name, ``[…]`` for one of a set, ``**`` as a whole name for any
number of names, none too. A pattern that begins with neither ``/`` nor a drive may begin anywhere, so that a
plain name covers each folder of this name. What a pattern matches it covers with all that lies below.

``fnmatch`` and ``pathlib`` know no such rule on Python 3.11 and would load ``re`` into every prompt.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ANY_NAMES = "**"


def covers(pattern: str, path: str, *, ignore_case: bool) -> bool:
    """Tell whether an absolute path, or a folder that it lies in, matches.

    Both may be of this system or of Windows. The forms in which Unicode composes a letter are one.
    """
    parts, names = _names(_folded(pattern, ignore_case)), _names(_folded(path, ignore_case))
    if not is_anchored(pattern):
        parts = [_ANY_NAMES, *parts] if parts else [""]  # "." names no folder
    # How many names may be used up by the parts so far.
    reached = {0}
    for part in parts:
        if part == _ANY_NAMES:
            reached = set(range(min(reached), len(names) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(names) and matches_name(part, names[at])}
    return bool(reached)


def matches_name(pattern: str, name: str) -> bool:
    """Tell whether all of a name matches, by ``fnmatch.fnmatchcase``'s rules."""
    pieces = _pieces(pattern)
    at = position = 0
    star = resume = -1
    while position < len(name):
        if at < len(pieces) and pieces[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pieces) and _is_one(pieces[at], name[position]):
            at += 1
            position += 1
        elif star >= 0:  # the last * takes one character more
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(piece == "*" for piece in pieces[at:])


def is_anchored(pattern: str) -> bool:
    """Tell whether a pattern begins at the root or at a drive."""
    return pattern.startswith(("/", "\\\\")) or _has_drive(pattern)


def literal_folder(pattern: str) -> str:
    """Return the front of a pattern that names a folder without any wildcard, "" where there is none."""
    kept: list[str] = []
    for part in pattern.split("/"):
        if any(mark in part for mark in "*?["):
            break
        kept.append(part)
    return "/".join(kept)


def _folded(text: str, ignore_case: bool) -> str:  # noqa: FBT001 - its only caller passes it on
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    return text.lower() if ignore_case else text


def _names(path: str) -> list[str]:
    if _has_drive(path) or path.startswith("\\\\"):
        path = path.replace("\\", "/")
    return [name for name in path.split("/") if name not in ("", ".")]


def _has_drive(path: str) -> bool:
    return path[1:2] == ":" and path[:1].isalpha() and path[2:3] in ("", "/", "\\")


def _is_one(piece: str, character: str) -> bool:
    """Tell whether a piece other than ``*`` stands for a character."""
    if piece == "?":
        return True
    if len(piece) == 1:
        return piece == character
    is_negated = piece[1] == "!"
    return _is_within(piece[1 + is_negated : -1], character) is not is_negated


def _is_within(members: str, character: str) -> bool:
    """Tell whether a set such as ``a-cx`` holds a character."""
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= character <= members[at + 2]:
                return True
            at += 3
        else:
            if members[at] == character:
                return True
            at += 1
    return False


def _pieces(pattern: str) -> Sequence[str]:
    """Split a pattern of one name: plain characters, ``?``, ``*``, and sets with their brackets."""
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "[":
            first = at + 2 + (pattern[at + 1 : at + 2] == "!")  # what stands first in a set is no bracket
            closing = pattern.find("]", first)
            end = closing + 1 if closing >= 0 else end  # one that is never closed is a character
        pieces.append(pattern[at:end])
        at = end
    return pieces
