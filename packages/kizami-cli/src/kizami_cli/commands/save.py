"""`kizami save`: a transcript by its path. Claude Code calls it with ``--stdin``, see ``hooks``."""

from __future__ import annotations

import os
import time

import click

from kizami_cli.console import count, show, show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_core.recording import save_transcript


@click.command("save")
@common_options
@click.argument("path", metavar="TRANSCRIPT", type=click.Path())
@click.option("--stdin", is_flag=True, help="Be the hook Stop, PreCompact or SessionEnd: read its JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the report.")
@click.pass_obj
def command(invocation: Invocation, path: str, *, stdin: bool, as_json: bool) -> None:  # noqa: ARG001 - for --help
    """Save a transcript of Claude Code's (~/.claude/projects/…/….jsonl). Saving it again is harmless."""
    with invocation.database(read_only=False) as connection:
        report = save_transcript(
            connection,
            os.path.abspath(path),
            config=invocation.config,
            now=time.time(),
            cwd=os.path.abspath(invocation.project) if invocation.project else "",
            from_start=True,
        )
    if as_json:
        show_json(report.as_dict())
        return
    show(f"Session {report.session_id} of {report.project_path}")
    written = f"{count(report.turns_written, 'turn')} written ({count(report.chunks_written, 'chunk')})"
    show(f"{written}, {report.turns_unchanged:,} known already")
    if report.read.broken_lines:
        show(f"{count(report.read.broken_lines, 'line')} could not be read and were skipped")
    if report.read.skipped_types:
        types = sorted(report.read.skipped_types.items())
        skipped = ", ".join(f"{name} {number:,}" for name, number in types)
        show(f"Not conversation: {skipped}")
