"""Relevance by words and vectors together, as a calibrated probability in [0, 1].

What the words say (core's relevance) is moved, in log odds, by the vectors. A cosine by itself says
nothing: each model has a scale of its own, and multilingual ones give 0.8 to what has nothing to do with
the question. What counts is how far a chunk stands out from what is merely near, in units of how far the
others lie apart. That is the same whatever the scale, so the constants can hold for other models than the
one they were chosen with. What is merely near begins at the fifth place: what was said about one thing is
often more than one chunk, and none of them is ahead of the next.

Vectors alone bring nothing back: they always find something that is nearest, and on the sets of questions
without an answer nothing told the paraphrase of a question from a neighbour of its subject. They speak
for a memory that has a word in common with the query, find such memories that the words rank too low, and
order a search. But a question about the past expects a memory: then what stands out far enough is shown,
whatever words it has.

The constants were chosen by ``benchmarks/fit_fused_relevance.py`` on the ``tune`` half of the development
set for recall and on half of the questions of gate-ja, with multilingual-e5-small.
"""

from __future__ import annotations

from math import exp, sqrt

from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.recollection import asks_about_the_past, is_question
from kizami_core.retrieval.scope import multiply_odds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Added to the log odds of a chunk for each spread that it stands out, up to so many.
LEAD = 0.6
_MOST_AHEAD = 2.0
# What the odds of a relevance are multiplied by at most.
MOST_ODDS = exp(LEAD * _MOST_AHEAD)
# What the words of a chunk that stands out count for at least where a memory is expected: log odds.
PAST = -3.0
# What is merely near begins at this place (from 0), and what is merely like the query at that one.
_NEAR_PLACE, _BACKGROUND_PLACE = 4, 10
# Among fewer neighbours nothing can be told, nor where these differ by rounding alone.
_FEW = 20
_LEAST_SPREAD = 1e-9


def expects_a_memory(prompt: str) -> bool:
    """Tell whether a prompt is a question about the past.

    Both are needed: "run it again" and コミットする前に speak of the past, too, and ask for nothing.
    """
    folded = fold(prompt)
    return is_question(folded) and asks_about_the_past(folded)


def leads(cosines: Mapping[int, float]) -> dict[int, float]:
    """Return how far chunks stand out from what is merely near, in spreads of what is merely like the query.

    Args:
        cosines: of the nearest chunks with the query, nearest first.

    Returns:
        The leads, in (0, 2], of those that stand out (four at most) by their ids; nothing where that can't be
        told.
    """
    values = list(cosines.values())
    spread = _spread(values[_BACKGROUND_PLACE:]) if len(values) >= _FEW else 0.0
    if spread < _LEAST_SPREAD:
        return {}
    near = values[_NEAR_PLACE]
    nearest = list(cosines.items())[:_NEAR_PLACE]
    return {number: min((value - near) / spread, _MOST_AHEAD) for number, value in nearest if value > near}


def fused_relevance(by_words: float, lead: float, *, is_expected: bool = False) -> float:
    """Return the probability that a candidate answers the query.

    Args:
        by_words: the probability that the words give it.
        lead: how far it stands out, 0.0 for not at all.
        is_expected: whether the query expects a memory.
    """
    if lead <= 0 or by_words >= 1:
        return by_words
    if is_expected:
        by_words = max(by_words, 1 / (1 + exp(-PAST)))
    return multiply_odds(by_words, exp(LEAD * lead))


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation."""
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
