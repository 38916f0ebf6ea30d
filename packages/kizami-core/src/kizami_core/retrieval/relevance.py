"""Relevance: the evidence for one candidate as a probability in [0, 1] that it is what the prompt asks for.

A logistic regression over the evidence, over how far the candidate stands out from the background of its
query, and over whether the prompt asks about the past. It was fitted by ``benchmarks/fit_relevance.py`` on
the ``tune`` half of the development set for recall and on half of the questions of gate-ja. Every weight of a
piece of evidence is kept at or above zero in the fit, so more evidence never means less relevance. The
background is the tenth candidate, whoever is shown: the same value means the same for every prompt, and a
gate can be set on it.
"""

from __future__ import annotations

from math import exp, log, log1p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.retrieval.query import Query
    from kizami_core.retrieval.reranker import Reranked

# What `kizami setup` writes as hooks.minRelevanceScore; chosen on the same halves.
RECOMMENDED_GATE = 0.13

# In the order of ``features``; the last, the number of words asked, is the one that may count against.
WEIGHTS = (2.897, 4.296, 1.734, 1.606, 0.851, 2.571, -0.561)
INTERCEPT = -12.011

_BACKGROUND_PLACE = 10
# Where there are no ten candidates it is the last one; of so few that one may be the answer: half of it.
_FEW = 4


def background(reranked: Sequence[Reranked]) -> float:
    """Return the score of what merely resembles the query, from its candidates, best first."""
    if not reranked:
        return 0.0
    if len(reranked) >= _BACKGROUND_PLACE:
        return max(0.0, reranked[_BACKGROUND_PLACE - 1].score)
    last = max(0.0, reranked[-1].score)
    return last / 2.0 if len(reranked) < _FEW else last


def features(query: Query, candidate: Reranked, background: float) -> tuple[float, ...]:
    """Return what the regression sees of one candidate, each about 0 to 5.

    ``background`` is in the unit of the candidate's score.
    """
    evidence, score = candidate.evidence, max(0.0, candidate.score)
    return (
        log1p(evidence.mass),
        evidence.rarest,
        evidence.share,
        log((score + 0.5) / (background + 0.5)),
        score / (candidate.asked or 1.0),
        1.0 if query.asks_about_the_past else 0.0,
        log1p(len(query.words)),
    )


def relevance(query: Query, candidate: Reranked, background: float) -> float:
    """Return the probability that a candidate answers the query; 0.0 without any evidence."""
    if not candidate.evidence.words_found:
        return 0.0
    seen = features(query, candidate, background)
    logit = INTERCEPT + sum(weight * value for weight, value in zip(WEIGHTS, seen, strict=True))
    return 1.0 / (1.0 + exp(-logit))
