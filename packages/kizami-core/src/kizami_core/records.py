"""Records: the values that pass from one step of Kizami to the next.

They are declared like frozen dataclasses and checked as such by type checkers. The standard library's
``dataclasses`` and ``typing.NamedTuple`` are not used because importing them costs 10 to 20 ms, and every
prompt that a person sends pays for what this module imports (ARCHITECTURE.md, "The hook path").
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, Literal, Self, dataclass_transform

    Role = Literal["human", "assistant", "mixed"]
else:

    def dataclass_transform(**_options):  # noqa: ANN003, ANN201 - unseen by type checkers
        """Stand in for ``typing.dataclass_transform``, which only type checkers need."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen record: the annotated names of a subclass are its fields, in order.

    Fields with a value in the class body are optional. Records compare and hash by value.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}

    def __init_subclass__(cls) -> None:
        """Read the fields from the annotations."""
        cls._fields = tuple(cls.__annotations__)
        cls._defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}

    def __init__(self, *args: object, **kwargs: object) -> None:
        if not kwargs and len(args) == len(
            self._fields
        ):  # how most are made, a hundred thousand in a backfill
            self.__dict__.update(zip(self._fields, args, strict=True))
            return
        values = dict(self._defaults)
        values.update(zip(self._fields, args, strict=False))
        values.update(kwargs)
        if len(values) != len(self._fields) or len(args) > len(self._fields):
            missing = [name for name in self._fields if name not in values]
            unknown = [name for name in kwargs if name not in self._fields]
            raise TypeError(
                f"{type(self).__name__}: missing {missing}, unknown {unknown}, {len(args)} positional"
            )
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: use replace({name}=…)")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"
        )

    def replace(self, **changes: object) -> Self:
        """Return a copy with some fields changed."""
        if not changes.keys() <= self.__dict__.keys():
            return type(self)(**{**self.__dict__, **changes})  # which raises
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **changes)
        return copy

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, records inside included (for JSON output)."""
        return {name: _plain(self.__dict__[name]) for name in self._fields}


def _plain(value: object) -> object:
    if isinstance(value, Record):
        return value.as_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class ToolCall(Record):
    """One tool call of the assistant with the output that came back.

    ``input`` is the parsed JSON object as the client wrote it (any value types). ``output`` is None until a
    result was seen.
    """

    id: str
    name: str
    input: Mapping[str, object]
    output: str | None = None
    is_error: bool = False


class Turn(Record):
    """One exchange: a person's prompt and everything until the next one, in file order.

    ``uuid`` is that of the record that opened it, or ``<session>:<byte offset>`` where the record has none.
    ``parts`` holds assistant texts (str) and tool calls. ``started_at`` is UTC ``YYYY-MM-DD HH:MM:SS`` or ""
    when the transcript gives no usable time. Offsets are bytes in the transcript: the turn's first record
    begins at ``start_offset``, its last one ends before ``end_offset``.
    """

    uuid: str
    started_at: str
    prompt: str
    parts: Sequence[str | ToolCall]
    cwd: str
    start_offset: int
    end_offset: int


class Metadata(Record):
    """What a chunk mentions; each list without repeats, in order of appearance, bounded.

    ``types`` and ``concepts`` are how another memory classed what was imported of it; transcripts give none.
    """

    file_paths: tuple[str, ...] = ()
    tool_names: tuple[str, ...] = ()
    error_messages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, the last two only where something was classed."""
        fields = super().as_dict()
        if not self.types and not self.concepts:
            del fields["types"], fields["concepts"]
        return fields


class Chunk(Record):
    """A stored piece of a turn.

    ``created_at`` is the time of the turn, UTC ``YYYY-MM-DD HH:MM:SS``. ``turn_id`` is the row of ``turns``,
    or None for rows that another program wrote.
    """

    id: int
    session_id: str
    project_path: str
    chunk_index: int
    content: str
    role: Role
    metadata: Metadata
    created_at: str
    token_count: int
    turn_id: int | None = None


class Session(Record):
    """One row of ``sessions``: first and last message are cut to 200 characters.

    ``parent_session_id`` is None for a person's session. That of a sub-agent names the session that started
    it, "" where that is unknown.
    """

    session_id: str
    project_path: str
    started_at: str | None
    ended_at: str
    chunk_count: int
    first_message: str | None
    last_message: str | None
    parent_session_id: str | None = None


class ReadReport(Record):
    """What reading one transcript met. Counts are of lines (``entries``) and of records by type."""

    entries: int
    turns: int
    skipped_types: Mapping[str, int]
    broken_lines: int


class SaveReport(Record):
    """What saving one transcript did.

    ``bytes_read`` counts what was read of the file: only what is new. ``turns_kept_out`` counts those read
    whose project is excluded; of a transcript that is so altogether nothing is read.
    """

    session_id: str
    project_path: str
    read: ReadReport
    turns_written: int
    turns_unchanged: int
    chunks_written: int
    chunks_removed: int
    bytes_read: int
    turns_kept_out: int = 0


class Hit(Record):
    """A scored chunk. ``score`` orders hits (higher is better); ``relevance`` lies in [0, 1]."""

    chunk: Chunk
    score: float
    relevance: float
