"""`kizami export`: all that is stored, as an archive, JSON or Markdown; of a damaged one what is left."""

from __future__ import annotations

import time
from contextlib import closing

import click

from kizami_cli.console import say, size, write_utf8
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.archive.files import write_file
from kizami_core.archive.writing import export_archive
from kizami_core.errors import ConfigError, DatabaseCorruptError
from kizami_core.export import export_json, export_markdown
from kizami_core.messages import Message
from kizami_core.storage.connection import open_damaged_database
from kizami_core.timestamps import parse_since

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_WRITERS = {"jsonl": export_archive, "json": export_json, "markdown": export_markdown}
_ENDINGS = {".jsonl": "jsonl", ".json": "json", ".md": "markdown", ".markdown": "markdown"}


@click.command("export")
@common_options
@click.option(
    "--format",
    "form",
    type=click.Choice([*_WRITERS]),
    help="jsonl: the archive that `kizami import` takes; json (the default): for programs; markdown: to "
    "read. Without this option the ending of --output decides.",
)
@click.option("--since", metavar="AGE|DATE", help="Only turns since then: 30d, 2024-01-31.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write to this file instead of stdout, compressed where its name ends in .gz.",
)
@click.pass_obj
def command(invocation: Invocation, form: str | None, since: str | None, output: str | None) -> None:
    """Write all memories with their content (of one project with --project)."""
    form = form or _form_of(output or "")
    moment = parse_since(since, time.time()) if since else ""
    try:
        with invocation.database() as connection:
            _write(invocation, connection, form, moment, output)
    except DatabaseCorruptError as error:
        if form == "jsonl":
            raise DatabaseCorruptError(
                Message(
                    "{problem} An archive holds whole memories alone: `kizami export --format json` writes "
                    "what can be read.",
                    problem=error,
                )
            ) from error
        say(_("{problem} Here is what can be read.", problem=error))
        with closing(open_damaged_database(invocation.config.database_path)) as connection:
            _write(invocation, connection, form, moment, output)


def _form_of(output: str) -> str:
    name = output.removesuffix(".gz")
    found = [form for ending, form in _ENDINGS.items() if name.endswith(ending)]
    if output and not found:
        raise ConfigError(
            Message(
                "{output} tells no format by its ending. Add --format jsonl, json or markdown.", output=output
            )
        )
    return found[0] if found else "json"


def _write(
    invocation: Invocation, connection: sqlite3.Connection, form: str, since: str, output: str | None
) -> None:
    project = invocation.project_filter(is_default_all=True)
    pieces = _WRITERS[form](connection, project_path=project, since=since)
    if output is None:
        for piece in pieces:
            write_utf8(piece)
    else:
        try:
            written = write_file(output, pieces)
        except OSError as error:
            raise ConfigError(
                Message(
                    "{output} can't be written ({reason}). Check the folder, its permissions and its free "
                    "space.",
                    output=output,
                    reason=error.strerror,
                )
            ) from error
        say(_("Wrote {output} ({size}).", output=output, size=size(written)))
