"""Relevance by words and vectors together, as a calibrated probability in [0, 1]."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Background:
    """Provisional."""

    def __init__(self, cosines: Sequence[float]) -> None:
        self.cosines = cosines


def fused_relevance(by_words: float, cosine: float | None, background: Background) -> float:  # noqa: ARG001
    """Provisional."""
    return by_words
