"""Project scope: what a memory of another project is worth (spec: tieredモード)."""

from __future__ import annotations


def multiply_odds(probability: float, factor: float) -> float:
    """Return the probability whose odds, p / (1 − p), are ``factor`` times as high; 0 and 1 stay."""
    if probability >= 1.0:
        return 1.0
    odds = probability / (1.0 - probability) * factor
    return odds / (1.0 + odds)


def cross_project_relevance(relevance: float, penalty: float) -> float:
    """Return the relevance of a hit from another project.

    ``penalty`` in [0, 1] multiplies the odds, not the probability: a match beyond doubt stays one
    (0.95 → 0.85 at 0.3), a doubtful one falls below the gate (0.4 → 0.17).
    """
    return multiply_odds(relevance, penalty)
