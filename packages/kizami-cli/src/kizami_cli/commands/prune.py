"""`kizami prune`: old memories go at once, without waiting for maintenance."""

from __future__ import annotations

import time
from functools import partial

import click

from kizami_cli.deletion import delete_with_consent, deletion_options
from kizami_cli.invocation import Invocation, common_options
from kizami_core.maintenance.retention import prune
from kizami_core.timestamps import parse_age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_cli.deletion import Deletion


@click.command("prune")
@common_options
@click.option("--older-than", required=True, metavar="AGE", help="Hours, days or weeks, as in 12h, 90d, 6w.")
@deletion_options
@click.pass_obj
def command(invocation: Invocation, /, older_than: str, **options: bool) -> None:
    """Delete memories of turns older than an age (in all projects, unless --project names one)."""
    delete: Deletion = partial(
        prune,
        older_than_days=parse_age(older_than),
        project_path=invocation.project_filter(is_default_all=True),
        now=time.time(),
    )
    delete_with_consent(invocation, delete, **options)
