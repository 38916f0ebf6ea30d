"""Errors that were fixed: commands that failed and later, byte for byte the same, succeeded.

That a command succeeds again is what proves a fix. What the fix was is read from the conversation between the
two calls, as it is stored now: the files that were edited, and what was said before the last edit.
"""

from __future__ import annotations

import re
from itertools import islice

from kizami_core.records import Chunk, Metadata, Record
from kizami_core.retrieval.fixes import failure_and_success
from kizami_core.retrieval.lexical import Posting, TermStatistics
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.reranker import rerank
from kizami_core.retrieval.terms import index_terms
from kizami_core.storage.chunks import turns_chunks
from kizami_core.storage.resolutions import resolved_failures
from kizami_core.transcript.excerpts import cut_line
from kizami_core.transcript.rendering import ASSISTANT_MARK, MARKS, TOOL_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.storage.resolutions import ResolvedFailure

MAX_FILES = 20
MAX_EXPLANATION_CHARS = 300
# The sentence that begins an answer is often "Got it!": the next one is taken with it.
_SHORT_SENTENCE = 40
_EDIT = re.compile(rf"^{re.escape(TOOL_MARK)}(?:Edit|MultiEdit|Write|NotebookEdit)\] (.+)$", re.MULTILINE)
_FAILED_EDIT = re.compile(r" → [Ee]rror\b.*$")
_SENTENCE = re.compile(r".+?(?:[。！？]+|[.!?:](?=\s)|$)")


class Resolution(Record):
    """A command that failed, and what made it succeed.

    ``error`` is an excerpt of the output. ``files`` were edited between the two calls, in order of appearance
    and without repeats; ``explanation`` is the beginning of what the assistant said before the last edit, ""
    where it said nothing. Times are those of the turns, UTC ``YYYY-MM-DD HH:MM:SS``. ``failed_chunk`` and
    ``resolved_chunk`` are ids of the chunks in which the two calls stand.
    """

    command: str
    error: str
    files: tuple[str, ...]
    explanation: str
    failed_at: str
    resolved_at: str
    session_id: str
    project_path: str
    failed_chunk: int
    resolved_chunk: int


def find_resolutions(
    connection: sqlite3.Connection,
    text: str = "",
    *,
    project_path: str | None,
    limit: int,
    include_agents: bool = False,
) -> list[Resolution]:
    """Return what is known of fixed errors, the latest first, or by the words of an error, best first.

    Args:
        connection: an open database; it is only read.
        text: an error, or words of it or of the command; "" for all.
        project_path: the project, None for all.
        limit: the most to return.
        include_agents: those of sub-agents too.
    """
    failures = resolved_failures(connection, project_path=project_path, include_agents=include_agents)
    if text.strip():
        failures = _ranked(failures, text)
    found = (_resolution(connection, failure) for failure in failures)
    return list(islice((resolution for resolution in found if resolution is not None), limit))


def _ranked(failures: Sequence[ResolvedFailure], text: str) -> list[ResolvedFailure]:
    """Return the failures that share a word with a text, best first: measured as memories are."""
    query = analyze_query(text)
    documents = {failure.id: f"{failure.command}\n{failure.error}" for failure in failures}
    holders: dict[str, set[int]] = {term: set() for word in query.words for term in word.terms}
    for number, document in documents.items():
        for term in holders.keys() & set(index_terms(document)):
            holders[term].add(number)
    postings = {
        term: Posting(tuple(numbers), frozenset(numbers), len(numbers), is_complete=True)
        for term, numbers in holders.items()
    }
    chunks = [
        Chunk(number, "", "", 0, document, "mixed", Metadata(), "", 0)
        for number, document in documents.items()
    ]
    by_id = {failure.id: failure for failure in failures}
    return [
        by_id[found.chunk.id]
        for found in rerank(query, chunks, TermStatistics(len(chunks), postings))
        if found.evidence.words_found
    ]


def _resolution(connection: sqlite3.Connection, failure: ResolvedFailure) -> Resolution | None:
    """Read the fix of a failure from the chunks; None where another program deleted them."""
    chunks = turns_chunks(connection, failure.failed_turn, failure.resolved_turn)
    failed = [place for place, chunk in enumerate(chunks) if chunk.turn_id == failure.failed_turn]
    resolved = [place for place, chunk in enumerate(chunks) if chunk.turn_id == failure.resolved_turn]
    if not failed or not resolved:
        return None
    contents = [chunk.content for chunk in chunks]
    failure_call, success_call = failure_and_success(
        failure.command, contents, failed=failed, resolved=resolved
    )
    first = failure_call.place if failure_call else failed[0]
    last = success_call.place if success_call else resolved[-1]
    between = contents[first : last + 1]
    if success_call:
        between[-1] = between[-1][: success_call.start]
    if failure_call:
        between[0] = between[0][failure_call.end :]
    files, explanation = _fix("\n\n".join(between))
    return Resolution(
        command=failure.command,
        error=failure.error,
        files=files,
        explanation=explanation,
        failed_at=chunks[first].created_at,
        resolved_at=chunks[last].created_at,
        session_id=failure.session_id,
        project_path=chunks[last].project_path,
        failed_chunk=chunks[first].id,
        resolved_chunk=chunks[last].id,
    )


def _fix(text: str) -> tuple[tuple[str, ...], str]:
    """Return the files that were edited in a rendered text, and what was said before the last edit."""
    edits = [match for match in _EDIT.finditer(text) if not _FAILED_EDIT.search(match[1])]
    files = dict.fromkeys(match[1].strip() for match in edits)
    said = _last_answer(text[: edits[-1].start()] if edits else text) or _last_answer(text)
    return tuple(files)[:MAX_FILES], _beginning(said)


def _last_answer(text: str) -> str:
    """Return what the assistant said last in a rendered text, "" for nothing."""
    _, mark, answer = text.rpartition(f"\n{ASSISTANT_MARK}\n")
    ends = [end for other in MARKS if (end := answer.find(f"\n{other}")) >= 0]
    return answer[: min(ends, default=len(answer))].strip() if mark else ""


def _beginning(text: str) -> str:
    """Return the first sentence of a text, or its first ones where that is short, in one line."""
    line = " ".join(text.split())
    end = 0
    while end < len(line) and end < _SHORT_SENTENCE:
        sentence = _SENTENCE.match(line, end)
        end = sentence.end() if sentence else len(line)
    return cut_line(line[:end].strip(), MAX_EXPLANATION_CHARS)
