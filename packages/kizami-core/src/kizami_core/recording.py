"""Saving a transcript: one straight pipeline from the file to the database (ARCHITECTURE.md, "One save").

Reading, masking and chunking happen outside of the write lock; turns are then written in batches. A save that
dies between two batches is completed by the next one, which goes on behind the last batch.
"""

from __future__ import annotations

from kizami_core.exclusion import Exclusion
from kizami_core.records import ReadReport, Record, SaveReport
from kizami_core.retrieval import word_index
from kizami_core.segments import (
    read_segments,
    read_sidechains,
    storage_key,
    transcript_state,
    usable_reading,
)
from kizami_core.storage.connection import transaction
from kizami_core.storage.sessions import stored_session
from kizami_core.storage.transcripts import store_reading, stored_reading
from kizami_core.storage.turns import awaited_answers
from kizami_core.timestamps import format_utc
from kizami_core.transcript.names import is_agent_transcript, is_compaction_helper, session_id_of
from kizami_core.transcript.resume import FROM_START
from kizami_core.transcript.turns import TranscriptReader
from kizami_core.turn_writer import TurnWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.config import Config
    from kizami_core.segments import TranscriptState
    from kizami_core.storage.transcripts import StoredReading

_TRANSCRIPT_SUFFIX = ".jsonl"


class LastAnswer(Record):
    """The model's last message as a hook tells it, and the id of the prompt that it answers ("": unknown)."""

    text: str
    prompt_id: str = ""


def save_transcript(
    connection: sqlite3.Connection,
    path: str,
    *,
    config: Config,
    now: float,
    cwd: str = "",
    session_id: str = "",
    last_answer: LastAnswer | None = None,
    sidechains: bool = True,
    from_start: bool = False,
) -> SaveReport:
    """Save every turn of a transcript that is not stored yet in this form.

    Saving is a function of the file: again, after it grew, from a copy or from two processes at once, the
    rows end up as if it had been saved once. Only what was added since the last save is read, from the first
    turn on that may still grow. The transcript of a sub-agent becomes a session of its own, kept apart. What
    an excluded project says is left out, and of a transcript that holds nothing else not even that is noted.

    Args:
        connection: a connection that may write.
        path: the transcript. Its name is the session's id: the records may carry those of sessions before it.
        config: the settings for chunking.
        now: seconds since the epoch; the time of turns without one, should the file have none either.
        cwd: the project's folder where the records name none.
        session_id: the session's id where ``path`` does not end in ``.jsonl``.
        last_answer: the answer of the last turn, which the transcript may not hold yet.
        sidechains: save what sub-agents wrote into this transcript too (old versions), for which all of it
            is read; without, the next save that does so has it to do.
        from_start: read all of the file, so that the present settings apply to all of it.

    Raises:
        TranscriptError: the file can't be read.
        StorageError: the database can't be written; batches written before stay.
    """
    if is_compaction_helper(path):
        helper = ReadReport(0, 0, {"compaction helper": 1}, 0)
        return SaveReport(session_id_of(path), "", helper, 0, 0, 0, 0, 0)
    state = transcript_state(path, "" if path.endswith(_TRANSCRIPT_SUFFIX) else session_id)
    _catch_up(connection)
    save = _Save(connection, state, config, now)
    known = None if from_start else usable_reading(connection, state)
    if known is None and Exclusion(config.exclude_projects).transcript_reason(path, cwd):
        return save.nothing_new()
    # Where no turn names a folder, that of the hook may be news.
    is_told_news = last_answer is not None or (known is not None and cwd and not known.point.cwd)
    if known is not None and not is_told_news and (known.size, known.mtime) == (state.size, state.mtime):
        report = save.nothing_new()
    else:
        report = save.run(known, cwd=cwd, last_answer=last_answer)
    if sidechains:
        save.run_sidechains()
    return report


class _Save:
    """The saving of one transcript as it is now.

    Raises:
        TranscriptError: it can't be read.
    """

    def __init__(
        self, connection: sqlite3.Connection, state: TranscriptState, config: Config, now: float
    ) -> None:
        self._connection = connection
        self._state = state
        self._path = state.path
        self._session = state.session_id
        self._key = storage_key(state.path)
        self._config = config
        self._now = now

    def nothing_new(self) -> SaveReport:
        """Return the report of a file that is stored as it is."""
        session = stored_session(self._connection, self._session)
        project = session.project_path if session else ""
        return SaveReport(self._session, project, ReadReport(0, 0, {}, 0), 0, 0, 0, 0, 0)

    def run(self, known: StoredReading | None, *, cwd: str, last_answer: LastAnswer | None) -> SaveReport:
        """Save the turns from where a reading ended, or from the beginning of the file."""
        reader = TranscriptReader(self._path, resume=known.point if known else FROM_START)
        writer = self._writer(self._session, cwd=cwd, is_agent=is_agent_transcript(self._path))

        def answer() -> str:
            return last_answer.text if last_answer and self._has_prompt(reader, last_answer.prompt_id) else ""

        awaited = awaited_answers(self._connection, self._session)
        for segment in read_segments(
            reader, self._state, known, self._config, awaited=awaited, last_answer=answer
        ):
            writer.write(segment.batch, parent=segment.parent, path=self._key, reading=segment.reading)
        return writer.report(reader.report(), reader.bytes_read())

    def run_sidechains(self) -> None:
        """Save the sub-agents that wrote into this transcript, if there are any that are not saved."""
        known = stored_reading(self._connection, self._key)
        if known is None or not known.has_sidechains:
            return
        for session, batch in read_sidechains(self._path, self._config):
            self._writer(session, cwd="", is_agent=True).write(batch, parent=self._session)
        with transaction(self._connection):
            known = stored_reading(self._connection, self._key)
            if known is not None:
                store_reading(self._connection, self._key, known.replace(has_sidechains=False))

    def _writer(self, session: str, *, cwd: str, is_agent: bool) -> TurnWriter:
        return TurnWriter(
            self._connection,
            session,
            hook_cwd=cwd,
            file_time=format_utc(min(self._state.mtime, self._now)),
            now=self._now,
            is_agent=is_agent,
        )

    def _has_prompt(self, reader: TranscriptReader, prompt_id: str) -> bool:
        """Tell whether the prompt of an answer was written: else the last turn is not the answer's."""
        try:
            with open(self._path, "rb") as file:
                file.seek(reader.reading.resume_point(reader.reading.resume).offset)
                tail = file.read()
        except OSError:  # moved away while it was read
            return True
        return not prompt_id or prompt_id.encode() in tail or b'"promptId"' not in tail


def _catch_up(connection: sqlite3.Connection) -> None:
    """Work off what other programs left for the word index (all chunks of a database just carried on)."""
    if connection.execute("""SELECT EXISTS (SELECT 1 FROM word_queue)""").fetchone()[0]:
        word_index.catch_up(connection)
