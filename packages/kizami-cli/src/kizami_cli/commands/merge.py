"""`kizami merge`: of chunks that say nearly the same, the richer one stays."""

from __future__ import annotations

import sys
import time
from functools import partial

import click

from kizami_cli.console import confirm, count, show, show_json, show_table
from kizami_cli.deletion import deletion_options
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.maintenance.merging import DEFAULT_THRESHOLD, merge
from kizami_core.privacy import redact_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.maintenance.similarity import MergedPair

_SHOWN_PAIRS = 20
_SHOWN_CHARS = 400  # of each text on a terminal, from a little before the first difference
_BEFORE_DIFFERENCE = 80


@click.command("merge")
@common_options
@click.option(
    "--threshold",
    type=float,
    default=DEFAULT_THRESHOLD,
    show_default=True,
    help="How alike two chunks must be, above 0 and at most 1 (Jaccard similarity of trigrams).",
)
@click.option("--across-projects", is_flag=True, help="Compare the chunks of all projects with each other.")
@deletion_options
@click.pass_obj
def command(
    invocation: Invocation,
    threshold: float,
    *,
    across_projects: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete chunks of this project that a richer one nearly repeats.

    With --all-projects each project is looked at, and chunks are compared within it. `kizami import` brings
    back what was deleted, from the archive folder beside the database.
    """
    merge_chunks = partial(
        merge,
        project_path=invocation.project_filter(),
        now=time.time(),
        archive_max_mb=invocation.config.archive_max_mb,
        threshold=threshold,
        across_projects=across_projects,
    )
    with invocation.database() as connection:
        pairs = merge_chunks(connection, dry_run=True)
    is_merging = bool(pairs) and not dry_run
    if not as_json and pairs:
        show_table(
            ["deleted", "kept", "alike", "what is deleted", "what is kept"],
            (_row(pair) for pair in pairs[:_SHOWN_PAIRS]),
            right=["deleted", "kept", "alike"],
        )
        if len(pairs) > _SHOWN_PAIRS:
            show(_("and {more}", more=count(len(pairs) - _SHOWN_PAIRS, "more pair")))
    if is_merging:
        chunks = count(len(pairs), "chunk")
        confirm(_("Delete {chunks} that others nearly repeat?", chunks=chunks), yes=yes)
        with invocation.database(read_only=False) as connection:
            pairs = merge_chunks(connection)
    if as_json:
        shown = [
            {"kept": pair.kept.id, "removed": pair.removed.id, "similarity": round(pair.similarity, 4)}
            for pair in pairs
        ]
        show_json({"deleted": is_merging, "pairs": shown})
    elif not pairs:
        show(_("No two chunks are that much alike."))
    elif is_merging:
        show(_("Deleted {chunks}.", chunks=count(len(pairs), "chunk")))
    else:
        show(_("Would delete {chunks}.", chunks=count(len(pairs), "chunk")))


def _row(pair: MergedPair) -> list[str]:
    removed, kept = (redact_for_display(chunk.content) for chunk in (pair.removed, pair.kept))
    if sys.stdout.isatty():
        removed, kept = _excerpts(removed, kept)
    return [f"#{pair.removed.id}", f"#{pair.kept.id}", f"{pair.similarity:.2f}", removed, kept]


def _excerpts(one: str, other: str) -> tuple[str, str]:
    """Return of two texts what fits beside each other, from where they differ."""
    same = next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
    start = max(0, same - _BEFORE_DIFFERENCE)

    def excerpt(text: str) -> str:
        end = start + _SHOWN_CHARS
        return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"

    return excerpt(one), excerpt(other)
