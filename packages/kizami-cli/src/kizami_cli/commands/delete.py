"""`kizami delete`: a session, chunks, or everything before a date."""

from __future__ import annotations

import time
from functools import partial

import click

from kizami_cli.completion import complete_chunk, complete_session
from kizami_cli.deletion import delete_with_consent, deletion_options
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.editing import delete_before, delete_chunks, delete_session
from kizami_core.timestamps import parse_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_cli.deletion import Deletion


@click.command("delete")
@common_options
@click.option(
    "--session",
    metavar="ID",
    help="Delete this session (its id, or the beginning of it).",
    shell_complete=complete_session,
)
@click.option(
    "--chunk",
    "chunks",
    metavar="ID",
    multiple=True,
    help="Delete this chunk; may be repeated.",
    shell_complete=complete_chunk,
)
@click.option("--before", metavar="DATE", help="Delete what was said before this date, as in 2024-01-31.")
@deletion_options
@click.pass_obj
def command(
    invocation: Invocation,
    /,
    session: str | None,
    chunks: tuple[str, ...],
    before: str | None,
    **options: bool,
) -> None:
    """Delete a session, chunks, or everything before a date (in all projects, unless --project names one).

    What is deleted stays deleted: saving the transcript again does not bring it back. What maintenance
    archived of it before, and the log of recalls, stay: `kizami forget` leaves nothing of a text anywhere.
    """
    if sum(map(bool, (session, chunks, before))) != 1:
        raise click.UsageError(_("Give one of --session, --chunk and --before."))
    now = time.time()
    delete: Deletion
    if session:
        delete = partial(delete_session, prefix=session, now=now)
    elif chunks:
        delete = partial(delete_chunks, chunk_ids=chunks, now=now)
    else:
        project = invocation.project_filter(is_default_all=True)
        delete = partial(delete_before, moment=parse_date(before or ""), project_path=project, now=now)
    delete_with_consent(invocation, delete, **options)
