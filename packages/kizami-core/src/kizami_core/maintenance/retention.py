"""Retention: old chunks go, the database stays below its limit, the file shrinks (spec: maintenance)."""

from __future__ import annotations

from kizami_core.maintenance.deletion import preview, remove_chunks
from kizami_core.records import Record
from kizami_core.storage.chunks import Deleted, bytes_by_session, ids_before, ids_of_session, imported_since
from kizami_core.storage.connection import transaction
from kizami_core.storage.maintenance_log import last_age_as_of, note_run, was_run_between
from kizami_core.storage.marks import without_pinned
from kizami_core.storage.resolutions import forget_failures
from kizami_core.storage.sessions import drop_empty_sessions
from kizami_core.storage.space import is_wasteful, reclaim_space, used_bytes
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from kizami_core.config import Config

_HOUR_SECONDS = 3_600
_DAY_SECONDS = 86_400
_MAX_STEP_DAYS = 7
_MB = 1024 * 1024
# A command that failed this long ago and has not succeeded since is not waited for any more.
_FAILURE_DAYS = 30


class MaintenanceReport(Record):
    """What one run removed. ``bytes_given_back`` is what rewriting the file saved."""

    too_old: Deleted
    over_size: Deleted
    bytes_given_back: int


def run_maintenance(
    connection: sqlite3.Connection, *, config: Config, now: float
) -> MaintenanceReport | None:
    """Run what is due: at most once in ``intervalHours``, whoever calls; None when it is not.

    First the chunks of turns older than ``maxChunkAgeDays`` go. If the database still holds more than
    ``maxDbSizeMB``, whole sessions follow, those that ended first, but never the newest one. Their turns stay
    known and locked, so that no later save brings them back. What is pinned stays in any case. All that goes
    is written to an archive first (``keeping``), and can be imported again.

    Raises:
        StorageError: the archive can't be written; then nothing goes.
    """
    if not is_maintenance_due(connection, config=config, now=now):
        return None
    with transaction(connection):
        # Asked again under the lock: of two sessions that end at once, one does the work.
        if not _is_due(connection, config.interval_hours, now):
            return None
        age_as_of = _age_as_of(connection, config.interval_hours, now)
        note_run(connection, now, age_as_of=age_as_of)
        drop_empty_sessions(connection)
        forget_failures(connection, _cutoff(_FAILURE_DAYS, age_as_of))
        limit = config.archive_max_mb
        too_old = _remove_old(connection, config.max_chunk_age_days, now, age_as_of, limit)
        over_size = _remove_over_size(connection, config.max_db_size_mb, now, limit)
    is_rewritten = too_old.chunks or over_size.chunks or is_wasteful(connection)
    return MaintenanceReport(too_old, over_size, reclaim_space(connection) if is_rewritten else 0)


def is_maintenance_due(connection: sqlite3.Connection, *, config: Config, now: float) -> bool:
    """Tell whether ``run_maintenance`` would do anything."""
    return config.maintenance_enabled and _is_due(connection, config.interval_hours, now)


def prune(
    connection: sqlite3.Connection,
    *,
    older_than_days: float,
    now: float,
    project_path: str | None = None,
    dry_run: bool = False,
) -> Deleted:
    """Delete the chunks of turns older than this, in one project or in all (None); pinned ones stay.

    A person asked for it, so it is for good: no archive is written, and an import brings nothing back. On a
    dry run nothing is touched and the figures say what would be.
    """
    cutoff = _cutoff(older_than_days, now)
    if dry_run:
        return preview(connection, _old_ids(connection, cutoff, project_path=project_path))
    with transaction(connection):
        deleted = remove_chunks(
            connection,
            _old_ids(connection, cutoff, project_path=project_path),
            action="prune",
            reason=_reason(cutoff, older_than_days),
            now=now,
            is_for_good=True,
        )
    if deleted.chunks:
        reclaim_space(connection)
    return deleted


def _is_due(connection: sqlite3.Connection, interval_hours: float, now: float) -> bool:
    # A run noted in the future comes from a clock that was wrong: it must not stop maintenance until then.
    return not was_run_between(connection, now - interval_hours * _HOUR_SECONDS, now)


def _cutoff(age_days: float, now: float) -> str:
    return format_utc(now - age_days * _DAY_SECONDS)


def _age_as_of(connection: sqlite3.Connection, interval_hours: float, now: float) -> float:
    """Return from when on ages are counted: ``now``, at most a week (or two intervals) after the last time.

    A clock that jumps ahead would make everything too old at once. After a long absence a few runs catch up.
    """
    last = last_age_as_of(connection)
    step = max(_MAX_STEP_DAYS * _DAY_SECONDS, 2 * interval_hours * _HOUR_SECONDS)
    return now if last is None else min(now, last + step)


def _old_ids(
    connection: sqlite3.Connection,
    cutoff: str,
    spared: Collection[int] = (),
    project_path: str | None = None,
) -> list[int]:
    old = without_pinned(connection, ids_before(connection, cutoff, project_path))
    return [chunk_id for chunk_id in old if chunk_id not in spared]


def _reason(cutoff: str, age_days: float) -> str:
    return f"turns before {cutoff} UTC, older than {age_days:g} days"


def _remove(
    connection: sqlite3.Connection,
    ids: Sequence[int],
    *,
    action: str,
    reason: str,
    now: float,
    archive_max_mb: float,
) -> Deleted:
    """Remove chunks with a way back."""
    if ids and archive_max_mb:
        # Most saves remove nothing and must not pay for this import (ARCHITECTURE.md, "The hook path").
        from kizami_core.maintenance.keeping import keep_removed

        files = keep_removed(connection, ids, kind="deleted", max_mb=archive_max_mb, now=now)
        reason += f"; archived in {', '.join(files)}"
    return remove_chunks(connection, ids, action=action, reason=reason, now=now, is_for_good=False)


def _remove_old(
    connection: sqlite3.Connection, max_age_days: float, now: float, age_as_of: float, archive_max_mb: float
) -> Deleted:
    cutoff = _cutoff(max_age_days, age_as_of)
    return _remove(
        connection,
        # What an import brought back begins a new life: it stays as long as something said on that day.
        _old_ids(connection, cutoff, imported_since(connection, cutoff)),
        action="delete-old",
        reason=_reason(cutoff, max_age_days),
        now=now,
        archive_max_mb=archive_max_mb,
    )


def _remove_over_size(
    connection: sqlite3.Connection, max_mb: float, now: float, archive_max_mb: float
) -> Deleted:
    total = Deleted(0, 0)
    reason = f"the oldest sessions, to stay below {max_mb:g} MB"
    while (excess := used_bytes(connection) - max_mb * _MB) > 0:
        sizes = bytes_by_session(connection)
        # What a text frees on disk is estimated by its share; the next round sees what it was.
        wanted = excess / used_bytes(connection) * sum(sizes.values())
        ids: list[int] = []
        for session in list(sizes)[:-1]:
            if wanted <= 0:
                break
            removable = without_pinned(connection, ids_of_session(connection, session))
            if removable:
                ids += removable
                wanted -= sizes[session]
        if not ids:
            break
        removed = _remove(
            connection,
            ids,
            action="delete-over-size",
            reason=reason,
            now=now,
            archive_max_mb=archive_max_mb,
        )
        total = Deleted(total.chunks + removed.chunks, total.sessions + removed.sessions)
    return total
