"""`kizami doctor`: whether everything is in place and works, what is wrong, and what to do about it."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing

import click

from kizami_cli.backends import mode_problem
from kizami_cli.console import count, show, show_json, show_table
from kizami_cli.hook_command import find_program
from kizami_cli.hook_probe import check_hooks
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.kept_out import check_kept_out, kept_out_projects
from kizami_cli.language import _
from kizami_cli.settings_table import remedy, told
from kizami_core import __version__
from kizami_core.backfill import split_left_out, unsaved
from kizami_core.config import load_config
from kizami_core.errors import DatabaseCorruptError, StorageError
from kizami_core.maintenance.coverage import CLEANUP_DAYS, check_coverage, measure_coverage
from kizami_core.maintenance.diagnosis import (
    check_database,
    check_disk,
    check_foreign_database,
    check_runtime,
    free_bytes,
)
from kizami_core.maintenance.error_log import check_error_log, read_error_log
from kizami_core.maintenance.findings import Finding, of_error
from kizami_core.maintenance.hook_runs import check_hook_runs
from kizami_core.maintenance.permissions import check_permissions, mend_permissions
from kizami_core.maintenance.repair import repair
from kizami_core.messages import Message
from kizami_core.paths import claude_config_dir, config_path, default_database_path, error_log_path
from kizami_core.storage.connection import open_database
from kizami_core.transcript.history import find_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kizami_cli.kept_out import KeptOut
    from kizami_core.backfill import LeftOut
    from kizami_core.config import Config
    from kizami_core.transcript.history import TranscriptFile

_CHECKS, _REPAIRS = "kizami.doctor", "kizami.repair"  # the entry points of other packages
_STATES = ("ok", "warning", "problem")
_STATE_NAMES = {"ok": Message("ok"), "warning": Message("warning"), "problem": Message("problem")}
_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


@click.command("doctor")
@common_options
@click.option(
    "--repair", "is_repair", is_flag=True, help="Make anew what is derived, close what others can read."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@click.pass_context
def command(context: click.Context, *, is_repair: bool, as_json: bool) -> None:
    """Look at everything that Kizami needs, and say what to do about what is wrong.

    Looks at Python and SQLite, the configuration, the hooks (each is started once, in a home that is thrown
    away) and their last runs, the database and its indexes, the transcripts that are not saved yet, the
    permissions, the disk and the error log. Nothing is changed unless --repair is given, which never touches
    a chunk: it rebuilds both full-text indexes and the rows of sessions, and mends permissions.

    The exit code is 1 when there is a problem, 0 otherwise, warnings included.

    \b
    --json prints one object:
      state     "ok", "warning" or "problem": the worst of all checks
      version   Kizami's own
      checks    a list in a fixed order; each with check (a name such as
                "hooks"), state, found, remedy ("" if none) and figures
                (numbers by name)
      repaired  what --repair did, a list of texts
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    invocation: Invocation = context.obj
    now = time.time()
    path = invocation.config_path or config_path(os.environ)
    config = load_config(path, os.environ)[0]
    repaired, failed = _repair(path, config) if is_repair else ([], [])
    findings = [*_check_all(invocation, path, config, now), *failed]
    worst = max((finding.state for finding in findings), key=_STATES.index)
    if as_json:
        checks = [finding.as_dict() for finding in findings]
        show_json({"state": worst, "version": __version__, "checks": checks, "repaired": repaired})
    else:
        _show(findings, repaired)
    context.exit(1 if worst == "problem" else 0)


def _check_all(invocation: Invocation, path: str, config: Config, now: float) -> list[Finding]:
    program = find_program(sys.argv[0], sys.executable, os.environ)
    explicit = os.path.abspath(invocation.config_path) if invocation.config_path else ""
    hooks = check_hooks(os.environ, program, explicit, invocation.project_path())
    cleanup_days = CLEANUP_DAYS if hooks.cleanup_days is None else hooks.cleanup_days
    files = find_transcripts(claude_config_dir(os.environ))
    wanted, left_out = split_left_out(_unsaved(config.database_path, files), config=config, env=os.environ)
    never_saved = {transcript.file.path for transcript in left_out}
    files = [file for file in files if file.path not in never_saved]
    coverage = measure_coverage(files, wanted, now=now, cleanup_days=cleanup_days)
    log = error_log_path(os.environ)
    return [
        *check_runtime(),
        *_check_config(path),
        *hooks.findings,
        *check_hook_runs(
            os.environ,
            hooks.installed,
            read_error_log(log, since=0),
            since=hooks.changed_at,
            newest_transcript=files[0].mtime if files else None,
        ),
        *check_database(config, now),
        *check_foreign_database(default_database_path(os.environ), config.database_path),
        check_coverage(coverage, cleanup_days),
        *check_kept_out(_kept_out(config, left_out), left_out),
        *check_permissions(os.environ, config=path, database=config.database_path),
        check_disk(config.database_path, free_bytes(config.database_path)),
        *check_error_log(log, now),
        *_check_other_packages(path, config),
    ]


def _check_other_packages(path: str, config: Config) -> list[Finding]:
    """Ask the packages that bring checks: each is ``check(config_path, config, env) -> list[Finding]``."""
    findings, failed = _ask_other_packages(_CHECKS, path, config)
    return findings + failed


def _ask_other_packages(group: str, path: str, config: Config) -> tuple[list[Any], list[Finding]]:
    """Call what other packages bring under a group of entry points; return the results, and what failed."""
    from importlib.metadata import entry_points

    found: list[Any] = []
    failed: list[Finding] = []
    for entry_point in sorted(entry_points(group=group), key=lambda entry_point: entry_point.name):
        try:
            found += entry_point.load()(path, config, os.environ)
        except Exception as error:  # noqa: BLE001 - of another package; the other checks must be told
            reason = Message("this check fails ({reason})", reason=f"{type(error).__name__}: {error}")
            remedy = Message(
                "Bring all packages to one version: pip install --upgrade kizami-cli kizami-hybrid"
            )
            failed.append(Finding(entry_point.name, "warning", reason, remedy))
    return found, failed


def _check_config(path: str) -> list[Finding]:
    config, problems = load_config(path, os.environ)
    findings = [
        Finding("configuration", "warning", told(problem), remedy(problem, path)) for problem in problems
    ]
    if problem := mode_problem(config.search_mode):
        findings.append(Finding("configuration", "warning", problem))
    if not config.auto_recall:
        found = Message("hooks.autoRecall is false: prompts bring nothing back")
        findings.append(Finding("configuration", "ok", found))
    state = Message("{path} is not there: the defaults apply", path=path)
    if os.path.exists(path):
        state = Message("{path} is read", path=path)
    return findings or [Finding("configuration", "ok", state)]


def _unsaved(database: str, files: list[TranscriptFile]) -> list[TranscriptFile]:
    """Return the transcripts that the database has not read to their end: all, where it can't be read."""
    try:
        with closing(open_database(database, read_only=True)) as connection:
            return unsaved(connection, files)
    except (FileNotFoundError, StorageError, sqlite3.Error):
        return files


def _kept_out(config: Config, left_out: list[LeftOut]) -> list[KeptOut]:
    try:
        with closing(open_database(config.database_path, read_only=True)) as connection:
            return kept_out_projects(connection, left_out, config)
    except (FileNotFoundError, StorageError, sqlite3.Error):
        return kept_out_projects(None, left_out, config)


def _repair(path: str, config: Config) -> tuple[list[str], list[Finding]]:
    """Mend what can be mended; return what was done, and what could not be done."""
    database = config.database_path
    done: list[str] = []
    try:
        done += mend_permissions(os.environ, config=path, database=database)
        if not os.path.exists(database):
            return done, []
        with closing(open_database(database)) as connection:
            report = repair(connection)
    except DatabaseCorruptError as error:
        found = of_error("repair", error).found
        return done, [Finding("repair", "problem", found, Message("What to do stands under database."))]
    except StorageError as error:
        return done, [of_error("repair", error)]
    done += [Message("{name}: was missing, made anew", name=name) for name in report.restored]
    chunks, rows = count(report.chunks_indexed, "chunk"), count(report.sessions, "row")
    done.append(Message("full-text indexes: rebuilt from {chunks}", chunks=chunks))
    done.append(Message("sessions: {rows} brought in line with their chunks", rows=rows))
    if report.sessions_dropped:
        dropped = count(report.sessions_dropped, "row")
        done.append(Message("sessions: {rows} without chunks removed", rows=dropped))
    others, failed = _ask_other_packages(_REPAIRS, path, config)
    return done + others, failed


def _show(findings: list[Finding], repaired: list[str]) -> None:
    for text in repaired:
        show(_("repaired: {what}", what=text))
    if not sys.stdout.isatty():
        show_table((), ((_STATE_NAMES[item.state], item.check, item.found, item.remedy) for item in findings))
        return
    if repaired:
        show()
    rows: list[tuple[str, str, str]] = []
    for item in findings:
        rows.append((_STATE_NAMES[item.state], item.check, item.found))
        if item.remedy:
            rows += [("", "", f"→ {line}") for line in _(item.remedy).split("\n")]
    show_table(("state", "check", "found"), rows, whole=("state", "check"), styles=_STYLES)
    show()
    problems, warnings = (sum(item.state == state for item in findings) for state in ("problem", "warning"))
    if problems or warnings:
        amounts = {"problems": count(problems, "problem"), "warnings": count(warnings, "warning")}
        show(_("{problems}, {warnings}.", **amounts))
    else:
        show(_("All is well."))
