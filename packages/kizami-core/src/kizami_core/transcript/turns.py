"""Turns: a person's prompt and everything until the next one, in file order.

The order of the file is the order of the conversation. Walking from a leaf along ``parentUuid`` would lose
the results of parallel tool calls, everything before a compaction and whatever a dangling parent hides.
"""

from __future__ import annotations

import os

from kizami_core.errors import TranscriptError
from kizami_core.records import ToolCall, Turn
from kizami_core.transcript.entries import ToolResult, read_entries
from kizami_core.transcript.excerpts import LINE_CHARS, hold
from kizami_core.transcript.lines import ReadTally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kizami_core.records import ReadReport
    from kizami_core.transcript.entries import Entry

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
_MAX_QUEUED = 64


def session_id_of(path: str) -> str:
    """Return the session id of a transcript: its file's name without the extension.

    The ids in the records can be those of the sessions that it was resumed or forked from.
    """
    return os.path.splitext(_components(path)[-1])[0]


def is_agent_transcript(path: str) -> bool:
    """Whether a transcript is that of a sub-agent, whose prompts are the model's."""
    *folders, name = _components(path)
    return name.startswith("agent-") or "subagents" in folders[-3:]


class TranscriptReader:
    """The turns of a transcript file, one at a time.

    ::

        reader = TranscriptReader(path)
        for turn in reader:
            ...
        reader.report()  # what was met on the way

    ``start`` is a byte offset to begin at, such as the ``start_offset`` of a turn seen before. Copies of
    records (same uuid) are told only among those read.

    Raises:
        TranscriptError: while iterating, when the file can't be opened or read.
    """

    def __init__(self, path: str, *, start: int = 0) -> None:
        self._path = path
        self._start = start
        self._tally = ReadTally()
        self._turns = 0

    def __iter__(self) -> Iterator[Turn]:
        self._tally = ReadTally()
        self._turns = 0
        try:
            with open(self._path, "rb") as stream:
                entries = read_entries(stream, self._tally, start=self._start)
                session_id = session_id_of(self._path)
                for turn in split_turns(entries, session_id=session_id, is_from_start=self._start == 0):
                    self._turns += 1
                    yield turn
        except OSError as error:
            reason = error.strerror or error
            raise TranscriptError(
                f"{self._path} can't be read ({reason}). Check the path and its permissions."
            ) from error

    def report(self) -> ReadReport:
        """Return what the latest iteration met so far."""
        return self._tally.report(self._turns)


def split_turns(entries: Iterable[Entry], *, session_id: str, is_from_start: bool = True) -> Iterator[Turn]:
    """Gather entries into turns.

    A prompt typed while the model worked begins a turn where it was delivered. What the model says before any
    prompt is a turn with an empty prompt if the entries come from the start of the file (a session carried on
    from another file); else it belongs to a turn that began before.
    """
    # The turn that grows, and before it one that may still wait for tool results.
    opened: list[_OpenTurn] = []
    cwd = ""
    queue = _PromptQueue()
    for entry in entries:
        beginnings = queue.follow(entry)
        if entry.kind == "answer" and is_from_start and not opened and not beginnings:
            beginnings = [entry.replace(kind="prompt", blocks=("",))]
        for beginning in beginnings:
            if opened and opened[-1].is_begun_again(beginning):
                continue
            while opened and (len(opened) > 1 or not opened[0].awaits_results()):
                yield opened.pop(0).close(session_id)
            cwd = beginning.cwd or cwd
            opened.append(_OpenTurn(beginning, cwd))
        if entry.kind == "answer" and opened:
            opened[-1].add_answer(entry)
        elif entry.kind == "results":
            for turn in opened:
                turn.take_results(entry)
    for turn in opened:
        yield turn.close(session_id)


class _OpenTurn:
    """A turn that still grows."""

    def __init__(self, beginning: Entry, cwd: str) -> None:
        prompt, *plan = beginning.blocks
        assert isinstance(prompt, str)
        self._cwd = cwd
        self._beginning = beginning
        self._prompt = prompt
        self._end = beginning.end
        self._parts: list[str | ToolCall] = [text for text in plan if isinstance(text, str)]
        self._calls: dict[str, int] = {}  # index in parts by the id of the call
        self._said: set[tuple[str, str]] = set()
        self._tool_chars = 0

    def awaits_results(self) -> bool:
        """Whether a tool call has no output yet."""
        return any(isinstance(part, ToolCall) and part.output is None for part in self._parts)

    def is_begun_again(self, beginning: Entry) -> bool:
        """Whether a prompt is this turn's own: some versions write it when delivered and as a record too."""
        return self._beginning.kind != "prompt" and beginning.blocks[0] == self._prompt

    def add_answer(self, entry: Entry) -> None:
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
        self._end = entry.end

    def take_results(self, entry: Entry) -> None:
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


class _PromptQueue:
    """The client's queue of prompts typed while the model works.

    Since 2.1.97 such a prompt stands in the transcript when it is delivered (``queued_prompt``). Before, only
    the queue's own records tell of it: ``enqueue`` with the text and ``remove`` at the delivery.
    """

    def __init__(self) -> None:
        self._waiting: list[Entry] = []
        self._delivered: list[Entry] = []

    def follow(self, entry: Entry) -> list[Entry]:
        """Take notice of an entry; return the prompts that begin a turn before it or with it."""
        kind = entry.kind
        if kind == "enqueue":
            self._waiting = [*self._waiting[1 - _MAX_QUEUED :], entry]
        elif kind in ("dequeue", "remove") and self._waiting:
            oldest = self._waiting.pop(0)
            if kind == "remove" and oldest.blocks[0]:
                self._delivered.append(oldest)
        elif kind == "popAll":
            self._waiting = _without_first(self._waiting, entry)
        elif kind in ("prompt", "queued_prompt"):
            self._waiting = _without_first(self._waiting, entry)
            self._delivered = _without_first(self._delivered, entry)
        beginnings: list[Entry] = []
        if kind in ("prompt", "answer"):
            beginnings, self._delivered = self._delivered, []
        return [*beginnings, entry] if kind in ("prompt", "queued_prompt") else beginnings


def _without_first(entries: list[Entry], other: Entry) -> list[Entry]:
    """Return the entries without the first that has the text of another."""
    for index, entry in enumerate(entries):
        if entry.blocks[0] == other.blocks[0]:
            return entries[:index] + entries[index + 1 :]
    return entries


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


def _components(path: str) -> list[str]:
    """Split a path of this system or of Windows (hooks and exports name either)."""
    return path.replace("\\", "/").split("/")
