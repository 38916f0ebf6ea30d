"""`kizami export`: all that is stored, as JSON or Markdown; also what a damaged database still gives."""

from __future__ import annotations

from contextlib import closing

import click

from kizami_cli.console import say, write_utf8
from kizami_cli.invocation import Invocation, common_options
from kizami_core.errors import DatabaseCorruptError
from kizami_core.export import export_json, export_markdown
from kizami_core.storage.connection import open_damaged_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_WRITERS = {"json": export_json, "markdown": export_markdown}


@click.command("export")
@common_options
@click.option(
    "--format", "form", type=click.Choice([*_WRITERS]), default="json", show_default=True, help="The format."
)
@click.pass_obj
def command(invocation: Invocation, form: str) -> None:
    """Write all memories with their content to stdout (of one project with --project)."""
    try:
        with invocation.database() as connection:
            _write(invocation, connection, form)
    except DatabaseCorruptError as error:
        say(f"{error} Here is what can be read.")
        with closing(open_damaged_database(invocation.config.database_path)) as connection:
            _write(invocation, connection, form)


def _write(invocation: Invocation, connection: sqlite3.Connection, form: str) -> None:
    for piece in _WRITERS[form](connection, project_path=invocation.project_filter(is_default_all=True)):
        write_utf8(piece)
