"""Reading ahead: other processes read, mask and cut transcripts while this one writes to the database.

That part takes most of the time of a backfill and needs no database. The processes are started anew rather
than forked: a forked one would share the open database, which SQLite forbids. So a program that asks for them
must be importable without running (``if __name__ == "__main__"``).
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread

from kizami_core.records import Record
from kizami_core.retrieval.word_index import joined_terms
from kizami_core.segments import read_segments, read_sidechains
from kizami_core.transcript.resume import FROM_START
from kizami_core.transcript.turns import TranscriptReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Self

    from kizami_core.config import Config
    from kizami_core.preparation import Batch
    from kizami_core.records import ReadReport
    from kizami_core.segments import Segment, TranscriptState
    from kizami_core.storage.transcripts import StoredReading
    from kizami_core.transcript.awaiting import AwaitedAnswer

# What is in work for each process, so that none waits while this one writes. Most transcripts are short; of a
# long one only a part is in work.
_TRANSCRIPTS_AHEAD = 32
_BYTES_AHEAD = 4_000_000


class Request(Record):
    """A transcript, the reading to go on from (None: the beginning), and answers that it may lack."""

    state: TranscriptState
    known: StoredReading | None
    awaited: Mapping[str, AwaitedAnswer]


class Prepared(Record):
    """The next segment of a transcript, with the terms of its chunks by their text and what reading it met.

    With the last one come the batches of ``segments.read_sidechains``.
    """

    segment: Segment
    sidechains: Sequence[tuple[str, Batch]]
    terms: Mapping[str, str]
    read: ReadReport
    bytes_read: int


class Waiting:
    """A segment that is being prepared, or will be when it is asked for."""

    def __init__(self, request: Request, config: Config, future: Future[Prepared] | None) -> None:
        self.request = request
        self._config = config
        self._future = future

    def result(self) -> Prepared:
        """Return the segment.

        Raises:
            TranscriptError: the transcript can't be read.
        """
        if self._future is not None:
            try:
                return self._future.result()
            except BrokenExecutor:  # a process was killed, for want of memory perhaps: then without
                pass
        return prepare_segment(self.request, self._config)


class ReadersAhead:
    """The processes that read ahead.

    Args:
        workers: how many; 0 leaves all of the work to the one who asks for a segment.
        config: the settings for chunking.
    """

    def __init__(self, workers: int, config: Config) -> None:
        self._config = config
        self._pool = _pool(workers) if workers else None
        self._workers = workers if self._pool else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes; what they have not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def have_room(self, waiting: Collection[Waiting]) -> bool:
        """Tell whether to ask for another transcript before what waits is needed."""
        size = sum(min(part.request.state.size, _BYTES_AHEAD) for part in waiting)
        is_within = len(waiting) < self._workers * _TRANSCRIPTS_AHEAD and size < self._workers * _BYTES_AHEAD
        return is_within or not waiting

    def prepare(self, request: Request) -> Waiting:
        """Have the next segment of a transcript prepared."""
        try:
            future = self._pool.submit(prepare_segment, request, self._config) if self._pool else None
        except BrokenExecutor:
            future = None
        return Waiting(request, self._config, future)


def prepare_segment(request: Request, config: Config) -> Prepared:
    """Read the next segment of a transcript.

    Raises:
        TranscriptError: it can't be read.
    """
    known = request.known
    reader = TranscriptReader(request.state.path, resume=known.point if known else FROM_START)
    segments = read_segments(reader, request.state, known, config, awaited=request.awaited, last_answer=str)
    with closing(segments):
        segment = next(segments)
    is_complete = segment.batch.is_last and segment.reading.has_sidechains
    sidechains = list(read_sidechains(request.state.path, config)) if is_complete else []
    batches = [segment.batch, *(batch for _, batch in sidechains)]
    texts = (piece.content for batch in batches for _, turn in batch.turns for piece in turn.chunks)
    terms = {text: joined_terms(text) for text in texts}
    return Prepared(segment, sidechains, terms, reader.report(), reader.bytes_read())


def _pool(workers: int) -> ProcessPoolExecutor | None:
    try:
        return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start_process)
    except (ImportError, OSError):  # pragma: no cover - a system without semaphores
        return None


def _start_process() -> None:  # pragma: no cover - runs in the other process
    # Ctrl-C reaches every process of the terminal; the one that writes decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:  # pragma: no cover - as above
    """Wait for the parent's end, which a process that is killed can't announce."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
