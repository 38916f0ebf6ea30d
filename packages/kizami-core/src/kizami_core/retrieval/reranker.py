"""Reranking: how well a candidate's text itself answers a query.

Candidates come from a word index without positions. Their texts are few and at hand, so counting, density,
proximity and phrases are measured in them, on the folded form of both sides.
"""

from __future__ import annotations

from math import log1p

from kizami_core.records import Record
from kizami_core.retrieval.lexical import ALTERNATIVE
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.sentences import USER
from kizami_core.retrieval.terms import is_hiragana, runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kizami_core.records import Chunk
    from kizami_core.retrieval.lexical import TermStatistics
    from kizami_core.retrieval.query import Query, QueryWord

# BM25 saturation and length normalisation, and the length (characters) that counts as average.
_K1, _B, _AVERAGE_LENGTH = 0.9, 0.6, 500.0
# Within so many characters words count as near each other, and as side by side.
_NEAR, _CLOSE = 200, 50
# What a text begins with says what it is about: so many characters, and twice as many of a long text.
_OPENING = 40
_MAX_PLACES = 6  # of one term in one text are looked at
# A word of several terms (a long kanji or katakana run) counts as found when this share of them is.
_FOUND_SHARE = 0.5
# Weights of the order, chosen on the dev queries of the retrieval sets (benchmarks/retrieval_adapter.py).
_LATIN, _OTHER = 1.4, 0.85  # a term, times its rarity
_KANJI, _CHAT, _KANA, _TRIGRAM = 1.0, 0.5, 0.45, 0.09  # a detail, times its rarity among the candidates
_SHARED, _NEARBY = 0.5, 0.4  # what is found in all and what is found near by, as shares of what is asked
_SIDE_BY_SIDE, _OPENS, _OPENS_LONG, _LENGTH = 0.45, 0.5, 0.3, 0.03
_MAX_DETAILS = 400
_USER = USER.lower()


class Evidence(Record):
    """What speaks for one candidate. It depends on the query, the text and the corpus, on no other candidate.

    ``mass`` and ``near_mass`` are sums of the rarity of the words found, in the whole text and in its best
    200 characters; ``words_found`` counts them; ``rarest`` is the highest rarity of a word found; ``share``
    is that of all words found among those asked, weighted by rarity, in [0, 1]; ``density`` is BM25 over the
    query's terms with rarity as idf.
    """

    mass: float
    near_mass: float
    words_found: int
    rarest: float
    share: float
    density: float


class Reranked(Record):
    """A candidate with its evidence; ``score`` orders the candidates of one query (higher is better)."""

    chunk: Chunk
    text: str
    evidence: Evidence
    score: float


class _Word(Record):
    surface: str
    terms: tuple[str, ...]
    rarity: float
    is_known: bool
    alternatives: tuple[tuple[tuple[str, ...], float], ...]


def rerank(query: Query, candidates: Sequence[Chunk], statistics: TermStatistics) -> list[Reranked]:
    """Measure every candidate against the query and order them, best first."""
    weighed = [_weigh(word, statistics) for word in query.words]
    asked = sum(word.rarity for word in weighed) or 1.0
    average = sum(chunk.token_count for chunk in candidates) / max(1, len(candidates)) or 1.0
    texts = [fold(chunk.content) for chunk in candidates]
    order = _Order(query, weighed, texts, statistics)
    reranked = [
        Reranked(
            chunk,
            text,
            _evidence(weighed, asked, chunk.id, text, statistics),
            order.score(chunk.id, text, (chunk.token_count or average) / average),
        )
        for chunk, text in zip(candidates, texts, strict=True)
    ]
    reranked.sort(key=lambda candidate: (candidate.score, candidate.chunk.id), reverse=True)
    return reranked


class _Order:
    """What orders the candidates of one query.

    BM25 over the query's terms and over details that the index leaves out, more where what is found stands
    together, and where the text opens with it.
    """

    def __init__(
        self, query: Query, weighed: Sequence[_Word], texts: Sequence[str], statistics: TermStatistics
    ) -> None:
        self._statistics = statistics
        self._terms = _term_weights(weighed, statistics)
        self._details = _detail_weights(query, texts, statistics.highest_idf)
        self._total = sum(self._terms.values()) + sum(self._details.values()) or 1.0

    def score(self, chunk_id: int, text: str, length: float) -> float:
        """Return the score of one candidate; ``length`` in tokens, as a share of the average one's."""
        weights = self._terms
        present = [term for term in weights if self._statistics.contains(chunk_id, term, text)]
        score = sum(weights[term] * _saturated(max(1, text.count(term)), length) for term in present)
        score += sum(
            weight * _saturated(text.count(detail), length) for detail, weight in self._details.items()
        )
        places = sorted((at, number) for number, term in enumerate(present) for at in _places(term, text))
        found = [weights[term] for term in present]
        near = _best_window(places, found, _NEAR)
        score *= 1.0 + (_SHARED * sum(found) + _NEARBY * near) / self._total
        start = len(_USER) if text.startswith(_USER) else 0
        opening = text[start : start + _OPENING]
        longer = text[start : start + min(2 * _OPENING, len(text) // 4)]
        return (
            score
            + _SIDE_BY_SIDE * _best_window(places, found, _CLOSE)
            + _OPENS * sum(weights[term] for term in present if term in opening)
            + _OPENS_LONG * sum(weights[term] for term in present if term in longer)
            - _LENGTH * self._total * log1p(len(text) / 15.0)
        )


def _term_weights(weighed: Sequence[_Word], statistics: TermStatistics) -> dict[str, float]:
    """Weigh each term of the query: its rarity, less where it is one of many of a long word."""
    weights: dict[str, float] = {}
    for word in weighed:
        # The bigrams of one long word are not independent evidence.
        share = 1.0 if len(word.terms) < 3 else (len(word.terms) - 1) ** -0.4  # noqa: PLR2004
        for term in word.terms:
            kind = _LATIN if term.isascii() else _OTHER
            weights.setdefault(term, kind * share * statistics.rarity(term))
        for terms, rarity in word.alternatives:
            for term in terms:
                weights.setdefault(term, rarity / len(terms))
    return weights


def _weigh(word: QueryWord, statistics: TermStatistics) -> _Word:
    rarity = sum(statistics.rarity(term) for term in word.terms) / len(word.terms)
    is_known = any(statistics.document_frequency(term) for term in word.terms)
    others = [
        (terms, ALTERNATIVE * sum(map(statistics.rarity, terms)) / len(terms))
        for terms in word.alternatives
        if all(map(statistics.document_frequency, terms))
    ]
    return _Word(word.surface.lower(), word.terms, rarity, is_known, tuple(others))


def _evidence(
    weighed: Sequence[_Word], asked: float, chunk_id: int, text: str, statistics: TermStatistics
) -> Evidence:
    found: list[_Word] = []
    mass = density = 0.0
    for word in weighed:
        present = [term for term in word.terms if statistics.contains(chunk_id, term, text)]
        share = len(present) / len(word.terms) if present else _fuzzy_share(word, text)
        if share >= _FOUND_SHARE:
            found.append(word)
            mass += word.rarity * share
        else:
            other = _alternative(word, chunk_id, text, statistics)
            if other is not None:
                found.append(other)
                mass += other.rarity
        for term in present:
            counted = _saturated(max(1, text.count(term)), len(text) / _AVERAGE_LENGTH)
            density += statistics.rarity(term) * counted
    places = sorted(
        (at, number) for number, word in enumerate(found) for term in word.terms for at in _places(term, text)
    )
    return Evidence(
        mass=mass,
        near_mass=_best_window(places, [word.rarity for word in found], _NEAR),
        words_found=len(found),
        rarest=max((word.rarity for word in found), default=0.0),
        share=sum(word.rarity for word in found) / asked,
        density=density,
    )


def _alternative(word: _Word, chunk_id: int, text: str, statistics: TermStatistics) -> _Word | None:
    """Return the rarest word of the same meaning that a text holds."""
    best = None
    for terms, rarity in word.alternatives:
        is_there = all(statistics.contains(chunk_id, term, text) for term in terms)
        if is_there and (best is None or rarity > best.rarity):
            best = _Word("", terms, rarity, is_known=True, alternatives=())
    return best


def _saturated(count: int, relative_length: float) -> float:
    """Return BM25's term-frequency part: count·(k1 + 1) / (count + k1·(1 − b + b·length/average))."""
    if not count:
        return 0.0
    return count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * relative_length))


def _fuzzy_share(word: _Word, text: str) -> float:
    """Return the share of an unknown word's trigrams that a text has, for slips of the keyboard."""
    if word.is_known or len(word.surface) < 5:  # noqa: PLR2004 - shorter words resemble others by chance
        return 0.0
    trigrams = [word.surface[at : at + 3] for at in range(len(word.surface) - 2)]
    return sum(trigram in text for trigram in trigrams) / len(trigrams)


def _places(term: str, text: str) -> Iterator[int]:
    """Yield where a term begins, a bounded number of places."""
    at = text.find(term)
    for _ in range(_MAX_PLACES):
        if at < 0:
            break
        yield at
        at = text.find(term, at + 1)


def _best_window(places: list[tuple[int, int]], weights: list[float], width: int) -> float:
    """Return the greatest sum of the weights of what stands within ``width`` characters, each once.

    Args:
        places: (where, index into ``weights``), in order.
        weights: of each thing that stands somewhere.
        width: in characters.
    """
    within = [0] * len(weights)
    best = current = 0.0
    first = 0
    for at, number in places:
        if not within[number]:
            current += weights[number]
        within[number] += 1
        while places[first][0] < at - width:
            leaving = places[first][1]
            within[leaving] -= 1
            if not within[leaving]:
                current -= weights[leaving]
            first += 1
        best = max(best, current)
    return best


def _detail_weights(query: Query, texts: Sequence[str], highest: float) -> dict[str, float]:
    """Weigh what the index or the query leaves out: single kanji, pairs of hiragana, trigrams, words of chat.

    How telling each is comes from the candidates themselves: ln(1 + (2n − d + ½) / (d + ½)) for a detail in d
    of n texts, by the highest idf of the corpus. It decides only their order, never their relevance.
    """
    terms = {term for word in query.words for term in word.terms}
    kinds = dict.fromkeys(query.chat, _CHAT)
    for script, start, end in runs(query.text):
        run = query.text[start:end]
        if script == "k":
            kinds.update(dict.fromkeys(run, _KANJI))
        elif script == "h":
            kinds.update((run[at : at + 2], _KANA) for at in range(len(run) - 1))
    for at in range(len(query.text) - 2):
        trigram = query.text[at : at + 3]
        if trigram.isalnum() and not is_hiragana(trigram):
            kinds.setdefault(trigram, _TRIGRAM)
    if len(kinds) > _MAX_DETAILS:
        # A prompt of this length says enough by its words.
        return {}
    weights = {}
    for detail, kind_weight in kinds.items():
        present = 0 if detail in terms else sum(detail in text for text in texts)
        if present:
            weights[detail] = (
                kind_weight * log1p((2 * len(texts) - present + 0.5) / (present + 0.5)) / highest
            )
    return weights
