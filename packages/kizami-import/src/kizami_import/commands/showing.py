"""What the import commands have in common: the database that they write to, and their report."""

from __future__ import annotations

from contextlib import contextmanager

from kizami_cli.console import count, say, show, show_json, show_table, size
from kizami_cli.language import _
from kizami_core.messages import Message
from kizami_core.retrieval import word_index
from kizami_core.storage.space import used_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from kizami_cli.invocation import Invocation
    from kizami_core.config import Config
    from kizami_import.report import ImportReport

_CACHE_KB = 65_536
_MB = 1024 * 1024
_KINDS: Mapping[str, Message] = {
    "observation": Message("observation"),
    "summary": Message("summary"),
    "prompt": Message("prompt"),
    "chunk": Message("chunk"),
}
_REASONS: Mapping[str, Message] = {
    "empty": Message("empty"),
    "internal": Message("internal"),
    "private": Message("private"),
    "other project": Message("other project"),
    "repeated": Message("repeated"),
    "saved from its transcript": Message("saved from its transcript"),
    "deleted there": Message("deleted there"),
    "broken": Message("broken"),
}


@contextmanager
def connection_for(invocation: Invocation, *, dry_run: bool) -> Iterator[sqlite3.Connection]:
    """Open the database of an import; a dry run reads it, or an empty one where there is none yet."""
    if dry_run:
        with invocation.database_of_dry_run() as connection:
            yield connection
        return
    with invocation.database(read_only=False) as connection:
        # More than the default of 2 MB: the indexes grow at many places at once.
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        word_index.catch_up(connection)
        yield connection


def show_report(
    connection: sqlite3.Connection, report: ImportReport, config: Config, *, as_json: bool
) -> None:
    """Show what an import did: rows by what became of them, then the projects."""
    if as_json:
        show_json(report.as_dict())
    else:
        imported = _("would import") if report.is_dry_run else _("imported")
        outcomes = [(imported, report.imported), (_("known from before"), report.known)]
        for reason, kinds in report.skipped.items():
            outcomes.append((_("skipped: {reason}", reason=_REASONS[reason]), kinds))
        rows = [
            [outcome, _(_KINDS[kind]), f"{number:,}"]
            for outcome, kinds in outcomes
            for kind, number in kinds.items()
        ]
        show_table(["what", "rows of", "count"], rows, whole=["what"], right=["count"])
        show()
        show_table(
            ["its project", "kept under", "rows"],
            [[place.name or '""', place.project_path, f"{place.rows:,}"] for place in report.projects],
            right=["rows"],
        )
        show(_sum_up(report))
    if report.chunks_written and config.maintenance_enabled:
        _say_what_maintenance_takes(connection, config)


def _say_what_maintenance_takes(connection: sqlite3.Connection, config: Config) -> None:
    say(
        _(
            "Maintenance keeps what was imported for {days:g} days from now. "
            "To keep it longer, raise maintenance.maxChunkAgeDays in config.json.",
            days=config.max_chunk_age_days,
        )
    )
    held = used_bytes(connection)
    if held > config.max_db_size_mb * _MB:
        say(
            _(
                "The database holds {held}: maintenance will remove its oldest sessions. "
                "To keep them, raise maintenance.maxDbSizeMB ({limit:g}) in config.json.",
                held=size(held),
                limit=config.max_db_size_mb,
            )
        )


def _sum_up(report: ImportReport) -> str:
    rows = count(sum(report.imported.values()), "row")
    if report.is_dry_run:
        return _("Would import {rows} of {source}.", rows=rows, source=report.source)
    told = Message(
        "Imported {rows} of {source}: {chunks}",
        rows=rows,
        source=report.source,
        chunks=count(report.chunks_written, "chunk"),
    )
    if grown := sum(report.updated.values()):
        prompts = count(grown, "prompt")
        told = Message("{told}; {prompts} known from before had grown", told=told, prompts=prompts)
    if report.moved:
        chunks = count(report.moved, "chunk")
        told = Message("{told}; {chunks} moved to folders known now", told=told, chunks=chunks)
    return _("{told}.", told=told)
