"""`kizami search`: memories by words, best first."""

from __future__ import annotations

import time

import click

from kizami_cli.chunk_text import chunk_json, show_chunk
from kizami_cli.console import say, short_ids, show_json
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.snippet import snippet
from kizami_core.searching import search
from kizami_core.storage.sessions import list_sessions

_SHOWN_TOKENS = 200  # of each chunk


@click.command("search")
@common_options
@agents_option
@click.argument("query")
@click.option(
    "--limit", type=click.IntRange(1, 1000), help="At most this many  [default: search.defaultLimit, 5]"
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: a list of chunks with score and relevance."
)
@click.pass_obj
def command(
    invocation: Invocation, query: str, limit: int | None, *, include_agents: bool, as_json: bool
) -> None:
    """Search the memories, in the projects that search.projectScope names."""
    config = invocation.config
    with invocation.database() as connection:
        hits = search(
            connection,
            query,
            project_path=invocation.project_path(),
            scope=False if invocation.all_projects else config.project_scope,
            limit=limit or config.default_limit,
            config=config,
            now=time.time(),
            include_agents=include_agents,
        )
        sessions = list_sessions(connection, include_agents=True)
        shorten = short_ids(session.session_id for session in sessions)
    if as_json:
        show_json([{"score": hit.score, "relevance": hit.relevance, **chunk_json(hit.chunk)} for hit in hits])
        return
    terms = {term: 1.0 for word in analyze_query(query).words for term in word.terms}
    own = invocation.project_path()
    for hit in hits:
        chunk = hit.chunk
        show_chunk(
            chunk,
            snippet(chunk.content, terms, _SHOWN_TOKENS),
            session=shorten(chunk.session_id),
            project="" if chunk.project_path == own else chunk.project_path,
            relevance=f"{hit.relevance:.2f}",
        )
    if not hits:
        wider = "" if invocation.all_projects else " --all-projects searches those of all projects."
        say(f"No memory holds this.{wider}")
