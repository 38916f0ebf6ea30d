"""Relaxation: what is tried when too little was found (spec: 段階的パラメータ緩和).

It applies only where no gate is set (minRelevanceScore 0). The first phase asks for a floor of its own, so
each later one can add hits: other projects count for more, then older memories do, then the floor falls away.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.retrieval.relevance import RECOMMENDED_GATE


class Phase(Record):
    """Factors on the cross-project penalty and the half-life, and the least strength of a hit."""

    penalty_factor: float
    half_life_factor: float
    floor: float


_STRICT = Phase(1.0, 1.0, RECOMMENDED_GATE)
_OTHER_PROJECTS = Phase(3.0, 1.0, RECOMMENDED_GATE)
_OLDER = Phase(3.0, 3.0, RECOMMENDED_GATE)
_ANYTHING = Phase(3.0, 3.0, 0.0)


def phases(*, is_tiered: bool) -> tuple[Phase, ...]:
    """Return the phases in order; the one about other projects only where they are searched second."""
    return (_STRICT, _OTHER_PROJECTS, _OLDER, _ANYTHING) if is_tiered else (_STRICT, _OLDER, _ANYTHING)
