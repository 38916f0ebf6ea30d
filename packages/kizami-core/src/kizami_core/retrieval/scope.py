"""Project scope: what a memory of another project is worth (spec: tieredモード)."""

from __future__ import annotations


def cross_project_relevance(relevance: float, penalty: float) -> float:
    """Return the relevance of a hit from another project.

    ``penalty`` in [0, 1] multiplies the odds, p / (1 − p), not the probability: a match beyond doubt stays
    one (0.95 → 0.85 at 0.3), a doubtful one falls below the gate (0.4 → 0.17).
    """
    if relevance >= 1.0:
        return 1.0
    odds = relevance / (1.0 - relevance) * penalty
    return odds / (1.0 + odds)
