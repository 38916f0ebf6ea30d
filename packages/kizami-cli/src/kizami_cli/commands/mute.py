"""`kizami mute`: memories that are never put before a prompt again."""

from __future__ import annotations

import click

from kizami_cli.completion import complete_chunk
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.marking import mark_chunks


@click.command("mute")
@common_options
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=complete_chunk)
@click.option("--undo", is_flag=True, help="Let them be shown again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of chunks with their marks.")
@click.pass_obj
def command(invocation: Invocation, names: tuple[str, ...], *, undo: bool, as_json: bool) -> None:
    """Never put these chunks (42, #42) before a prompt again; without an ID, list those that are muted.

    `kizami search` still finds them. A muted chunk stays muted when its turn is saved again or edited.
    """
    if undo and not names:
        raise click.UsageError(
            _("Name the chunks to unmute: kizami mute --undo ID. `kizami mute` lists them.")
        )
    mark_chunks(invocation, names, "muted", undo=undo, as_json=as_json)
