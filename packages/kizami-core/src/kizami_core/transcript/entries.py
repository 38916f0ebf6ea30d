"""The entries of a transcript that belong to the conversation.

The format is not documented and changes with every release of Claude Code, so each field is decoded by itself
and may have any type: what has an unexpected one counts as absent. What is no part of the conversation is
counted in the tally, by type and reason.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kizami_core.records import Record, ToolCall
from kizami_core.transcript.injected import strip_injected, strip_memory
from kizami_core.transcript.lines import ReadTally, read_objects
from kizami_core.transcript.prompts import human_text, split_plan
from kizami_core.transcript.sidechains import Sidechain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO, Literal, TypeAlias

    from kizami_core.transcript.resume import Reading

    Speakers: TypeAlias = "Literal['person', 'agent'] | Sidechain"

    EntryKind = Literal[
        "prompt", "queued_prompt", "answer", "results", "enqueue", "dequeue", "remove", "popAll", "compaction"
    ]
    Block: TypeAlias = "str | ToolCall | ToolResult"
    Part = tuple[EntryKind, tuple[Block, ...]]
    # The parts of a record, and why there are none.
    Decoded = tuple[list[Part], str]

_CONVERSATION_TYPES = frozenset({"user", "assistant", "attachment", "queue-operation", "system"})
_QUEUE_KINDS: Mapping[str, EntryKind] = {
    "enqueue": "enqueue",
    "dequeue": "dequeue",
    "remove": "remove",
    "popAll": "popAll",
}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_TIME_CHARS = len("YYYY-MM-DD HH:MM:SS")
_TOOL_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
# What stands for a block whose content is no text.
_BLOCK_SIGNS = {"image": "[Image]", "document": "[Document]"}


class ToolResult(Record):
    """The output of a tool call, to be matched by ``call_id``."""

    call_id: str
    output: str
    is_error: bool


class Entry(Record):
    """One record of the conversation, or the part of it that is of one kind.

    =============== ===============================================================================
    kind            blocks
    =============== ===============================================================================
    prompt          the person's text; behind it the plan that it carries out, if any
    queued_prompt   the same, typed while the model worked and delivered to it mid-turn
    answer          texts and tool calls of the model, in order
    results         tool results
    enqueue, popAll a text that went into the client's queue, or came back out of it ("" if not a person's)
    dequeue, remove nothing: the queue's next text became a record of its own, or was delivered mid-turn
    compaction      nothing: what the compaction kept of the conversation before it may follow as copies
    =============== ===============================================================================

    ``timestamp`` is UTC ``YYYY-MM-DD HH:MM:SS``, that of the record before where this one has none, or "".
    ``uuid``, ``message_id`` and ``cwd`` are "" where the record has none. ``start`` and ``end`` are byte
    offsets.
    """

    kind: EntryKind
    blocks: tuple[Block, ...]
    uuid: str
    message_id: str
    timestamp: str
    cwd: str
    start: int
    end: int


def read_entries(
    stream: BinaryIO, tally: ReadTally, reading: Reading, *, speakers: Speakers = "person"
) -> Iterator[Entry]:
    """Read the conversation of a transcript in file order, from where ``reading`` begins.

    One line is held at a time, and of every record read a number that tells its copies (compaction writes
    records again with the same uuid; only the first counts).

    Args:
        stream: the file.
        tally: counts what is met.
        reading: what is known from the records before; it follows along.
        speakers: "person" leaves out what sub-agents wrote into their parent's transcript, a sidechain is one
            of these and leaves out all else, "agent" leaves out nothing (the transcript is a sub-agent's).
    """
    is_agent = speakers != "person"
    for record, begin, end in read_objects(
        stream, tally, wanted=_CONVERSATION_TYPES, start=reading.start.offset
    ):
        uuid = _text(record.get("uuid"))
        if isinstance(speakers, Sidechain):
            if begin >= speakers.end:
                return
            if uuid not in speakers.uuids:
                continue
        if not is_agent and record.get("isSidechain") is True:
            reading.has_sidechains = True
        parts = _decode(record, tally, is_agent=is_agent)
        reading.enter(record, _utc(record.get("timestamp")))
        if not parts:
            continue
        if uuid and reading.is_copy(uuid):
            tally.skip(f"{record['type']}: repeated")
            continue
        message = record.get("message")
        message_id = _text(message.get("id")) if isinstance(message, dict) else ""
        for kind, blocks in parts:
            yield Entry(kind, blocks, uuid, message_id, reading.clock, _text(record.get("cwd")), begin, end)


def read_queued(stream: BinaryIO, tally: ReadTally, reading: Reading, offset: int) -> list[Entry]:
    """Read the record at ``offset`` once more: a prompt that waited in the queue (else nothing)."""
    record, begin, end = next(
        read_objects(stream, tally, wanted=_CONVERSATION_TYPES, start=offset), ({}, offset, offset)
    )
    uuid, time = _text(record.get("uuid")), _utc(record.get("timestamp")) or reading.clock
    return [
        Entry(kind, blocks, uuid, "", time, _text(record.get("cwd")), begin, end)
        for kind, blocks in _decode(record, tally, is_agent=False)
        if kind == "enqueue"
    ]


def _decode(record: dict[str, object], tally: ReadTally, *, is_agent: bool) -> list[Part]:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _CONVERSATION_TYPES:
        tally.skip(kind)
        return []
    parts: list[Part] = []
    if is_agent:
        # A sub-agent's prompts come from the model, whatever the record says of their source.
        parts, reason = _DECODERS[kind]({**record, "origin": None, "promptSource": None})
    elif record.get("isSidechain") is True:
        reason = "sidechain"
    else:
        parts, reason = _DECODERS[kind](record)
    if not parts:
        tally.skip(f"{kind}: {reason}" if reason else kind)
    return parts


def _user(record: dict[str, object]) -> Decoded:
    if record.get("isMeta") is True:
        return [], "meta"
    if record.get("isCompactSummary") is True or record.get("isVisibleInTranscriptOnly") is True:
        return [], "compact summary"
    content = _content(record)
    if not content:
        # The shape that Kizami's specification shows: the block itself in this field. Real records have the
        # tool's own data there, in as many shapes as there are tools, and the block in the message.
        result = record.get("toolUseResult")
        content = [result] if isinstance(result, dict) and result.get("type") == "tool_result" else []
    results = tuple(_tool_result(block) for block in content if _block_type(block) == "tool_result")
    parts: list[Part] = [("results", results)] if results else []
    words = _words(content, _writer(record))
    if words or not results:
        words = words or _signs(content)
    if words:
        prompt, plan = split_plan(words, record.get("planContent"))
        parts.append(("prompt", (prompt, plan) if plan else (prompt,)))
    return parts, "not a person's"


def _assistant(record: dict[str, object]) -> Decoded:
    message = record.get("message")
    is_synthetic = isinstance(message, dict) and message.get("model") == "<synthetic>"
    if is_synthetic or record.get("isApiErrorMessage") is True:
        return [], "synthetic"
    blocks: list[Block] = []
    for block in _content(record):
        if isinstance(block, str) or _block_type(block) == "text":
            text = strip_memory(_block_text(block)).strip()
            if text:
                blocks.append(text)
        elif isinstance(block, dict) and block.get("type") == "tool_use":
            arguments = block.get("input")
            arguments = (
                arguments if isinstance(arguments, dict) else {"input": arguments} if arguments else {}
            )
            blocks.append(ToolCall(_text(block.get("id")), _text(block.get("name")) or "unknown", arguments))
    return [("answer", tuple(blocks))] if blocks else [], "no text"


def _attachment(record: dict[str, object]) -> Decoded:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return [], _text(attachment.get("type")) if isinstance(attachment, dict) else ""
    writer = _writer(attachment) or _writer(record)
    if attachment.get("commandMode") == "task-notification":
        writer = "program"
    content = _as_list(attachment.get("prompt"))
    words = _words(content, writer) or (_signs(content) if writer != "program" else "")
    return [("queued_prompt", (words,))] if words else [], "queued_command, not a person's"


def _queue_operation(record: dict[str, object]) -> Decoded:
    operation = record.get("operation")
    kind = _QUEUE_KINDS.get(operation) if isinstance(operation, str) else None
    if kind is None:
        return [], ""
    if kind in ("dequeue", "remove"):
        return [(kind, ())], ""
    words = _words(_as_list(record.get("content")), "")
    # Slash commands and shell lines wait for the end of the turn and then get a record of their own.
    return [(kind, ("" if words.startswith(("/", "!")) else words,))], ""


def _system(record: dict[str, object]) -> Decoded:
    compaction = record.get("compactMetadata")
    has_kept_some = isinstance(compaction, dict) and compaction.get("preservedMessages")
    return [("compaction", ())] if has_kept_some else [], ""


_DECODERS: Mapping[str, Callable[[dict[str, object]], Decoded]] = {
    "user": _user,
    "assistant": _assistant,
    "attachment": _attachment,
    "queue-operation": _queue_operation,
    "system": _system,
}


def _writer(record: dict[str, object]) -> str:
    """Return who wrote a user record, as far as it says so: "human", "program" or ""."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    if isinstance(kind, str) and kind:
        return "human" if kind == "human" else "program"
    source = record.get("promptSource")
    return {"typed": "human", "system": "program"}.get(source, "") if isinstance(source, str) else ""


def _words(content: list[object], writer: str) -> str:
    """Return what a person says in the text blocks of a content."""
    if writer == "program":
        return ""
    texts = [
        _block_text(block) for block in content if isinstance(block, str) or _block_type(block) == "text"
    ]
    words = (human_text(text, is_known_human=writer == "human") for text in texts)
    return "\n\n".join(text for text in words if text)


def _signs(content: list[object]) -> str:
    """Return what stands for a prompt that has no words: a picture, a document."""
    return " ".join(
        _BLOCK_SIGNS[_block_type(block)] for block in content if _block_type(block) in _BLOCK_SIGNS
    )


def _tool_result(block: object) -> ToolResult:
    assert isinstance(block, dict)
    text = "\n".join(filter(None, map(_output_text, _as_list(block.get("content")))))
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    error = _TOOL_ERROR.fullmatch(text.strip())
    output = strip_injected(error[1] if error else text).strip("\n")
    return ToolResult(_text(block.get("tool_use_id")), output, block.get("is_error") is True)


def _output_text(block: object) -> str:
    """Return the text of one block of a tool's output, or what stands for it."""
    kind = _block_type(block)
    if isinstance(block, dict) and kind == "tool_reference":
        return _text(block.get("tool_name"))
    return _BLOCK_SIGNS.get(kind) or _block_text(block)


def _content(record: dict[str, object]) -> list[object]:
    """Return the content of a record's message as a list of blocks; a text is one block."""
    message = record.get("message")
    return _as_list(message.get("content") if isinstance(message, dict) else message)


def _as_list(content: object) -> list[object]:
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, (str, dict)) else []


def _block_type(block: object) -> str:
    return _text(block.get("type")) if isinstance(block, dict) else ""


def _block_text(block: object) -> str:
    """Return the text of a text block, or of a bare string in its place."""
    text = _text(block.get("text")) if isinstance(block, dict) else _text(block)
    return text.replace("\0", "").replace("\r\n", "\n")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _utc(value: object) -> str:
    """Return an ISO 8601 time as UTC ``YYYY-MM-DD HH:MM:SS``, "" for anything else. No zone means UTC."""
    if not isinstance(value, str):
        return ""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo not in (UTC, None):
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(sep=" ", timespec="seconds")[:_TIME_CHARS]
