"""`kizami merge`: of chunks that say nearly the same, the richer one stays."""

from __future__ import annotations

import time

import click

from kizami_cli.console import confirm, count, show, show_json, show_table
from kizami_cli.deletion import deletion_options
from kizami_cli.invocation import Invocation, common_options
from kizami_core.maintenance.merging import DEFAULT_THRESHOLD, merge
from kizami_core.privacy import redact_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.maintenance.merging import MergedPair

_SHOWN_PAIRS = 20


@click.command("merge")
@common_options
@click.option(
    "--threshold",
    type=float,
    default=DEFAULT_THRESHOLD,
    show_default=True,
    help="How alike two chunks must be, above 0 and at most 1 (Jaccard similarity of trigrams).",
)
@deletion_options
@click.pass_obj
def command(invocation: Invocation, threshold: float, *, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete chunks of this project that a richer one nearly repeats.

    With --all-projects each project is looked at, and chunks are compared within it.
    """
    project, now = invocation.project_filter(), time.time()
    with invocation.database() as connection:
        pairs = merge(connection, project_path=project, now=now, threshold=threshold, dry_run=True)
    is_merging = bool(pairs) and not dry_run
    if not as_json and pairs:
        show_table(
            ["deleted", "kept", "alike", "what is deleted"],
            (_row(pair) for pair in pairs[:_SHOWN_PAIRS]),
            right=["deleted", "kept", "alike"],
            brief=["what is deleted"],
        )
        if len(pairs) > _SHOWN_PAIRS:
            show(f"and {count(len(pairs) - _SHOWN_PAIRS, 'more pair')}")
    if is_merging:
        confirm(f"Delete {count(len(pairs), 'chunk')} that others nearly repeat?", yes=yes)
        with invocation.database(read_only=False) as connection:
            pairs = merge(connection, project_path=project, now=now, threshold=threshold)
    if as_json:
        shown = [
            {"kept": pair.kept.id, "removed": pair.removed.id, "similarity": round(pair.similarity, 4)}
            for pair in pairs
        ]
        show_json({"deleted": is_merging, "pairs": shown})
    elif not pairs:
        show("No two chunks are that much alike.")
    else:
        show(f"{'Deleted' if is_merging else 'Would delete'} {count(len(pairs), 'chunk')}.")


def _row(pair: MergedPair) -> list[str]:
    content = redact_for_display(pair.removed.content)
    return [f"#{pair.removed.id}", f"#{pair.kept.id}", f"{pair.similarity:.2f}", content]
