"""The Claude Code hooks: `recall`, `save` and `inject` with ``--stdin``.

Each reads one JSON object as UTF-8 bytes, writes nothing but its block to stdout, and never fails: an error
is one line on stderr and in the error log. The shapes of the input stand in Claude Code's documentation of
hooks (UserPromptSubmit, Stop, PreCompact, SessionEnd, SessionStart).
"""

from __future__ import annotations

import os
import sys
import time

from kizami_core.config import load_config
from kizami_core.errors import ConfigError, KizamiError
from kizami_core.json_text import parse_prefix
from kizami_core.paths import (
    append_error_line,
    config_path,
    error_log_path,
    left_out_dir,
    recall_log_path,
    session_file,
    shown_dir,
    touch_run_stamp,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from kizami_core.config import Config

# More than any prompt that a client accepts; what comes beyond it is not read.
_MAX_INPUT_BYTES = 32 * 1024 * 1024
# A shell profile may print braces of its own before the object; a broken input must not be searched for ever.
_MAX_OBJECT_STARTS = 50
# Reading waits for a lock only while another process recovers the write-ahead log: a prompt can't wait long.
_READ_BUSY_TIMEOUT_MS = 1_000
# A session that is resumed or forked already holds what was injected when it began.
_SOURCES_WITHOUT_OVERVIEW = ("resume", "fork")
# A session that was compacted or cleared holds nothing any more of what it was shown.
_SOURCES_WITHOUT_CONTEXT = ("compact", "clear")


def run_hook(hook: str, arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """Run one hook on this process's stdin and stdout; errors become one line and nothing more."""
    now = time.time()
    started = time.perf_counter()
    database = ""
    try:
        config_file = _option(arguments, "--config") or config_path(env)
        config = _config(hook, config_file, arguments, env, now)
        database = config.database_path
        fields = read_input(_read_stdin())
        project = _option(arguments, "--project")
        if project:
            fields["cwd"] = project
        if hook == "recall":
            recall(fields, config, now, env, started=started, config_file=config_file)
        else:
            from kizami_cli.capture_hook import complete, save

            options = _config_option(arguments)
            if hook == "inject":
                _forget_shown(fields, env)
                _write_stdout(inject(fields, config))
                complete(fields, config, now, options, env)
            else:
                save(fields, config, now, options, env)
                _wake(config_file, config, env, now)
        touch_run_stamp(env, fields.get("hook_event_name", ""))
    except BaseException as error:  # noqa: BLE001 - whatever it is, Claude Code and the person go on
        _report(hook, _message(error, database), env, now)


def leave_session_out(hook: str, env: Mapping[str, str]) -> None:
    """Do nothing for a hook but mark its session, which is not to be saved later either (``left_out``)."""
    from kizami_core.left_out import leave_out

    try:
        fields = read_input(_read_stdin())
        session = fields.get("session_id", ""), fields.get("transcript_path", "")
        leave_out(left_out_dir(env), *session)
    except ConfigError:
        return  # whoever called, it was no session
    except OSError as error:
        message = f"the session can't be marked as left out ({error}); a later one may save it. Free space."
        append_error_line(error_log_path(env), _line(hook, message, time.time()))


def recall(
    fields: Mapping[str, str],
    config: Config,
    now: float,
    env: Mapping[str, str],
    *,
    started: float,
    config_file: str,
) -> None:
    """Write the memory block for a prompt, or nothing, and note what was done.

    ``started`` is when the hook began, by ``perf_counter``; ``config_file`` is where ``config`` came from.
    """
    prompt = fields.get("prompt", "")
    if not config.auto_recall or not prompt.strip() or not os.path.exists(config.database_path):
        return
    read = time.perf_counter()
    from kizami_core import recall_log
    from kizami_core.exclusion import Exclusion
    from kizami_core.question import question
    from kizami_core.recall_report import RecallReport
    from kizami_core.storage.projects import resolve_project

    project_path = resolve_project(fields.get("cwd", ""))
    if Exclusion(config.exclude_projects).reason(fields.get("cwd", ""), project_path):
        return
    session_id = fields.get("session_id", "")
    asked = question(prompt, config)
    seconds = {"input": read - started, "open": 0.0, "load": time.perf_counter() - read}
    if isinstance(asked, RecallReport):
        report = asked
    else:
        begun = time.perf_counter()
        vectors = None
        if config.search_mode != "core":
            from kizami_cli.backends import open_vectors

            vectors = open_vectors(config_file, config, env, prompt, now=now, is_hook=True)
            if vectors is not None:  # asked first: what answers works while the database is opened
                vectors.ask(None if config.project_scope is False else project_path)
                seconds["ask"] = time.perf_counter() - begun
                begun += seconds["ask"]
        connection = _open_for_reading(config)
        if connection is None:
            return
        seconds["open"] = time.perf_counter() - begun
        begun += seconds["open"]
        from kizami_core.recall import answer

        seconds["load"] += time.perf_counter() - begun
        try:
            recalled = answer(
                connection,
                asked,
                session_id=session_id,
                project_path=project_path,
                config=config,
                now=now,
                already_shown=recall_log.read_shown(shown_dir(env), session_id),
                vectors=vectors if vectors is not None and vectors.can_answer else None,
            )
        finally:
            connection.close()
            if vectors is not None:
                vectors.close()
        _write_stdout(recalled.block)
        if vectors is not None and vectors.problem:
            _report("recall", vectors.problem, env, now)
        report = recalled.report
        recall_log.note_shown(shown_dir(env), session_id, report.shown_ids())
    if session_id and os.path.lexists(session_file(left_out_dir(env), session_id)):
        return  # of such a session no prompt is kept, not even its beginning
    own = {stage: round(1000 * duration, 2) for stage, duration in seconds.items()}
    total = round(1000 * (time.perf_counter() - started), 2)
    report = report.replace(milliseconds={**own, **report.milliseconds, "total": total})
    entry = recall_log.log_entry(prompt, report, session_id=session_id, project_path=project_path, now=now)
    recall_log.write_log(recall_log_path(env), entry)


def _wake(config_file: str, config: Config, env: Mapping[str, str], now: float) -> None:
    """Leave the chunks that were saved to what makes their vectors."""
    if config.search_mode != "core":
        from kizami_cli.backends import wake

        if problem := wake(config_file, config, env, now):
            _report("save", problem, env, now)


def inject(fields: Mapping[str, str], config: Config) -> str:
    """Return what the last sessions of the project were about, "" for silence."""
    from kizami_core.exclusion import Exclusion

    is_wanted = (
        config.auto_recall
        and fields.get("source") not in _SOURCES_WITHOUT_OVERVIEW
        and not Exclusion(config.exclude_projects).reason(fields.get("cwd", ""))
    )
    connection = _open_for_reading(config) if is_wanted else None
    if connection is None:
        return ""
    from kizami_core.overview import session_overview
    from kizami_core.storage.projects import resolve_project

    try:
        return session_overview(
            connection,
            project_path=resolve_project(fields.get("cwd", "")),
            session_id=fields.get("session_id", ""),
        )
    finally:
        connection.close()


def _forget_shown(fields: Mapping[str, str], env: Mapping[str, str]) -> None:
    if fields.get("source") in _SOURCES_WITHOUT_CONTEXT:
        from kizami_core.recall_log import forget_shown

        forget_shown(shown_dir(env), fields.get("session_id", ""))


def read_input(data: bytes) -> dict[str, str]:
    """Return the texts of the JSON object in ``data``; what a shell profile printed before it is skipped.

    Raises:
        ConfigError: there is no JSON object.
    """
    text = data.decode("utf-8", "replace")
    start = text.find("{")
    for _ in range(_MAX_OBJECT_STARTS):
        if start < 0:
            break
        try:
            value, _end = parse_prefix(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict) and value:
            texts = {key: item for key, item in value.items() if isinstance(item, str)}
            # A lone surrogate can be escaped in JSON but not encoded again, by SQLite or for a path.
            return {key: item.encode("utf-8", "replace").decode("utf-8") for key, item in texts.items()}
        start = text.find("{", start + 1)
    raise ConfigError("no JSON object on stdin. This command is Claude Code's to run: kizami setup")


def _config(
    hook: str, config_file: str, arguments: Sequence[str], env: Mapping[str, str], now: float
) -> Config:
    config, problems = load_config(config_file, env)
    messages = [f"{problem.key} {problem.message}" for problem in problems]
    if messages:
        messages.append("Correct it; `kizami config list` shows where it stands.")
    if config.search_mode != "core":
        from kizami_cli.backends import mode_problem

        if problem := mode_problem(config.search_mode):
            messages.append(problem)
    if messages:
        _report(hook, "configuration: " + " ".join(messages), env, now)
    return config.replace(project_scope=False) if "--all-projects" in arguments else config


def _option(arguments: Sequence[str], name: str) -> str:
    """Return the last value of an option, "" when it is not given."""
    value = ""
    for index, argument in enumerate(arguments):
        if argument == name:
            value = arguments[index + 1] if index + 1 < len(arguments) else ""
        elif argument.startswith(name + "="):
            value = argument[len(name) + 1 :]
    return value


def _config_option(arguments: Sequence[str]) -> list[str]:
    """Return what a process that is started from here has to be told."""
    path = _option(arguments, "--config")
    return ["--config", path] if path else []


def _open_for_reading(config: Config) -> sqlite3.Connection | None:
    """Open the database, None when nothing has been saved yet."""
    from kizami_core.storage.connection import open_database

    try:
        return open_database(config.database_path, read_only=True, busy_timeout_ms=_READ_BUSY_TIMEOUT_MS)
    except FileNotFoundError:
        return None


def _read_stdin() -> bytes:
    # Python leaves the standard streams out when their descriptors are closed.
    return b"" if sys.stdin is None else sys.stdin.buffer.read(_MAX_INPUT_BYTES)


def _write_stdout(block: str) -> None:
    if block and sys.stdout is not None:
        sys.stdout.buffer.write(block.rstrip("\n").encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()


def _message(error: BaseException, database: str) -> str:
    if type(error).__module__ == "sqlite3":
        from kizami_core.storage.connection import storage_error

        error = storage_error(error, database)  # type: ignore[arg-type]  # the module's exceptions are sqlite3.Error
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Check the free space and the permissions there."
    return str(error) if isinstance(error, KizamiError) else f"{type(error).__name__}: {error}"


def _report(hook: str, message: str, env: Mapping[str, str], now: float) -> None:
    line = _line(hook, message, now)
    append_error_line(error_log_path(env), line)
    try:
        # Python escapes what the encoding of stderr can't show.
        if sys.stderr is not None:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
    except OSError:
        return


def _line(hook: str, message: str, now: float) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    return " ".join(f"{moment} {hook}: {message}".split())
