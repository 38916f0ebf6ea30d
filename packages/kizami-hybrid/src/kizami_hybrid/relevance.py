"""Relevance by words and vectors together, as a calibrated probability in [0, 1].

What the words say (core's relevance) is moved, in log odds, by where the vectors put the candidate. A
cosine by itself says nothing: each model has a scale of its own, and multilingual ones give 0.8 to what has
nothing to do with the question. What counts is the place among the nearest chunks, and for the nearest one
how far it stands out from the next, in units of how far the others lie apart. Both stay the same whatever
the scale, so the constants can hold for other models than the one they were chosen with.

Vectors alone bring nothing back: they always find something that is nearest, and on the sets of questions
without an answer nothing told the paraphrase of a question from a neighbour of its subject. So they move
what has a word in common with the query up or down, find such candidates that the words rank too low, and
order a search.

The constants were chosen by ``benchmarks/fit_fused_relevance.py`` on the ``tune`` half of the development
set for recall and on half of the questions of gate-ja, with multilingual-e5-small.
"""

from __future__ import annotations

from math import exp, sqrt

from kizami_core.retrieval.scope import multiply_odds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Added to the log odds: for each spread that the nearest chunk is ahead, up to so many; for the first place,
# of which the second gets half, the third a third; and for all, so that a gate fires no more often.
LEAD, PLACE, SHIFT = 0.3, 0.7, 0.0
_MOST_AHEAD = 2.0
# What is merely like the query begins at this place, and of fewer neighbours than this nothing can be told.
_BACKGROUND_PLACE = 10
_FEW = 20


class Nearness:
    """Where the chunks nearest to a query stand.

    Args:
        cosines: of their vectors with the query's, by id, nearest first.
    """

    def __init__(self, cosines: Mapping[int, float]) -> None:
        self._places = {chunk_id: place for place, chunk_id in enumerate(cosines)}
        values = list(cosines.values())
        self.is_telling = len(values) >= _FEW
        spread = _spread(values[_BACKGROUND_PLACE:])
        ahead = (values[0] - values[1]) / spread if self.is_telling and spread else 0.0
        self._lead = min(ahead, _MOST_AHEAD)

    def place(self, chunk_id: int) -> int | None:
        """Return the place of a chunk, 0 for the nearest, None for one that is not among them."""
        return self._places.get(chunk_id)

    def lead(self, chunk_id: int) -> float:
        """Return how far the nearest chunk is ahead of the next, in spreads of the rest; 0 for others."""
        return self._lead if self.place(chunk_id) == 0 else 0.0


def evidence(chunk_id: int, nearness: Nearness) -> tuple[float, float]:
    """Return what the vectors say of a candidate: its lead, and 1 / (1 + place), 0 if it is not near."""
    place = nearness.place(chunk_id)
    return nearness.lead(chunk_id), 0.0 if place is None else 1 / (1 + place)


def fused_relevance(by_words: float, chunk_id: int, nearness: Nearness) -> float:
    """Return the probability that a candidate answers the query; where vectors can't tell, that by words."""
    if not 0 < by_words < 1 or not nearness.is_telling:
        return by_words
    lead, place = evidence(chunk_id, nearness)
    return multiply_odds(by_words, exp(LEAD * lead + PLACE * place + SHIFT))


def _spread(values: list[float]) -> float:
    """Return the standard deviation."""
    if not values:
        return 0.0
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
