"""`kizami save`: a transcript by its path. Claude Code calls it with ``--stdin``, see ``hooks``."""

from __future__ import annotations

import os
import time

import click

from kizami_cli.console import count, show, show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.errors import ConfigError, TranscriptError
from kizami_core.exclusion import Exclusion
from kizami_core.left_out import take_in
from kizami_core.messages import Message
from kizami_core.paths import left_out_dir
from kizami_core.recording import save_transcript


@click.command("save")
@common_options
@click.argument("path", metavar="TRANSCRIPT", type=click.Path())
@click.option("--stdin", is_flag=True, help="Be the hook Stop, PreCompact or SessionEnd: read its JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the report.")
@click.pass_obj
def command(invocation: Invocation, path: str, *, stdin: bool, as_json: bool) -> None:  # noqa: ARG001 - for --help
    """Save a transcript of Claude Code's (~/.claude/projects/…/….jsonl). Saving it again is harmless.

    A session that was left out because KIZAMI_DISABLE was set is saved too, and by the hooks from then on.
    """
    path = os.path.abspath(path)
    cwd = os.path.abspath(invocation.project) if invocation.project else ""
    if reason := Exclusion(invocation.config.exclude_projects).transcript_reason(path, cwd):
        raise ConfigError(
            Message(
                "Nothing was saved: {reason} keeps the project of this session out. "
                "Take that away, then save it again.",
                reason=reason,
            )
        )
    with invocation.database(read_only=False) as connection:
        report = save_transcript(
            connection, path, config=invocation.config, now=time.time(), cwd=cwd, from_start=True
        )
    take_in(left_out_dir(os.environ), path)
    if report.read.broken_lines and not report.read.turns and not report.read.skipped_types:
        raise TranscriptError(
            Message(
                "{path} is no transcript of Claude Code's: none of its lines can be read. "
                "`kizami backfill` finds and saves those that there are.",
                path=path,
            )
        )
    if as_json:
        show_json(report.as_dict())
        return
    show(_("Session {session} of {project}", session=report.session_id, project=report.project_path))
    show(
        _(
            "{turns} written ({chunks}), {known:,} known already",
            turns=count(report.turns_written, "turn"),
            chunks=count(report.chunks_written, "chunk"),
            known=report.turns_unchanged,
        )
    )
    if report.turns_kept_out:
        left = count(report.turns_kept_out, "turn")
        show(
            _(
                "{turns} left out: privacy.excludeProjects or a .kizamiignore keeps their folder out",
                turns=left,
            )
        )
    if report.read.broken_lines:
        broken = count(report.read.broken_lines, "line")
        show(_("{lines} could not be read and were skipped", lines=broken))
    if report.read.skipped_types:
        types = sorted(report.read.skipped_types.items())
        skipped = ", ".join(f"{name} {number:,}" for name, number in types)
        show(_("Not conversation: {skipped}", skipped=skipped))
