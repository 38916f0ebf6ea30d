"""`kizami show`: a chunk, or all chunks of a session in the order of the conversation."""

from __future__ import annotations

import sys

import click

from kizami_cli.chunk_text import chunk_json, show_chunk
from kizami_cli.completion import complete_id
from kizami_cli.console import count, local_time, show, show_json
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_cli.language import _
from kizami_core.errors import NotFoundError
from kizami_core.storage.chunks import find_chunk, place_in_session, session_chunks
from kizami_core.storage.marks import all_marks
from kizami_core.storage.sessions import agent_sessions, find_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from kizami_core.records import Chunk
    from kizami_core.storage.marks import Mark


@click.command("show")
@common_options
@agents_option
@click.argument("name", metavar="ID", shell_complete=complete_id)
@click.option("--full", is_flag=True, help="Show whole what tools were given and what they answered.")
@click.option("--no-pager", is_flag=True, help="Never hand what is long to PAGER.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of chunks.")
@click.pass_obj
def command(
    invocation: Invocation, name: str, *, include_agents: bool, full: bool, no_pager: bool, as_json: bool
) -> None:
    """Show a chunk (42, #42) or a session (its id, or the beginning of it).

    With --include-agents the sessions of the sub-agents that it started follow. On a terminal tool calls are
    folded to their first lines, and what does not fit into the window goes through your pager. In a pipe
    everything is plain and whole.
    """
    with invocation.database() as connection:
        sessions = _chunks(connection, name, include_agents=include_agents)
        marks = all_marks(connection)
        if sys.stdout.isatty() and not as_json:
            from kizami_cli.paging import show_paged

            show_paged(_drawn(connection, sessions, marks, full=full), is_paged=not no_pager)
            return
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
            show(_("Session {session}", session=first.session_id), style="bold")
            show(
                _(
                    "{project}, {time}, {chunks}",
                    project=first.project_path,
                    time=local_time(first.created_at),
                    chunks=count(len(chunks), "chunk"),
                )
            )
            show()
        for chunk in chunks:
            session = "" if len(chunks) > 1 else chunk.session_id
            show_chunk(chunk, chunk.content, session=session, labels=marks.get(chunk.id, []))


def _drawn(
    connection: sqlite3.Connection,
    sessions: Sequence[Sequence[Chunk]],
    marks: Mapping[int, Sequence[Mark]],
    *,
    full: bool,
) -> Iterator[RenderableType]:
    """Yield what a terminal shows of the chunks, session by session."""
    from rich.text import Text

    from kizami_cli.conversation import Conversation

    is_folded = False
    for number, chunks in enumerate(sessions):
        if number:
            yield ""
        conversation = Conversation(find_session(connection, chunks[0].session_id), marks, full=full)
        if len(chunks) > 1:
            yield from conversation.draw_session(chunks)
        else:
            yield from conversation.draw_chunk(chunks[0], place_in_session(connection, chunks[0]))
        is_folded = is_folded or conversation.is_folded
    if is_folded:
        yield ""
        yield Text(_("Tools are folded; --full shows all of them."), style="dim")


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
