"""What is stored of a transcript's turns: secrets masked, rendered and cut, a bounded number at a time."""

from __future__ import annotations

from kizami_core.exclusion import Exclusion
from kizami_core.privacy import redact, redact_turn
from kizami_core.privacy.turn_redaction import is_about_memory
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

    ``is_last`` tells that the point is that of the whole file. ``cwd`` is where the session began; where that
    is kept out (``exclusion``), the directory of its first turn that is not, "" without one. ``kept_out``
    counts the turns that are.
    """

    turns: Sequence[tuple[str, NewTurn]]
    point: ResumePoint
    is_last: bool
    cwd: str
    kept_out: int = 0


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
    exclusion = Exclusion(config.exclude_projects)
    batch: list[tuple[str, NewTurn]] = []
    size = kept_out = 0
    before: Turn | None = None
    place: Place | None = None

    def take(turn: Turn, last_answer: str = "") -> None:
        nonlocal size, kept_out
        if exclusion.reason(turn.cwd):
            kept_out += 1
            return
        if is_about_memory(turn):
            return
        batch.append((turn.cwd, _new_turn(turn, config, awaited.get(turn.uuid), last_answer)))
        size += sum(len(piece.content) for piece in batch[-1][1].chunks)

    def finished(point: ResumePoint, *, is_last: bool) -> Batch:
        began = "" if exclusion.reason(point.cwd) else point.cwd
        return Batch(batch, point, is_last, began or (batch[0][0] if batch else ""), kept_out)

    # A turn is prepared when the next one is there: only the last one may lack its answer.
    for turn in reader:
        if before is not None:
            take(before)
            if len(batch) == _BATCH_TURNS or size > _BATCH_CHARACTERS:
                yield finished(reader.reading.resume_point(place), is_last=False)
                batch, size, kept_out = [], 0, 0
        before, place = turn, reader.reading.resume
    if before is not None:
        take(before, last_answer())
    yield finished(reader.reading.resume_point(reader.reading.resume), is_last=True)


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
