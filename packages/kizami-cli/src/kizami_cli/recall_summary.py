"""How what recall did is summed up in `kizami stats`: how often it spoke, why it was silent, what it took."""

from __future__ import annotations

import sys

from kizami_cli.charts import bars, divided_bars
from kizami_cli.console import count, show, show_field, show_table
from kizami_cli.language import _
from kizami_core.messages import Message
from kizami_core.timestamps import local_minute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kizami_core.recall_statistics import RecallFigures, WeekOfRecall

_REASON_COLUMNS = 20
_WEEK_COLUMNS = 24
# Each says of prompts why they brought back nothing.
_REASONS: Mapping[str, Message] = {
    "no_question": Message("notification or slash command"),
    "limit_zero": Message("hooks.recallLimit was 0"),
    "excluded": Message("project kept out"),
    "steering": Message("only steered the conversation"),
    "unknown_words": Message("no memory holds its words"),
    "no_candidates": Message("only words that are everywhere"),
    "all_hidden": Message("muted, or shown before"),
    "below_gate": Message("below the gate"),
}


def since_first_prompt(weeks: Sequence[WeekOfRecall]) -> Sequence[WeekOfRecall]:
    """Return the weeks from the first one on in which there was a prompt."""
    first = next((number for number, week in enumerate(weeks) if week.figures.prompts), len(weeks))
    return weeks[first:]


def recalls_json(overall: RecallFigures, by_week: Sequence[WeekOfRecall]) -> dict[str, Any]:
    """Return the figures for JSON output, days and minutes where this machine stands."""
    weeks = []
    for week in by_week:
        fields = {"begin": local_minute(week.begin)[:10], **week.figures.as_dict()}
        del fields["since"]
        weeks.append(fields)
    since = None if overall.since is None else local_minute(overall.since)
    return {**overall.as_dict(), "since": since, "by_week": weeks}


def show_recalls(overall: RecallFigures, weeks: Sequence[WeekOfRecall]) -> None:
    """Write the figures to stdout: of all logged prompts, why some brought back nothing, and week by week."""
    show()
    if overall.since is None:
        show_field("Prompts", _("none yet. From the first on `kizami why` explains what each brought back."))
        return
    silent = overall.prompts - overall.shown
    show_field(
        "Prompts",
        _("{prompts:,} since {moment}", prompts=overall.prompts, moment=local_minute(overall.since)),
    )
    show_field(
        "Shown",
        _(
            "for {prompts:,} of them ({share:.0%}): {memories}, {tokens}",
            prompts=overall.shown,
            share=overall.shown / overall.prompts,
            memories=Message("1 memory")
            if overall.memories == 1
            else Message("{number} memories", number=f"{overall.memories:,}"),
            tokens=count(overall.tokens, "token"),
        ),
    )
    show_field("Silent", _("for {prompts:,} ({share:.0%})", prompts=silent, share=silent / overall.prompts))
    if overall.p50_ms is not None and overall.p95_ms is not None:
        show_field(
            "Took",
            _("p50 {p50:.0f} ms, p95 {p95:.0f} ms", p50=overall.p50_ms, p95=overall.p95_ms),
        )
    if overall.silent:
        show()
        _show_reasons(overall.silent)
    if weeks:
        show()
        _show_weeks(weeks)


def _show_reasons(silent: Mapping[str, int]) -> None:
    charted = bars(list(silent.values()), _REASON_COLUMNS)
    is_seen = sys.stdout.isatty()
    show_table(
        ["why silent", "prompts", *([""] if is_seen else [])],
        (
            [
                _(_REASONS[outcome]) if outcome in _REASONS else outcome,
                f"{number:,}",
                *([drawn] if is_seen else []),
            ]
            for (outcome, number), drawn in zip(silent.items(), charted, strict=True)
        ),
        whole=[""],
        right=["prompts"],
    )


def _show_weeks(weeks: Sequence[WeekOfRecall]) -> None:
    charted = divided_bars([(week.figures.shown, week.figures.prompts) for week in weeks], _WEEK_COLUMNS)
    is_seen = sys.stdout.isatty()
    show_table(
        ["week of", "prompts", "shown", "p50 ms", "p95 ms", "tokens", *([""] if is_seen else [])],
        (
            [
                local_minute(week.begin)[:10],
                f"{week.figures.prompts:,}",
                f"{week.figures.shown:,}",
                _milliseconds(week.figures.p50_ms),
                _milliseconds(week.figures.p95_ms),
                f"{week.figures.tokens:,}",
                *([drawn] if is_seen else []),
            ]
            for week, drawn in zip(weeks, charted, strict=True)
        ),
        whole=["week of", ""],
        right=["prompts", "shown", "p50 ms", "p95 ms", "tokens"],
    )


def _milliseconds(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"
