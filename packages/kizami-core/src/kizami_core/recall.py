"""Recall: from a prompt to the few past exchanges that matter, or to silence."""

from __future__ import annotations

from time import perf_counter

from kizami_core.ranking import Ranking
from kizami_core.recall_report import RecallReport
from kizami_core.records import Record
from kizami_core.retrieval.formatting import ShownMemory, format_memories
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.repeats import replaced_last
from kizami_core.retrieval.snippet import snippet
from kizami_core.storage.marks import marked_ids
from kizami_core.timestamps import local_date
from kizami_core.transcript.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from kizami_core.config import Config
    from kizami_core.recall_report import CandidateReport, Outcome, TermReport, Verdict
    from kizami_core.records import Hit

_TOKENS_PER_MEMORY = 125
# What the client sends as a prompt without a person having typed it.
_SYNTHETIC = (
    "<task-notification",
    "<agent-notification",
    "<local-command-",
    "<system-reminder",
    "<command-",
)


class Recalled(Record):
    """The block to put before a prompt, "" for silence, and how it came to be."""

    block: str
    report: RecallReport


def is_worth_asking(prompt: str) -> bool:
    """Tell whether a prompt is a person's and says anything that a memory could answer.

    Notifications and slash commands are not; "はい", "続けて", "ok" carry no content, see ``analyze_query``.
    """
    text = prompt.strip()
    if not text or text.startswith(_SYNTHETIC):
        return False
    first = text.split(None, 1)[0]
    # "/review the parser" is a command, "/src/app.ts fails" is not.
    return not (first.startswith("/") and "/" not in first[1:] and "." not in first)


def recall(
    connection: sqlite3.Connection,
    prompt: str,
    *,
    session_id: str,
    project_path: str,
    config: Config,
    now: float,
    already_shown: Collection[int] = (),
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
    """
    gate = config.min_relevance_score
    if config.recall_limit == 0:
        return Recalled("", RecallReport("limit_zero", gate))
    if not is_worth_asking(prompt):
        return Recalled("", RecallReport("no_question", gate))
    query = analyze_query(prompt)
    if not query.words:
        return Recalled("", RecallReport("steering", gate))
    hidden: dict[int, Verdict] = dict.fromkeys(already_shown, "already_shown")
    hidden.update(dict.fromkeys(marked_ids(connection, "muted"), "muted"))
    ranking = Ranking(
        connection,
        query,
        project_path=project_path,
        session_id=session_id,
        config=config,
        now=now,
        hidden=hidden,
        pinned=frozenset(marked_ids(connection, "pinned")),
    )
    hits = ranking.relaxed() if gate == 0 else ranking.gated()
    ranked = perf_counter()
    block = _block(hits, ranking, project_path)
    seconds = {**ranking.seconds, "format": perf_counter() - ranked}
    terms = ranking.term_reports()
    candidates = ranking.candidate_reports(hits)
    report = RecallReport(
        _outcome(terms, candidates),
        gate,
        ranking.memories,
        tuple(terms),
        tuple(candidates),
        estimate_tokens(block),
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


def _block(hits: Sequence[Hit], ranking: Ranking, project_path: str) -> str:
    return format_memories(
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


def _name(project_path: str) -> str:
    return project_path.replace("\\", "/").rstrip("/").rpartition("/")[2] or project_path
