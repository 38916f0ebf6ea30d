"""Candidates: what one query finds, each measured. `ranking` chooses among them.

The steps are those of ARCHITECTURE.md, "One recall".
"""

from __future__ import annotations

from math import isfinite
from time import perf_counter

from kizami_core.records import Record
from kizami_core.retrieval.lexical import ALTERNATIVE, LexicalRetriever, TermStatistics
from kizami_core.retrieval.scope import cross_project_relevance, multiply_odds
from kizami_core.storage.chunks import chunk_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kizami_core.config import Config
    from kizami_core.recall_report import Verdict
    from kizami_core.records import Chunk
    from kizami_core.retrieval.filters import Filters
    from kizami_core.retrieval.query import Query
    from kizami_core.retrieval.reranker import Evidence
    from kizami_core.retrieval.vector_source import VectorSource

CANDIDATES = 30
# Of what vectors find besides, one is added for so many that words find.
_LEXICAL_FOR_EACH_NEAR = 3
# Something is nearest to everything: of what no word speaks for, so many of the nearest are kept.
_NEAREST_WITHOUT_WORDS = 4
# What a pin multiplies the odds of a memory by, in its own project.
PINNED_ODDS = 2.0
# Of candidates that can't be shown a receipt tells so many.
REPORTED_CANDIDATES = 10


class Measured(Record):
    """A candidate with its relevance before any penalty, and its age in seconds."""

    chunk: Chunk
    relevance: float
    rank_score: float
    age: float
    is_cross_project: bool
    rarities: dict[str, float]
    evidence: Evidence
    cosine: float | None


class Candidates:
    """The candidates of one query.

    ``measured`` holds all that were measured so far, ``left_out`` by their ids those that must not be shown,
    each with the reason; ``statistics`` is what the memories asked last know of the query's terms, and
    ``seconds`` the time of each stage.

    Args:
        connection: an open database; it is only read.
        query: what is asked.
        project_path: the present project.
        session_id: the running session, whose own chunks are left out; None for no session.
        config: limit, gate, scope, half-life and penalty, for what chooses among them too.
        now: epoch seconds.
        include_agents: the sessions of sub-agents too.
        hidden: chunks that are left out whatever they say, and why; they take nobody's place.
        pinned: chunks that count more.
        filters: what a memory must be besides; None for nothing.
        vectors: what finds memories by their meaning besides; None for words alone.
        keeps_out: tells ("" for no) whether another project's memories must not be shown here; None for none.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        query: Query,
        *,
        project_path: str,
        session_id: str | None,
        config: Config,
        now: float,
        include_agents: bool = False,
        hidden: Mapping[int, Verdict] | None = None,
        pinned: Collection[int] = (),
        filters: Filters | None = None,
        vectors: VectorSource | None = None,
        keeps_out: Callable[[str], str] | None = None,
    ) -> None:
        self.connection = connection
        self.query = query
        self._project_path = project_path
        self._session_id = session_id
        self.config = config
        self._now = now
        self._include_agents = include_agents
        self._hidden = hidden or {}
        self.pinned = pinned
        self.filters = filters
        self._vectors = vectors
        self._keeps_out = keeps_out
        self.asked_terms = dict.fromkeys(term for word in query.words for term in word.terms)
        self._trigrams: dict[str, list[int]] = {}
        self.statistics = TermStatistics(0, {})
        self.measured: list[Measured] = []
        self.left_out: dict[int, tuple[Chunk, Verdict]] = {}
        self.seconds = {"lookup": 0.0, "candidates": 0.0, "rerank": 0.0}

    def in_scope(self, at_least: int = CANDIDATES) -> list[Measured]:
        """Return the candidates of all projects that the configuration's scope names."""
        scope = self.config.project_scope
        candidates = self.find(in_other_projects=scope is False, at_least=at_least)
        if scope == "tiered":
            candidates += self.find(in_other_projects=True, in_this_project=False, at_least=at_least)
        return candidates

    def find(
        self,
        *,
        in_other_projects: bool,
        in_this_project: bool = True,
        at_least: int = CANDIDATES,
        is_gated: bool = False,
    ) -> list[Measured]:
        """Retrieve, rerank and measure candidates of the wanted projects.

        Where a gate follows (``is_gated``), what it can't let through is spared most of the work: what only
        shares substrings with the query, and memories of projects that know too little of the words.
        """
        started = perf_counter()
        scope = None if in_other_projects else self._project_path
        retriever = LexicalRetriever(
            self.connection,
            scope,
            include_agents=self._include_agents,
            filters=self.filters,
            trigrams=self._trigrams,
        )
        statistics = self.statistics = retriever.first_look(self.query)
        is_out_of_reach = is_gated and self._is_out_of_reach(statistics, in_this_project=in_this_project)
        if is_out_of_reach and self.measured:
            self.seconds["lookup"] += perf_counter() - started
            return []
        # Where nothing can pass, vectors change nothing.
        vectors = None if is_out_of_reach else self._vectors
        if vectors is not None:
            vectors.ask(scope)
        statistics = self.statistics = retriever.read_on(statistics)
        looked_up = perf_counter()
        self.seconds["lookup"] += looked_up - started
        # Of what can't be shown the receipt tells so many.
        limit = REPORTED_CANDIDATES if is_out_of_reach else max(at_least, self.config.recall_limit)
        spare = self._left_out_at_most()

        def retrieved_within(size: int) -> list[Chunk]:
            found = retriever.retrieve(self.query, statistics, limit=size, by_substring=not is_gated)
            return self._wanted(found, in_this_project=in_this_project)[:limit]

        chunks = retrieved_within(limit + spare)
        if len(chunks) < limit and any(reason == "excluded" for _, reason in self.left_out.values()):
            chunks = retrieved_within(limit + spare + CANDIDATES)  # those take nobody's place either
        retrieved = perf_counter()
        self.seconds["candidates"] += retrieved - looked_up
        # What stands for a word of the same meaning counts for as little here as in the evidence.
        rarities = {
            term: statistics.rarity(term) * (1.0 if term in self.asked_terms else ALTERNATIVE)
            for term in statistics.postings
        }
        if not chunks and (vectors is None or (is_gated and isfinite(vectors.odds))):
            return []
        from kizami_core.retrieval.relevance import background, relevance
        from kizami_core.retrieval.reranker import rerank
        from kizami_core.retrieval.vector_source import Judgement

        reranked = rerank(self.query, chunks, statistics)
        merely_like = background(reranked) if self.filters is None else self._background(scope, limit)
        ranked = perf_counter()
        without_words: set[int] = set()
        if vectors is not None:
            known = {chunk.id for chunk in chunks}
            near = retriever.load(
                (chunk_id for chunk_id in vectors.nearest() if chunk_id not in known),
                limit // _LEXICAL_FOR_EACH_NEAR + spare,
            )
            near = self._wanted(near, in_this_project=in_this_project)
            # Measured apart, so that what the words say of the others stays the same.
            added = rerank(self.query, near, statistics)
            reranked += added
            nearest = {chunk.id for chunk in near[:_NEAREST_WITHOUT_WORDS]}
            without_words = {found.chunk.id for found in added if not found.evidence.words_found} - nearest
        by_words = [
            Judgement(
                found.chunk.id,
                relevance(self.query, found, merely_like),
                found.score,
            )
            for found in reranked
        ]
        judged = by_words if vectors is None else vectors.judge(by_words)
        measured = [
            Measured(
                found.chunk,
                judgement.relevance,
                judgement.rank_score,
                self._age(found.chunk.created_at),
                found.chunk.project_path != self._project_path,
                rarities,
                found.evidence,
                judgement.cosine,
            )
            for found, judgement in zip(reranked, judged, strict=True)
            if found.chunk.id not in without_words
        ]
        self.measured += measured
        self.seconds["rerank"] += ranked - retrieved
        if vectors is not None:
            self.seconds["vectors"] = self.seconds.get("vectors", 0.0) + perf_counter() - ranked
        return measured

    def reason_to_hide(self, chunk: Chunk) -> Verdict | None:
        """Return why a chunk must not be shown, None where it may be."""
        is_elsewhere = chunk.project_path != self._project_path
        if is_elsewhere and self._keeps_out is not None and self._keeps_out(chunk.project_path):
            return "excluded"
        hidden = self._hidden.get(chunk.id)
        return "own_session" if hidden is None and chunk.session_id == self._session_id else hidden

    def _background(self, project_path: str | None, limit: int) -> float:
        """Return the background of the query without the filters: a memory is as relevant with them."""
        from kizami_core.retrieval.relevance import background
        from kizami_core.retrieval.reranker import rerank

        retriever = LexicalRetriever(self.connection, project_path, include_agents=self._include_agents)
        statistics = retriever.statistics(self.query)
        chunks = retriever.retrieve(self.query, statistics, limit=limit)
        return background(rerank(self.query, chunks, statistics))

    def _is_out_of_reach(self, statistics: TermStatistics, *, in_this_project: bool) -> bool:
        """Tell whether no memory can pass the gate, by what the memories know of the words."""
        odds = 1.0 if self._vectors is None else self._vectors.odds
        if not isfinite(odds) or not any(map(statistics.document_frequency, statistics.postings)):
            return False
        from kizami_core.retrieval.relevance import relevance
        from kizami_core.retrieval.reranker import imagined

        candidate, merely_like = imagined(self.query, statistics)
        best = multiply_odds(relevance(self.query, candidate, merely_like), odds)
        if not in_this_project:
            best = cross_project_relevance(best, self.config.cross_project_penalty)
        elif self.pinned:
            best = multiply_odds(best, PINNED_ODDS)
        return best < self.config.min_relevance_score

    def _wanted(self, chunks: Sequence[Chunk], *, in_this_project: bool) -> list[Chunk]:
        """Return those that may be shown, and note the others."""
        wanted = []
        for chunk in chunks:
            reason = self.reason_to_hide(chunk)
            if reason is not None:
                self.left_out[chunk.id] = (chunk, reason)
            elif in_this_project or chunk.project_path != self._project_path:
                wanted.append(chunk)
        return wanted

    def _left_out_at_most(self) -> int:
        """Return how many candidates may have to be left out, within bounds."""
        own = chunk_count(self.connection, self._session_id) if self._session_id else 0
        return min(CANDIDATES, own + len(self._hidden))

    def _age(self, created_at: str) -> float:
        from kizami_core.timestamps import epoch_seconds

        made_at = epoch_seconds(created_at)
        return 0.0 if made_at is None else self._now - made_at
