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
RECOMMENDED_GATE = 0.1

# In the order of ``features``.
WEIGHTS = (2.402, 5.726, 2.393, 1.173, 1.099, 2.107)
INTERCEPT = -13.831

_BACKGROUND_PLACE = 10
# The background where there are no ten candidates, by the weights of the query's terms.
_SMALL_BACKGROUND = 0.6


def background(reranked: Sequence[Reranked]) -> float:
    """Return the strength of what merely resembles the query: that of the tenth strongest candidate."""
    if not reranked:
        return 0.0
    if len(reranked) < _BACKGROUND_PLACE:
        return _SMALL_BACKGROUND * reranked[0].asked
    strengths = sorted((candidate.strength for candidate in reranked), reverse=True)
    return max(0.0, strengths[_BACKGROUND_PLACE - 1])


def features(query: Query, candidate: Reranked, background: float) -> tuple[float, ...]:
    """Return what the regression sees of one candidate, each about 0 to 5.

    ``background`` is in the unit of the candidate's strength.
    """
    evidence, strength = candidate.evidence, max(0.0, candidate.strength)
    return (
        log1p(evidence.mass),
        evidence.rarest,
        evidence.share,
        log((strength + 0.5) / (background + 0.5)),
        strength / (candidate.asked or 1.0),
        1.0 if query.asks_about_the_past else 0.0,
    )


def relevance(query: Query, candidate: Reranked, background: float) -> float:
    """Return the probability that a candidate answers the query; 0.0 without any evidence."""
    if not candidate.evidence.words_found:
        return 0.0
    seen = features(query, candidate, background)
    logit = INTERCEPT + sum(weight * value for weight, value in zip(WEIGHTS, seen, strict=True))
    return 1.0 / (1.0 + exp(-logit))
