"""Fixing: an error that a query quotes brings back what resolved it."""

from __future__ import annotations

from kizami_core.storage.chunks import turns_chunks
from kizami_core.storage.resolutions import resolutions_of_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

    from kizami_core.records import Chunk, Hit
    from kizami_core.retrieval.filters import Filters
    from kizami_core.storage.resolutions import ResolvedFailure


def with_fixes(
    connection: sqlite3.Connection,
    hits: list[Hit],
    rarities: dict[int, dict[str, float]],
    *,
    asked: Collection[str],
    filters: Filters | None,
) -> list[Hit]:
    """Return the hits, and for an error that the query quotes the chunk in which it was resolved.

    That chunk takes the relevance of the one in which the error occurred, so that an error brings back
    nothing where it did not before. At equal scores the newer chunk comes first.

    Args:
        connection: an open database; it is only read.
        hits: what passed.
        rarities: how telling each term is, by the id of a hit's chunk; those of the chunks added are added.
        asked: the query's own terms: an error is quoted in its own words, not in others of the same meaning.
        filters: what an added chunk must be; None for nothing.
    """
    turns = {hit.chunk.turn_id for hit in hits if hit.chunk.turn_id is not None}
    failures = resolutions_of_turns(connection, sorted(turns)) if turns else []
    if not failures:
        return hits
    from kizami_core.retrieval.fixes import is_quoted

    found = {hit.chunk.id: hit for hit in hits}
    for failure in failures:
        for hit in hits:
            if hit.chunk.turn_id != failure.failed_turn:
                continue
            of_hit = rarities[hit.chunk.id]
            quoted = {term: of_hit[term] for term in asked if term in of_hit}
            if not is_quoted(quoted, hit.chunk.content, failure.error):
                continue
            fix = _fixing_chunk(connection, failure)
            if filters is not None and not filters.admits(fix):
                continue
            known = found.get(fix.id)
            if known is None or known.score < hit.score:
                found[fix.id] = hit.replace(chunk=fix)
                rarities[fix.id] = of_hit
    return list(found.values())


def _fixing_chunk(connection: sqlite3.Connection, failure: ResolvedFailure) -> Chunk:
    """Return the chunk of the resolving turn in which the command succeeded, its last one if unknown."""
    from kizami_core.retrieval.fixes import failure_and_success

    chunks = turns_chunks(connection, failure.resolved_turn, failure.resolved_turn)
    places = range(len(chunks))
    _, success = failure_and_success(
        failure.command,
        [chunk.content for chunk in chunks],
        failed=places if failure.failed_turn == failure.resolved_turn else (),
        resolved=places,
    )
    return chunks[success.place if success else -1]
