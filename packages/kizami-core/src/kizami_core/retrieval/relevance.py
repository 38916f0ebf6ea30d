"""Relevance: the evidence for one candidate as a probability in [0, 1] that it is what the prompt asks for.

A logistic regression over the evidence, fitted by ``benchmarks/fit_relevance.py`` on the ``tune`` half of the
development set for recall. Every weight of a piece of evidence is kept at or above zero in the fit, so more
evidence never means less relevance. Because it depends on the query, the text and the corpus alone, and on no
other candidate, the same value means the same for every prompt, and a gate can be set on it.
"""

from __future__ import annotations

from math import exp, log1p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.retrieval.query import Query
    from kizami_core.retrieval.reranker import Evidence

# What `kizami setup` writes as hooks.minRelevanceScore; chosen on the same half.
RECOMMENDED_GATE = 0.25

# In the order of ``features``; the last, the number of words asked, is the one that may count against.
WEIGHTS = (1.724, 3.496, 6.025, 1.317, -1.828)
INTERCEPT = -9.648


def features(query: Query, evidence: Evidence) -> tuple[float, ...]:
    """Return what the regression sees of one candidate, each about 0 to 5."""
    return (
        log1p(evidence.mass),
        log1p(evidence.near_mass),
        evidence.rarest,
        log1p(evidence.density),
        log1p(len(query.words)),
    )


def relevance(query: Query, evidence: Evidence) -> float:
    """Return the probability that a candidate with this evidence answers the query; 0.0 without any."""
    if not evidence.words_found:
        return 0.0
    logit = INTERCEPT + sum(
        weight * value for weight, value in zip(WEIGHTS, features(query, evidence), strict=True)
    )
    return 1.0 / (1.0 + exp(-logit))
