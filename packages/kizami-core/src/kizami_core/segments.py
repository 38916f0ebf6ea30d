"""Segments: what to store of a transcript, together with how far it is read by then.

Making them needs the file and no database, so that other processes can do that (``backfill``).
"""

from __future__ import annotations

import os

from kizami_core.preparation import Batch, prepare
from kizami_core.records import Record
from kizami_core.storage.transcripts import StoredReading, stored_reading
from kizami_core.transcript.lines import unreadable
from kizami_core.transcript.names import parent_of, session_id_of
from kizami_core.transcript.resume import ResumePoint, digest_before
from kizami_core.transcript.sidechains import find_sidechains
from kizami_core.transcript.turns import TranscriptReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Generator, Iterator, Mapping

    from kizami_core.config import Config
    from kizami_core.transcript.awaiting import AwaitedAnswer


class TranscriptState(Record):
    """A transcript as it is on disk: its path, the session that it makes, bytes, seconds since the epoch."""

    path: str
    session_id: str
    size: int
    mtime: float


def transcript_state(path: str, session_id: str = "") -> TranscriptState:
    """Look at a transcript; its session is named by the file unless ``session_id`` is given.

    Raises:
        TranscriptError: it is not there, or can't be looked at.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        raise unreadable(path, error) from error
    name = (session_id or session_id_of(path)).encode("utf-8", "replace").decode()
    return TranscriptState(path, name, status.st_size, status.st_mtime)


def storage_key(path: str) -> str:
    """Return the path as the table ``transcripts`` has it."""
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "replace")


class Segment(Record):
    """Turns to store, the session that started this sub-agent ("" where unknown), and how far that reads."""

    batch: Batch
    parent: str
    reading: StoredReading


def read_segments(
    reader: TranscriptReader,
    state: TranscriptState,
    known: StoredReading | None,
    config: Config,
    *,
    awaited: Mapping[str, AwaitedAnswer],
    last_answer: Callable[[], str],
) -> Generator[Segment, None, None]:
    """Yield the segments of a transcript in file order, one at least.

    Args:
        reader: the transcript, from where ``known`` ends.
        state: what the file was before it was opened.
        known: the reading to go on from, None for the beginning.
        config: the settings for chunking.
        awaited: as for ``preparation.prepare``.
        last_answer: as for ``preparation.prepare``.

    Raises:
        TranscriptError: the file can't be read.
    """
    for batch in prepare(reader, config, awaited=awaited, last_answer=last_answer):
        offset = batch.point.offset
        reading = StoredReading(
            state.session_id,
            state.size if batch.is_last else offset,
            state.mtime,
            digest_before(state.path, offset),
            reader.reading.has_sidechains or (known is not None and known.has_sidechains),
            batch.point,
        )
        yield Segment(batch, parent_of(state.path) or reader.reading.origin, reading)


def read_sidechains(path: str, config: Config) -> Iterator[tuple[str, Batch]]:
    """Yield what sub-agents wrote into a transcript, each batch with the session that it makes.

    Raises:
        TranscriptError: the file can't be read.
    """
    for sidechain in find_sidechains(path):
        reader = TranscriptReader(path, resume=ResumePoint(sidechain.start), sidechain=sidechain)
        for batch in prepare(reader, config, awaited={}, last_answer=str):
            yield f"agent-{sidechain.agent_id}", batch


def usable_reading(connection: sqlite3.Connection, state: TranscriptState) -> StoredReading | None:
    """Return the stored reading that a save goes on from, None where all of the file has to be read.

    Of a file that was written anew, or read as another session, the reading says nothing.

    Raises:
        TranscriptError: the file can't be read.
    """
    known = stored_reading(connection, storage_key(state.path))
    if known is None or known.session_id != state.session_id or state.size < known.size:
        return None
    return known if digest_before(state.path, known.point.offset) == known.head else None
