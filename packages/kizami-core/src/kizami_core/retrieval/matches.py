"""Matches: what of a search a text holds, and where, in the text as it is written."""

from __future__ import annotations

import re
import unicodedata

from kizami_core.retrieval.normalize import fold, normalize
from kizami_core.retrieval.search_syntax import comparable, holds_phrase
from kizami_core.retrieval.terms import index_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kizami_core.retrieval.query import Query

# Of a word's terms this share makes it found, as for the reranker.
_FOUND_SHARE = 0.5
_SHORTEST_PART = 3  # characters of a word that is looked for within others
_LATIN_RUN = re.compile(r"[A-Za-z0-9_]+")
_VOICED_MARKS = "\uff9e\uff9f"  # half-width katakana carry theirs behind them


def matched_words(query: Query, phrases: Sequence[str], text: str) -> list[str]:
    """Return what a text holds of a search: phrases, then words as they were asked for."""
    held = set(index_terms(text))
    folded = fold(text)
    squeezed = comparable(text)
    found = [phrase for phrase in phrases if holds_phrase(squeezed, phrase)]
    for word in query.words:
        share = sum(term in held for term in word.terms) / len(word.terms)
        is_part = len(word.surface) >= _SHORTEST_PART and word.surface.lower() in folded
        if share >= _FOUND_SHARE or is_part:
            found.append(word.surface)
    return list(dict.fromkeys(found))


def matched_spans(query: Query, phrases: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return where a text holds a search's phrases and words: ascending, apart from each other.

    Each is (begin, end) in characters of ``text``. A Latin word is marked as a whole where it is one asked
    for or an inflected form of it (caches, cached), of an identifier the part that is.
    """
    normal, places = _normal_form(text)
    # Some capitals have no single small letter; those stay, so that places agree.
    folded = "".join(small if len(small := letter.lower()) == 1 else letter for letter in normal)
    is_marked = bytearray(len(normal))
    for begin, end in _occurrences(query, phrases, normal, folded):
        is_marked[begin:end] = b"\x01" * (end - begin)
    spans: list[tuple[int, int]] = []
    for run in re.finditer(rb"\x01+", is_marked):
        # A character of the text may be several of the normal form: it is marked whole.
        begin, end = places[run.start()], max(places[run.end()], places[run.end() - 1] + 1)
        if spans and begin <= spans[-1][1]:
            begin = spans.pop()[0]
        spans.append((begin, end))
    return spans


def _occurrences(query: Query, phrases: Sequence[str], normal: str, folded: str) -> Iterator[tuple[int, int]]:
    for phrase in phrases:
        yield from _places(r"\s+".join(map(re.escape, comparable(phrase).split())), folded)
    latin = [(run.start(), run[0], index_terms(run[0])) for run in _LATIN_RUN.finditer(normal)]
    for word in query.words:
        surface = word.surface.lower()
        is_latin = all(map(_LATIN_RUN.fullmatch, word.terms))
        found = list(_latin_places(word.terms, latin)) if is_latin else []
        if not found and len(surface) > 1:
            found = list(_places(re.escape(surface), folded))
        if not found and not is_latin:
            # The parts of a long word, the longest first so that 決め is marked and not each 決.
            longest = max(map(len, word.terms))
            parts = [re.escape(term) for term in word.terms if len(term) in (2, longest)]
            found = list(_places("|".join(parts), folded))
        yield from found


def _places(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in re.finditer(pattern, text))


def _latin_places(
    terms: Sequence[str], runs: Sequence[tuple[int, str, list[str]]]
) -> Iterator[tuple[int, int]]:
    for begin, run, own in runs:
        if own and own[0] in terms:
            yield begin, begin + len(run)
            continue
        for term in own:
            if term in terms:
                at = run.lower().find(term)
                end = at + len(term)
                # What inflection took off belongs to the part.
                while run[end : end + 1].islower():
                    end += 1
                yield begin + at, begin + end


def _normal_form(text: str) -> tuple[str, list[int]]:
    """Return the normal form of a text, and where each of its characters, and its end, stand in the text."""
    if text.isascii():
        return text, list(range(len(text) + 1))
    pieces: list[str] = []
    places: list[int] = []
    begin = 0
    before = ""
    for end in range(1, len(text) + 1):
        if end < len(text) and (text[end] in _VOICED_MARKS or unicodedata.combining(text[end])):
            continue
        piece = before[-1:] if text[begin:end] == "々" and before else normalize(text[begin:end])
        pieces.append(piece)
        places += [begin] * len(piece)
        before = piece or before
        begin = end
    return "".join(pieces), [*places, len(text)]
