"""What is kept out of the memory: excluded projects, and sessions with ``KIZAMI_DISABLE``."""

from __future__ import annotations

from kizami_cli.console import count
from kizami_core.exclusion import Exclusion
from kizami_core.maintenance.findings import Finding
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.storage.project_rows import list_projects
from kizami_core.storage.projects import resolve_project
from kizami_core.transcript.folders import working_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.backfill import LeftOut
    from kizami_core.config import Config


class KeptOut(Record):
    """An excluded project, the pattern or marker file that is the reason, and what of it is on disk.

    ``chunks`` are stored from before; ``transcripts`` are not saved.
    """

    project_path: str
    reason: str
    chunks: int
    transcripts: int


def kept_out_projects(
    connection: sqlite3.Connection | None, left_out: Sequence[LeftOut], config: Config
) -> list[KeptOut]:
    """Return the excluded projects that have memories or transcripts, by their paths."""
    exclusion = Exclusion(config.exclude_projects)
    found: dict[str, KeptOut] = {}
    for row in list_projects(connection) if connection is not None else ():
        if reason := exclusion.reason(row.project_path):
            found[row.project_path] = KeptOut(row.project_path, reason, row.chunks, 0)
    for transcript in left_out:
        if transcript.reason:
            project = resolve_project(next(working_folders(transcript.file.path), ""))
            known = found.get(project, KeptOut(project, transcript.reason, 0, 0))
            found[project] = known.replace(transcripts=known.transcripts + 1)
    return [found[project] for project in sorted(found)]


def check_kept_out(projects: Sequence[KeptOut], left_out: Sequence[LeftOut]) -> list[Finding]:
    """Tell which projects are kept out and why, and how many sessions were left out by ``KIZAMI_DISABLE``."""
    findings = []
    for project in projects:
        figures = {"chunks": project.chunks, "transcripts": project.transcripts}
        found = Message(
            "{project} is kept out by {reason}: {transcripts} not saved",
            project=project.project_path,
            reason=project.reason,
            transcripts=count(project.transcripts, "transcript"),
        )
        if project.chunks:
            found = Message(
                "{found}; {chunks} from before shown to no prompt (`kizami search` still finds them)",
                found=found,
                chunks=count(project.chunks, "chunk"),
            )
        findings.append(Finding("kept out", "ok", found, figures=figures))
    silent = sum(not transcript.reason for transcript in left_out)
    if silent:
        amount = count(silent, "transcript")
        found = Message("{transcripts} left out: KIZAMI_DISABLE was set", transcripts=amount)
        remedy = Message("To save one all the same: kizami save PATH")
        findings.append(Finding("kept out", "ok", found, remedy, {"transcripts": silent}))
    return findings


def told_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return in one sentence how many transcripts are left out, "" for none."""
    silent = sum(not transcript.reason for transcript in left_out)
    excluded = len(left_out) - silent
    if excluded and silent:
        return Message(
            "Left out: {excluded} of excluded projects, {silent} with KIZAMI_DISABLE.",
            excluded=count(excluded, "transcript"),
            silent=count(silent, "transcript"),
        )
    if excluded:
        return Message("Left out: {excluded} of excluded projects.", excluded=count(excluded, "transcript"))
    if silent:
        return Message("Left out: {silent} with KIZAMI_DISABLE.", silent=count(silent, "transcript"))
    return ""
