"""`kizami import-typescript`: what the TypeScript Kizami saved becomes memories of this one."""

from __future__ import annotations

import os
import time

import click

from kizami_cli.invocation import Invocation, common_options
from kizami_core.paths import claude_config_dir, expand_user
from kizami_import.commands.showing import connection_for, show_report
from kizami_import.folders import Folders
from kizami_import.typescript import default_source, import_typescript


@click.command("import-typescript", short_help="Import the memories of the TypeScript Kizami.")
@common_options
@click.option("--source", metavar="PATH", help="A database, or the folder of its JSONL store (the default).")
@click.option("--dry-run", is_flag=True, help="Only count what would be imported.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts.")
@click.pass_obj
def command(invocation: Invocation, source: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Import the memories of the TypeScript Kizami: its database, or its JSONL store; both are only read.

    Where the transcripts are still on disk, run `kizami backfill` first: what it saves is complete, and is
    left out here. What was imported before is skipped.
    """
    path = expand_user(source, os.environ) if source else default_source(os.environ)
    with connection_for(invocation, dry_run=dry_run) as connection:
        report = import_typescript(
            connection,
            path,
            folders=Folders(connection, claude_config_dir(os.environ)),
            config=invocation.config,
            now=time.time(),
            project=invocation.project,
            dry_run=dry_run,
        )
        show_report(connection, report, invocation.config, as_json=as_json)
