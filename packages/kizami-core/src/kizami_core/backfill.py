"""Backfill: save all of the history on disk, the last changed transcript first.

Each transaction holds whole segments together with how far they read, so that a backfill that ends anywhere
is carried on by the next one, and hooks of running sessions write in between. A transcript that can't be read
is reported, and the others go on. Nothing is ever deleted because its source is gone.
"""

from __future__ import annotations

from collections import deque

from kizami_core.errors import TranscriptError
from kizami_core.exclusion import Exclusion
from kizami_core.left_out import is_left_out
from kizami_core.paths import left_out_dir
from kizami_core.reading_ahead import ReadersAhead, Request
from kizami_core.records import Record
from kizami_core.retrieval import word_index
from kizami_core.segments import storage_key, transcript_state, usable_reading
from kizami_core.storage.connection import transaction
from kizami_core.storage.project_aliases import project_of
from kizami_core.storage.sessions import stored_session
from kizami_core.storage.transcripts import read_states
from kizami_core.storage.turns import awaited_answers
from kizami_core.timestamps import format_utc
from kizami_core.transcript.names import is_agent_transcript, session_id_of
from kizami_core.transcript.resume import FROM_START
from kizami_core.transcript.turns import TranscriptReader
from kizami_core.turn_writer import Pending, TurnWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

    from kizami_core.config import Config
    from kizami_core.reading_ahead import Prepared, Waiting
    from kizami_core.segments import TranscriptState
    from kizami_core.transcript.history import TranscriptFile

# Chunks of one transaction: a tenth of a second of the write lock, so that hooks get their turn.
_CHUNKS_AT_ONCE = 200
_CACHE_KB = 32_000
_LOG_PAGES = 4_000


class Step(Record):
    """What was done of one transcript, its sub-agents' part in it included, since the step before it.

    ``advanced`` counts bytes of the transcript. ``is_done`` marks its last step; ``error`` says why it could
    not be read (to its end).
    """

    path: str
    session_id: str
    advanced: int
    turns_written: int = 0
    turns_unchanged: int = 0
    chunks_written: int = 0
    is_done: bool = False
    error: str = ""


class LeftOut(Record):
    """A transcript that is not to be saved.

    ``reason`` is the pattern or the marker file that keeps its project out, "" for a session of which
    ``KIZAMI_DISABLE`` was set.
    """

    file: TranscriptFile
    reason: str


def split_left_out(
    files: Iterable[TranscriptFile], *, config: Config, env: Mapping[str, str]
) -> tuple[list[TranscriptFile], list[LeftOut]]:
    """Return the transcripts to save and those to leave out, each in the order given.

    Most are told by their first record. A session that was in other folders too is saved, but for its turns
    in those that are kept out.
    """
    exclusion = Exclusion(config.exclude_projects)
    marks = left_out_dir(env)
    wanted: list[TranscriptFile] = []
    left: list[LeftOut] = []
    for file in files:
        if is_left_out(marks, file.path):
            left.append(LeftOut(file, ""))
        elif reason := exclusion.transcript_reason(file.path):
            left.append(LeftOut(file, reason))
        else:
            wanted.append(file)
    return wanted, left


def unsaved(connection: sqlite3.Connection, files: Iterable[TranscriptFile]) -> list[TranscriptFile]:
    """Return the transcripts that changed since they were saved, in the order given."""
    states = read_states(connection)
    return [file for file in files if states.get(storage_key(file.path)) != (file.size, file.mtime)]


def within_project(
    connection: sqlite3.Connection, files: Iterable[TranscriptFile], project_path: str
) -> Iterator[TranscriptFile]:
    """Yield the transcripts whose session belongs to a project; the beginnings of unknown ones are read."""
    for file in files:
        session = stored_session(connection, session_id_of(file.path))
        if session is not None:
            found = session.project_path
        else:
            try:
                first = next(iter(TranscriptReader(file.path)), None)
            except TranscriptError:
                continue
            found = project_of(connection, first.cwd, started_at=first.started_at) if first else ""
        if found == project_path:
            yield file


def count_turns(connection: sqlite3.Connection, file: TranscriptFile) -> int:
    """Return how many turns a save would read, with those that it would find stored already.

    Raises:
        TranscriptError: the file can't be read.
    """
    known = usable_reading(connection, transcript_state(file.path))
    return sum(1 for _ in TranscriptReader(file.path, resume=known.point if known else FROM_START))


def backfill(
    connection: sqlite3.Connection,
    files: Iterable[TranscriptFile],
    *,
    config: Config,
    now: float,
    workers: int = 0,
) -> Iterator[Step]:
    """Save transcripts in the order given and yield what was done, step by step.

    What a step told is kept, however the iteration ends.

    Args:
        connection: a connection that may write.
        files: the transcripts.
        config: the settings for chunking.
        now: seconds since the epoch.
        workers: how many other processes read ahead (``reading_ahead``), 0 for none.

    Raises:
        StorageError: the database can't be written.
    """
    # More than the defaults of 2 MB and 1,000 pages: the indexes grow at many places at once, so many pages
    # are written again and again before they are moved from the log into the file.
    connection.execute(f"""PRAGMA cache_size = -{_CACHE_KB}""")
    connection.execute(f"""PRAGMA wal_autocheckpoint = {_LOG_PAGES}""")
    word_index.catch_up(connection)
    with ReadersAhead(workers, config) as readers:
        yield from _Backfill(connection, readers, config, now).run(iter(files))


class _Backfill:
    def __init__(
        self, connection: sqlite3.Connection, readers: ReadersAhead, config: Config, now: float
    ) -> None:
        self._connection = connection
        self._readers = readers
        self._config = config
        self._now = now
        # What the readers work at, in the order in which it will be written.
        self._waiting: deque[Waiting] = deque()

    def run(self, files: Iterator[TranscriptFile]) -> Iterator[Step]:
        """Write segment by segment; several short ones make one transaction."""
        group: list[tuple[Request, Prepared]] = []
        while True:
            yield from self._look_ahead(files)
            if not self._waiting:
                break
            waiting = self._waiting.popleft()
            try:
                prepared = waiting.result()
            except TranscriptError as error:
                yield _failed(waiting.request.state.path, error)
                continue
            reading = prepared.segment.reading
            if not prepared.segment.batch.is_last:
                self._waiting.appendleft(self._readers.prepare(waiting.request.replace(known=reading)))
            group.append((waiting.request, prepared))
            if sum(len(prepared.terms) for _, prepared in group) >= _CHUNKS_AT_ONCE:
                yield from self._write(group)
                group = []
        yield from self._write(group)

    def _look_ahead(self, files: Iterator[TranscriptFile]) -> Iterator[Step]:
        while self._readers.have_room(self._waiting):
            file = next(files, None)
            if file is None:
                return
            try:
                state = transcript_state(file.path)
                known = usable_reading(self._connection, state)
            except TranscriptError as error:
                yield _failed(file.path, error)
                continue
            awaited = awaited_answers(self._connection, state.session_id)
            self._waiting.append(self._readers.prepare(Request(state, known, awaited)))

    def _write(self, group: list[tuple[Request, Prepared]]) -> Iterator[Step]:
        with transaction(self._connection):
            pending = Pending(self._connection)
            steps = [self._write_segment(request, prepared, pending) for request, prepared in group]
            pending.settle()
        yield from steps

    def _write_segment(self, request: Request, prepared: Prepared, pending: Pending) -> Step:
        state, segment = request.state, prepared.segment
        reading = segment.reading
        pending.terms.update(prepared.terms)
        own = self._writer(state, state.session_id, is_agent=is_agent_transcript(state.path))
        own.write_within(
            segment.batch,
            pending,
            parent=segment.parent,
            path=storage_key(state.path),
            reading=reading.replace(has_sidechains=reading.has_sidechains and not segment.batch.is_last),
        )
        writers = [own]
        for session_id, batch in prepared.sidechains:
            writers.append(self._writer(state, session_id, is_agent=True))
            writers[-1].write_within(batch, pending, parent=state.session_id)
        reports = [writer.report(prepared.read, prepared.bytes_read) for writer in writers]
        return Step(
            state.path,
            state.session_id,
            reading.size - (request.known.size if request.known else 0),
            sum(report.turns_written for report in reports),
            sum(report.turns_unchanged for report in reports),
            sum(report.chunks_written for report in reports),
            segment.batch.is_last,
        )

    def _writer(self, state: TranscriptState, session_id: str, *, is_agent: bool) -> TurnWriter:
        return TurnWriter(
            self._connection,
            session_id,
            hook_cwd="",
            file_time=format_utc(min(state.mtime, self._now)),
            now=self._now,
            is_agent=is_agent,
        )


def _failed(path: str, error: TranscriptError) -> Step:
    return Step(path, session_id_of(path), 0, is_done=True, error=error.args[0])
