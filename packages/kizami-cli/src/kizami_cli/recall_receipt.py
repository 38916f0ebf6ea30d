"""How a recall is explained: what was shown, why nothing was, the terms, the candidates, the times."""

from __future__ import annotations

import os

from kizami_cli.chunk_text import first_line
from kizami_cli.console import count, show, show_field, show_table
from kizami_cli.language import _
from kizami_core.errors import NotFoundError
from kizami_core.messages import Message
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
    "no_question": Message("it is a notification or a slash command, which asks nothing"),
    "limit_zero": Message("hooks.recallLimit is 0"),
    "excluded": Message("this project is kept out, by privacy.excludeProjects or a .kizamiignore"),
    "steering": Message("the prompt only steers the conversation"),
    "unknown_words": Message("no memory holds any word of the prompt"),
    "no_candidates": Message("too many memories hold the words of the prompt to choose by them"),
}
_HIDDEN = {
    "muted": Message("is muted"),
    "already_shown": Message("was shown in this session before"),
    "own_session": Message("belongs to this session itself"),
    "excluded": Message("belongs to an excluded project"),
    "repeats": Message("says the same as such a memory"),
}
_VERDICTS = {
    "shown": Message("shown"),
    "below_gate": Message("below the gate"),
    "repeats": Message("says the same"),
    "over_limit": Message("over the limit"),
    "muted": Message("muted"),
    "already_shown": Message("shown before"),
    "own_session": Message("own session"),
    "excluded": Message("excluded project"),
}


def reason(report: RecallReport) -> Message:
    """Return in one sentence what was shown, or why nothing was."""
    if report.outcome == "shown":
        shown, tokens = len(report.shown_ids()), count(report.tokens, "token")
        if shown == 1:
            return Message("1 memory was shown, {tokens}.", tokens=tokens)
        return Message("{count} memories were shown, {tokens}.", count=shown, tokens=tokens)
    return Message("Nothing was shown: {why}.", why=_why_nothing(report))


def _why_nothing(report: RecallReport) -> Message:
    candidates = report.candidates
    if report.outcome == "below_gate":
        below = [candidate for candidate in candidates if candidate.verdict == "below_gate"]
        best = max(below, key=lambda candidate: candidate.relevance or 0.0)
        told = Message(
            "the best candidate, #{id}, has relevance {relevance:.2f}, the gate is {gate:g}",
            id=best.chunk_id,
            relevance=best.relevance,
            gate=report.gate,
        )
        for candidate in candidates:
            if candidate.verdict in ("muted", "already_shown"):
                told = Message(
                    "{before}; #{id} {hidden}",
                    before=told,
                    id=candidate.chunk_id,
                    hidden=_HIDDEN[candidate.verdict],
                )
        return told
    if report.outcome == "all_hidden":
        verdicts = {candidate.verdict for candidate in candidates}
        first, *more = (_HIDDEN[verdict] for verdict in _HIDDEN if verdict in verdicts)
        for hidden in more:
            first = Message("{one} or {other}", one=first, other=hidden)
        return Message("what was found {hidden}", hidden=first)
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
    show_field("Prompt", " ".join(entry.prompt.split()))
    asked = local_minute(entry.at)
    if entry.session_id:
        asked = _("{time}, session {session}", time=asked, session=entry.session_id)
    show_field("Asked", asked)
    show_field("In", entry.project_path)
    show_field("Result", reason(report))
    show_field("Gate", f"{report.gate:g}" if report.gate else _("none (hooks.minRelevanceScore is 0)"))
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
        share = _("of {count:,} memories", count=report.memories)
        show_table(
            ["term", share, "weight"],
            ([term.term, f"{term.memories:,}", f"{term.weight:.2f}"] for term in known[:_SHOWN_TERMS]),
            right=[share, "weight"],
        )
        if len(known) > _SHOWN_TERMS:
            show(_("and {more}", more=count(len(known) - _SHOWN_TERMS, "more term")))
    if unknown:
        show()
        show_field("Unknown terms", _listed(unknown))


def _listed(terms: Sequence[str]) -> str:
    shown = ", ".join(terms[:_SHOWN_TERMS])
    if len(terms) <= _SHOWN_TERMS:
        return shown
    return _("{terms} and {count} more", terms=shown, count=len(terms) - _SHOWN_TERMS)


def _row(candidate: CandidateReport, figures: Sequence[str], text: str | None) -> list[str]:
    values = (getattr(candidate, name) for name in figures)
    return [
        f"#{candidate.chunk_id}",
        *("" if value is None else f"{value:.2f}" for value in values),
        _VERDICTS[candidate.verdict],
        _("(deleted since)") if text is None else text,
    ]
