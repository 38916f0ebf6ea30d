"""Deleting on a person's word: the counts first, then the question, then the deed."""

from __future__ import annotations

import click

from kizami_cli.console import confirm, count, show, show_json
from kizami_cli.language import _

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    from kizami_cli.invocation import Invocation
    from kizami_core.messages import Message
    from kizami_core.storage.chunks import Deleted

    Function = TypeVar("Function", bound=Callable[..., Any])

    class Deletion(Protocol):
        """Deletes, or on a dry run counts, what a command line selected."""

        def __call__(self, connection: sqlite3.Connection, *, dry_run: bool) -> Deleted:
            """Return what was (or would be) taken away."""


def deletion_options(function: Function) -> Function:
    """Add ``--yes``, ``--dry-run`` and ``--json`` to a command."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts."),
        click.option("--dry-run", is_flag=True, help="Only show what would be deleted."),
        click.option("--yes", is_flag=True, help="Don't ask."),
    ):
        function = option(function)
    return function


def delete_with_consent(
    invocation: Invocation, delete: Deletion, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Count, ask, delete and report. Nothing is asked when there is nothing to delete.

    Raises:
        ConfigError: nobody can be asked.
        click.Abort: the answer was no.
    """
    with invocation.database() as connection:
        found = delete(connection, dry_run=True)
    is_deleting = bool(found.chunks) and not dry_run
    if is_deleting:
        question = _("Delete {chunks}, and with them {sessions}?", **_amounts(found))
        confirm(question, yes=yes)
        with invocation.database(read_only=False) as connection:
            found = delete(connection, dry_run=False)
    if as_json:
        show_json({"deleted": is_deleting, **found.as_dict()})
    elif not found.chunks:
        show(_("There is nothing to delete."))
    elif is_deleting:
        show(_("Deleted {chunks}, and with them {sessions}.", **_amounts(found)))
    else:
        show(_("Would delete {chunks}, and with them {sessions}.", **_amounts(found)))


def _amounts(deleted: Deleted) -> dict[str, Message]:
    return {
        "chunks": count(deleted.chunks, "chunk"),
        "sessions": count(deleted.sessions, "whole session"),
    }
