"""Turns: a person's prompt and everything until the next one, in file order.

The order of the file is the order of the conversation. Walking from a leaf along ``parentUuid`` would lose
the results of parallel tool calls, everything before a compaction and whatever a dangling parent hides.
"""

from __future__ import annotations

from kizami_core.records import ToolCall, Turn
from kizami_core.transcript.entries import ToolResult, read_entries, read_queued
from kizami_core.transcript.excerpts import LINE_CHARS, hold
from kizami_core.transcript.lines import ReadTally, unreadable
from kizami_core.transcript.names import is_agent_transcript, session_id_of
from kizami_core.transcript.prompt_queue import PromptQueue
from kizami_core.transcript.resume import FROM_START, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from kizami_core.records import ReadReport
    from kizami_core.transcript.entries import Entry, Speakers
    from kizami_core.transcript.resume import Place, ResumePoint
    from kizami_core.transcript.sidechains import Sidechain

# What is held of one tool output or one text of a tool's input is far more than rendering keeps of it.
_HELD = {"head_chars": 64_000, "tail_chars": 16_000, "line_chars": 4 * LINE_CHARS}
# A turn with this much tool text holds of further ones what rendering keeps with the default settings.
_FULL_TURN_CHARS = 24_000_000
_HELD_WHEN_FULL = {
    "head_chars": 20 * (LINE_CHARS + 1),
    "tail_chars": 5 * (LINE_CHARS + 1),
    "line_chars": LINE_CHARS,
}
_MAX_INPUT_DEPTH = 8
# A turn with more than this between its first record and an answer goes on as another turn, without a prompt.
# A session that works for hours on one prompt is thus never read again from its beginning.
_FULL_TURN_BYTES = 1_000_000


class TranscriptReader:
    """The turns of a transcript file, one at a time.

    ::

        reader = TranscriptReader(path)
        for turn in reader:
            ...
        reader.report()  # what was met on the way
        reader.reading.resume_point(reader.reading.resume)  # where a later reading goes on

    Args:
        path: the file.
        resume: where to begin; a point of this file, else what is read means nothing.
        sidechain: read what this sub-agent wrote into its parent's transcript, and nothing else.

    Raises:
        TranscriptError: while iterating, when the file can't be opened or read.
    """

    def __init__(
        self, path: str, *, resume: ResumePoint = FROM_START, sidechain: Sidechain | None = None
    ) -> None:
        self._path = path
        self._session_id = session_id_of(path)
        self._resume = resume
        self._speakers: Speakers = sidechain or ("agent" if is_agent_transcript(path) else "person")
        self._tally = ReadTally()
        self._turns = 0
        self.reading = Reading(resume, self._session_id)

    def __iter__(self) -> Iterator[Turn]:
        self._tally = ReadTally()
        self._turns = 0
        self.reading = Reading(self._resume, self._session_id)
        try:
            with open(self._path, "rb") as stream:
                queue = PromptQueue(
                    self._queued(stream, self._resume.waiting), self._queued(stream, self._resume.delivered)
                )
                entries = read_entries(stream, self._tally, self.reading, speakers=self._speakers)
                # A sub-agent that answers without having been asked is only warming up.
                is_answer_a_beginning = self._speakers == "person" or bool(self._resume.seen)
                for turn in split_turns(
                    entries, self.reading, queue, is_answer_a_beginning=is_answer_a_beginning
                ):
                    self._turns += 1
                    yield turn
        except OSError as error:
            raise unreadable(self._path, error) from error

    def report(self) -> ReadReport:
        """Return what the latest iteration met so far."""
        return self._tally.report(self._turns)

    def bytes_read(self) -> int:
        """Return how many bytes of conversation the latest iteration read so far."""
        return self._tally.bytes_read

    def _queued(self, stream: BinaryIO, offsets: Sequence[int]) -> list[Entry]:
        tally = ReadTally()
        entries = [entry for offset in offsets for entry in read_queued(stream, tally, self.reading, offset)]
        self._tally.bytes_read += tally.bytes_read
        return entries


def split_turns(
    entries: Iterable[Entry], reading: Reading, queue: PromptQueue, *, is_answer_a_beginning: bool
) -> Iterator[Turn]:
    """Gather entries into turns; ``reading`` learns where the turns begin that may still grow.

    A prompt typed while the model worked begins a turn where it was delivered. What the model says before any
    prompt is a turn with an empty prompt if ``is_answer_a_beginning`` (a session carried on from another
    file); else it belongs to a turn that began before. So it does behind a compaction: a fork of a compacted
    session begins with copies of what the compaction kept, and the turn is in the first file.
    """
    # The turn that grows, and before it one that may still wait for tool results.
    opened: list[_OpenTurn] = []
    cwd = reading.cwd
    for entry in entries:
        if entry.kind == "compaction" and not opened:
            is_answer_a_beginning = False
        waiting, delivered = queue.waiting, queue.delivered
        beginnings = queue.follow(entry)
        if entry.kind == "answer" and not beginnings:
            is_one = opened[-1].goes_on_as_another(entry) if opened else is_answer_a_beginning
            beginnings = [entry.replace(kind="prompt", blocks=("",))] if is_one else []
        for beginning in beginnings:
            here = reading.place(entry.start, waiting, delivered)
            if opened and opened[-1].is_begun_again(beginning):
                continue
            while opened and (len(opened) > 1 or not opened[0].awaits_results()):
                closed = opened.pop(0)
                reading.resume = opened[0].place if opened else here
                yield closed.close(reading.session_id)
            cwd = beginning.cwd or cwd
            reading.cwd = reading.cwd or cwd
            opened.append(_OpenTurn(beginning, here, cwd))
        for turn in opened[-1:] if entry.kind == "answer" else opened:
            turn.take(entry)
    if opened:
        reading.resume = opened[0].place
    for turn in opened:
        yield turn.close(reading.session_id)


class _OpenTurn:
    """A turn that still grows."""

    def __init__(self, beginning: Entry, place: Place, cwd: str) -> None:
        prompt, *plan = beginning.blocks
        assert isinstance(prompt, str)
        self.place = place
        self._cwd = cwd
        self._beginning = beginning
        self._prompt = prompt
        self._end = beginning.end
        self._parts: list[str | ToolCall] = [text for text in plan if isinstance(text, str)]
        self._calls: dict[str, int] = {}  # index in parts by the id of the call
        self._said: set[tuple[str, str]] = set()
        self._tool_chars = 0
        self._message_id = ""

    def awaits_results(self) -> bool:
        """Whether a tool call has no output yet."""
        return any(isinstance(part, ToolCall) and part.output is None for part in self._parts)

    def is_begun_again(self, beginning: Entry) -> bool:
        """Whether a prompt is this turn's own: some versions write it when delivered and as a record too."""
        return self._beginning.kind != "prompt" and beginning.blocks[0] == self._prompt

    def goes_on_as_another(self, answer: Entry) -> bool:
        """Whether the turn is full; the records of one response stay together."""
        is_full = answer.start - self.place.offset > _FULL_TURN_BYTES
        return is_full and (not answer.message_id or answer.message_id != self._message_id)

    def take(self, entry: Entry) -> None:
        """Take what an entry has for this turn."""
        if entry.kind == "answer":
            self._add_answer(entry)
        elif entry.kind == "results":
            self._take_results(entry)

    def _add_answer(self, entry: Entry) -> None:
        """Add what the model said and did; one response comes in several records, some of them repeating."""
        for block in entry.blocks:
            if isinstance(block, str):
                said = (entry.message_id, block)
                if entry.message_id and said in self._said:
                    continue
                self._said.add(said)
                self._parts.append(block)
            elif isinstance(block, ToolCall) and (not block.id or block.id not in self._calls):
                self._calls[block.id] = len(self._parts)
                self._parts.append(block.replace(input=self._held(block.input, entry)))
        self._message_id = entry.message_id
        self._end = entry.end

    def _take_results(self, entry: Entry) -> None:
        """Give the calls of this turn their outputs; the first output of a call counts."""
        for result in entry.blocks:
            index = self._calls.get(result.call_id) if isinstance(result, ToolResult) else None
            if index is None:
                continue
            call = self._parts[index]
            assert isinstance(call, ToolCall)
            assert isinstance(result, ToolResult)
            if call.output is None:
                output = hold(result.output, **self._bounds())
                self._tool_chars += len(output)
                self._parts[index] = call.replace(output=output, is_error=result.is_error)
            self._end = entry.end

    def close(self, session_id: str) -> Turn:
        """Return the turn as it stands."""
        start = self._beginning.start
        uuid = self._beginning.uuid or f"{session_id}:{start}"
        timestamp = self._beginning.timestamp
        return Turn(uuid, timestamp, self._prompt, tuple(self._parts), self._cwd, start, self._end)

    def _bounds(self) -> dict[str, int]:
        return _HELD_WHEN_FULL if self._tool_chars > _FULL_TURN_CHARS else _HELD

    def _held(self, arguments: Mapping[str, object], entry: Entry) -> dict[str, object]:
        size = entry.end - entry.start  # bytes: the characters of an input can't be more
        self._tool_chars += size
        bounds = self._bounds()
        if size <= bounds["head_chars"]:
            return dict(arguments)
        return {name: _bounded(value, bounds, _MAX_INPUT_DEPTH) for name, value in arguments.items()}


def _bounded(value: object, bounds: dict[str, int], depth: int) -> object:
    """Bound the texts in a tool's input; what is nested too deeply for anyone to read is left out."""
    if isinstance(value, str):
        return hold(value, **bounds)
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {name: _bounded(item, bounds, depth - 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_bounded(item, bounds, depth - 1) for item in value]
    return value
