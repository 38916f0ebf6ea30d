"""A query: what a prompt asks for, as words of index terms.

The work on a query is bounded whatever the prompt holds: of a very long one the beginning and the end are
read, since people write their question before or after what they paste.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.retrieval.glossary import alternatives
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.recollection import asks_about_the_past
from kizami_core.retrieval.stop_words import ENGLISH_CHAT_WORDS, JAPANESE_CHAT_WORDS, STEERING_WORDS
from kizami_core.retrieval.terms import stem, words

_MAX_CHARACTERS = 12_000  # of the prompt are read: half at each end
_MAX_WORDS = 80  # are looked up: half at each end
_MAX_TERMS = 160
_MAX_ALTERNATIVES = 24
_STEERING_WORDS = 3  # a longer prompt says more than that


class QueryWord(Record):
    """One word of a query: its surface as written, the index terms it stands for, and those of other words.

    ``alternatives`` holds for each word of the same meaning its terms, see ``glossary``.
    """

    surface: str
    terms: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()


class Query(Record):
    """An analyzed prompt.

    ``text`` is the folded text that was read. ``words`` are the distinct words that carry content, in order;
    ``chat`` are those left out, which only steer the conversation (folded).
    """

    text: str
    words: tuple[QueryWord, ...]
    chat: tuple[str, ...] = ()
    asks_about_the_past: bool = False


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
    # A log repeats itself, and no word reaches across white space.
    for surface, terms in (found for piece in dict.fromkeys(text.split()) for found in words(piece)):
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
    folded = fold(text)
    return Query(folded, tuple(found), tuple(chat)[:_MAX_WORDS], asks_about_the_past(folded))


def _with_alternatives(found: list[QueryWord]) -> list[QueryWord]:
    """Give words their alternatives: a bounded number, without what the query names itself."""
    asked = {term for word in found for term in word.terms}
    left = _MAX_ALTERNATIVES
    answer = []
    for word in found:
        others = []
        for other in alternatives(word.surface):
            terms = tuple(term for _, of_run in words(other) for term in _whole_or_parts(of_run))
            if left and terms and not asked.intersection(terms):
                others.append(terms)
                left -= 1
        answer.append(QueryWord(word.surface, word.terms, tuple(others)) if others else word)
    return answer


def _whole_or_parts(terms: list[str]) -> list[str]:
    """Return the term of a whole word, without those of its parts, where the index has one."""
    return terms[:1] if len(terms) > 1 and len(terms[0]) > len(terms[1]) else terms


def only_steers(query: Query) -> bool:
    """Tell whether a prompt only pushes the work at hand on: "run the tests", "コミットして"."""
    return len(query.words) <= _STEERING_WORDS and all(
        (stem(word.surface.lower()) if word.surface.isascii() else word.surface) in STEERING_WORDS
        for word in query.words
    )


def _is_chat(surface: str, terms: list[str]) -> bool:
    if surface.isascii():
        return surface.lower() in ENGLISH_CHAT_WORDS
    return surface in JAPANESE_CHAT_WORDS or (len(surface) == 1 and terms[-1] in JAPANESE_CHAT_WORDS)
