"""`kizami list`: the saved sessions, the last one first; on a terminal day by day."""

from __future__ import annotations

import os
import sys
import time

import click

from kizami_cli.console import count, local_time, say, short_ids, show, show_json, visible
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_cli.language import _
from kizami_cli.session_days import marked, show_days
from kizami_core.privacy import redact_for_display
from kizami_core.storage.marks import marks_by_session
from kizami_core.storage.sessions import list_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kizami_core.records import Session
    from kizami_core.storage.marks import Mark


@click.command("list")
@common_options
@agents_option
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most this many."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of sessions.")
@click.pass_obj
def command(invocation: Invocation, limit: int, *, include_agents: bool, as_json: bool) -> None:
    """List the saved sessions of this project, the last one first."""
    project = invocation.project_filter()
    with invocation.database() as connection:
        everything = list_sessions(connection, include_agents=True)
        marks = marks_by_session(connection)
    sessions = [
        session
        for session in everything
        if project in (None, session.project_path) and (include_agents or session.parent_session_id is None)
    ]
    if as_json:
        show_json(
            [
                {**session.as_dict(), "marks": marks.get(session.session_id, {})}
                for session in sessions[:limit]
            ]
        )
        return
    listed = sessions[:limit]
    shorten = short_ids(session.session_id for session in everything)
    if sys.stdout.isatty():
        show_days(listed, marks, shorten, time.time(), is_everywhere=project is None)
    else:
        _show_lines(listed, marks, shorten, is_everywhere=project is None)
    if len(sessions) > limit:
        others = count(len(sessions) - limit, "more session")
        say(_("{sessions}: --limit {limit}", sessions=others, limit=len(sessions)))
    if not sessions:
        say(_why_empty(project, is_any_elsewhere=bool(everything)))


def _show_lines(
    sessions: Sequence[Session],
    marks: Mapping[str, Mapping[Mark, int]],
    shorten: Callable[[str], str],
    *,
    is_everywhere: bool,
) -> None:
    """Write a line for each session, for programs; a column for marks and for projects where they matter."""
    is_any_marked = any(session.session_id in marks for session in sessions)
    for session in sessions:
        cells = [
            shorten(session.session_id),
            local_time(session.ended_at),
            f"{session.chunk_count:,}",
            *([marked(marks.get(session.session_id, {}))] if is_any_marked else []),
            *([os.path.basename(session.project_path)] if is_everywhere else []),
            redact_for_display(session.first_message or ""),
        ]
        show("\t".join(" ".join(visible(cell).split()) for cell in cells))


def _why_empty(project: str | None, *, is_any_elsewhere: bool) -> str:
    if project is None:
        return _("No session is saved.")
    if is_any_elsewhere:
        return _("No session is saved for {project}. --all-projects shows those of others.", project=project)
    return _("No session is saved for {project}.", project=project)
