"""Likeness: how much of two texts is the same, by the trigrams that both have.

Recall leaves out what says the same as a better memory, maintenance merges what does; both mean this measure.
"""

from __future__ import annotations

from kizami_core.retrieval.normalize import fold


def level(text: str) -> str:
    """Return a text with its case and width folded and each white space one blank."""
    return " ".join(fold(text).split())


def runs(levelled: str, length: int) -> frozenset[str]:
    """Return the runs of ``length`` characters of a levelled text; a shorter text is its own."""
    return frozenset([levelled[at : at + length] for at in range(max(1, len(levelled) - length + 1))])


def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text, its case, width and white space levelled; a shorter text is its own."""
    return runs(level(text), 3)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return |A ∩ B| / |A ∪ B|."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)
