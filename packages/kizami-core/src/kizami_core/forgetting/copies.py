"""Copies of a text that Kizami doesn't change: backups of the database, and Claude Code's own files."""

from __future__ import annotations

import glob
import json
import os
import unicodedata
from contextlib import closing

from kizami_core.backfill import split_left_out, unsaved
from kizami_core.errors import TranscriptError
from kizami_core.forgetting.memories import keep_away
from kizami_core.paths import claude_config_dir
from kizami_core.segments import read_segments, read_sidechains, transcript_state
from kizami_core.storage.connection import transaction
from kizami_core.storage.sqlite_module import sqlite3
from kizami_core.transcript.history import find_transcripts
from kizami_core.transcript.turns import TranscriptReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from kizami_core.config import Config
    from kizami_core.forgetting.wanted import Wanted
    from kizami_core.storage.turns import NewTurn

_BLOCK_BYTES = 1 << 20


def backups_holding(database: str, wanted: Wanted) -> list[str]:
    """Return the copies made before the schema changed that hold a text, or that can't be read."""
    return [
        path
        for path in sorted(glob.glob(glob.escape(database) + ".schema*.backup*"))
        if _is_in_backup(path, wanted)
    ]


def _is_in_backup(path: str, wanted: Wanted) -> bool:
    # Immutable: nothing is written beside it, and nobody writes it.
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            rows = connection.execute("""SELECT content FROM chunks""")
            return any(wanted.is_held_by(content) for (content,) in rows)
    except sqlite3.Error:
        return True


def claude_files_holding(env: Mapping[str, str], wanted: Wanted) -> list[str]:
    """Return the files of Claude Code that hold a text literally: transcripts, tool results, its history.

    Case doesn't matter for Latin letters. They are read whole, about 1 GB in some seconds.
    """
    folder = claude_config_dir(env)
    paths = [os.path.join(folder, "history.jsonl")]
    for place, _, names in os.walk(os.path.join(folder, "projects")):
        paths += [os.path.join(place, name) for name in names]
    forms = _forms(wanted.text)
    return [path for path in sorted(paths) if _holds_any(path, forms)]


def _forms(text: str) -> set[bytes]:
    """Return how a text can stand in a JSON file, also within JSON that is a text in it; in lower case."""
    forms = {text, unicodedata.normalize("NFKC", text)}
    for _ in range(2):
        forms |= {
            json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in forms for is_ascii in (True, False)
        }
    return {form.encode("utf-8", "replace").lower() for form in forms}


def _holds_any(path: str, forms: set[bytes]) -> bool:
    reach = max(map(len, forms)) - 1
    before = b""
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK_BYTES).lower():
                before += block
                if any(form in before for form in forms):
                    return True
                before = before[-reach:] if reach else b""
    except OSError:
        return False
    return False


def keep_unsaved_away(
    connection: sqlite3.Connection,
    wanted: Wanted,
    paths: Collection[str],
    *,
    config: Config,
    env: Mapping[str, str],
) -> int:
    """Mark the turns of transcripts that hold a text and are not saved yet; no save brings it in.

    Of such a turn nothing is saved. Returns how many parts of turns were marked.
    """
    known = set(paths)
    files = [file for file in find_transcripts(claude_config_dir(env)) if file.path in known]
    wanted_files, _ = split_left_out(unsaved(connection, files), config=config, env=env)
    count = 0
    for file in wanted_files:
        try:
            turns = [
                (session_id, turn, places)
                for session_id, turn in _turns(file.path, config)
                if (places := wanted.places({part: chunk.content for part, chunk in enumerate(turn.chunks)}))
            ]
        except TranscriptError:
            continue  # a save can't read it either
        with transaction(connection):
            for session_id, turn, places in turns:
                keep_away(connection, turn.uuid, session_id, turn.started_at, places)
                count += len(places)
    return count


def _turns(path: str, config: Config) -> Iterator[tuple[str, NewTurn]]:
    state = transcript_state(path)
    reader = TranscriptReader(path)
    for segment in read_segments(reader, state, None, config, awaited={}, last_answer=str):
        yield from ((state.session_id, turn) for _, turn in segment.batch.turns)
    for session_id, batch in read_sidechains(path, config):
        yield from ((session_id, turn) for _, turn in batch.turns)
