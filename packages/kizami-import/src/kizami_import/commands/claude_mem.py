"""`kizami import-claude-mem`: what claude-mem remembers becomes memories of Kizami."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

import click

from kizami_cli.console import say
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.progress import progress
from kizami_core.paths import claude_config_dir, expand_user
from kizami_import.claude_mem import default_source, import_claude_mem
from kizami_import.commands.showing import connection_for, show_report
from kizami_import.folders import Folders, read_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@click.command("import-claude-mem", short_help="Import the memories of claude-mem.")
@common_options
@click.option("--source", metavar="PATH", help="Its database, if not ~/.claude-mem/claude-mem.db.")
@click.option(
    "--map",
    "pairs",
    metavar="NAME=PATH",
    multiple=True,
    help="The folder of a project that claude-mem knows by name. May be given several times.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be imported.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts.")
@click.pass_obj
def command(
    invocation: Invocation, source: str | None, pairs: tuple[str, ...], *, dry_run: bool, as_json: bool
) -> None:
    """Import the memories of claude-mem, of any version; its database is only read.

    All projects are imported, unless --project gives one by its name in claude-mem or by its folder. A name
    becomes the folder that is called so where that is certain; else its memories stay under claude-mem:NAME,
    where --all-projects finds them, until --map says which folder it is. What was imported before is
    skipped: stop it with Ctrl-C at any time and start it again.
    """
    named = read_names(pairs, os.environ)
    path = expand_user(source, os.environ) if source else default_source(os.environ)
    with connection_for(invocation, dry_run=dry_run) as connection:
        folders = Folders(connection, claude_config_dir(os.environ), named)
        try:
            with _share(path) as advance:
                report = import_claude_mem(
                    connection,
                    path,
                    folders=folders,
                    config=invocation.config,
                    now=time.time(),
                    project=invocation.project,
                    dry_run=dry_run,
                    advance=advance,
                )
        except KeyboardInterrupt:
            say(_("Stopped. What was imported stays; the same command goes on from there."))
            raise
        show_report(connection, report, invocation.config, as_json=as_json)


@contextmanager
def _share(path: str) -> Iterator[Callable[[float], None]]:
    """Show how far the import of a file is."""
    total = os.path.getsize(path) if os.path.exists(path) else 0
    done = 0
    with progress("Importing", total) as advance:

        def show_share(share: float) -> None:
            nonlocal done
            reached = round(share * total)
            advance(reached - done)
            done = reached

        yield show_share
