"""`kizami edit`: other contents for a chunk, which later saves leave alone."""

from __future__ import annotations

import time

import click

from kizami_cli.chunk_text import chunk_json, show_chunk
from kizami_cli.completion import complete_chunk
from kizami_cli.console import show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_core.editing import edit_chunk


@click.command("edit")
@common_options
@click.argument("chunk_id", metavar="ID", shell_complete=complete_chunk)
@click.option("--content", required=True, help="The new content.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the chunk as it is now.")
@click.pass_obj
def command(invocation: Invocation, chunk_id: str, content: str, *, as_json: bool) -> None:
    """Replace the content of a chunk. Secrets in it are masked; the search index follows."""
    with invocation.database(read_only=False) as connection:
        chunk = edit_chunk(connection, chunk_id, content, now=time.time())
    if as_json:
        show_json(chunk_json(chunk))
    else:
        show_chunk(chunk, chunk.content, session=chunk.session_id)
