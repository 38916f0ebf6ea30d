"""`kizami show`: a chunk, or all chunks of a session in the order of the conversation."""

from __future__ import annotations

import click

from kizami_cli.chunk_text import chunk_json, show_chunk
from kizami_cli.console import count, local_time, show, show_json
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_core.errors import NotFoundError
from kizami_core.storage.chunks import find_chunk, session_chunks
from kizami_core.storage.marks import all_marks
from kizami_core.storage.sessions import agent_sessions, find_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.records import Chunk


@click.command("show")
@common_options
@agents_option
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of chunks.")
@click.pass_obj
def command(invocation: Invocation, name: str, *, include_agents: bool, as_json: bool) -> None:
    """Show a chunk (42, #42) or a session (its id, or the beginning of it).

    With --include-agents the sessions of the sub-agents that it started follow.
    """
    with invocation.database() as connection:
        sessions = _chunks(connection, name, include_agents=include_agents)
        marks = all_marks(connection)
    if as_json:
        show_json(
            [
                {**chunk_json(chunk), "marks": marks.get(chunk.id, [])}
                for chunks in sessions
                for chunk in chunks
            ]
        )
        return
    for chunks in sessions:
        if len(chunks) > 1:
            first = chunks[0]
            show(f"Session {first.session_id}", style="bold")
            show(f"{first.project_path}, {local_time(first.created_at)}, {count(len(chunks), 'chunk')}")
            show()
        for chunk in chunks:
            session = "" if len(chunks) > 1 else chunk.session_id
            show_chunk(chunk, chunk.content, session=session, labels=marks.get(chunk.id, []))


def _chunks(connection: sqlite3.Connection, name: str, *, include_agents: bool) -> list[list[Chunk]]:
    """Find a chunk, or where there is none of that id the session, and perhaps its sub-agents' sessions."""
    try:
        return [[find_chunk(connection, name)]]
    except NotFoundError:
        if name.startswith("#"):
            raise
    found = find_session(connection, name).session_id
    names = [found, *(agent_sessions(connection, found) if include_agents else [])]
    return [list(session_chunks(connection, session_id)) for session_id in names]
