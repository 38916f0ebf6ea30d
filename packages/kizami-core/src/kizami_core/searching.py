"""Search: what a person or a program looks for by itself, without a gate; the engine is recall's."""

from __future__ import annotations

from kizami_core.ranking import Ranking
from kizami_core.retrieval.query import analyze_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.config import Config, ProjectScope
    from kizami_core.records import Hit


def search(
    connection: sqlite3.Connection,
    query_text: str,
    *,
    project_path: str,
    scope: ProjectScope,
    limit: int,
    config: Config,
    now: float,
    include_agents: bool = False,
) -> list[Hit]:
    """Return the hits of a query, best first, without a gate.

    Args:
        connection: an open database; it is only read.
        query_text: what is looked for; any text is a valid query.
        project_path: the present project.
        scope: True for this project, False for all, "tiered" for this one first.
        limit: the most hits.
        config: half-life and penalty.
        now: epoch seconds.
        include_agents: search the sessions of sub-agents too.
    """
    settings = config.replace(project_scope=scope, recall_limit=limit)
    query = analyze_query(query_text)
    found = Ranking(
        connection,
        query,
        project_path=project_path,
        session_id=None,
        config=settings,
        now=now,
        include_agents=include_agents,
    )
    return found.ungated()
