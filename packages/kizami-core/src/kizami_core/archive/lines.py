"""The lines of an archive (docs/archive-format.md): one JSON object each, checked when they are read."""

from __future__ import annotations

import json

from kizami_core.errors import ArchiveError
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.storage.turn_states import Part, TurnState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kizami_core.storage.marks import Mark

VERSION = 1
_ROLES = ("human", "assistant", "mixed")
_READINGS = ("dropped", "open", "settled")
_MARKS: tuple[Mark, ...] = ("muted", "pinned")


class Alias(Record):
    """A folder that was moved (``storage.project_aliases``)."""

    old: str
    new: str
    renamed_at: str


class SessionLine(Record):
    """A session; the lines of its turns follow. What else ``sessions`` holds is derived from them."""

    session_id: str
    project_path: str
    parent_session_id: str | None
    started_at: str | None


class ResolutionLine(Record):
    """A command that failed; turns are named by their uuids, None: nothing resolved it yet."""

    session_id: str
    failed_turn: str
    command: str
    error: str
    resolved_turn: str | None


Line = Alias | SessionLine | TurnState | ResolutionLine


def header() -> str:
    """Return the line that an archive begins with."""
    return _text({"kizami": "archive", "version": VERSION})


def trailer(count: int) -> str:
    """Return the line that ends an archive: it tells a whole one from one that was cut off."""
    return _text({"type": "end", "lines": count})


def written(line: Line) -> str:
    """Return the text of one line."""
    if isinstance(line, TurnState):
        parts = [
            {"part": number, **part.as_dict(), "metadata": json.loads(part.metadata)}
            for number, part in sorted(line.parts.items())
        ]
        fields = {**line.replace(parts={}).as_dict(), "deleted_parts": sorted(line.deleted_parts)}
        return _text({"type": "turn", **fields, "parts": parts})
    kinds = {Alias: "alias", SessionLine: "session", ResolutionLine: "resolution"}
    return _text({"type": kinds[type(line)], **line.as_dict()})


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[Line]:
    """Yield what the lines of an archive say; several archives may follow each other in one file.

    Raises:
        ArchiveError: at the line that can't be used, or at the end of what was cut off.
    """
    count = -1  # of the lines since the header; below zero: none is open
    number = 0
    for number, data in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        fields = _Fields(data, where)
        if count < 0:
            _check_header(fields)
            count = 0
            continue
        kind = fields.text("type")
        if kind == "end":
            if fields.number("lines") != count:
                raise ArchiveError(
                    Message("{where}: lines are missing before the end. {remedy}", where=where, remedy=_AGAIN)
                )
            count = -1
            continue
        count += 1
        yield _parsed(kind, fields)
    if count >= 0 or number == 0:
        raise ArchiveError(
            Message(
                "{name} was cut off after line {number}. {remedy}", name=name, number=number, remedy=_AGAIN
            )
        )


_AGAIN = Message(
    "Get a whole copy of the file and import it again; what came before stays and nothing comes twice."
)


def _text(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def _check_header(fields: _Fields) -> None:
    if fields.values.get("kizami") != "archive":
        raise ArchiveError(
            Message(
                "{where} does not begin an archive of Kizami. `kizami export --format jsonl` writes them.",
                where=fields.where,
            )
        )
    if fields.number("version") > VERSION:
        raise ArchiveError(
            Message(
                "{where}: a newer Kizami wrote this archive. Upgrade: pip install --upgrade kizami-cli",
                where=fields.where,
            )
        )


def _parsed(kind: str, fields: _Fields) -> Line:
    if kind == "turn":
        return _turn(fields)
    if kind == "session":
        return SessionLine(
            fields.text("session_id"),
            fields.text("project_path"),
            fields.optional_text("parent_session_id"),
            fields.optional_text("started_at"),
        )
    if kind == "resolution":
        return ResolutionLine(
            fields.text("session_id"),
            fields.text("failed_turn"),
            fields.text("command"),
            fields.text("error"),
            fields.optional_text("resolved_turn"),
        )
    if kind == "alias":
        return Alias(fields.text("old"), fields.text("new"), fields.text("renamed_at"))
    raise fields.error(Message('"type" is {kind!r}', kind=kind))


def _turn(fields: _Fields) -> TurnState:
    parts: dict[int, Part] = {}
    for value in fields.items("parts"):
        part = _Fields(value, fields.where)
        parts[part.number("part")] = Part(
            part.text("content"),
            part.choice("role", _ROLES),  # type: ignore[arg-type]  # one of them
            _metadata(part),
            part.text("created_at"),
            part.number("token_count"),
            part.optional_text("edited_at"),
            tuple(mark for mark in _MARKS if mark in part.items("marks")),
        )
    awaited = fields.values.get("awaited_after")
    return TurnState(
        fields.text("uuid"),
        fields.text("session_id"),
        fields.text("started_at"),
        fields.number("tie"),
        fields.choice("reading", _READINGS),  # type: ignore[arg-type]  # one of them
        fields.number("text_length"),
        fields.number("part_count"),
        fields.optional_text("awaited_answer"),
        None if awaited is None else fields.number("awaited_after"),
        fields.values.get("is_deleted") is True,
        frozenset(part for part in fields.items("deleted_parts") if type(part) is int),
        parts,
    )


def _metadata(part: _Fields) -> str:
    value = part.values.get("metadata")
    if not isinstance(value, dict):
        raise part.error(Message('"metadata" is missing or no object'))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Fields:
    """The fields of one object, each checked for what it must be."""

    def __init__(self, data: object, where: str) -> None:
        self.where = where
        try:
            value = json.loads(data) if isinstance(data, bytes) else data
        except (ValueError, RecursionError):
            raise self.error(Message("it is no JSON")) from None
        if not isinstance(value, dict):
            raise self.error(Message("it is no object"))
        self.values: Mapping[str, object] = value

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.error(Message('"{key}" is missing or no text', key=key))
        # Half a surrogate pair can be written in JSON, but not stored.
        return value.encode("utf-8", "replace").decode()

    def optional_text(self, key: str) -> str | None:
        return None if self.values.get(key) is None else self.text(key)

    def choice(self, key: str, values: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in values:
            raise self.error(Message('"{key}" is none of {values}', key=key, values=", ".join(values)))
        return value

    def number(self, key: str) -> int:
        value = self.values.get(key)
        if type(value) is not int or not -(2**62) < value < 2**62:
            raise self.error(Message('"{key}" is missing or no whole number', key=key))
        return value

    def items(self, key: str) -> list[object]:
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.error(Message('"{key}" is missing or no list', key=key))
        return value

    def error(self, problem: Message) -> ArchiveError:
        return ArchiveError(
            Message(
                "{where} can't be used: {problem}. {remedy}", where=self.where, problem=problem, remedy=_AGAIN
            )
        )
