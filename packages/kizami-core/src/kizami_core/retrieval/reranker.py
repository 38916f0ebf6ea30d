"""Reranking: how well a candidate's text itself answers a query.

Candidates come from a word index without positions. Their texts are few and at hand, so counting, density,
proximity and phrases are measured in them, on the folded form of both sides.
"""

from __future__ import annotations

from math import log1p

from kizami_core.records import Chunk, Metadata, Record
from kizami_core.retrieval.lexical import ALTERNATIVE, RESEMBLING_CHARACTERS
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.terms import is_hiragana, runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
# Of what can't be better: the score by the weights of the terms that are known, and by the background's.
_IMAGINED_SCORE, _IMAGINED_STANDING = 3.0, 8.0
_NO_CHUNK = Chunk(0, "", "", 0, "", "mixed", Metadata(), "", 0)
_USER = "[user]"  # USER of ``sentences``, folded: that module is imported where something is shown


class Evidence(Record):
    """What speaks for one candidate. It depends on the query, the text and the corpus, on no other candidate.

    ``mass`` is the sum of the rarity of the words found, ``words_found`` counts them, ``rarest`` is the
    highest of these rarities; ``share`` is that of the words found among those asked, weighted by rarity, in
    [0, 1]; ``density`` is BM25 over the query's terms with rarity as idf.
    """

    mass: float
    words_found: int
    rarest: float
    share: float
    density: float


class Reranked(Record):
    """A candidate with its evidence.

    ``score`` orders the candidates of one query (higher is better). ``strength`` is the part of it that
    depends on no other candidate; ``asked`` is the sum of the weights of the query's terms, in the same unit.
    """

    chunk: Chunk
    text: str
    evidence: Evidence
    score: float
    strength: float
    asked: float


class _Word(Record):
    """A word asked.

    ``whole`` is the rarity of an identifier as a whole, for texts that hold it, beside the mean of its parts;
    ``trigrams`` are those of an unknown word, which may be a slip of the keyboard.
    """

    terms: tuple[str, ...]
    rarity: float
    whole: float
    trigrams: tuple[str, ...]
    alternatives: tuple[tuple[tuple[str, ...], float], ...]


def rerank(query: Query, candidates: Sequence[Chunk], statistics: TermStatistics) -> list[Reranked]:
    """Measure every candidate against the query and order them, best first."""
    weighed = [_weigh(word, statistics) for word in query.words]
    asked = sum(word.rarity for word in weighed) or 1.0
    average = sum(chunk.token_count for chunk in candidates) / max(1, len(candidates)) or 1.0
    texts = [fold(chunk.content) for chunk in candidates]
    order = _Order(query, weighed, texts, statistics)
    reranked = []
    for number, (chunk, text) in enumerate(zip(candidates, texts, strict=True)):
        counts = order.counts(chunk.id, text)
        length = (chunk.token_count or average) / average
        evidence = _evidence(weighed, asked, counts, text, statistics)
        score, strength = order.scores(number, text, counts, length)
        reranked.append(Reranked(chunk, text, evidence, score, strength, order.asked))
    reranked.sort(key=lambda candidate: (candidate.score, candidate.chunk.id), reverse=True)
    return reranked


def imagined(query: Query, statistics: TermStatistics) -> tuple[Reranked, float]:
    """Return a candidate as good as any can be by what a corpus knows of the words, and its background.

    It holds every word that can be found. Its score, and how far it stands out, are high enough: in none of
    1,856 look-ups for the development sets a candidate passes the gate where this one does not.
    """
    weighed = [_weigh(word, statistics) for word in query.words]
    asked = sum(word.rarity for word in weighed) or 1.0
    best = []
    for word in weighed:
        is_findable = word.trigrams or any(map(statistics.document_frequency, word.terms))
        others = [rarity for _, rarity in word.alternatives]
        best.append(max([word.whole if is_findable else 0.0, *others]))
    evidence = Evidence(
        mass=sum(best),
        words_found=len(best),
        rarest=max(best, default=0.0),
        share=min(1.0, sum(best) / asked),
        density=0.0,
    )
    weights = _term_weights(weighed, statistics)
    score = _IMAGINED_SCORE * sum(
        weight for term, weight in weights.items() if statistics.document_frequency(term)
    )
    candidate = Reranked(_NO_CHUNK, "", evidence, score, score, sum(weights.values()))
    return candidate, max(0.0, (score + 0.5) / _IMAGINED_STANDING - 0.5)


class _Order:
    """What orders the candidates of one query.

    BM25 over the query's terms and over details that the index leaves out, more where what is found stands
    together, and where the text opens with it.
    """

    def __init__(
        self, query: Query, weighed: Sequence[_Word], texts: Sequence[str], statistics: TermStatistics
    ) -> None:
        self._terms = _term_weights(weighed, statistics)
        self._holders = [
            (term, posting.chunk_ids, posting.is_complete)
            for term in self._terms
            if (posting := statistics.postings.get(term)) is not None
        ]
        self._details = _details(query, texts, statistics.highest_idf)
        self.asked = sum(self._terms.values())
        self._total = self.asked + sum(weight for weight, _ in self._details) or 1.0

    def counts(self, chunk_id: int, text: str) -> dict[str, int]:
        """Return how often each term that a candidate holds stands in its text, as far as it can be seen."""
        return {
            term: text.count(term) or 1
            for term, holders, is_complete in self._holders
            # As in ``TermStatistics.contains``, which takes much longer for so many.
            if chunk_id in holders or (not is_complete and term in text)
        }

    def scores(self, number: int, text: str, counts: Mapping[str, int], length: float) -> tuple[float, float]:
        """Return the score and the strength of a candidate.

        Args:
            number: its place among the texts.
            text: its text, folded.
            counts: of the terms that it holds.
            length: in tokens, as a share of the average one's.
        """
        weights = self._terms
        found = [weights[term] for term in counts]
        flattening, of_any_text = _flattening(length), _flattening(len(text) / _AVERAGE_LENGTH)
        score = strength = 0.0
        for term, count in counts.items():
            score += weights[term] * _saturated(count, flattening)
            strength += weights[term] * _saturated(count, of_any_text)
        for weight, of_texts in self._details:
            if of_texts[number]:
                score += weight * _saturated(of_texts[number], flattening)
        places = _places(counts, text)
        together = _SHARED * sum(found) + _NEARBY * _best_window(places, found, _NEAR)
        start = len(_USER) if text.startswith(_USER) else 0
        opening = text[start : start + _OPENING]
        longer = text[start : start + min(2 * _OPENING, len(text) // 4)]
        placed = (
            _SIDE_BY_SIDE * _best_window(places, found, _CLOSE)
            + _OPENS * sum(weights[term] for term in counts if term in opening)
            + _OPENS_LONG * sum(weights[term] for term in counts if term in longer)
        )
        length_cost = _LENGTH * log1p(len(text) / 15.0)
        return (
            score * (1.0 + together / self._total) + placed - length_cost * self._total,
            strength * (1.0 + together / (self.asked or 1.0)) + placed - length_cost * self.asked,
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
    surface = word.surface.lower()
    is_slip = not is_known and len(surface) >= RESEMBLING_CHARACTERS
    trigrams = tuple(surface[at : at + 3] for at in range(len(surface) - 2)) if is_slip else ()
    is_identifier = len(word.terms) > 1 and word.terms[0].isascii()
    whole = statistics.rarity(word.terms[0]) if is_identifier else rarity
    return _Word(word.terms, rarity, max(rarity, whole), trigrams, tuple(others))


def _evidence(
    weighed: Sequence[_Word], asked: float, counts: Mapping[str, int], text: str, statistics: TermStatistics
) -> Evidence:
    mass = density = 0.0
    rarities: list[float] = []
    flattening = _flattening(len(text) / _AVERAGE_LENGTH)
    for word in weighed:
        present = [term for term in word.terms if term in counts]
        share = len(present) / len(word.terms)
        if not present and word.trigrams:
            share = sum(trigram in text for trigram in word.trigrams) / len(word.trigrams)
        if share >= _FOUND_SHARE:
            rarity = word.whole if word.terms[0] in counts else word.rarity
            rarities.append(rarity)
            mass += rarity * share
        elif word.alternatives:
            # The rarest word of the same meaning that the text holds.
            others = [rarity for terms, rarity in word.alternatives if all(term in counts for term in terms)]
            if others:
                rarities.append(max(others))
                mass += max(others)
        for term in present:
            density += statistics.rarity(term) * _saturated(counts[term], flattening)
    return Evidence(
        mass=mass,
        words_found=len(rarities),
        rarest=max(rarities, default=0.0),
        share=min(1.0, sum(rarities) / asked),
        density=density,
    )


def _flattening(length: float) -> float:
    """Return BM25's k1·(1 − b + b·length/average); ``length`` is given as a share of the average."""
    return _K1 * (1.0 - _B + _B * length)


def _saturated(count: int, flattening: float) -> float:
    """Return BM25's term-frequency part: count·(k1 + 1) / (count + k1·(1 − b + b·length/average))."""
    return count * (_K1 + 1.0) / (count + flattening)


def _places(terms: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Return where terms begin in a text, in order, with their numbers; bounded for each."""
    places = []
    for number, term in enumerate(terms):
        at = text.find(term)
        for _ in range(_MAX_PLACES):
            if at < 0:
                break
            places.append((at, number))
            at = text.find(term, at + 1)
    places.sort()
    return places


def _best_window(places: list[tuple[int, int]], weights: list[float], width: int) -> float:
    """Return the greatest sum of the weights of what stands within ``width`` characters, each once.

    Args:
        places: (where, index into ``weights``), in order.
        weights: of each thing that stands somewhere.
        width: in characters.
    """
    if places and places[-1][0] - places[0][0] <= width:
        return sum(weights[number] for number in {number for _, number in places})
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
        if current > best:  # noqa: PLR1730 - a call costs more than all the rest of the loop
            best = current
    return best


def _details(query: Query, texts: Sequence[str], highest: float) -> list[tuple[float, list[int]]]:
    """Weigh and count what the index or the query leaves out: kanji, pairs of hiragana, trigrams, chat.

    How telling each is comes from the candidates themselves: ln(1 + (2n − d + ½) / (d + ½)) for a detail in d
    of n texts, by the highest idf of the corpus. It decides only their order, never their relevance.

    Returns:
        The weight of each detail that any text holds, and how often it stands in each text.
    """
    terms = {term for word in query.words for term in word.terms}
    found = []
    for detail, kind_weight in _detail_kinds(query).items():
        if detail in terms:
            continue
        counts = [text.count(detail) for text in texts]
        present = len(texts) - counts.count(0)
        if present:
            telling = log1p((2 * len(texts) - present + 0.5) / (present + 0.5))
            found.append((kind_weight * telling / highest, counts))
    return found


def _detail_kinds(query: Query) -> dict[str, float]:
    """Return the details of a query by what their kind weighs; none where there are too many."""
    kinds = dict.fromkeys(query.chat, _CHAT)
    # A log repeats itself, and no detail reaches across white space.
    pieces = dict.fromkeys(query.text.split())
    for piece in pieces:
        for script, start, end in runs(piece):
            run = piece[start:end]
            if script == "k":
                kinds.update(dict.fromkeys(run, _KANJI))
            elif script == "h":
                kinds.update((run[at : at + 2], _KANA) for at in range(len(run) - 1))
        if len(kinds) > _MAX_DETAILS:
            # A prompt of this length says enough by its words.
            return {}
    for piece in pieces:
        for at in range(len(piece) - 2):
            trigram = piece[at : at + 3]
            if trigram.isalnum() and not is_hiragana(trigram):
                kinds.setdefault(trigram, _TRIGRAM)
        if len(kinds) > _MAX_DETAILS:
            return {}
    return kinds
