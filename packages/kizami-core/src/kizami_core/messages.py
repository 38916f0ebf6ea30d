"""Sentences for people that remember what they were made of, so that they can be told in another language."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


class Message(str):
    """An English sentence with its template and fields; everywhere else it is a ``str`` like any other."""

    __slots__ = ("fields", "template")

    template: str
    fields: dict[str, object]

    def __new__(cls, template: str, /, **fields: object) -> Self:
        """Fill the ``{named}`` fields of a template; without fields braces stand for themselves."""
        message = super().__new__(cls, template.format(**fields) if fields else template)
        message.template = template
        message.fields = fields
        return message


class Excerpt(Message):
    """What a message finds, or its remedy: half of ``whole``, which is translated before it is parted."""

    __slots__ = ("is_remedy", "whole")

    whole: Message
    is_remedy: bool

    def of(self, text: str) -> str:
        """Return the same half of a translation of ``whole``."""
        return _parted(text)[self.is_remedy]


def listed(texts: Iterable[str]) -> Message:
    """Return texts as one, "a; b"; each of them that is a message is translated by itself."""
    items: dict[str, object] = {f"item{number}": text for number, text in enumerate(texts)}
    return Message("; ".join(f"{{{name}}}" for name in items), **items)


def part(message: str) -> tuple[str, str]:
    """Return what a message finds, "" where it has one sentence only, and its last sentence: the remedy."""
    halves = _parted(message)
    if not isinstance(message, Message):
        return halves
    found, remedy = (Excerpt(half) for half in halves)
    for half in (found, remedy):
        half.whole = message
        half.is_remedy = half is remedy
    return found, remedy


def _parted(text: str) -> tuple[str, str]:
    last = max((text.rfind(end, 0, -1), end) for end in (". ", "。"))
    position, end = last
    if position < 0:
        return "", text
    return text[: position + 1], text[position + len(end) :].lstrip()
