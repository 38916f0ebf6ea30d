"""`kizami inject`: what a new session is told. Claude Code calls it with ``--stdin``, see ``hooks``."""

from __future__ import annotations

import click

from kizami_cli.console import say, show
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.overview import session_overview


@click.command("inject")
@common_options
@click.option("--stdin", is_flag=True, help="Be the SessionStart hook: read its JSON from stdin.")
@click.pass_obj
def command(invocation: Invocation, *, stdin: bool) -> None:  # noqa: ARG001 - for --help
    """Print what a session that begins in this project would be told about the last ones."""
    with invocation.database() as connection:
        overview = session_overview(
            connection,
            project_path=invocation.project_path(),
            session_id="",
        )
    if overview:
        show(overview.rstrip("\n"))
    else:
        say(_("Nothing: no session of this project is saved."))
