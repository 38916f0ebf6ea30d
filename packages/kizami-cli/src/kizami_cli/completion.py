"""What the shell offers when Tab is pressed: names of commands, ids of sessions and chunks, projects.

A shell asks by starting `kizami` with ``_KIZAMI_COMPLETE`` set. Whatever goes wrong then, nothing is said and
nothing is offered: a message would land in the line that a person is typing.
"""

from __future__ import annotations

import os
from contextlib import closing

from click.shell_completion import CompletionItem

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import click

    Items = list[CompletionItem[str]]

VARIABLE = "_KIZAMI_COMPLETE"
_OFFERED = 30
_NEWEST_CHUNKS = 5_000  # of which those are offered whose id begins so


def complete_commands(
    built_in: Mapping[str, str], elsewhere: Mapping[str, str], incomplete: str, tell: Callable[[str], str]
) -> Items:
    """Return the commands that begin so, without importing them.

    ``elsewhere`` names the package of each command that may not be installed; it is looked for on the path,
    which takes a hundredth of the time of a scan of entry points.
    """
    from importlib.util import find_spec

    items = [CompletionItem(name, help=tell(line)) for name, line in built_in.items()]
    packages = {package: find_spec(package.replace("-", "_")) for package in set(elsewhere.values())}
    items += [CompletionItem(name) for name, package in elsewhere.items() if packages[package]]
    return [item for item in items if item.value.startswith(incomplete)]


def complete_session(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Return the ids of the last sessions that begin so, each with its first prompt."""
    return _asked(context, lambda connection, project: _sessions(connection, project, incomplete))


def complete_chunk(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Return the ids of the last chunks that begin so."""
    return _asked(context, lambda connection, project: _chunks(connection, project, incomplete))


def complete_id(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Return the ids of sessions and of chunks that begin so."""
    return _asked(
        context,
        lambda connection, project: [
            *_sessions(connection, project, incomplete),
            *(_chunks(connection, project, incomplete) if incomplete else []),
        ],
    )


def complete_project(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Return the projects whose path begins so; where there are none, the shell offers folders."""
    found = _asked(context, lambda connection, _project: list(_projects(connection, incomplete)))
    return found or [CompletionItem(incomplete, type="dir")]


def complete_setting(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Return the names of the settings of core that begin so."""
    from kizami_core.config import FIELDS

    names = (f"{section}.{key}" for section, key in FIELDS)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _sessions(connection: sqlite3.Connection, project: str | None, incomplete: str) -> Items:
    from kizami_core.privacy import redact_for_display
    from kizami_core.storage.sessions import list_sessions

    found = [
        session
        for session in list_sessions(connection, project_path=project)
        if session.session_id.startswith(incomplete)
    ]
    return [
        CompletionItem(
            session.session_id, help=_line(redact_for_display(session.first_message or "")) or None
        )
        for session in found[:_OFFERED]
    ]


def _chunks(connection: sqlite3.Connection, project: str | None, incomplete: str) -> Items:
    from kizami_core.storage.chunks import newest_ids

    sign = "#" if incomplete.startswith("#") else ""
    names = (f"{sign}{chunk_id}" for chunk_id in newest_ids(connection, project, _NEWEST_CHUNKS))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:_OFFERED]


def _projects(connection: sqlite3.Connection, incomplete: str) -> Iterator[CompletionItem[str]]:
    from kizami_core.storage.statistics import read_projects

    for project in read_projects(connection):
        if project.project_path.startswith(incomplete):
            yield CompletionItem(project.project_path)


def _line(text: str) -> str:
    """Return text in one line, without what a terminal would obey."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _asked(
    context: click.Context, ask: Callable[[sqlite3.Connection, str | None], Iterable[CompletionItem[str]]]
) -> Items:
    """Ask the database of the configuration named on the command line, or of the usual one."""
    from kizami_cli.invocation import Invocation
    from kizami_core.config import load_config
    from kizami_core.paths import config_path
    from kizami_core.storage.connection import open_database

    invocation = context.find_object(Invocation) or Invocation()
    try:
        config, _problems = load_config(invocation.config_path or config_path(os.environ), os.environ)
        with closing(open_database(config.database_path, read_only=True)) as connection:
            return list(ask(connection, invocation.project_filter()))
    except Exception:  # noqa: BLE001 - see above
        return []
