"""The error log, read back: what went wrong lately, told once for each kind."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from kizami_core.maintenance.findings import Finding, counted
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.timestamps import local_minute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([\w-]+): (.*)")
_DAYS = 7
_DAY_SECONDS = 86_400
_MAX_KINDS = 5
_MAX_LENGTH = 400  # characters of a message that are shown
# What differs between two errors of one kind: paths, numbers, what stands in quotes.
_PARTICULARS = re.compile(r"(?:[A-Za-z]:)?[\\/][^\s:;,)]*|'[^']*'|\"[^\"]*\"|\d+")


class LoggedError(Record):
    """One line: seconds since the epoch, what ran (a hook's name, or "kizami"), and the message."""

    at: float
    source: str
    message: str


def read_error_log(path: str, *, since: float) -> list[LoggedError]:
    """Return the errors from ``since`` on (seconds since the epoch), in file order; [] without a log."""
    found = []
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                match = _LINE.match(line)
                if match is None:
                    continue
                at = datetime.fromisoformat(match[1]).astimezone(UTC).timestamp()
                if at >= since:
                    found.append(LoggedError(at, match[2], match[3]))
    except OSError:
        return []
    return found


def check_error_log(path: str, now: float) -> list[Finding]:
    """Tell the errors of the last seven days, each kind once with its number and its last time."""
    if os.path.lexists(path) and not (os.path.isfile(path) and os.access(path, os.R_OK | os.W_OK)):
        found = Message("{path} can't be read or written to, so errors of the hooks are not kept", path=path)
        return [Finding("errors", "problem", found, Message("Make it a file of yours, or delete it."))]
    errors = read_error_log(path, since=now - _DAYS * _DAY_SECONDS)
    if not errors:
        return [Finding("errors", "ok", Message("none in the last {days} days", days=_DAYS))]
    kinds: dict[tuple[str, str], list[LoggedError]] = {}
    for logged in errors:
        kinds.setdefault((logged.source, _PARTICULARS.sub("…", logged.message)), []).append(logged)
    latest_first = sorted(kinds.values(), key=lambda kind: kind[-1].at, reverse=True)
    findings = [_finding(kind) for kind in latest_first[:_MAX_KINDS]]
    if len(latest_first) > _MAX_KINDS:
        more = Message("and {kinds}", kinds=counted(len(latest_first) - _MAX_KINDS, "more kind"))
        findings.append(Finding("errors", "warning", more, Message("They stand in {path}", path=path)))
    return findings


def _finding(errors: Sequence[LoggedError]) -> Finding:
    last = errors[-1]
    when = local_minute(last.at)
    message = last.message if len(last.message) <= _MAX_LENGTH else last.message[:_MAX_LENGTH] + "…"
    text, _, remedy = message.rpartition(". ")
    often = (
        Message("{times}, last {when}", times=counted(len(errors), "time"), when=when)
        if len(errors) > 1
        else when
    )
    return Finding(
        "errors",
        "warning",
        Message("{source}, {often}: {text}", source=last.source, often=often, text=text or remedy),
        remedy if text else Message("Upgrade Kizami; if it comes back, report it with this line."),
        {"count": len(errors), "last": last.at},
    )
