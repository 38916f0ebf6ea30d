"""Search: what a person or a program looks for by itself, without a gate; the engine is recall's.

The text of a search may hold exact phrases and exclusions (``retrieval/search_syntax.py``); filters narrow it
further. They narrow before the candidates are cut to a number, so what is old or rare is found as well.
"""

from __future__ import annotations

from kizami_core.candidates import Candidates
from kizami_core.ranking import Ranking
from kizami_core.records import Hit, Record
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.listing import newest
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.search_syntax import parse_search

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from kizami_core.config import Config, ProjectScope
    from kizami_core.retrieval.query import Query
    from kizami_core.retrieval.vector_source import VectorSource

EVERYTHING = Filters()


class Search(Record):
    """One search: what is looked for, and where.

    Attributes:
        query: the words.
        has_words: whether there is anything to rank by; if not, what passes the filters is listed.
        filters: those given, with the phrases and exclusions of the text.
        project_path: the present project.
        scope: True for this project, False for all, "tiered" for this one first.
        include_agents: the sessions of sub-agents too.
    """

    query: Query
    has_words: bool
    filters: Filters
    project_path: str
    scope: ProjectScope
    include_agents: bool


class Findings(Record):
    """The hits of a search, best first.

    ``rarities`` says how telling each of the query's terms is, in (0, 1], by the id of a hit's chunk; the
    terms of words that mean the same are there too, for less.
    """

    hits: list[Hit]
    rarities: Mapping[int, Mapping[str, float]]


def read_search(
    text: str,
    *,
    project_path: str,
    scope: ProjectScope,
    include_agents: bool = False,
    filters: Filters = EVERYTHING,
) -> Search:
    """Read the text of a search; any text is valid. For the rest see ``Search``."""
    sought = parse_search(text)
    query = analyze_query(sought.text)
    found_by = dict.fromkeys(
        term for word in query.words for terms in (word.terms, *word.alternatives) for term in terms
    )
    return Search(
        query=query,
        has_words=bool(query.words or sought.loose),
        filters=filters.replace(
            phrases=(*filters.phrases, *sought.phrases),
            excluded_phrases=(*filters.excluded_phrases, *sought.excluded_phrases),
            excluded_words=(*filters.excluded_words, *sought.excluded_words),
            any_of=tuple(found_by) if filters.role else (),
        ),
        project_path=project_path,
        scope=scope,
        include_agents=include_agents,
    )


def find(
    connection: sqlite3.Connection,
    search: Search,
    *,
    limit: int,
    config: Config,
    now: float,
    vectors: VectorSource | None = None,
) -> Findings:
    """Return the hits of a search, without a gate.

    Where there are no words to rank by, the hits are what passes the filters, the newest first, and their
    relevance is 0: there is nothing to measure. With no filters either there are none.

    Args:
        connection: an open database; it is only read.
        search: what is looked for.
        limit: the most hits.
        config: half-life and penalty.
        now: epoch seconds.
        vectors: what finds memories by their meaning besides; None for words alone.
    """
    filters = None if search.filters == EVERYTHING else search.filters
    if not search.has_words:
        return Findings([] if filters is None else _listed(connection, search, limit), {})
    candidates = Candidates(
        connection,
        search.query,
        project_path=search.project_path,
        session_id=None,
        config=config.replace(project_scope=search.scope, recall_limit=limit),
        now=now,
        include_agents=search.include_agents,
        filters=filters,
        vectors=vectors,
    )
    ranking = Ranking(candidates)
    return Findings(ranking.ungated(), ranking.rarities)


def narrowing(
    connection: sqlite3.Connection, search: Search, *, limit: int, config: Config, now: float
) -> Iterator[tuple[str, int]]:
    """Tell which filter leaves nothing: yield how many memories are left by each in turn.

    First ("", how many are found without filters, at most ``limit``), then the name of each field of
    ``Filters`` that wants something, with how many are left; it ends with the first that leaves none. For the
    arguments see ``find``.
    """
    if search.has_words:
        unfiltered = find(connection, search.replace(filters=EVERYTHING), limit=limit, config=config, now=now)
        left = len(unfiltered.hits)
    else:
        left = len(_listed(connection, search.replace(filters=EVERYTHING), limit))
    yield "", left
    for name, filters in search.filters.steps():
        if not left:
            return
        left = len(
            find(connection, search.replace(filters=filters), limit=limit, config=config, now=now).hits
        )
        yield name, left


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
    filters: Filters = EVERYTHING,
) -> list[Hit]:
    """Return the hits of a search, best first; see ``Search`` and ``find``."""
    wanted = read_search(
        query_text, project_path=project_path, scope=scope, include_agents=include_agents, filters=filters
    )
    return find(connection, wanted, limit=limit, config=config, now=now).hits


def _listed(connection: sqlite3.Connection, search: Search, limit: int) -> list[Hit]:
    """Return what passes the filters, the newest first; in a tiered scope this project's before others'."""
    chunks = newest(
        connection,
        search.filters,
        project_path=None if search.scope is False else search.project_path,
        include_agents=search.include_agents,
        limit=limit,
    )
    if search.scope == "tiered" and len(chunks) < limit:
        everywhere = newest(
            connection,
            search.filters,
            project_path=None,
            include_agents=search.include_agents,
            limit=limit - len(chunks),
            without={chunk.id for chunk in chunks},
        )
        chunks += everywhere
    return [Hit(chunk, 0.0, 0.0) for chunk in chunks]
