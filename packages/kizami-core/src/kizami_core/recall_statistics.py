"""Figures about what recall did, from its log: how often it spoke, why it was silent, what it took."""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_core.recall_log import LoggedRecall

_MEDIAN = 50
_SLOW = 95


class RecallFigures(Record):
    """What recall did for a number of prompts.

    ``since`` is the time of the first of them, seconds since the epoch, None without prompts. ``silent``
    counts the prompts that brought back nothing by the outcome of their report, the most frequent first.
    ``memories`` and ``tokens`` sum what was put before prompts. ``p50_ms`` and ``p95_ms`` are of the hook's
    whole time as far as it measures itself, None where no report holds it.
    """

    since: float | None
    prompts: int
    shown: int
    silent: Mapping[str, int]
    memories: int
    tokens: int
    p50_ms: float | None
    p95_ms: float | None


class WeekOfRecall(Record):
    """What recall did in one week: ``begin`` is its first moment, seconds since the epoch."""

    begin: float
    figures: RecallFigures


def recall_figures(entries: Sequence[LoggedRecall]) -> RecallFigures:
    """Sum up logged recalls, in whatever order they come."""
    silent: dict[str, int] = {}
    for entry in entries:
        if entry.report.outcome != "shown":
            silent[entry.report.outcome] = silent.get(entry.report.outcome, 0) + 1
    times = sorted(
        entry.report.milliseconds["total"] for entry in entries if "total" in entry.report.milliseconds
    )
    return RecallFigures(
        since=min((entry.at for entry in entries), default=None),
        prompts=len(entries),
        shown=len(entries) - sum(silent.values()),
        silent=dict(sorted(silent.items(), key=lambda outcome: (-outcome[1], outcome[0]))),
        memories=sum(len(entry.report.shown_ids()) for entry in entries),
        tokens=sum(entry.report.tokens for entry in entries),
        p50_ms=_percentile(times, _MEDIAN),
        p95_ms=_percentile(times, _SLOW),
    )


def recall_by_week(entries: Sequence[LoggedRecall], begins: Sequence[float]) -> list[WeekOfRecall]:
    """Sum up logged recalls week by week; ``begins`` are the weeks' first moments, the oldest first.

    The last week has no end. What is older than the first is left out.
    """
    ends = [*begins[1:], float("inf")]
    return [
        WeekOfRecall(begin, recall_figures([entry for entry in entries if begin <= entry.at < end]))
        for begin, end in zip(begins, ends, strict=True)
    ]


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the smallest value that so many percent of the values do not exceed (nearest rank)."""
    if not ordered:
        return None
    return ordered[-(-len(ordered) * percent // 100) - 1]
