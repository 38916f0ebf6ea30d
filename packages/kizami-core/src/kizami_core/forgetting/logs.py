"""Forgetting in the logs: what recalls found and what went wrong, line by line.

What sessions were shown (``recall_log``) is numbers of chunks, which are never given again: it holds no text.
"""

from __future__ import annotations

from kizami_core.json_text import parse
from kizami_core.paths import error_log_path, recall_log_path
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kizami_core.forgetting.wanted import Wanted


class LogTrace(Record):
    """A log, and how many of its lines hold the text."""

    path: str
    lines: int


def logs_holding(env: Mapping[str, str], wanted: Wanted) -> list[LogTrace]:
    """Return the logs that hold a text."""
    counted = [LogTrace(path, _count(path, is_held)) for path, is_held in _logs(env, wanted)]
    return [trace for trace in counted if trace.lines]


def clean_logs(env: Mapping[str, str], wanted: Wanted) -> list[LogTrace]:
    """Take the lines that hold a text out of the logs; return what was found, as ``logs_holding`` does.

    Raises:
        OSError: a log can't be written.
    """
    traces = logs_holding(env, wanted)
    found = {trace.path for trace in traces}
    for path, is_held in _logs(env, wanted):
        if path in found:
            _drop(path, is_held)
    return traces


def _logs(env: Mapping[str, str], wanted: Wanted) -> list[tuple[str, Callable[[str], bool]]]:
    def is_in_recall(line: str) -> bool:
        return _is_in_recall(line, wanted)

    recalls = recall_log_path(env)
    return [
        (recalls, is_in_recall),
        (recalls + ".1", is_in_recall),
        (error_log_path(env), wanted.is_held_by),  # of no project
    ]


def _is_in_recall(line: str, wanted: Wanted) -> bool:
    try:
        entry = parse(line)
    except ValueError:
        entry = None
    if not isinstance(entry, dict):
        return wanted.is_held_by(line)
    if not wanted.is_of(entry.get("project_path")):
        return False
    report = entry.get("report")
    terms = report.get("terms") if isinstance(report, dict) else None
    asked = frozenset(
        str(term.get("term")) for term in (terms if isinstance(terms, list) else []) if isinstance(term, dict)
    )
    return wanted.is_held_by(line) or wanted.is_held_by(str(entry.get("prompt"))) or wanted.is_told_by(asked)


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _count(path: str, is_held: Callable[[str], bool]) -> int:
    try:
        with open(path, "rb") as log:
            return sum(is_held(_text(line)) for line in _lines(log.read()))
    except OSError:
        return 0


def _drop(path: str, is_held: Callable[[str], bool]) -> None:
    """Rewrite a log in its place: a hook that has it open goes on appending to the same file."""
    with open(path, "r+b", buffering=0) as log:
        kept = b"".join(line for line in _lines(log.read()) if not is_held(_text(line)))
        log.seek(0)
        log.write(kept)
        log.truncate()
