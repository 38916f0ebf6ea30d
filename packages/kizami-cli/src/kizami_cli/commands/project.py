"""`kizami project`: which projects have memories, and what to do when one has moved to another folder."""

from __future__ import annotations

import os
import time

import click

from kizami_cli.completion import complete_project
from kizami_cli.console import confirm, count, local_time, say, show, show_json, show_table
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.messages import Message
from kizami_core.project_renaming import rename_project
from kizami_core.storage.project_rows import list_projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.project_renaming import Renaming


@click.group("project")
@common_options
def command() -> None:
    """List the projects that have memories; bring those of a moved folder to its new place."""


@command.command("list")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an array of projects.")
@click.pass_obj
def list_command(invocation: Invocation, *, as_json: bool) -> None:
    """List the projects, the one that was last worked on first, and say which folders are gone."""
    with invocation.database() as connection:
        projects = list_projects(connection)
    found = [(project, os.path.isdir(project.project_path)) for project in projects]
    if as_json:
        show_json([{**project.as_dict(), "folder_exists": is_there} for project, is_there in found])
        return
    if not found:
        say(_("No session is saved."))
        return
    show_table(
        ("last", "sessions", "chunks", "project"),
        (
            (
                local_time(project.last_at),
                f"{project.sessions:,}",
                f"{project.chunks:,}",
                project.project_path
                if is_there
                else _("{path} (no such folder)", path=project.project_path).lstrip(),
            )
            for project, is_there in found
        ),
        whole=("last",),
        right=("sessions", "chunks"),
    )


@command.command("rename")
@common_options
@click.argument("old", shell_complete=complete_project)
@click.argument("new", shell_complete=complete_project)
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--dry-run", is_flag=True, help="Only show what would be moved.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the moves and counts.")
@click.pass_obj
def rename_command(
    invocation: Invocation, old: str, new: str, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Bring the memories of the folder OLD, which was moved to NEW, to where it is now.

    OLD is a path, or its last part where that is clear; projects below it move too. Transcripts that still
    name OLD are saved under NEW from now on. A folder that is made at OLD later is another project.
    """
    now = time.time()
    with invocation.database() as connection:
        renaming = rename_project(connection, old, new, now=now, dry_run=True)
    if not dry_run:
        confirm(_("Move {what}?", what=_summary(renaming)), yes=yes)
        with invocation.database(read_only=False) as connection:
            renaming = rename_project(connection, renaming.old, new, now=now)
    if as_json:
        show_json({"renamed": not dry_run, **renaming.as_dict()})
        return
    if dry_run:
        show(_("Would move {what}.", what=_summary(renaming)))
    else:
        show(_("Moved {what}.", what=_summary(renaming)))
    if os.path.isdir(renaming.old):
        show(
            _(
                "{folder} still stands: what is saved there from now on is a project of its own.",
                folder=renaming.old,
            )
        )


def _summary(renaming: Renaming) -> Message:
    """Return what is moved, from where and to where."""
    (before, after), *others = renaming.moves
    if others:
        before = Message(
            "{folder} and {projects} below it", folder=renaming.old, projects=count(len(others), "project")
        )
        after = renaming.new
    if renaming.joined:
        after = Message(
            "{folder}, which holds {sessions} already",
            folder=after,
            sessions=count(renaming.joined, "session"),
        )
    return Message(
        "{sessions} ({chunks}) of {before} to {after}",
        sessions=count(renaming.sessions, "session"),
        chunks=count(renaming.chunks, "chunk"),
        before=before,
        after=after,
    )
