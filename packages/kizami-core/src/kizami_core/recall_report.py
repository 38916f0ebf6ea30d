"""What one recall did and why: its terms, its candidates with a verdict each, its times."""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Verdict = Literal[
        "shown", "below_gate", "repeats", "over_limit", "muted", "already_shown", "own_session", "excluded"
    ]
    Outcome = Literal[
        "shown",
        "no_question",  # a notification or a slash command
        "limit_zero",  # recallLimit is 0
        "steering",  # nothing but chat, politeness, "continue"
        "unknown_words",  # no memory holds any word of the prompt
        "no_candidates",  # only words that too many memories hold
        "excluded",  # the project is kept out
        "all_hidden",  # every candidate is muted, already shown, of the session or of an excluded project
        "below_gate",
    ]


class TermReport(Record):
    """One term of the query: how many of the memories asked hold it, and its weight in (0, 1]."""

    term: str
    memories: int
    weight: float


class CandidateReport(Record):
    """One candidate. ``relevance`` is what the gate saw, penalties and pins applied.

    ``decay`` in (0.5, 1] is the factor by which age lowers its place, ``coverage`` in [0, 1] the share of the
    query's words that were found, by weight; ``score`` orders (higher is better); ``cosine`` in [-1, 1] is
    that of its vector with the query's, if vectors were asked and it is among the nearest. The figures are
    None where they were not worked out: for what must not be shown whatever it says, and for the fix of an
    error, which takes the relevance of the chunk of the error.
    """

    chunk_id: int
    verdict: Verdict
    bm25: float | None = None
    decay: float | None = None
    coverage: float | None = None
    relevance: float | None = None
    score: float | None = None
    cosine: float | None = None


class RecallReport(Record):
    """What one recall did.

    ``memories`` counts those that were asked (of this project or of all); ``terms`` holds the weightiest
    known ones first, then unknown ones, ``candidates`` those shown first, then by score, then hidden ones;
    both are bounded. ``tokens`` is what was put before the prompt. ``milliseconds`` names each stage in
    order; the hook adds reading its input, opening the database, loading (modules, and what the prompt asks)
    and the total, from its first line.
    """

    outcome: Outcome
    gate: float
    memories: int = 0
    terms: tuple[TermReport, ...] = ()
    candidates: tuple[CandidateReport, ...] = ()
    tokens: int = 0
    milliseconds: Mapping[str, float] = {}

    def shown_ids(self) -> list[int]:
        """Return the chunks that were shown, in their order."""
        return [candidate.chunk_id for candidate in self.candidates if candidate.verdict == "shown"]
