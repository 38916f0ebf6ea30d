"""What is stored of a transcript's turns: secrets masked, rendered and cut, a bounded number at a time."""

from __future__ import annotations

from kizami_core.privacy import redact, redact_turn
from kizami_core.records import Record
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.turns import NewTurn
from kizami_core.transcript.awaiting import await_answer, with_awaited
from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.metadata import extract_metadata
from kizami_core.transcript.outcomes import command_outcomes
from kizami_core.transcript.rendering import render_turn
from kizami_core.transcript.resume import ResumePoint
from kizami_core.transcript.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kizami_core.config import Config
    from kizami_core.records import Turn
    from kizami_core.transcript.awaiting import AwaitedAnswer
    from kizami_core.transcript.resume import Place
    from kizami_core.transcript.turns import TranscriptReader

_BATCH_TURNS = 200
_BATCH_CHARACTERS = 4_000_000


class Batch(Record):
    """Turns to store, each with its working directory, and where a reading goes on that knows them.

    ``is_last`` tells that the point is that of the whole file.
    """

    turns: Sequence[tuple[str, NewTurn]]
    point: ResumePoint
    is_last: bool


def prepare(
    reader: TranscriptReader,
    config: Config,
    *,
    awaited: Mapping[str, AwaitedAnswer],
    last_answer: Callable[[], str],
) -> Iterator[Batch]:
    """Yield what to store of a transcript; one batch at least, which may be empty.

    Args:
        reader: the transcript.
        config: the settings for chunking.
        awaited: answers that the transcript may still lack, by the uuid of their turn.
        last_answer: returns the answer that the last turn must have, "" for no other than it has.
    """
    batch: list[tuple[str, NewTurn]] = []
    size = 0
    before: Turn | None = None
    place: Place | None = None
    # A turn is prepared when the next one is there: only the last one may lack its answer.
    for turn in reader:
        if before is not None:
            batch.append((before.cwd, _new_turn(before, config, awaited.get(before.uuid))))
            size += sum(len(piece.content) for piece in batch[-1][1].chunks)
            if len(batch) == _BATCH_TURNS or size > _BATCH_CHARACTERS:
                yield Batch(batch, reader.reading.resume_point(place), is_last=False)
                batch, size = [], 0
        before, place = turn, reader.reading.resume
    if before is not None:
        batch.append((before.cwd, _new_turn(before, config, awaited.get(before.uuid), last_answer())))
    yield Batch(batch, reader.reading.resume_point(reader.reading.resume), is_last=True)


def _new_turn(turn: Turn, config: Config, awaited: AwaitedAnswer | None, last_answer: str = "") -> NewTurn:
    redacted = redact_turn(turn)
    if last_answer:
        awaited = await_answer(redacted, redact(last_answer)) or awaited
    if awaited is not None:
        redacted, awaited = with_awaited(redacted, awaited)
    text = render_turn(
        redacted,
        head_lines=config.truncate_tool_output_lines,
        tail_lines=config.truncate_tool_output_tail_lines,
    )
    chunks = [
        NewChunk(piece, chunk_role(piece), extract_metadata(piece), estimate_tokens(piece))
        for piece in split_chunks(text, config.max_tokens_per_chunk)
    ]
    return NewTurn(
        turn.uuid, turn.started_at, _text_length(turn), chunks, awaited, command_outcomes(redacted)
    )


def _text_length(turn: Turn) -> int:
    """Return the characters of a turn as the transcript has it; a result counts as one more."""
    return len(turn.prompt) + sum(
        len(part) if isinstance(part, str) else 1 if part.output is None else 2 + len(part.output)
        for part in turn.parts
    )
