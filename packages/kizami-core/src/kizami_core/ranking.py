"""Ranking: one query's candidates, measured, and the ways to choose among them.

`kizami recall`, `kizami search` and library users go through the same engine; the steps are those of
ARCHITECTURE.md, "One recall".
"""

from __future__ import annotations

from math import isfinite
from time import perf_counter

from kizami_core.recall_report import CandidateReport, TermReport
from kizami_core.records import Hit, Record
from kizami_core.retrieval.decay import decay, freshness
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

_CANDIDATES = 30
# A search is asked for by hand and may take its time: more candidates, for its order alone.
_SEARCH_CANDIDATES = 100
# Of what vectors find besides, one is added for so many that words find.
_LEXICAL_FOR_EACH_NEAR = 3
# Something is nearest to everything: of what no word speaks for, so many of the nearest are kept.
_NEAREST_WITHOUT_WORDS = 4
# What a pin multiplies the odds of a memory by, in its own project.
_PINNED_ODDS = 2.0
# Of each recall this much is reported.
_REPORTED_TERMS = 40
_REPORTED_CANDIDATES = 10
_REPORTED_HIDDEN = 4


class _Measured(Record):
    """A candidate with its relevance before any penalty, and its age in seconds."""

    chunk: Chunk
    relevance: float
    rank_score: float
    age: float
    is_cross_project: bool
    rarities: dict[str, float]
    evidence: Evidence
    cosine: float | None


class Ranking:
    """One query's candidates and the ways to choose among them.

    Args:
        connection: an open database; it is only read.
        query: what is asked.
        project_path: the present project.
        session_id: the running session, whose own chunks are left out; None for no session.
        config: limit, gate, scope, half-life and penalty.
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
        self._connection = connection
        self._query = query
        self._project_path = project_path
        self._session_id = session_id
        self._config = config
        self._now = now
        self._include_agents = include_agents
        self._hidden = hidden or {}
        self._pinned = pinned
        self._filters = filters
        # One everyday word alone brings nothing from another project; a name may.
        self._names_enough = len(query.words) > 1 or any(word.surface.isascii() for word in query.words)
        self._vectors = vectors
        self._keeps_out = keeps_out
        self._asked_terms = dict.fromkeys(term for word in query.words for term in word.terms)
        self.rarities: dict[int, dict[str, float]] = {}
        # What the report tells: seconds of each stage, what was met, and how far each hit came.
        self.seconds = {"lookup": 0.0, "candidates": 0.0, "rerank": 0.0}
        self._statistics = TermStatistics(0, {})
        self._trigrams: dict[str, list[int]] = {}
        self._measured: list[_Measured] = []
        self._left_out: dict[int, tuple[Chunk, Verdict]] = {}
        self._passed: dict[int, Hit] = {}
        self._distinct: set[int] = set()

    def gated(self) -> list[Hit]:
        """Return what passes the gate; other projects are only asked when their turn comes."""
        config = self._config
        gate = config.min_relevance_score

        def passing(candidates: Sequence[_Measured]) -> list[Hit]:
            hits = [self._hit(candidate, config.cross_project_penalty) for candidate in candidates]
            return [hit for hit in hits if hit.relevance >= gate]

        scope = config.project_scope
        hits = passing(self._candidates(in_other_projects=scope is False, is_gated=True))
        if scope == "tiered" and len(hits) < config.recall_limit:
            hits += passing(self._candidates(in_other_projects=True, in_this_project=False, is_gated=True))
        return self._first(hits)

    def relaxed(self) -> list[Hit]:
        """Return hits by the phases of relaxation, until there are enough."""
        from kizami_core.retrieval.relaxation import phases

        config = self._config
        candidates = self._all_candidates()
        hits: list[Hit] = []
        for phase in phases(is_tiered=config.project_scope == "tiered"):
            penalty = min(1.0, config.cross_project_penalty * phase.penalty_factor)
            half_life = config.time_decay_half_life_days * phase.half_life_factor
            hits = [
                self._hit(candidate, penalty, half_life)
                for candidate in candidates
                if candidate.relevance > 0
                and self._with_penalty(candidate, penalty) * decay(candidate.age, half_life) >= phase.floor
            ]
            hits = self._first(hits)
            if len(hits) >= config.recall_limit:
                break
        return hits

    def ungated(self) -> list[Hit]:
        """Return the best hits whatever their relevance, in the order of the reranker.

        The relevance is fitted for the gate; among what a person searched for, the order of the reranker is
        better. Age and other projects count as they do in recall.
        """
        return self._first(
            [self._found(candidate) for candidate in self._all_candidates(_SEARCH_CANDIDATES)],
            says_once=False,
        )

    def weighed(self) -> list[Hit]:
        """Return every candidate that a gate chooses from, in recall's order; neighbours and repeats too."""
        penalty = self._config.cross_project_penalty
        hits = [self._hit(candidate, penalty) for candidate in self._all_candidates()]
        return sorted(hits, key=lambda hit: (hit.score, hit.chunk.created_at, hit.chunk.id), reverse=True)

    def _all_candidates(self, at_least: int = _CANDIDATES) -> list[_Measured]:
        scope = self._config.project_scope
        candidates = self._candidates(in_other_projects=scope is False, at_least=at_least)
        if scope == "tiered":
            candidates += self._candidates(in_other_projects=True, in_this_project=False, at_least=at_least)
        return candidates

    def _first(self, hits: list[Hit], *, says_once: bool = True) -> list[Hit]:
        if not hits:
            return []
        # Most prompts of a session bring nothing back, and are spared these.
        from kizami_core.fixing import with_fixes
        from kizami_core.retrieval.grouping import group_neighbours
        from kizami_core.retrieval.repeats import without_copies, without_repeats

        hits = with_fixes(
            self._connection, hits, self.rarities, asked=self._asked_terms, filters=self._filters
        )
        hits = [hit for hit in hits if self._reason_to_hide(hit.chunk) is None]
        hits.sort(key=lambda hit: (hit.score, hit.chunk.created_at, hit.chunk.id), reverse=True)
        distinct = group_neighbours(hits)
        self._passed = {hit.chunk.id: hit for hit in hits}
        told = [
            chunk for chunk, reason in self._left_out.values() if reason not in ("own_session", "excluded")
        ]
        if told:
            distinct = without_copies(distinct, told)
        limit = self._config.recall_limit
        shown, repeats = without_repeats(distinct, limit) if says_once else (distinct[:limit], [])
        self._distinct = {hit.chunk.id for hit in distinct} - {hit.chunk.id for hit in repeats}
        return shown

    def _reason_to_hide(self, chunk: Chunk) -> Verdict | None:
        is_elsewhere = chunk.project_path != self._project_path
        if is_elsewhere and self._keeps_out is not None and self._keeps_out(chunk.project_path):
            return "excluded"
        hidden = self._hidden.get(chunk.id)
        return "own_session" if hidden is None and chunk.session_id == self._session_id else hidden

    def _hit(self, candidate: _Measured, penalty: float, half_life_days: float | None = None) -> Hit:
        probability = self._with_penalty(candidate, penalty)
        fresh = freshness(candidate.age, half_life_days or self._config.time_decay_half_life_days)
        self.rarities[candidate.chunk.id] = candidate.rarities
        return Hit(candidate.chunk, probability * fresh + 1e-6 * candidate.rank_score, probability)

    def _found(self, candidate: _Measured) -> Hit:
        """Return a hit whose score is the rank score, lowered as far as another project lowers relevance."""
        penalty = self._config.cross_project_penalty
        hit = self._hit(candidate, penalty)
        kept = hit.relevance / candidate.relevance if candidate.relevance else penalty
        fresh = freshness(candidate.age, self._config.time_decay_half_life_days)
        lowered = fresh * (kept if candidate.is_cross_project else 1.0)
        # A long text that holds little can rank below zero, where a factor would raise it.
        return hit.replace(score=max(0.0, candidate.rank_score) * lowered + 1e-6 * candidate.rank_score)

    def _with_penalty(self, candidate: _Measured, penalty: float) -> float:
        if candidate.is_cross_project:
            return cross_project_relevance(candidate.relevance, penalty) if self._names_enough else 0.0
        is_pinned = candidate.chunk.id in self._pinned
        return multiply_odds(candidate.relevance, _PINNED_ODDS) if is_pinned else candidate.relevance

    def _age(self, created_at: str) -> float:
        from kizami_core.timestamps import epoch_seconds

        made_at = epoch_seconds(created_at)
        return 0.0 if made_at is None else self._now - made_at

    def _candidates(
        self,
        *,
        in_other_projects: bool,
        in_this_project: bool = True,
        at_least: int = _CANDIDATES,
        is_gated: bool = False,
    ) -> list[_Measured]:
        """Retrieve, rerank and measure candidates of the wanted projects.

        Where a gate follows (``is_gated``), what it can't let through is spared most of the work: what only
        shares substrings with the query, and memories of projects that know too little of the words.
        """
        started = perf_counter()
        scope = None if in_other_projects else self._project_path
        retriever = LexicalRetriever(
            self._connection,
            scope,
            include_agents=self._include_agents,
            filters=self._filters,
            trigrams=self._trigrams,
        )
        statistics = self._statistics = retriever.first_look(self._query)
        is_out_of_reach = is_gated and self._is_out_of_reach(statistics, in_this_project=in_this_project)
        if is_out_of_reach and self._measured:
            self.seconds["lookup"] += perf_counter() - started
            return []
        # Where nothing can pass, vectors change nothing.
        vectors = None if is_out_of_reach else self._vectors
        if vectors is not None:
            vectors.ask(scope)
        statistics = self._statistics = retriever.read_on(statistics)
        looked_up = perf_counter()
        self.seconds["lookup"] += looked_up - started
        # Of what can't be shown the receipt tells so many.
        limit = _REPORTED_CANDIDATES if is_out_of_reach else max(at_least, self._config.recall_limit)
        spare = self._left_out_at_most()

        def retrieved_within(size: int) -> list[Chunk]:
            found = retriever.retrieve(self._query, statistics, limit=size, by_substring=not is_gated)
            return self._wanted(found, in_this_project=in_this_project)[:limit]

        chunks = retrieved_within(limit + spare)
        if len(chunks) < limit and any(reason == "excluded" for _, reason in self._left_out.values()):
            chunks = retrieved_within(limit + spare + _CANDIDATES)  # those take nobody's place either
        retrieved = perf_counter()
        self.seconds["candidates"] += retrieved - looked_up
        # What stands for a word of the same meaning counts for as little here as in the evidence.
        rarities = {
            term: statistics.rarity(term) * (1.0 if term in self._asked_terms else ALTERNATIVE)
            for term in statistics.postings
        }
        if not chunks and (vectors is None or (is_gated and isfinite(vectors.odds))):
            return []
        from kizami_core.retrieval.relevance import background, relevance
        from kizami_core.retrieval.reranker import rerank
        from kizami_core.retrieval.vector_source import Judgement

        reranked = rerank(self._query, chunks, statistics)
        merely_like = background(reranked) if self._filters is None else self._background(scope, limit)
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
            added = rerank(self._query, near, statistics)
            reranked += added
            nearest = {chunk.id for chunk in near[:_NEAREST_WITHOUT_WORDS]}
            without_words = {found.chunk.id for found in added if not found.evidence.words_found} - nearest
        by_words = [
            Judgement(
                found.chunk.id,
                relevance(self._query, found, merely_like),
                found.score,
            )
            for found in reranked
        ]
        judged = by_words if vectors is None else vectors.judge(by_words)
        measured = [
            _Measured(
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
        self._measured += measured
        self.seconds["rerank"] += ranked - retrieved
        if vectors is not None:
            self.seconds["vectors"] = self.seconds.get("vectors", 0.0) + perf_counter() - ranked
        return measured

    def _background(self, project_path: str | None, limit: int) -> float:
        """Return the background of the query without the filters: a memory is as relevant with them."""
        from kizami_core.retrieval.relevance import background
        from kizami_core.retrieval.reranker import rerank

        retriever = LexicalRetriever(self._connection, project_path, include_agents=self._include_agents)
        statistics = retriever.statistics(self._query)
        chunks = retriever.retrieve(self._query, statistics, limit=limit)
        return background(rerank(self._query, chunks, statistics))

    def _is_out_of_reach(self, statistics: TermStatistics, *, in_this_project: bool) -> bool:
        """Tell whether no memory can pass the gate, by what the memories know of the words."""
        odds = 1.0 if self._vectors is None else self._vectors.odds
        if not isfinite(odds) or not any(map(statistics.document_frequency, statistics.postings)):
            return False
        from kizami_core.retrieval.relevance import relevance
        from kizami_core.retrieval.reranker import imagined

        candidate, merely_like = imagined(self._query, statistics)
        best = multiply_odds(relevance(self._query, candidate, merely_like), odds)
        if not in_this_project:
            best = cross_project_relevance(best, self._config.cross_project_penalty)
        elif self._pinned:
            best = multiply_odds(best, _PINNED_ODDS)
        return best < self._config.min_relevance_score

    def _wanted(self, chunks: Sequence[Chunk], *, in_this_project: bool) -> list[Chunk]:
        """Return those that may be shown, and note the others."""
        wanted = []
        for chunk in chunks:
            reason = self._reason_to_hide(chunk)
            if reason is not None:
                self._left_out[chunk.id] = (chunk, reason)
            elif in_this_project or chunk.project_path != self._project_path:
                wanted.append(chunk)
        return wanted

    def _left_out_at_most(self) -> int:
        """Return how many candidates may have to be left out, within bounds."""
        own = chunk_count(self._connection, self._session_id) if self._session_id else 0
        return min(_CANDIDATES, own + len(self._hidden))

    @property
    def memories(self) -> int:
        """How many memories were asked last: of the project, or of all."""
        return self._statistics.corpus_size

    def term_reports(self) -> list[TermReport]:
        """Return the query's terms: those that are known by weight, then the others; a bounded number."""
        statistics = self._statistics
        reports = [
            TermReport(term, statistics.document_frequency(term), round(statistics.rarity(term), 3))
            for term in self._asked_terms
        ]
        reports.sort(key=lambda report: (report.memories > 0, report.weight), reverse=True)
        return reports[:_REPORTED_TERMS]

    def candidate_reports(self, shown: Sequence[Hit]) -> list[CandidateReport]:
        """Return what became of the candidates: those shown, then by score, then hidden ones, bounded."""
        measured = {candidate.chunk.id: candidate for candidate in self._measured}
        chosen = {hit.chunk.id for hit in shown}
        others = [
            self._passed.get(candidate.chunk.id) or self._hit(candidate, self._config.cross_project_penalty)
            for candidate in measured.values()
            if candidate.chunk.id not in chosen
        ]
        others.sort(key=lambda hit: hit.score, reverse=True)
        hidden = sorted(self._left_out.values(), key=lambda item: item[1] == "own_session")
        room = max(0, _REPORTED_CANDIDATES - len(shown) - min(len(hidden), _REPORTED_HIDDEN))
        reports = [
            self._candidate_report(hit, measured.get(hit.chunk.id), self._verdict(hit.chunk.id, chosen))
            for hit in [*shown, *others[:room]]
        ]
        left = max(0, _REPORTED_CANDIDATES - len(reports))
        return reports + [CandidateReport(chunk.id, reason) for chunk, reason in hidden[:left]]

    def _verdict(self, chunk_id: int, chosen: Collection[int]) -> Verdict:
        if chunk_id in chosen:
            return "shown"
        if chunk_id in self._distinct:
            return "over_limit"
        return "repeats" if chunk_id in self._passed else "below_gate"

    def _candidate_report(self, hit: Hit, candidate: _Measured | None, verdict: Verdict) -> CandidateReport:
        if candidate is None:
            return CandidateReport(hit.chunk.id, verdict, None, None, None, round(hit.relevance, 3))
        return CandidateReport(
            hit.chunk.id,
            verdict,
            round(candidate.evidence.density, 2),
            round(freshness(candidate.age, self._config.time_decay_half_life_days), 3),
            round(candidate.evidence.share, 3),
            round(hit.relevance, 3),
            round(hit.score, 3),
            None if candidate.cosine is None else round(candidate.cosine, 3),
        )
