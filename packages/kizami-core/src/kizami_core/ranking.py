"""Ranking: one query's candidates, measured, and the ways to choose among them.

`kizami recall`, `kizami search` and library users go through the same engine; the steps are those of
ARCHITECTURE.md, "One recall".
"""

from __future__ import annotations

from kizami_core.records import Hit, Record
from kizami_core.retrieval.decay import decay, freshness
from kizami_core.retrieval.grouping import group_neighbours
from kizami_core.retrieval.lexical import LexicalRetriever
from kizami_core.retrieval.relaxation import phases
from kizami_core.retrieval.relevance import relevance
from kizami_core.retrieval.reranker import rerank
from kizami_core.retrieval.scope import cross_project_relevance
from kizami_core.storage.chunks import turns_chunks
from kizami_core.storage.resolutions import resolutions_of_turns
from kizami_core.timestamps import epoch_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.config import Config
    from kizami_core.records import Chunk
    from kizami_core.retrieval.query import Query
    from kizami_core.storage.resolutions import ResolvedFailure

_CANDIDATES = 30


class _Measured(Record):
    """A candidate with its relevance before any penalty, and its age in seconds."""

    chunk: Chunk
    relevance: float
    rank_score: float
    age: float
    is_cross_project: bool
    rarities: dict[str, float]


class Ranking:
    """One query's candidates and the ways to choose among them."""

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
    ) -> None:
        self._connection = connection
        self._query = query
        self._project_path = project_path
        self._session_id = session_id
        self._config = config
        self._now = now
        self._include_agents = include_agents
        self.rarities: dict[int, dict[str, float]] = {}

    def gated(self) -> list[Hit]:
        """Return what passes the gate; other projects are only asked when their turn comes."""
        config = self._config
        gate = config.min_relevance_score

        def passing(candidates: Sequence[_Measured]) -> list[Hit]:
            hits = [self._hit(candidate, config.cross_project_penalty) for candidate in candidates]
            return [hit for hit in hits if hit.relevance >= gate]

        hits = passing(self._candidates(in_other_projects=config.project_scope is False))
        if config.project_scope == "tiered" and len(hits) < config.recall_limit:
            hits += passing(self._candidates(in_other_projects=True, in_this_project=False))
        return self._first(hits)

    def relaxed(self) -> list[Hit]:
        """Return hits by the phases of relaxation, until there are enough."""
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
        """Return the best hits whatever their relevance."""
        hits = [
            self._hit(candidate, self._config.cross_project_penalty) for candidate in self._all_candidates()
        ]
        return self._first(hits)

    def _all_candidates(self) -> list[_Measured]:
        scope = self._config.project_scope
        candidates = self._candidates(in_other_projects=scope is False)
        if scope == "tiered":
            candidates += self._candidates(in_other_projects=True, in_this_project=False)
        return candidates

    def _first(self, hits: list[Hit]) -> list[Hit]:
        hits = self._with_fixes(hits)
        hits.sort(key=lambda hit: (hit.score, hit.chunk.created_at, hit.chunk.id), reverse=True)
        return group_neighbours(hits)[: self._config.recall_limit]

    def _with_fixes(self, hits: list[Hit]) -> list[Hit]:
        """Return the hits, and for an error that the query quotes the chunk in which it was resolved.

        That chunk takes the relevance of the one in which the error occurred, so that an error brings back
        nothing where it did not before. At equal scores the newer chunk comes first.
        """
        turns = {hit.chunk.turn_id for hit in hits if hit.chunk.turn_id is not None}
        failures = resolutions_of_turns(self._connection, sorted(turns)) if turns else []
        if not failures:
            return hits
        from kizami_core.retrieval.fixes import is_quoted

        found = {hit.chunk.id: hit for hit in hits}
        for failure in failures:
            for hit in hits:
                rarities = self.rarities[hit.chunk.id]
                is_its_turn = hit.chunk.turn_id == failure.failed_turn
                if not is_its_turn or not is_quoted(rarities, hit.chunk.content, failure.error):
                    continue
                fix = self._fixing_chunk(failure)
                known = found.get(fix.id)
                if known is None or known.score < hit.score:
                    found[fix.id] = hit.replace(chunk=fix)
                    self.rarities[fix.id] = rarities
        return list(found.values())

    def _fixing_chunk(self, failure: ResolvedFailure) -> Chunk:
        """Return the chunk of the resolving turn in which the command succeeded, its last one if unknown."""
        from kizami_core.retrieval.fixes import failure_and_success

        chunks = turns_chunks(self._connection, failure.resolved_turn, failure.resolved_turn)
        places = range(len(chunks))
        _, success = failure_and_success(
            failure.command,
            [chunk.content for chunk in chunks],
            failed=places if failure.failed_turn == failure.resolved_turn else (),
            resolved=places,
        )
        return chunks[success.place if success else -1]

    def _hit(self, candidate: _Measured, penalty: float, half_life_days: float | None = None) -> Hit:
        probability = self._with_penalty(candidate, penalty)
        fresh = freshness(candidate.age, half_life_days or self._config.time_decay_half_life_days)
        self.rarities[candidate.chunk.id] = candidate.rarities
        return Hit(candidate.chunk, probability * fresh + 1e-6 * candidate.rank_score, probability)

    @staticmethod
    def _with_penalty(candidate: _Measured, penalty: float) -> float:
        if not candidate.is_cross_project:
            return candidate.relevance
        return cross_project_relevance(candidate.relevance, penalty)

    def _age(self, created_at: str) -> float:
        made_at = epoch_seconds(created_at)
        return 0.0 if made_at is None else self._now - made_at

    def _candidates(self, *, in_other_projects: bool, in_this_project: bool = True) -> list[_Measured]:
        """Retrieve, rerank and measure candidates of the wanted projects."""
        retriever = LexicalRetriever(
            self._connection,
            None if in_other_projects else self._project_path,
            include_agents=self._include_agents,
        )
        statistics = retriever.statistics(self._query)
        chunks = [
            chunk
            for chunk in retriever.retrieve(self._query, statistics, limit=_CANDIDATES)
            if chunk.session_id != self._session_id
            and (in_this_project or chunk.project_path != self._project_path)
        ]
        rarities = {term: statistics.rarity(term) for term in statistics.postings}
        return [
            _Measured(
                found.chunk,
                relevance(self._query, found.evidence),
                found.score,
                self._age(found.chunk.created_at),
                found.chunk.project_path != self._project_path,
                rarities,
            )
            for found in rerank(self._query, chunks, statistics)
        ]
