"""`kizami resolutions`: commands that failed, and what made the very same command succeed."""

from __future__ import annotations

import click

from kizami_cli.console import local_time, say, short_ids, show, show_field, show_json
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_cli.language import _
from kizami_core.privacy import redact_for_display
from kizami_core.resolutions import find_resolutions
from kizami_core.storage.sessions import list_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kizami_core.resolutions import Resolution


@click.command("resolutions")
@common_options
@agents_option
@click.argument("text", default="")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Show at most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of resolutions.")
@click.pass_obj
def command(invocation: Invocation, text: str, limit: int, *, include_agents: bool, as_json: bool) -> None:
    """Show errors that were fixed: the latest, or those with the words of TEXT, best first.

    A command that failed counts as fixed when the same command, byte for byte, succeeded later in its
    session.
    """
    project = invocation.project_filter()
    with invocation.database() as connection:
        found = find_resolutions(
            connection, text, project_path=project, limit=limit, include_agents=include_agents
        )
        sessions = list_sessions(connection, include_agents=True)
    found = [_masked(resolution) for resolution in found]
    if as_json:
        show_json([resolution.as_dict() for resolution in found])
        return
    shorten = short_ids(session.session_id for session in sessions)
    for resolution in found:
        _show(resolution, shorten, is_elsewhere=project is None)
    if not found:
        told = (
            _("No error is known to be fixed that has these words.")
            if text.strip()
            else _("No error is known to be fixed.")
        )
        if project is not None:
            told = _("{found} --all-projects looks at those of all projects.", found=told)
        say(told)


def _masked(resolution: Resolution) -> Resolution:
    """Mask what an older version stored, as other commands do."""
    return resolution.replace(
        command=redact_for_display(resolution.command),
        error=redact_for_display(resolution.error),
        files=tuple(map(redact_for_display, resolution.files)),
        explanation=redact_for_display(resolution.explanation),
    )


def _show(resolution: Resolution, shorten: Callable[[str], str], *, is_elsewhere: bool) -> None:
    show(resolution.command, style="bold")
    if is_elsewhere:
        show_field("  project", resolution.project_path)
    show_field("  session", shorten(resolution.session_id))
    show_field("  failed", f"{local_time(resolution.failed_at)}  #{resolution.failed_chunk}")
    for line in resolution.error.split("\n"):
        show_field("", line)
    show_field("  resolved", f"{local_time(resolution.resolved_at)}  #{resolution.resolved_chunk}")
    for number, path in enumerate(resolution.files):
        show_field("" if number else "  files", path)
    if resolution.explanation:
        show_field("  explanation", resolution.explanation)
    show()
