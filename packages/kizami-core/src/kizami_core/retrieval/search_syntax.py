"""Search syntax: words, exact phrases in double quotes, exclusions with a minus.

::

    connection pool "SKIP LOCKED" -redis -"dead lock"

Any text is a valid search: a quote without its partner and a minus that excludes nothing are ordinary text.
A minus excludes only at the beginning or after white space, and only before a letter or a quote, so that
``--no-verify``, ``exit -1``, ``a -> b`` and ``foo-bar`` mean themselves; ``"-rf"`` in quotes does too. Quotes
may be typographic.
"""

from __future__ import annotations

import re

from kizami_core.records import Record
from kizami_core.retrieval.normalize import fold

_QUOTES = '"\u201c\u201d\u201e\u201f\uff02'
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_PART = re.compile(
    rf"""
    (?<!\S)[-\uff0d](?:[{_QUOTES}](?P<unwanted>[^{_QUOTES}]*)[{_QUOTES}] | (?P<word>[^\W\d][^\s{_QUOTES}]*))
    | [{_QUOTES}](?P<wanted>[^{_QUOTES}]*)[{_QUOTES}]
    """,
    re.VERBOSE,
)


class Sought(Record):
    """What a search asks for.

    ``text`` is what is analyzed into words: everything but the exclusions, phrases without their quotes.
    ``loose`` is that without the phrases. Phrases and exclusions are as written, white space squeezed.
    """

    text: str
    loose: str
    phrases: tuple[str, ...]
    excluded_phrases: tuple[str, ...]
    excluded_words: tuple[str, ...]


def parse_search(text: str) -> Sought:
    """Take a search apart; linear in its length."""
    # Lone surrogates can't be handed to SQLite, and NUL ends its strings.
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")
    wanted: list[str] = []
    unwanted: list[str] = []
    words: list[str] = []
    for part in _PART.finditer(text):
        for name, found in (("wanted", wanted), ("unwanted", unwanted), ("word", words)):
            squeezed = " ".join((part[name] or "").split())
            if squeezed:
                found.append(squeezed)
    return Sought(
        text=_PART.sub(lambda part: f" {part['wanted'] or ''} ", text),
        loose=" ".join(_PART.sub(" ", text).split()),
        phrases=tuple(dict.fromkeys(wanted)),
        excluded_phrases=tuple(dict.fromkeys(unwanted)),
        excluded_words=tuple(dict.fromkeys(words)),
    )


def comparable(text: str) -> str:
    """Return the form in which phrases are looked for: folded, each white space one space."""
    return " ".join(fold(text).split())


def holds_phrase(text: str, phrase: str) -> bool:
    """Tell whether a comparable text holds a phrase, also within a word."""
    return comparable(phrase) in text


def holds_word(text: str, word: str) -> bool:
    """Tell whether a comparable text holds a word that is no part of a longer Latin one.

    Japanese is written without spaces: there every occurrence counts.
    """
    word = comparable(word)
    before = "(?<![a-z0-9_])" if word[:1] in _LATIN else ""
    after = "(?![a-z0-9_])" if word[-1:] in _LATIN else ""
    return re.search(before + re.escape(word) + after, text) is not None
