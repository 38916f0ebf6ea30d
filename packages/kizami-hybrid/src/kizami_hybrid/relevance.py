"""Relevance by words and vectors together, as a calibrated probability in [0, 1].

What the words say (core's relevance) is moved, in log odds, by the vectors. A cosine by itself says
nothing: each model has a scale of its own, and multilingual ones give 0.8 to what has nothing to do with
the question. What counts is how far the nearest chunk stands out from the next, in units of how far the
others lie apart. That is the same whatever the scale, so the constant can hold for other models than the
one it was chosen with.

Vectors alone bring nothing back: they always find something that is nearest, and on the sets of questions
without an answer nothing told the paraphrase of a question from a neighbour of its subject. They speak
for a memory that has a word in common with the query, find such memories that the words rank too low, and
order a search.

The constant was chosen by ``benchmarks/fit_fused_relevance.py`` on the ``tune`` half of the development
set for recall and on half of the questions of gate-ja, with multilingual-e5-small.
"""

from __future__ import annotations

from math import exp, sqrt

from kizami_core.retrieval.scope import multiply_odds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Added to the log odds of the nearest chunk for each spread that it is ahead of the next, up to so many.
LEAD = 0.6
_MOST_AHEAD = 2.0
# What the odds of a relevance are multiplied by at most.
MOST_ODDS = exp(LEAD * _MOST_AHEAD)
# What is merely like the query begins at this place.
_BACKGROUND_PLACE = 10
# Among fewer neighbours nothing can be told, nor where these differ by rounding alone.
_FEW = 20
_LEAST_SPREAD = 1e-9


def leads(cosines: Mapping[int, float]) -> dict[int, float]:
    """Return how far the nearest chunk is ahead of the next, in spreads of what is merely like the query.

    Args:
        cosines: of the nearest chunks with the query, nearest first.

    Returns:
        Its lead in [0, 2] by its id; nothing where that can't be told.
    """
    values = list(cosines.values())
    spread = _spread(values[_BACKGROUND_PLACE:]) if len(values) >= _FEW else 0.0
    if spread < _LEAST_SPREAD:
        return {}
    return {next(iter(cosines)): min((values[0] - values[1]) / spread, _MOST_AHEAD)}


def fused_relevance(by_words: float, lead: float) -> float:
    """Return the probability that a candidate with this lead answers the query."""
    if not 0 < by_words < 1:
        return by_words
    return multiply_odds(by_words, exp(LEAD * lead))


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation."""
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
