"""What the hooks do so that no turn is lost: Stop, PreCompact, SessionEnd, and SessionStart for those before.

Each saves what its session's transcript holds that is not saved yet. What would take longer than a hook may
is left to a detached process, and so are the sessions that never reached a hook, and maintenance.
"""

from __future__ import annotations

import os

from kizami_core.errors import ConfigError
from kizami_core.paths import left_out_dir
from kizami_core.storage.connection import open_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from kizami_core.config import Config

# What is saved within half a second on a slow machine.
_INLINE_BYTES = 2_000_000
# What maintenance rewrites in that time.
_INLINE_DATABASE_BYTES = 20_000_000
_CATCH_UP_SECONDS = 300
# A session can grow while it is saved; one that never stops is the next hook's.
_MAX_ROUNDS = 10
# Events within a session: its end is yet to come and does the rest.
_EVENTS_WITHIN = ("Stop", "PreCompact")


def save(
    fields: Mapping[str, str], config: Config, now: float, options: Sequence[str], env: Mapping[str, str]
) -> None:
    """Save the session that Claude Code tells of.

    Claude Code signals its hooks when it exits itself; the signals wait until the turns are committed.

    Raises:
        ConfigError: the input names no transcript.
        KizamiError: the transcript can't be read, or the database not be written.
    """
    from kizami_cli.detach import FINISH, start_detached
    from kizami_core.capture import save_session, unsaved_bytes
    from kizami_core.maintenance.retention import is_maintenance_due

    path = fields.get("transcript_path", "")
    if not path and FINISH not in fields:
        raise ConfigError("the input names no transcript_path. Let Claude Code run it: kizami setup")
    if FINISH not in fields and _is_kept_out(fields, config, env):
        return
    _answer_signals(is_ignoring=True)
    is_over = fields.get("hook_event_name", "") not in _EVENTS_WITHIN
    is_missing = FINISH not in fields and not os.path.exists(path)
    if is_missing and not (is_over and _was_prompted(fields, env)):
        return  # nothing was said yet, or the client keeps no transcripts, which SessionEnd will say once
    connection = open_database(config.database_path)
    try:
        if FINISH in fields:
            _finish(connection, fields, config, now, env)
        elif unsaved_bytes(connection, path, with_agents=is_over) > _INLINE_BYTES:
            start_detached(_place(fields), options, env)
        elif not is_over:
            _save_turn(connection, fields, config, now)
        else:
            place = {"cwd": fields.get("cwd", ""), "session_id": fields.get("session_id", "")}
            save_session(connection, path, config=config, now=now, **place)
            if os.path.getsize(config.database_path) <= _INLINE_DATABASE_BYTES:
                _maintain(connection, config, now, env)
            elif is_maintenance_due(connection, config=config, now=now):
                start_detached(_place(fields), options, env)
    finally:
        connection.close()


def complete(
    fields: Mapping[str, str], config: Config, now: float, options: Sequence[str], env: Mapping[str, str]
) -> None:
    """Let a detached process save what the session that begins, and others before it, did not get saved."""
    from kizami_core.storage.transcripts import unread_bytes

    try:
        connection = open_database(config.database_path, read_only=True)
    except FileNotFoundError:
        return
    try:
        path = os.path.abspath(fields.get("transcript_path", ""))
        status = os.stat(path) if os.path.isfile(path) else None
        is_behind = (
            status is not None
            and unread_bytes(connection, path, status.st_size, status.st_mtime, with_agents=True)
            and not _is_kept_out(fields, config, env)
        )
    finally:
        connection.close()
    wanted = _place(fields) if is_behind else {}
    if _is_catch_up_due(config, now):
        wanted["catch_up"] = "1"
    if wanted:
        from kizami_cli.detach import start_detached

        start_detached(wanted, options, env)


def _save_turn(connection: sqlite3.Connection, fields: Mapping[str, str], config: Config, now: float) -> None:
    """Save the turns of the running session; the transcript may lag behind what the hook tells."""
    from kizami_core.recording import LastAnswer, save_transcript

    message = fields.get("last_assistant_message", "")
    save_transcript(
        connection,
        fields["transcript_path"],
        config=config,
        now=now,
        cwd=fields.get("cwd", ""),
        session_id=fields.get("session_id", ""),
        last_answer=LastAnswer(message, fields.get("prompt_id", "")) if message else None,
        sidechains=False,
    )


def _finish(
    connection: sqlite3.Connection,
    fields: Mapping[str, str],
    config: Config,
    now: float,
    env: Mapping[str, str],
) -> None:
    """Do, in a detached process, what a hook had no time for; of several for one session one does it."""
    from zlib import crc32

    from kizami_core.capture import catch_up, save_session, unsaved_bytes
    from kizami_core.locks import ProcessLock

    path = fields.get("transcript_path", "")
    session_id = fields.get("session_id", "")
    folder = os.path.join(os.path.dirname(config.database_path), "locks")
    if path:
        with ProcessLock(os.path.join(folder, f"save-{crc32(path.encode()):08x}")) as lock:
            rounds = _MAX_ROUNDS if lock.is_held else 0
            while rounds and unsaved_bytes(connection, path, with_agents=True):
                rounds -= 1
                save_session(
                    connection, path, config=config, now=now, cwd=fields.get("cwd", ""), session_id=session_id
                )
    if "catch_up" in fields:
        with ProcessLock(os.path.join(folder, "catch-up")) as lock:
            if lock.is_held:
                catch_up(connection, config=config, now=now, env=env)
    _maintain(connection, config, now, env)


def _maintain(connection: sqlite3.Connection, config: Config, now: float, env: Mapping[str, str]) -> None:
    """Run the maintenance that is due; a signal ends the process now, and a later save takes it up."""
    from kizami_core.maintenance.retention import run_maintenance
    from kizami_core.paths import shown_dir
    from kizami_core.recall_log import prune_shown

    _answer_signals(is_ignoring=False)
    run_maintenance(connection, config=config, now=now)
    prune_shown(shown_dir(env), now)


def _is_kept_out(fields: Mapping[str, str], config: Config, env: Mapping[str, str]) -> bool:
    """Tell whether nothing of a session is to be saved: its project is excluded, or it is left out itself.

    A session that has come here from another folder may have a turn from there to save yet.
    """
    from kizami_core.exclusion import Exclusion
    from kizami_core.left_out import is_left_out

    path, cwd = fields.get("transcript_path", ""), fields.get("cwd", "")
    if is_left_out(left_out_dir(env), path):
        return True
    exclusion = Exclusion(config.exclude_projects)
    return bool(exclusion.reason(cwd) and exclusion.transcript_reason(path, cwd))


def _was_prompted(fields: Mapping[str, str], env: Mapping[str, str]) -> bool:
    """Tell whether a session had any prompt; the client tells of an end after `claude plugin install` too."""
    from kizami_core.paths import recall_log_path
    from kizami_core.recall_log import read_log

    session_id = fields.get("session_id", "")
    return any(entry.session_id == session_id for entry in read_log(recall_log_path(env)))


def _answer_signals(*, is_ignoring: bool) -> None:
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if is_ignoring else signal.default_int_handler)


def _place(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what a detached process needs to know of a session."""
    place = {key: fields.get(key, "") for key in ("cwd", "session_id")}
    return {**place, "transcript_path": os.path.abspath(fields["transcript_path"])}


def _is_catch_up_due(config: Config, now: float) -> bool:
    """Tell whether it is time to look for sessions that no hook told of, and note that it was done."""
    stamp = os.path.join(os.path.dirname(config.database_path), "caught-up")
    try:
        is_due = not 0 <= now - os.stat(stamp).st_mtime < _CATCH_UP_SECONDS
    except FileNotFoundError:  # just installed: nothing was missed yet
        is_due = False
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    if is_due:
        os.utime(stamp, (now, now))
    return is_due
