"""Recall: from a prompt to the few past exchanges that matter, or to silence."""

from __future__ import annotations

from time import perf_counter

from kizami_core.candidates import Candidates
from kizami_core.exclusion import Exclusion
from kizami_core.question import question
from kizami_core.ranking import Ranking
from kizami_core.recall_report import RecallReport
from kizami_core.records import Record
from kizami_core.storage.marks import marked_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from kizami_core.config import Config
    from kizami_core.recall_report import CandidateReport, Outcome, TermReport, Verdict
    from kizami_core.records import Hit
    from kizami_core.retrieval.query import Query
    from kizami_core.retrieval.vector_source import VectorSource

_TOKENS_PER_MEMORY = 125


class Recalled(Record):
    """The block to put before a prompt, "" for silence, and how it came to be."""

    block: str
    report: RecallReport


def recall(
    connection: sqlite3.Connection,
    prompt: str,
    *,
    session_id: str,
    project_path: str,
    config: Config,
    now: float,
    already_shown: Collection[int] = (),
    vectors: VectorSource | None = None,
) -> Recalled:
    """Find what to put before a prompt.

    Args:
        connection: an open database; it is only read.
        prompt: what the person sent.
        session_id: the running session, whose own turns are never shown.
        project_path: the project of the running session.
        config: limits, gate and scope.
        now: epoch seconds.
        already_shown: chunks that the session was shown before.
        vectors: what finds memories by their meaning besides; None for words alone.
    """
    if Exclusion(config.exclude_projects).reason(project_path):
        return Recalled("", RecallReport("excluded", config.min_relevance_score))
    asked = question(prompt, config)
    if isinstance(asked, RecallReport):
        return Recalled("", asked)
    return answer(
        connection,
        asked,
        session_id=session_id,
        project_path=project_path,
        config=config,
        now=now,
        already_shown=already_shown,
        vectors=vectors,
    )


def answer(
    connection: sqlite3.Connection,
    query: Query,
    *,
    session_id: str,
    project_path: str,
    config: Config,
    now: float,
    already_shown: Collection[int] = (),
    vectors: VectorSource | None = None,
) -> Recalled:
    """Do the same for a prompt of which it is known what it asks (``question``)."""
    gate = config.min_relevance_score
    hidden: dict[int, Verdict] = dict.fromkeys(already_shown, "already_shown")
    hidden.update(dict.fromkeys(marked_ids(connection, "muted"), "muted"))
    candidates = Candidates(
        connection,
        query,
        project_path=project_path,
        session_id=session_id,
        config=config,
        now=now,
        hidden=hidden,
        pinned=frozenset(marked_ids(connection, "pinned")),
        vectors=vectors,
        keeps_out=Exclusion(config.exclude_projects).reason,
    )
    ranking = Ranking(candidates)
    hits = ranking.relaxed() if gate == 0 else ranking.gated()
    ranked = perf_counter()
    block, tokens = _block(hits, ranking, project_path) if hits else ("", 0)
    seconds = {**candidates.seconds, "format": perf_counter() - ranked}
    terms = ranking.term_reports()
    reports = ranking.candidate_reports(hits)
    report = RecallReport(
        _outcome(terms, reports),
        gate,
        candidates.statistics.corpus_size,
        tuple(terms),
        tuple(reports),
        tokens,
        {stage: round(1000 * duration, 2) for stage, duration in seconds.items()},
    )
    return Recalled(block, report)


def _outcome(terms: Sequence[TermReport], candidates: Sequence[CandidateReport]) -> Outcome:
    verdicts = {candidate.verdict for candidate in candidates}
    if "shown" in verdicts:
        return "shown"
    if "below_gate" in verdicts:
        return "below_gate"
    if verdicts:
        return "all_hidden"
    return "no_candidates" if any(term.memories for term in terms) else "unknown_words"


def _block(hits: Sequence[Hit], ranking: Ranking, project_path: str) -> tuple[str, int]:
    """Return the block and its tokens."""
    # Most prompts bring nothing back, and are spared these.
    from kizami_core.retrieval.formatting import ShownMemory, format_memories
    from kizami_core.retrieval.repeats import replaced_last
    from kizami_core.retrieval.snippet import snippet
    from kizami_core.timestamps import local_date
    from kizami_core.transcript.tokens import estimate_tokens

    block = format_memories(
        [
            ShownMemory(
                hit.chunk.id,
                local_date(hit.chunk.created_at),
                hit.chunk.session_id,
                "" if hit.chunk.project_path == project_path else _name(hit.chunk.project_path),
                hit.relevance,
                snippet(hit.chunk.content, ranking.rarities[hit.chunk.id], _TOKENS_PER_MEMORY),
                None if newer is None else newer.id,
            )
            for hit, newer in replaced_last(hits)
        ]
    )
    return block, estimate_tokens(block)


def _name(project_path: str) -> str:
    return project_path.replace("\\", "/").rstrip("/").rpartition("/")[2] or project_path
