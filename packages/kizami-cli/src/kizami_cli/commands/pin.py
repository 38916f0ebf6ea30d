"""`kizami pin`: memories that are kept, and count more in their project."""

from __future__ import annotations

import click

from kizami_cli.completion import complete_chunk
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.marking import mark_chunks


@click.command("pin")
@common_options
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=complete_chunk)
@click.option("--undo", is_flag=True, help="Treat them like all others again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of chunks with their marks.")
@click.pass_obj
def command(invocation: Invocation, names: tuple[str, ...], *, undo: bool, as_json: bool) -> None:
    """Keep these chunks (42, #42) whatever their age; without an ID, list those that are pinned.

    Maintenance, prune and merge leave a pinned chunk alone; only `kizami delete` removes it. A prompt in its
    project that has to do with it brings it back more readily: its odds count twice.
    """
    if undo and not names:
        raise click.UsageError(_("Name the chunks to unpin: kizami pin --undo ID. `kizami pin` lists them."))
    mark_chunks(invocation, names, "pinned", undo=undo, as_json=as_json)
