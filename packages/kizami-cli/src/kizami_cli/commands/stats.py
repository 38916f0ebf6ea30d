"""`kizami stats`: what is stored and how it grew, what recall did, what maintenance removed and why."""

from __future__ import annotations

import os
import sys
import time

import click

from kizami_cli.charts import bars
from kizami_cli.console import count, local_time, show, show_field, show_json, show_table, size
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.recall_summary import recalls_json, show_recalls, since_first_prompt
from kizami_core.paths import recall_log_path
from kizami_core.recall_log import read_log
from kizami_core.recall_statistics import recall_by_week, recall_figures
from kizami_core.storage.statistics import read_growth, read_statistics
from kizami_core.timestamps import local_minute, local_weeks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.storage.maintenance_log import LogEntry
    from kizami_core.storage.statistics import Statistics, WeekGrowth

_MAX_PROJECTS = 10
_WEEKS = 12
_GROWTH_COLUMNS = 40
_SHARE_COLUMNS = 10


@click.command("stats")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@click.pass_obj
def command(invocation: Invocation, *, as_json: bool) -> None:
    """Show what is stored in all projects, what recall did, and what maintenance did.

    What recall did is told by its receipts, of which the last several hundred are kept. Its times are those
    that the hook measures, without the start of Python.

    \b
    --json prints one object: the figures of what is stored, and
      projects     what each holds, the largest first
      growth       the last weeks: first day, and chunks by the time of their turn
      recalls      since, prompts, shown, silent (by reason), memories, tokens,
                   p50_ms, p95_ms, and by_week: the same for the last weeks
      maintenance  the last rows of its log
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    begins = local_weeks(time.time(), _WEEKS)
    with invocation.database() as connection:
        statistics = read_statistics(connection)
        growth = read_growth(connection, begins)
    recalls = read_log(recall_log_path(os.environ))
    overall, by_week = recall_figures(recalls), recall_by_week(recalls, begins)
    if as_json:
        show_json(
            {
                "database_path": invocation.config.database_path,
                **statistics.as_dict(),
                "growth": [
                    {"begin": local_minute(week.begin)[:10], "chunks": week.chunks} for week in growth
                ],
                "recalls": recalls_json(overall, by_week),
            }
        )
        return
    _show_figures(invocation, statistics)
    if statistics.chunks:
        _show_growth(growth)
        _show_projects(statistics)
    show_recalls(overall, since_first_prompt(by_week))
    if statistics.maintenance:
        _show_maintenance(statistics.maintenance)


def _show_figures(invocation: Invocation, statistics: Statistics) -> None:
    config = invocation.config
    show_field("Database", config.database_path)
    taken = size(statistics.database_bytes)
    if config.maintenance_enabled:
        taken = _("{size}, of at most {limit:g} MB", size=taken, limit=config.max_db_size_mb)
    show_field("Size", taken)
    if statistics.chunks:
        show_field(
            "Holds",
            _(
                "{sessions} of {projects}: {chunks}, about {tokens}",
                sessions=count(statistics.sessions, "session"),
                projects=count(len(statistics.projects), "project"),
                chunks=count(statistics.chunks, "chunk"),
                tokens=count(statistics.tokens, "token"),
            ),
        )
        show_field(
            "From",
            _(
                "{oldest} to {newest}",
                oldest=local_time(statistics.oldest),
                newest=local_time(statistics.newest),
            ),
        )
    else:
        show_field(
            "Holds",
            _("nothing yet. Each turn is saved when its answer ends; `kizami backfill` saves the past."),
        )
    if statistics.muted or statistics.pinned:
        show_field(
            "Marked",
            _("{muted:,} muted, {pinned:,} pinned", muted=statistics.muted, pinned=statistics.pinned),
        )
    show_field(
        "Kept for",
        _("{days:g} days", days=config.max_chunk_age_days)
        if config.maintenance_enabled
        else _("ever (maintenance is off)"),
    )


def _show_growth(growth: Sequence[WeekGrowth]) -> None:
    """Write the weeks from the first one on that brought something."""
    show()
    first = next((number for number, week in enumerate(growth) if week.chunks), None)
    if first is None:
        show(_("Nothing was said in the last {weeks} weeks.", weeks=len(growth)))
        return
    weeks = growth[first:]
    charted = bars([week.chunks for week in weeks], _GROWTH_COLUMNS)
    is_seen = sys.stdout.isatty()
    show_table(
        ["week of", "chunks", *([""] if is_seen else [])],
        (
            [local_minute(week.begin)[:10], f"{week.chunks:,}", *([drawn] if is_seen else [])]
            for week, drawn in zip(weeks, charted, strict=True)
        ),
        whole=["week of", ""],
        right=["chunks"],
    )


def _show_projects(statistics: Statistics) -> None:
    show()
    projects = statistics.projects[:_MAX_PROJECTS]
    charted = bars([project.chunks for project in projects], _SHARE_COLUMNS)
    is_seen = sys.stdout.isatty()
    show_table(
        ["project", "sessions", "chunks", *(["share", ""] if is_seen else [])],
        (
            [
                project.project_path,
                f"{project.sessions:,}",
                f"{project.chunks:,}",
                *([f"{project.chunks / statistics.chunks:.0%}", drawn] if is_seen else []),
            ]
            for project, drawn in zip(projects, charted, strict=True)
        ),
        whole=[""],
        right=["sessions", "chunks", "share"],
    )
    others = len(statistics.projects) - len(projects)
    if others:
        show(_("and {projects}", projects=count(others, "more project")))


def _show_maintenance(entries: Sequence[LogEntry]) -> None:
    show()
    show_table(
        ["when", "what", "chunks", "freed", "why"],
        (
            [
                local_time(entry.executed_at),
                entry.action,
                f"{entry.chunks_deleted:,}",
                size(entry.bytes_freed),
                entry.detail or "",
            ]
            for entry in entries
        ),
        whole=["when", "what"],
        right=["chunks", "freed"],
    )
