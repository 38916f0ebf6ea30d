"""When Claude Code last ran each hook, told by the stamps that the hooks leave and by their errors."""

from __future__ import annotations

import os

from kizami_core.maintenance.findings import Finding
from kizami_core.messages import Message
from kizami_core.paths import run_stamp_path
from kizami_core.timestamps import local_minute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_core.maintenance.error_log import LoggedError

_SLACK_SECONDS = 3_600
_SECOND = 1.0  # the error log tells whole seconds


def last_run(env: Mapping[str, str], event: str) -> float | None:
    """Return when the hook of an event last ran to its end (seconds since the epoch), None for never."""
    try:
        return os.stat(run_stamp_path(env, event)).st_mtime
    except OSError:
        return None


def check_hook_runs(
    env: Mapping[str, str],
    hooks: Mapping[str, str],
    errors: Sequence[LoggedError],
    *,
    since: float | None,
    newest_transcript: float | None,
) -> list[Finding]:
    """Tell the last run of each hook, whether it has failed since, and whether Claude Code runs them at all.

    Args:
        env: the environment.
        hooks: event → Kizami's hook, of those that are installed.
        errors: what stands in the error log.
        since: when the hooks were installed at the latest (seconds since the epoch), None if unknown.
        newest_transcript: when Claude Code last wrote one, None if it never did.
    """
    runs = {event: last_run(env, event) for event in hooks}
    findings = []
    for event, hook in hooks.items():
        ran = runs[event]
        failed = max((error.at for error in errors if _is_failure(error, hook)), default=None)
        found = (
            Message("{event}: has not run yet", event=event)
            if ran is None
            else Message("{event}: last ran {moment}", event=event, moment=local_minute(ran))
        )
        figures = {} if ran is None else {"last_run": round(ran, 3)}
        if failed is not None and (ran is None or failed > ran + _SECOND):
            found = Message("{found}; failed {moment}", found=found, moment=local_minute(failed))
            remedy = Message("What went wrong, and what to do, stands under errors.")
            findings.append(Finding("runs", "warning", found, remedy, {**figures, "last_failure": failed}))
        else:
            findings.append(Finding("runs", "ok", found, figures=figures))
    latest = max((ran for ran in [*runs.values(), since] if ran is not None), default=None)
    if hooks and latest is not None and newest_transcript and newest_transcript > latest + _SLACK_SECONDS:
        found = Message(
            "Claude Code wrote a transcript {written}, but no hook has run since {ran}",
            written=local_minute(newest_transcript),
            ran=local_minute(latest),
        )
        remedy = Message("Trust the project when Claude Code asks, look at /hooks there, and start it anew.")
        findings.append(Finding("runs", "problem", found, remedy))
    return findings


def _is_failure(error: LoggedError, hook: str) -> bool:
    return error.source == hook and not error.message.startswith("configuration:")
