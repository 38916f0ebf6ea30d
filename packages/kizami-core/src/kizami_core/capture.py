"""Capture: saving a session that a hook of Claude Code tells of, its sub-agents too, whatever ends it."""

from __future__ import annotations

import os

from kizami_core.paths import claude_config_dir, left_out_dir
from kizami_core.recording import save_transcript
from kizami_core.segments import storage_key
from kizami_core.storage.transcripts import unread_bytes
from kizami_core.timestamps import epoch_seconds
from kizami_core.transcript.names import agent_transcripts, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from kizami_core.config import Config


def unsaved_bytes(connection: sqlite3.Connection, path: str, *, with_agents: bool) -> int:
    """Return how much of a session's transcripts a save would have to read, 0 where there is nothing new."""
    unsaved = 0
    for name in [path, *(agent_transcripts(path) if with_agents else [])]:
        try:
            status = os.stat(name)
        except OSError:
            continue
        unsaved += unread_bytes(
            connection, storage_key(name), status.st_size, status.st_mtime, with_agents=with_agents
        )
    return unsaved


def save_session(
    connection: sqlite3.Connection,
    path: str,
    *,
    config: Config,
    now: float,
    cwd: str = "",
    session_id: str = "",
) -> None:
    """Save a session and its sub-agents; what is saved already is not read.

    Args:
        connection: a connection that may write.
        path: the session's transcript.
        config: the settings for chunking.
        now: seconds since the epoch.
        cwd: the project's folder where the records name none.
        session_id: as for ``save_transcript``.

    Raises:
        TranscriptError: a transcript can't be read.
        StorageError: the database can't be written.
    """
    save_transcript(connection, path, config=config, now=now, cwd=cwd, session_id=session_id)
    for name in agent_transcripts(path):
        save_transcript(connection, name, config=config, now=now, cwd=cwd)


def catch_up(connection: sqlite3.Connection, *, config: Config, now: float, env: Mapping[str, str]) -> None:
    """Save the sessions that changed since Kizami was installed and that no hook told of.

    What is older is `kizami backfill`'s, on a person's word.
    """
    from kizami_core import left_out
    from kizami_core.backfill import backfill, split_left_out, unsaved
    from kizami_core.transcript.history import find_transcripts

    row = connection.execute("""SELECT max(applied_at) FROM schema_version""").fetchone()
    installed_at = epoch_seconds(row[0]) or 0.0
    files = find_transcripts(claude_config_dir(env))
    changed = unsaved(connection, (file for file in files if file.mtime >= installed_at))
    wanted, _ = split_left_out(changed, config=config, env=env)
    for _step in backfill(connection, wanted, config=config, now=now):
        pass
    left_out.prune(left_out_dir(env), {session_id_of(file.path) for file in files}, now)
