"""How a recall is explained: what was shown, why nothing was, the terms, the candidates, the times."""

from __future__ import annotations

import os

from kizami_cli.chunk_text import first_line
from kizami_cli.console import count, show, show_field, show_table
from kizami_core.errors import NotFoundError
from kizami_core.storage.chunks import find_chunk
from kizami_core.timestamps import local_minute

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.recall_log import LoggedRecall
    from kizami_core.recall_report import CandidateReport, RecallReport

_SHOWN_TERMS = 15
_REASONS = {
    "no_question": "it is a notification or a slash command, which asks nothing",
    "limit_zero": "hooks.recallLimit is 0",
    "steering": "the prompt only steers the conversation",
    "unknown_words": "no memory holds any word of the prompt",
    "no_candidates": "too many memories hold the words of the prompt to choose by them",
}
_HIDDEN = {
    "muted": "is muted",
    "already_shown": "was shown in this session before",
    "own_session": "belongs to this session itself",
    "repeats": "says the same as such a memory",
}
_VERDICTS = {
    "shown": "shown",
    "below_gate": "below the gate",
    "repeats": "says the same",
    "over_limit": "over the limit",
    "muted": "muted",
    "already_shown": "shown before",
    "own_session": "own session",
}


def reason(report: RecallReport) -> str:
    """Return in one sentence what was shown, or why nothing was."""
    if report.outcome == "shown":
        shown = len(report.shown_ids())
        were = "was" if shown == 1 else "were"
        return (
            f"{shown} {'memory' if shown == 1 else 'memories'} {were} shown, {count(report.tokens, 'token')}."
        )
    return f"Nothing was shown: {_why_nothing(report)}."


def _why_nothing(report: RecallReport) -> str:
    candidates = report.candidates
    if report.outcome == "below_gate":
        below = [candidate for candidate in candidates if candidate.verdict == "below_gate"]
        best = max(below, key=lambda candidate: candidate.relevance or 0.0)
        others = [
            f"#{candidate.chunk_id} {_HIDDEN[candidate.verdict]}"
            for candidate in candidates
            if candidate.verdict in ("muted", "already_shown")
        ]
        measured = f"the best candidate, #{best.chunk_id}, has relevance {best.relevance:.2f}"
        return "; ".join([f"{measured}, the gate is {report.gate:g}", *others])
    if report.outcome == "all_hidden":
        verdicts = {candidate.verdict for candidate in candidates}
        return f"what was found {' or '.join(_HIDDEN[verdict] for verdict in _HIDDEN if verdict in verdicts)}"
    return _REASONS[report.outcome]


def memory_texts(connection: sqlite3.Connection, entry: LoggedRecall) -> dict[int, str | None]:
    """Return the first line of each candidate, None of one that is gone; another project is named."""
    texts: dict[int, str | None] = {}
    for candidate in entry.report.candidates:
        try:
            chunk = find_chunk(connection, str(candidate.chunk_id))
        except NotFoundError:
            texts[candidate.chunk_id] = None
            continue
        is_here = chunk.project_path == entry.project_path
        origin = "" if is_here else f"[{os.path.basename(chunk.project_path)}] "
        texts[candidate.chunk_id] = origin + first_line(chunk)
    return texts


def show_receipt(entry: LoggedRecall, texts: dict[int, str | None]) -> None:
    """Write the explanation to stdout; ``texts`` is what ``memory_texts`` returned."""
    report = entry.report
    session = f", session {entry.session_id}" if entry.session_id else ""
    show_field("Prompt", " ".join(entry.prompt.split()))
    show_field("Asked", f"{local_minute(entry.at)}{session}")
    show_field("In", entry.project_path)
    show_field("Result", reason(report))
    show_field("Gate", f"{report.gate:g}" if report.gate else "none (hooks.minRelevanceScore is 0)")
    if report.milliseconds:
        show_field("Took", _times(report))
    _show_terms(report)
    if report.candidates:
        show()
        figures = ["bm25", "decay", "coverage", "relevance"]
        if any(candidate.cosine is not None for candidate in report.candidates):
            figures.insert(3, "cosine")
        show_table(
            ["id", *figures, "verdict", "memory"],
            (_row(candidate, figures, texts[candidate.chunk_id]) for candidate in report.candidates),
            whole=["id", "verdict"],
            right=figures,
            brief=["memory"],
        )


def _times(report: RecallReport) -> str:
    spent = report.milliseconds
    stages = ", ".join(f"{stage} {spent[stage]:.1f}" for stage in spent if stage != "total")
    return f"{spent['total']:.1f} ms" + (f": {stages}" if stages else "")


def _show_terms(report: RecallReport) -> None:
    known = [term for term in report.terms if term.memories]
    unknown = [term.term for term in report.terms if not term.memories]
    if known:
        show()
        show_table(
            ["term", f"of {report.memories:,} memories", "weight"],
            ([term.term, f"{term.memories:,}", f"{term.weight:.2f}"] for term in known[:_SHOWN_TERMS]),
            right=[f"of {report.memories:,} memories", "weight"],
        )
        if len(known) > _SHOWN_TERMS:
            show(f"and {count(len(known) - _SHOWN_TERMS, 'more term')}")
    if unknown:
        show()
        show_field("Unknown terms", _listed(unknown))


def _listed(terms: Sequence[str]) -> str:
    more = f" and {len(terms) - _SHOWN_TERMS} more" if len(terms) > _SHOWN_TERMS else ""
    return ", ".join(terms[:_SHOWN_TERMS]) + more


def _row(candidate: CandidateReport, figures: Sequence[str], text: str | None) -> list[str]:
    values = (getattr(candidate, name) for name in figures)
    return [
        f"#{candidate.chunk_id}",
        *("" if value is None else f"{value:.2f}" for value in values),
        _VERDICTS[candidate.verdict],
        "(deleted since)" if text is None else text,
    ]
