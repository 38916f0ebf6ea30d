"""What recall did: a log of each recall, and what each running session was shown.

The hook reads the database only, so both are small files beside it, written by one ``write`` to a descriptor
that appends: processes at once never tear each other's lines. Nothing here raises for a disk that can't be
written: a prompt goes on without its receipt.
"""

from __future__ import annotations

import os

from kizami_core.json_text import dump, parse
from kizami_core.paths import make_private_dir, session_file
from kizami_core.privacy import redact_for_display
from kizami_core.recall_report import CandidateReport, RecallReport, TermReport
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Beyond it the log becomes its own predecessor, which is kept: some 400 recalls each.
_MAX_BYTES = 1_000_000
_PROMPT_CHARACTERS = 200
# Secrets are masked before the prompt is cut: what begins within its first characters is recognised in these.
_REDACTED_CHARACTERS = 1_000
_SHOWN_DAYS = 30
_DAY_SECONDS = 86_400


class LoggedRecall(Record):
    """One recall. ``at`` is in seconds since the epoch; ``prompt`` is the beginning, secrets masked."""

    at: float
    session_id: str
    project_path: str
    prompt: str
    report: RecallReport


def log_entry(
    prompt: str, report: RecallReport, *, session_id: str, project_path: str, now: float
) -> LoggedRecall:
    """Make an entry that holds no secret of the prompt.

    Of the terms that no memory holds, only those stay that stand in the masked text.
    """
    masked = redact_for_display(prompt.strip()[:_REDACTED_CHARACTERS])
    if any(not term.memories for term in report.terms):
        from kizami_core.retrieval.normalize import fold

        text = fold(masked)
        report = report.replace(
            terms=tuple(term for term in report.terms if term.memories or term.term in text)
        )
    return LoggedRecall(round(now, 3), session_id, project_path, masked[:_PROMPT_CHARACTERS], report)


def write_log(path: str, entry: LoggedRecall) -> None:
    """Append an entry as one line of JSON; a log that has grown too long is put aside first."""
    line = dump(entry.as_dict()) + "\n"
    if _append(path, line.encode("utf-8", "replace")) > _MAX_BYTES:
        try:
            # Another process may have done it since.
            if os.stat(path).st_size > _MAX_BYTES:
                os.replace(path, path + ".1")
        except OSError:
            return


def read_log(path: str) -> list[LoggedRecall]:
    """Return what is logged, the oldest first; lines that can't be read are left out."""
    entries = []
    for name in (path + ".1", path):
        try:
            with open(name, encoding="utf-8", errors="replace") as log:
                lines = log.readlines()
        except OSError:
            continue
        entries += [entry for entry in map(_parse_line, lines) if entry is not None]
    return entries


def _parse_line(line: str) -> LoggedRecall | None:
    try:
        entry = LoggedRecall(**parse(line))  # type: ignore[arg-type]  # what does not fit raises below
        report = RecallReport(**entry.report)  # type: ignore[arg-type]  # as above
        terms = tuple(TermReport(**term) for term in report.terms)  # type: ignore[arg-type]  # as above
        candidates = tuple(CandidateReport(**one) for one in report.candidates)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return entry.replace(report=report.replace(terms=terms, candidates=candidates))


def read_shown(folder: str, session_id: str) -> frozenset[int]:
    """Return the chunks that a session was shown and still holds."""
    try:
        with open(session_file(folder, session_id), "rb") as file:
            return frozenset(int(name) for name in file.read().split() if name.isdigit())
    except OSError:
        return frozenset()


def note_shown(folder: str, session_id: str, chunk_ids: Sequence[int]) -> None:
    """Note what a session was shown."""
    if session_id and chunk_ids:
        _append(session_file(folder, session_id), "".join(f"{chunk_id}\n" for chunk_id in chunk_ids).encode())


def forget_shown(folder: str, session_id: str) -> None:
    """Forget what a session was shown: its context was compacted or cleared."""
    _unlink(session_file(folder, session_id))


def prune_shown(folder: str, now: float) -> None:
    """Forget what sessions were shown that have not been shown anything for a month."""
    for path in _files(folder):
        try:
            is_old = os.stat(path).st_mtime < now - _SHOWN_DAYS * _DAY_SECONDS
        except OSError:
            continue
        if is_old:
            _unlink(path)


def _files(folder: str) -> Iterable[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _append(path: str, data: bytes) -> int:
    """Append to a private file, in one piece; return its size, 0 where that is not possible."""
    try:
        make_private_dir(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    except OSError:
        return 0
    try:
        os.write(descriptor, data)
        return os.fstat(descriptor).st_size
    except OSError:
        return 0
    finally:
        os.close(descriptor)
