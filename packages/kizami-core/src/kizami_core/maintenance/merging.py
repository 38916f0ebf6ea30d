"""Merging: of chunks that say nearly the same, the richer one stays (spec: trigram Jaccard similarity).

Chunks of one project are compared with each other, across its sessions; those of different projects only
where that is asked for: taking the copy out of another project takes a memory away there.
"""

from __future__ import annotations

from kizami_core.errors import ConfigError
from kizami_core.maintenance.deletion import remove_chunks
from kizami_core.maintenance.keeping import keep_removed
from kizami_core.maintenance.similarity import MergedPair, Search
from kizami_core.messages import Message
from kizami_core.storage.chunks import project_chunks
from kizami_core.storage.connection import transaction
from kizami_core.storage.marks import all_marks
from kizami_core.storage.space import reclaim_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.records import Chunk

DEFAULT_THRESHOLD = 0.6
_NAMED_PAIRS = 200  # in the log; the archive holds all


def merge(
    connection: sqlite3.Connection,
    *,
    project_path: str | None,
    now: float,
    archive_max_mb: float,
    threshold: float = DEFAULT_THRESHOLD,
    across_projects: bool = False,
    dry_run: bool = False,
) -> list[MergedPair]:
    """Merge within one project, or within each of all (None), or across all; on a dry run only tell.

    The turns of removed chunks are locked, so that no later save brings them back. An import of the archive
    that they are written to does (``keeping``; ``archive_max_mb`` is its limit, 0 for none). The log says
    which chunk absorbed which. What a person muted or pinned takes no part: it stays, and nothing goes on its
    account.

    Raises:
        ConfigError: the threshold is not in (0, 1].
        StorageError: the archive can't be written.
    """
    if not 0 < threshold <= 1:
        raise ConfigError(
            Message(
                "The threshold {threshold:g} is not above 0 and at most 1. The default is {default}.",
                threshold=threshold,
                default=DEFAULT_THRESHOLD,
            )
        )
    if dry_run:
        return _found(connection, project_path, threshold, across_projects=across_projects)
    with transaction(connection):
        pairs = _found(connection, project_path, threshold, across_projects=across_projects)
        ids = [pair.removed.id for pair in pairs]
        files = keep_removed(connection, ids, kind="merged", max_mb=archive_max_mb, now=now)
        reason = f"similarity of {threshold:g} or more to a chunk that is kept: {_absorbed(pairs)}"
        if files:
            reason += f"; archived in {', '.join(files)}"
        remove_chunks(connection, ids, action="merge", reason=reason, now=now, is_for_good=False)
    if pairs:
        reclaim_space(connection)
    return pairs


def _found(
    connection: sqlite3.Connection, project_path: str | None, threshold: float, *, across_projects: bool
) -> list[MergedPair]:
    marks = all_marks(connection)
    groups: dict[str, list[Chunk]] = {}
    for chunk in project_chunks(connection, None if across_projects else project_path):
        if chunk.id not in marks:
            groups.setdefault("" if across_projects else chunk.project_path, []).append(chunk)
    return [pair for chunks in groups.values() for pair in Search(threshold).pairs(chunks)]


def _absorbed(pairs: Sequence[MergedPair]) -> str:
    """Name which chunk absorbed which: ``#1 ← #2 #3, #4 ← #5``."""
    by_kept: dict[int, list[str]] = {}
    for pair in pairs[:_NAMED_PAIRS]:
        by_kept.setdefault(pair.kept.id, []).append(f"#{pair.removed.id}")
    named = ", ".join(f"#{kept} ← {' '.join(removed)}" for kept, removed in by_kept.items())
    return named if len(pairs) <= _NAMED_PAIRS else f"{named} and {len(pairs) - _NAMED_PAIRS} more"
