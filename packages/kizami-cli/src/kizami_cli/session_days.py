"""Sessions on a terminal, day by day: what each was about, and below it its id and what is known of it."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from itertools import groupby

from kizami_cli.console import count, local_time, rich_console, show, visible
from kizami_cli.language import _
from kizami_cli.text_width import columns_of
from kizami_core.privacy import redact_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kizami_core.records import Session
    from kizami_core.storage.marks import Mark

_DAY = slice(0, 10)  # of YYYY-MM-DD HH:MM
_CLOCK = slice(11, None)
_INDENT = 2
_CLOCK_WIDTH = 5
_GAP = 2


def show_days(
    sessions: Sequence[Session],
    marks: Mapping[str, Mapping[Mark, int]],
    shorten: Callable[[str], str],
    now: float,
    *,
    is_everywhere: bool,
) -> None:
    """Write sessions to the terminal, in the order given, each under the day when it ended.

    ``marks`` counts the marked chunks of sessions; ``is_everywhere``: sessions of several projects may come.
    """
    for number, (day, of_day) in enumerate(groupby(sessions, key=lambda one: local_time(one.ended_at)[_DAY])):
        if number:
            show()
        show(_day_name(day, now), style="bold")
        for session in of_day:
            facts = [
                *([os.path.basename(session.project_path)] if is_everywhere else []),
                count(session.chunk_count, "chunk"),
                *_began(session),
                *(
                    [_of_agent(session.parent_session_id, shorten)]
                    if session.parent_session_id is not None
                    else []
                ),
                *([marked(marks[session.session_id])] if session.session_id in marks else []),
            ]
            _show_session(session, shorten(session.session_id), list(map(visible, facts)))


def marked(numbers: Mapping[Mark, int]) -> str:
    """Return how many chunks carry which mark: "1 muted, 2 pinned"."""
    muted, pinned = numbers.get("muted"), numbers.get("pinned")
    told = [
        *([_("{number:,} muted", number=muted)] if muted else []),
        *([_("{number:,} pinned", number=pinned)] if pinned else []),
    ]
    return ", ".join(told)


def _show_session(session: Session, session_id: str, facts: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    opening = " ".join(visible(redact_for_display(session.first_message or "")).split())
    table = Table.grid(padding=(0, _GAP, 0, 0))
    table.add_column(width=_CLOCK_WIDTH)
    table.add_column(overflow="fold")
    title = Text(opening or _("(no prompt)"), no_wrap=True, overflow="ellipsis")
    table.add_row(local_time(session.ended_at)[_CLOCK], title)
    console = rich_console()
    known = Text(_packed([session_id, *facts], console.width - _INDENT - _CLOCK_WIDTH - _GAP), style="dim")
    known.stylize("not dim", 0, len(session_id))
    table.add_row("", known)
    console.print(Padding(table, (0, 0, 0, _INDENT), expand=False))


def _packed(facts: Sequence[str], width: int) -> str:
    """Return facts in lines of at most so many columns, none of them broken that fits into one."""
    lines = [facts[0]]
    for fact in facts[1:]:
        longer = f"{lines[-1]}{' ' * _GAP}{fact}"
        if columns_of(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(fact)
    return "\n".join(lines)


def _day_name(day: str, now: float) -> str:
    today = datetime.fromtimestamp(now).astimezone().date()
    if day == today.isoformat():
        return _("Today, {day}", day=day)
    if day == (today - timedelta(days=1)).isoformat():
        return _("Yesterday, {day}", day=day)
    return day


def _began(session: Session) -> list[str]:
    """Return when a session began, the clock alone where it was the day that it ended; nothing if unknown."""
    began, ended = local_time(session.started_at), local_time(session.ended_at)
    if not began or began == ended:
        return []
    return [_("began {moment}", moment=began[_CLOCK] if began[_DAY] == ended[_DAY] else began)]


def _of_agent(parent: str, shorten: Callable[[str], str]) -> str:
    return _("sub-agent of {session}", session=shorten(parent)) if parent else _("sub-agent")
