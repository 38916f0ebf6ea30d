"""A query: what a prompt asks for, as words of index terms.

The work on a query is bounded whatever the prompt holds: of a very long one the beginning and the end are
read, since people write their question before or after what they paste.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.retrieval.glossary import alternatives
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.stop_words import ENGLISH_CHAT_WORDS, JAPANESE_CHAT_WORDS
from kizami_core.retrieval.terms import words

_MAX_CHARACTERS = 12_000  # of the prompt are read: half at each end
_MAX_WORDS = 80  # are looked up: half at each end
_MAX_TERMS = 160
_MAX_ALTERNATIVES = 24


class QueryWord(Record):
    """One word of a query: its surface as written, the index terms it stands for, and those of other words.

    ``alternatives`` holds for each word of the same meaning its terms, see ``glossary``.
    """

    surface: str
    terms: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()


class Query(Record):
    """An analyzed prompt.

    ``text`` is the folded text that was read; ``length`` counts the characters of the whole prompt. ``words``
    are the distinct words that carry content, in order; ``chat`` are those left out, which only steer the
    conversation (folded).
    """

    text: str
    length: int
    words: tuple[QueryWord, ...]
    chat: tuple[str, ...] = ()


def _read_ends(text: str, limit: int) -> str:
    """Return the text, or its beginning and end when it is longer than ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}\n{text[-(limit // 2) :]}"


def analyze_query(prompt: str) -> Query:
    """Analyze a prompt; any string is a valid one."""
    # Lone surrogates can't be handed to SQLite, and NUL ends its strings.
    readable = _read_ends(prompt, _MAX_CHARACTERS).encode("utf-8", "replace").decode("utf-8")
    text = readable.replace("\x00", " ")
    distinct: dict[tuple[str, ...], str] = {}
    chat: dict[str, None] = {}
    for surface, terms in words(text):
        if _is_chat(surface, terms):
            chat[surface.lower()] = None
        else:
            distinct.setdefault(tuple(dict.fromkeys(terms)), surface)
    found = [QueryWord(surface, terms) for terms, surface in distinct.items()]
    if len(found) > _MAX_WORDS:
        found = found[: _MAX_WORDS // 2] + found[-(_MAX_WORDS // 2) :]
    kept: list[QueryWord] = []
    terms_left = _MAX_TERMS
    for at in range(len(found)):
        # From both ends alternately, so that the limit falls on the middle.
        word = found[at // 2] if at % 2 == 0 else found[-(at // 2) - 1]
        terms_left -= len(word.terms)
        if terms_left >= 0:
            kept.append(word)
    kept_set = set(kept)
    found = _with_alternatives([word for word in found if word in kept_set])
    return Query(fold(text), len(prompt), tuple(found), tuple(chat)[:_MAX_WORDS])


def _with_alternatives(found: list[QueryWord]) -> list[QueryWord]:
    """Give words their alternatives: a bounded number of terms, those that the query names itself left out."""
    asked = {term for word in found for term in word.terms}
    left = _MAX_ALTERNATIVES
    answer = []
    for word in found:
        others = []
        for other in alternatives(word.surface):
            terms = tuple(term for _, of_run in words(other) for term in of_run)
            if left and terms and not asked.intersection(terms):
                others.append(terms)
                left -= 1
        answer.append(QueryWord(word.surface, word.terms, tuple(others)) if others else word)
    return answer


def _is_chat(surface: str, terms: list[str]) -> bool:
    if surface.isascii():
        return surface.lower() in ENGLISH_CHAT_WORDS
    return surface in JAPANESE_CHAT_WORDS or (len(surface) == 1 and terms[-1] in JAPANESE_CHAT_WORDS)
