"""Reranking: how well a candidate's text itself answers a query.

Candidates come from a word index without positions. Their texts are few and at hand, so counting, density,
proximity and phrases are measured in them, on the folded form of both sides.
"""

from __future__ import annotations

from math import log1p

from kizami_core.records import Record
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.terms import runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.records import Chunk
    from kizami_core.retrieval.lexical import TermStatistics
    from kizami_core.retrieval.query import Query, QueryWord

# BM25 saturation and length normalisation, and the length (characters) that counts as average.
_K1, _B, _AVERAGE_LENGTH = 0.9, 0.6, 500.0
_WINDOW = 200  # characters within which words count as near to each other
_MAX_PLACES = 6  # of one term in one text are looked at
# A word of several terms (a long kanji or katakana run) counts as found when this share of them is.
_FOUND_SHARE = 0.5
_KANJI_WEIGHT, _KANA_WEIGHT, _TRIGRAM_WEIGHT = 0.5, 0.3, 0.25
_MAX_DETAILS = 400


class Evidence(Record):
    """What speaks for one candidate. It depends on the query, the text and the corpus, on no other candidate.

    ``mass`` and ``window_mass`` are sums of the rarity of the words found, in the whole text and in its
    best 200 characters; ``rarest`` is the highest rarity of a word found; ``share`` is that of all words
    found among those asked, weighted by rarity, in [0, 1]; ``density`` is BM25 over the query's terms with
    rarity as idf.
    """

    mass: float
    window_mass: float
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


def rerank(query: Query, candidates: Sequence[Chunk], statistics: TermStatistics) -> list[Reranked]:
    """Measure every candidate against the query and order them, best first."""
    weighed = [_weigh(word, statistics) for word in query.words]
    asked = sum(word.rarity for word in weighed) or 1.0
    texts = [fold(chunk.content) for chunk in candidates]
    details = _detail_weights(query, texts)
    reranked = []
    for chunk, text in zip(candidates, texts, strict=True):
        evidence = _evidence(weighed, asked, chunk.id, text, statistics)
        saturated = sum(
            weight * _saturated(text.count(detail), len(text)) for detail, weight in details.items()
        )
        closeness = 1.0 + 0.5 * evidence.share + 0.5 * evidence.window_mass / asked
        reranked.append(Reranked(chunk, text, evidence, (evidence.density + saturated) * closeness))
    reranked.sort(key=lambda candidate: (candidate.score, candidate.chunk.id), reverse=True)
    return reranked


def _weigh(word: QueryWord, statistics: TermStatistics) -> _Word:
    rarity = sum(statistics.rarity(term) for term in word.terms) / len(word.terms)
    is_known = any(statistics.document_frequency(term) for term in word.terms)
    return _Word(word.surface.lower(), word.terms, rarity, is_known)


def _evidence(
    weighed: list[_Word], asked: float, chunk_id: int, text: str, statistics: TermStatistics
) -> Evidence:
    found: list[_Word] = []
    mass = density = 0.0
    for word in weighed:
        present = [term for term in word.terms if statistics.contains(chunk_id, term, text)]
        share = len(present) / len(word.terms) if present else _fuzzy_share(word, text)
        if share >= _FOUND_SHARE:
            found.append(word)
            mass += word.rarity * share
        for term in present:
            density += statistics.rarity(term) * _saturated(max(1, text.count(term)), len(text))
    return Evidence(
        mass=mass,
        window_mass=_window_mass(found, text),
        words_found=len(found),
        rarest=max((word.rarity for word in found), default=0.0),
        share=sum(word.rarity for word in found) / asked,
        density=density,
    )


def _saturated(count: int, length: int) -> float:
    """Return BM25's term-frequency part: count·(k1 + 1) / (count + k1·(1 − b + b·length/average))."""
    if not count:
        return 0.0
    return count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * length / _AVERAGE_LENGTH))


def _fuzzy_share(word: _Word, text: str) -> float:
    """Return the share of an unknown word's trigrams that a text has, for slips of the keyboard."""
    if word.is_known or len(word.surface) < 5:  # noqa: PLR2004 - shorter words resemble others by chance
        return 0.0
    trigrams = [word.surface[at : at + 3] for at in range(len(word.surface) - 2)]
    return sum(trigram in text for trigram in trigrams) / len(trigrams)


def _window_mass(found: list[_Word], text: str) -> float:
    """Return the greatest sum of rarities of words that stand within ``_WINDOW`` characters."""
    places: list[tuple[int, int]] = []
    for number, word in enumerate(found):
        for term in word.terms:
            at = text.find(term)
            for _ in range(_MAX_PLACES):
                if at < 0:
                    break
                places.append((at, number))
                at = text.find(term, at + 1)
    places.sort()
    within = [0] * len(found)
    best = current = 0.0
    first = 0
    for at, number in places:
        if not within[number]:
            current += found[number].rarity
        within[number] += 1
        while places[first][0] < at - _WINDOW:
            leaving = places[first][1]
            within[leaving] -= 1
            if not within[leaving]:
                current -= found[leaving].rarity
            first += 1
        best = max(best, current)
    return best


def _detail_weights(query: Query, texts: list[str]) -> dict[str, float]:
    """Weigh what the index leaves out: single kanji, pairs of hiragana, trigrams across scripts.

    How telling each is comes from the candidates themselves: ln(1 + (2n − d + ½) / (d + ½)) for a detail in d
    of n texts. It decides only their order, never their relevance.
    """
    terms = {term for word in query.words for term in word.terms}
    kinds: dict[str, float] = {}
    for script, start, end in runs(query.text):
        run = query.text[start:end]
        if script == "k":
            kinds.update(dict.fromkeys(run, _KANJI_WEIGHT))
        elif script == "h":
            kinds.update((run[at : at + 2], _KANA_WEIGHT) for at in range(len(run) - 1))
    for at in range(len(query.text) - 2):
        trigram = query.text[at : at + 3]
        if trigram.isalnum() and not all("\u3041" <= character <= "\u309f" for character in trigram):
            kinds[trigram] = _TRIGRAM_WEIGHT
    if len(kinds) > _MAX_DETAILS:
        # A prompt of this length says enough by its words.
        return {}
    weights = {}
    for detail, kind_weight in kinds.items():
        present = 0 if detail in terms else sum(detail in text for text in texts)
        if present:
            weights[detail] = kind_weight * log1p((2 * len(texts) - present + 0.5) / (present + 0.5)) / 6.0
    return weights
