"""Grouping of neighbours: pieces of one conversation that stand side by side are shown once."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kizami_core.records import Hit


def group_neighbours(hits: Iterable[Hit]) -> list[Hit]:
    """Keep of each run of neighbouring chunks of a session the hit that comes first.

    Args:
        hits: best first.

    Returns:
        The hits that are left, in the same order.
    """
    kept: list[Hit] = []
    taken: dict[str, set[int]] = {}
    for hit in hits:
        places = taken.setdefault(hit.chunk.session_id, set())
        place = hit.chunk.chunk_index
        if place - 1 not in places and place + 1 not in places:
            kept.append(hit)
        # A dropped neighbour still joins the run, so that its own neighbour belongs to it too.
        places.add(place)
    return kept
