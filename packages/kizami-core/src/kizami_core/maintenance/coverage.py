"""Coverage: which transcripts on disk are saved, and how long Claude Code still keeps those that are not."""

from __future__ import annotations

import math

from kizami_core.maintenance.findings import Finding, counted
from kizami_core.messages import Message
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.transcript.history import TranscriptFile

CLEANUP_DAYS = 30  # Claude Code's own default of cleanupPeriodDays
_RISK_DAYS = 7
_DAY_SECONDS = 86_400
# A turn is saved when its answer ends: a transcript that was written to just now is being worked on.
_IN_USE_SECONDS = 3_600


class Coverage(Record):
    """Transcripts on disk: all of them, and those not saved to their end.

    ``in_use`` of those not saved changed within the last hour. ``at_risk`` of the others will be deleted by
    Claude Code within seven days. ``first_days`` are left until it deletes the first of the others (0: at its
    next start; None without any).
    """

    on_disk: int
    unsaved: int
    in_use: int
    at_risk: int
    first_days: int | None


def measure_coverage(
    files: Sequence[TranscriptFile], unsaved: Sequence[TranscriptFile], *, now: float, cleanup_days: float
) -> Coverage:
    """Count the transcripts on disk, and how long those of them that are not saved will stay there.

    Args:
        files: the transcripts on disk.
        unsaved: those that changed since they were saved, or never were.
        now: seconds since the epoch.
        cleanup_days: after how many days without a change Claude Code deletes a transcript.
    """
    missed = [file for file in unsaved if abs(now - file.mtime) >= _IN_USE_SECONDS]
    left = [cleanup_days - (now - file.mtime) / _DAY_SECONDS for file in missed]
    return Coverage(
        on_disk=len(files),
        unsaved=len(unsaved),
        in_use=len(unsaved) - len(missed),
        at_risk=sum(days <= _RISK_DAYS for days in left),
        first_days=max(0, math.floor(min(left))) if left else None,
    )


def check_coverage(coverage: Coverage, cleanup_days: float) -> Finding:
    """Tell how many transcripts are saved, and how many Claude Code is about to delete unsaved."""
    figures: dict[str, float] = {
        "on_disk": coverage.on_disk,
        "unsaved": coverage.unsaved,
        "in_use": coverage.in_use,
        "at_risk": coverage.at_risk,
        "cleanup_days": cleanup_days,
    }
    saved = coverage.on_disk - coverage.unsaved
    found = Message(
        "{on_disk:,} on disk, {saved:,} saved to their end", on_disk=coverage.on_disk, saved=saved
    )
    if coverage.in_use:
        found = Message("{found}, {in_use:,} in use now", found=found, in_use=coverage.in_use)
    if coverage.first_days is None:
        return Finding("transcripts", "ok", found, figures=figures)
    figures["first_days"] = coverage.first_days
    missed = coverage.unsaved - coverage.in_use
    due = (
        Message("in {days}", days=counted(coverage.first_days, "day"))
        if coverage.first_days
        else Message("at its next start")
    )
    if not coverage.at_risk:
        found = Message(
            "{found}; {missed:,} not saved, of which Claude Code deletes the first {due} (cleanupPeriodDays "
            "{cleanup_days:g})",
            found=found,
            missed=missed,
            due=due,
            cleanup_days=cleanup_days,
        )
        return Finding("transcripts", "warning", found, Message("Run: kizami backfill"), figures)
    found = Message(
        "{found}; {missed:,} not saved, and Claude Code deletes {at_risk:,} of them within {risk_days} days, "
        "the first {due} (cleanupPeriodDays {cleanup_days:g})",
        found=found,
        missed=missed,
        at_risk=coverage.at_risk,
        risk_days=_RISK_DAYS,
        due=due,
        cleanup_days=cleanup_days,
    )
    return Finding("transcripts", "problem", found, Message("Run now: kizami backfill"), figures)
