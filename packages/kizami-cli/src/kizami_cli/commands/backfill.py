"""`kizami backfill`: everything that Claude Code still keeps on disk becomes memories."""

from __future__ import annotations

import os
import time
from contextlib import closing
from tempfile import TemporaryDirectory

import click

from kizami_cli.console import count, say, show, show_json, size
from kizami_cli.history import (
    Failure,
    default_workers,
    describe,
    save_history,
    say_failures,
    say_what_maintenance_takes,
    total_size,
)
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.kept_out import told_left_out
from kizami_cli.language import _
from kizami_cli.progress import progress
from kizami_core.backfill import count_turns, split_left_out, unsaved, within_project
from kizami_core.errors import TranscriptError
from kizami_core.paths import claude_config_dir
from kizami_core.storage.connection import open_database
from kizami_core.timestamps import epoch_seconds, parse_since
from kizami_core.transcript.history import find_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.backfill import LeftOut
    from kizami_core.transcript.history import TranscriptFile

_MAX_WORKERS = 16


@click.command("backfill")
@common_options
@click.option(
    "--since", metavar="AGE|DATE", help="Only transcripts that changed since then: 30d, 2024-01-31."
)
@click.option("--dry-run", is_flag=True, help="Only count what would be saved.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts.")
@click.option(
    "--workers",
    type=click.IntRange(0, _MAX_WORKERS),
    help="Processes that read ahead, 0 for none. By default 2 where there are several cores.",
)
@click.pass_obj
def command(
    invocation: Invocation, since: str | None, workers: int | None, *, dry_run: bool, as_json: bool
) -> None:
    """Save the transcripts that Claude Code keeps (of all projects, unless --project names one).

    The last changed one comes first, and what is saved already is skipped: stop it with Ctrl-C at any time
    and start it again, also while Claude Code is running.
    """
    now = time.time()
    limit = (epoch_seconds(parse_since(since, now)) or 0.0) if since else 0.0
    files = [file for file in find_transcripts(claude_config_dir(os.environ)) if file.mtime >= limit]
    if dry_run and not os.path.exists(invocation.config.database_path):
        with (
            TemporaryDirectory() as folder,
            closing(open_database(os.path.join(folder, "empty.db"))) as connection,
        ):
            wanted, left_out = _wanted(invocation, connection, files)
            _show_plan(connection, files, wanted, left_out, as_json=as_json)
        return
    with invocation.database(read_only=dry_run) as connection:
        wanted, left_out = _wanted(invocation, connection, files)
        if dry_run:
            _show_plan(connection, files, wanted, left_out, as_json=as_json)
            return
        chosen = default_workers() if workers is None else workers
        tally = save_history(connection, wanted, config=invocation.config, workers=chosen)
        if as_json:
            show_json(tally.as_dict())
        elif not wanted:
            on_disk = count(len(files), "transcript")
            show(
                _("Nothing to do: {transcripts} on disk, all saved.", transcripts=on_disk)
                if not left_out
                else _("Nothing to do: {transcripts} on disk, the others are saved.", transcripts=on_disk)
            )
        else:
            show(describe(tally))
        if left_out and not as_json:
            say(_(told_left_out(left_out)))
        if tally.chunks_written:
            say_what_maintenance_takes(connection, invocation.config, now)
    _end(tally.failures, as_json=as_json)


def _wanted(
    invocation: Invocation, connection: sqlite3.Connection, files: Sequence[TranscriptFile]
) -> tuple[list[TranscriptFile], list[LeftOut]]:
    found, left_out = split_left_out(unsaved(connection, files), config=invocation.config, env=os.environ)
    project = invocation.project_filter(is_default_all=True)
    if project is None:
        return found, left_out
    of_project = set(within_project(connection, [transcript.file for transcript in left_out], project))
    return (
        list(within_project(connection, found, project)),
        [transcript for transcript in left_out if transcript.file in of_project],
    )


def _show_plan(
    connection: sqlite3.Connection,
    files: Sequence[TranscriptFile],
    wanted: Sequence[TranscriptFile],
    left_out: Sequence[LeftOut],
    *,
    as_json: bool,
) -> None:
    turns = 0
    failures: list[Failure] = []
    with progress("Counting", total_size(wanted)) as advance:
        for file in wanted:
            try:
                turns += count_turns(connection, file)
            except TranscriptError as error:
                failures.append(Failure(file.path, error.args[0]))
            advance(file.size)
    if as_json:
        plan = {
            "on_disk": len(files),
            "transcripts": len(wanted),
            "bytes": total_size(wanted),
            "turns": turns,
            "left_out": len(left_out),
        }
        show_json({**plan, "failures": [failure.as_dict() for failure in failures]})
    else:
        show(
            _(
                "Would save {transcripts} ({bytes}) with {turns}, of {on_disk:,} on disk.",
                transcripts=count(len(wanted), "transcript"),
                bytes=size(total_size(wanted)),
                turns=count(turns, "turn"),
                on_disk=len(files),
            )
        )
        if left_out:
            show(_(told_left_out(left_out)))
    _end(failures, as_json=as_json)


def _end(failures: Sequence[Failure], *, as_json: bool) -> None:
    if failures and not as_json:
        say_failures(failures)
    if failures:
        raise click.exceptions.Exit(1)
