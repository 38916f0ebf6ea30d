"""`kizami list`: the saved sessions, the last one first."""

from __future__ import annotations

import os

import click

from kizami_cli.console import count, local_time, say, short_ids, show_json, show_table
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_core.storage.marks import marks_by_session
from kizami_core.storage.sessions import list_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    is_any_marked = any(session.session_id in marks for session in sessions[:limit])
    shorten = short_ids(session.session_id for session in everything)
    columns = [
        *("session", "ended", "chunks"),
        *(["marks"] if is_any_marked else []),
        *(["project"] if project is None else []),
        "first prompt",
    ]
    show_table(
        columns,
        (
            [
                shorten(session.session_id),
                local_time(session.ended_at),
                f"{session.chunk_count:,}",
                *([_marked(marks.get(session.session_id, {}))] if is_any_marked else []),
                *([os.path.basename(session.project_path)] if project is None else []),
                session.first_message or "",
            ]
            for session in sessions[:limit]
        ),
        whole=["session", "ended"],
        right=["chunks"],
        brief=["first prompt"],
    )
    if len(sessions) > limit:
        say(f"{count(len(sessions) - limit, 'more session')}: --limit {len(sessions)}")
    if not sessions:
        others = "" if project is None or not everything else " --all-projects shows those of others."
        say(f"No session is saved{'' if project is None else f' for {project}'}.{others}")


def _marked(marks: Mapping[Mark, int]) -> str:
    return ", ".join(f"{number:,} {mark}" for mark, number in marks.items())
