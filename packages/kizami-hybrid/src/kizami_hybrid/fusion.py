"""Fusion: one order out of two, that of the words and that of the vectors.

Both ways give scores in [0, 1] that order the candidates of one query and say nothing of how good they are
(``relevance`` does).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Of reciprocal rank fusion; the value of Cormack et al. (2009), and the specification's.
_RRF_K = 60
# What the vectors count for beside the words; chosen on the dev queries (benchmarks/hybrid_quality.py).
_VECTORS = 0.5


def fuse_scores(by_words: Sequence[float], by_vectors: Sequence[float | None]) -> list[float]:
    """Return the weighted sum of both scores, each brought to [0, 1] among the candidates; no vector is 0."""
    words = _scaled(by_words)
    known = [cosine for cosine in by_vectors if cosine is not None]
    scaled = iter(_scaled(known))
    vectors = [0.0 if cosine is None else next(scaled) for cosine in by_vectors]
    return [(1 - _VECTORS) * word + _VECTORS * vector for word, vector in zip(words, vectors, strict=True)]


def fuse_ranks(by_words: Sequence[float], by_vectors: Sequence[float | None]) -> list[float]:
    """Return the sum of 1 / (60 + rank) over both orders, brought to [0, 1] among the candidates."""
    sums = [0.0] * len(by_words)
    for scores in (by_words, by_vectors):
        known = [place for place, score in enumerate(scores) if score is not None]
        known.sort(key=lambda place: scores[place] or 0.0, reverse=True)
        for rank, place in enumerate(known, start=1):
            sums[place] += 1.0 / (_RRF_K + rank)
    return _scaled(sums)


def _scaled(scores: Sequence[float]) -> list[float]:
    """Return the scores with the lowest at 0 and the highest at 1; all at 1 where they are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
