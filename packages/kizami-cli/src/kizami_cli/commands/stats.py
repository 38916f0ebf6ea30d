"""`kizami stats`: what is stored, and what maintenance removed and why."""

from __future__ import annotations

import click

from kizami_cli.console import count, local_time, show, show_field, show_json, show_table, size
from kizami_cli.invocation import Invocation, common_options
from kizami_core.storage.statistics import read_statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.storage.statistics import Statistics

_MAX_PROJECTS = 10


@click.command("stats")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the figures, projects, maintenance log.")
@click.pass_obj
def command(invocation: Invocation, *, as_json: bool) -> None:
    """Show what is stored, in all projects, and what maintenance did."""
    with invocation.database() as connection:
        statistics = read_statistics(connection)
    if as_json:
        show_json({"database_path": invocation.config.database_path, **statistics.as_dict()})
        return
    _show_figures(invocation, statistics)
    if statistics.projects:
        show()
        show_table(
            ["project", "sessions", "chunks"],
            (
                [project.project_path, f"{project.sessions:,}", f"{project.chunks:,}"]
                for project in statistics.projects[:_MAX_PROJECTS]
            ),
            right=["sessions", "chunks"],
        )
        if len(statistics.projects) > _MAX_PROJECTS:
            show(f"and {count(len(statistics.projects) - _MAX_PROJECTS, 'more project')}")
    if statistics.maintenance:
        show()
        show_table(
            ["when", "what", "chunks", "freed", "why"],
            (
                [
                    local_time(entry.executed_at),
                    entry.action,
                    f"{entry.chunks_deleted:,}",
                    size(entry.bytes_freed),
                    entry.detail or "",
                ]
                for entry in statistics.maintenance
            ),
            whole=["when", "what"],
            right=["chunks", "freed"],
        )


def _show_figures(invocation: Invocation, statistics: Statistics) -> None:
    config = invocation.config
    show_field("Database", config.database_path)
    limit = f", of at most {config.max_db_size_mb:g} MB" if config.maintenance_enabled else ""
    show_field("Size", f"{size(statistics.database_bytes)}{limit}")
    sessions = count(statistics.sessions, "session")
    projects = count(len(statistics.projects), "project")
    chunks, tokens = count(statistics.chunks, "chunk"), count(statistics.tokens, "token")
    show_field("Holds", f"{sessions} of {projects}: {chunks}, about {tokens}")
    if statistics.chunks:
        show_field("From", f"{local_time(statistics.oldest)} to {local_time(statistics.newest)}")
    if statistics.muted or statistics.pinned:
        show_field("Marked", f"{statistics.muted:,} muted, {statistics.pinned:,} pinned")
    kept = (
        f"{config.max_chunk_age_days:g} days" if config.maintenance_enabled else "ever (maintenance is off)"
    )
    show_field("Kept for", kept)
