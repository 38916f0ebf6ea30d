"""Ranking: the ways to choose among one query's candidates, and the report of what became of each.

`kizami recall`, `kizami search` and library users go through the same engine; the steps are those of
ARCHITECTURE.md, "One recall".
"""

from __future__ import annotations

from kizami_core.candidates import PINNED_ODDS, REPORTED_CANDIDATES
from kizami_core.recall_report import CandidateReport, TermReport
from kizami_core.records import Hit
from kizami_core.retrieval.decay import decay, freshness
from kizami_core.retrieval.scope import cross_project_relevance, multiply_odds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kizami_core.candidates import Candidates, Measured
    from kizami_core.recall_report import Verdict

# A search is asked for by hand and may take its time: more candidates, for its order alone.
_SEARCH_CANDIDATES = 100
# Of each recall this much is reported.
_REPORTED_TERMS = 40
_REPORTED_HIDDEN = 4


class Ranking:
    """The ways to choose among the candidates of one query.

    ``rarities`` holds what the terms of each hit weigh, by the chunk's id.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._config = candidates.config
        words = candidates.query.words
        # One everyday word alone brings nothing from another project; a name may.
        self._names_enough = len(words) > 1 or any(word.surface.isascii() for word in words)
        self.rarities: dict[int, dict[str, float]] = {}
        # What the report tells: how far each hit came.
        self._passed: dict[int, Hit] = {}
        self._distinct: set[int] = set()

    def gated(self) -> list[Hit]:
        """Return what passes the gate; other projects are only asked when their turn comes."""
        config = self._config
        gate = config.min_relevance_score

        def passing(candidates: Sequence[Measured]) -> list[Hit]:
            hits = [self._hit(candidate, config.cross_project_penalty) for candidate in candidates]
            return [hit for hit in hits if hit.relevance >= gate]

        scope = config.project_scope
        hits = passing(self._candidates.find(in_other_projects=scope is False, is_gated=True))
        if scope == "tiered" and len(hits) < config.recall_limit:
            hits += passing(
                self._candidates.find(in_other_projects=True, in_this_project=False, is_gated=True)
            )
        return self._first(hits)

    def relaxed(self) -> list[Hit]:
        """Return hits by the phases of relaxation, until there are enough."""
        from kizami_core.retrieval.relaxation import phases

        config = self._config
        candidates = self._candidates.in_scope()
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
            [self._found(candidate) for candidate in self._candidates.in_scope(_SEARCH_CANDIDATES)],
            says_once=False,
        )

    def weighed(self) -> list[Hit]:
        """Return every candidate that a gate chooses from, in recall's order; neighbours and repeats too."""
        penalty = self._config.cross_project_penalty
        hits = [self._hit(candidate, penalty) for candidate in self._candidates.in_scope()]
        return sorted(hits, key=lambda hit: (hit.score, hit.chunk.created_at, hit.chunk.id), reverse=True)

    def _first(self, hits: list[Hit], *, says_once: bool = True) -> list[Hit]:
        if not hits:
            return []
        # Most prompts of a session bring nothing back, and are spared these.
        from kizami_core.fixing import with_fixes
        from kizami_core.retrieval.grouping import group_neighbours
        from kizami_core.retrieval.repeats import without_copies, without_repeats

        candidates = self._candidates
        hits = with_fixes(
            candidates.connection,
            hits,
            self.rarities,
            asked=candidates.asked_terms,
            filters=candidates.filters,
        )
        hits = [hit for hit in hits if candidates.reason_to_hide(hit.chunk) is None]
        hits.sort(key=lambda hit: (hit.score, hit.chunk.created_at, hit.chunk.id), reverse=True)
        distinct = group_neighbours(hits)
        self._passed = {hit.chunk.id: hit for hit in hits}
        told = [
            chunk
            for chunk, reason in candidates.left_out.values()
            if reason not in ("own_session", "excluded")
        ]
        if told:
            distinct = without_copies(distinct, told)
        limit = self._config.recall_limit
        shown, repeats = without_repeats(distinct, limit) if says_once else (distinct[:limit], [])
        self._distinct = {hit.chunk.id for hit in distinct} - {hit.chunk.id for hit in repeats}
        return shown

    def _hit(self, candidate: Measured, penalty: float, half_life_days: float | None = None) -> Hit:
        probability = self._with_penalty(candidate, penalty)
        fresh = freshness(candidate.age, half_life_days or self._config.time_decay_half_life_days)
        self.rarities[candidate.chunk.id] = candidate.rarities
        return Hit(candidate.chunk, probability * fresh + 1e-6 * candidate.rank_score, probability)

    def _found(self, candidate: Measured) -> Hit:
        """Return a hit whose score is the rank score, lowered as far as another project lowers relevance."""
        penalty = self._config.cross_project_penalty
        hit = self._hit(candidate, penalty)
        kept = hit.relevance / candidate.relevance if candidate.relevance else penalty
        fresh = freshness(candidate.age, self._config.time_decay_half_life_days)
        lowered = fresh * (kept if candidate.is_cross_project else 1.0)
        # A long text that holds little can rank below zero, where a factor would raise it.
        return hit.replace(score=max(0.0, candidate.rank_score) * lowered + 1e-6 * candidate.rank_score)

    def _with_penalty(self, candidate: Measured, penalty: float) -> float:
        if candidate.is_cross_project:
            return cross_project_relevance(candidate.relevance, penalty) if self._names_enough else 0.0
        is_pinned = candidate.chunk.id in self._candidates.pinned
        return multiply_odds(candidate.relevance, PINNED_ODDS) if is_pinned else candidate.relevance

    def term_reports(self) -> list[TermReport]:
        """Return the query's terms: those that are known by weight, then the others; a bounded number."""
        statistics = self._candidates.statistics
        reports = [
            TermReport(term, statistics.document_frequency(term), round(statistics.rarity(term), 3))
            for term in self._candidates.asked_terms
        ]
        reports.sort(key=lambda report: (report.memories > 0, report.weight), reverse=True)
        return reports[:_REPORTED_TERMS]

    def candidate_reports(self, shown: Sequence[Hit]) -> list[CandidateReport]:
        """Return what became of the candidates: those shown, then by score, then hidden ones, bounded."""
        measured = {candidate.chunk.id: candidate for candidate in self._candidates.measured}
        chosen = {hit.chunk.id for hit in shown}
        others = [
            self._passed.get(candidate.chunk.id) or self._hit(candidate, self._config.cross_project_penalty)
            for candidate in measured.values()
            if candidate.chunk.id not in chosen
        ]
        others.sort(key=lambda hit: hit.score, reverse=True)
        hidden = sorted(self._candidates.left_out.values(), key=lambda item: item[1] == "own_session")
        room = max(0, REPORTED_CANDIDATES - len(shown) - min(len(hidden), _REPORTED_HIDDEN))
        reports = [
            self._candidate_report(hit, measured.get(hit.chunk.id), self._verdict(hit.chunk.id, chosen))
            for hit in [*shown, *others[:room]]
        ]
        left = max(0, REPORTED_CANDIDATES - len(reports))
        return reports + [CandidateReport(chunk.id, reason) for chunk, reason in hidden[:left]]

    def _verdict(self, chunk_id: int, chosen: Collection[int]) -> Verdict:
        if chunk_id in chosen:
            return "shown"
        if chunk_id in self._distinct:
            return "over_limit"
        return "repeats" if chunk_id in self._passed else "below_gate"

    def _candidate_report(self, hit: Hit, candidate: Measured | None, verdict: Verdict) -> CandidateReport:
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
