"""Saving the history on disk from the command line: `kizami backfill` and the offer of `kizami setup`."""

from __future__ import annotations

import os
import time

from kizami_cli.console import count, say, size
from kizami_cli.language import _
from kizami_cli.progress import progress
from kizami_core.backfill import backfill
from kizami_core.records import Record
from kizami_core.storage.space import used_bytes
from kizami_core.storage.statistics import read_statistics
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.config import Config
    from kizami_core.transcript.history import TranscriptFile

_SHOWN_FAILURES = 5
_DAY_SECONDS = 86_400
_MB = 1024 * 1024


class Failure(Record):
    """A transcript that could not be read, and why."""

    path: str
    error: str


class Tally(Record):
    """What a backfill did. ``bytes`` are those of the transcripts that were read."""

    transcripts: int
    bytes: int
    turns_written: int
    turns_unchanged: int
    chunks_written: int
    seconds: float
    failures: tuple[Failure, ...]


def total_size(files: Sequence[TranscriptFile]) -> int:
    """Return the bytes of transcripts."""
    return sum(file.size for file in files)


def default_workers() -> int:
    """Return how many processes read ahead: two where there is more than one core."""
    return 2 if (os.cpu_count() or 1) > 1 else 0


def save_history(
    connection: sqlite3.Connection, files: Sequence[TranscriptFile], *, config: Config, workers: int
) -> Tally:
    """Save transcripts in the order given and show the progress on stderr.

    Raises:
        KeyboardInterrupt: Ctrl-C; how to go on was said.
        StorageError: the database can't be written.
    """
    begun = time.time()
    transcripts = read = written = unchanged = chunks = 0
    failures: list[Failure] = []
    try:
        with progress("Saving", total_size(files)) as advance:
            for step in backfill(connection, files, config=config, now=begun, workers=workers):
                transcripts += step.is_done and not step.error
                read += step.advanced
                written += step.turns_written
                unchanged += step.turns_unchanged
                chunks += step.chunks_written
                if step.error:
                    failures.append(Failure(step.path, step.error))
                advance(step.advanced)
    except KeyboardInterrupt:
        say(_("Stopped. What was saved stays; to go on from there: kizami backfill"))
        raise
    return Tally(transcripts, read, written, unchanged, chunks, time.time() - begun, tuple(failures))


def describe(tally: Tally) -> str:
    """Return what was saved, in one line."""
    fields = {
        "turns": count(tally.turns_written, "turn"),
        "chunks": count(tally.chunks_written, "chunk"),
        "transcripts": count(tally.transcripts, "transcript"),
        "bytes": size(tally.bytes),
        "seconds": tally.seconds,
    }
    if tally.turns_unchanged:
        return _(
            "Saved {turns} ({chunks}) of {transcripts} ({bytes}) in {seconds:,.0f} s; {known:,} were known.",
            **fields,
            known=tally.turns_unchanged,
        )
    return _("Saved {turns} ({chunks}) of {transcripts} ({bytes}) in {seconds:,.0f} s.", **fields)


def say_failures(failures: Sequence[Failure]) -> None:
    """Say which transcripts could not be read: the first few, and how many more."""
    for failure in failures[:_SHOWN_FAILURES]:
        say(failure.error)
    if len(failures) > _SHOWN_FAILURES:
        more = count(len(failures) - _SHOWN_FAILURES, "more transcript")
        say(_("{more} can't be read; --json names them all.", more=more))


def say_what_maintenance_takes(connection: sqlite3.Connection, config: Config, now: float) -> None:
    """Say so where maintenance will soon remove part of what was just saved."""
    if not config.maintenance_enabled:
        return
    oldest = read_statistics(connection).oldest or format_utc(now)
    if oldest < format_utc(now - config.max_chunk_age_days * _DAY_SECONDS):
        say(
            _(
                "Maintenance will remove turns older than {days:g} days. "
                "To keep them, raise maintenance.maxChunkAgeDays in config.json.",
                days=config.max_chunk_age_days,
            )
        )
    if used_bytes(connection) > config.max_db_size_mb * _MB:
        say(
            _(
                "The database holds {held}: maintenance will remove its oldest sessions. "
                "To keep them, raise maintenance.maxDbSizeMB ({limit:g}) in config.json.",
                held=size(used_bytes(connection)),
                limit=config.max_db_size_mb,
            )
        )
