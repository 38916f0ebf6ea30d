"""`kizami import`: the archives that `kizami export --format jsonl` and maintenance write, brought back."""

from __future__ import annotations

import time

import click

from kizami_cli.console import count, say, show, show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.archive.files import archive_files, file_lines
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import import_archive
from kizami_core.storage.space import used_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.archive.lines import Line
    from kizami_core.archive.reading import ImportReport

_MB = 1024 * 1024


@click.command("import")
@common_options
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--dry-run", is_flag=True, help="Only count what would be brought in.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts.")
@click.pass_obj
def command(invocation: Invocation, paths: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Bring in archives (a folder: all in it). What is here already stays; nothing comes twice.

    What was edited or deleted on either side is so afterwards.
    """
    if invocation.project:
        raise click.UsageError(
            _("An archive is taken whole. Write one of the project: kizami export --project.")
        )
    files = [file for path in paths for file in archive_files(path)]
    lines = (line for file in files for line in _lines(file))
    opened = invocation.database_of_dry_run() if dry_run else invocation.database(read_only=False)
    with opened as connection:
        report = import_archive(connection, lines, now=time.time(), dry_run=dry_run)
        used_mb = used_bytes(connection) / _MB
    if as_json:
        show_json({"imported": not dry_run, **report.as_dict()})
    else:
        _show(report, dry_run=dry_run)
    config = invocation.config
    if report.chunks_added and config.maintenance_enabled and used_mb > config.max_db_size_mb:
        say(
            _(
                "The database holds {used:.0f} MB, more than maintenance.maxDbSizeMB ({limit:g}): the next "
                "maintenance takes the oldest sessions out again. Raise that setting to keep them.",
                used=used_mb,
                limit=config.max_db_size_mb,
            )
        )


def _lines(file: str) -> Iterator[Line]:
    return read_lines(file_lines(file), file)


def _show(report: ImportReport, *, dry_run: bool) -> None:
    if not (report.turns_added or report.turns_changed):
        show(_("There is nothing new in it."))
        return
    amounts = {
        "new": count(report.turns_added, "new turn"),
        "changed": count(report.turns_changed, "changed turn"),
        "added": count(report.chunks_added, "chunk"),
        "removed": count(report.chunks_removed, "chunk"),
    }
    if dry_run:
        show(_("Would import {new}, {changed} ({added} added, {removed} removed).", **amounts))
    else:
        show(_("Imported {new}, {changed} ({added} added, {removed} removed).", **amounts))
