"""Resuming: what a reader has to know to go on in the middle of a transcript as if it had read the beginning.

A transcript only grows. What was read up to the beginning of the first turn that is still open never changes,
so a later reading begins there. Everything a reader carries across that place stands in a ``ResumePoint``:
times, folders and numbers, never text of the conversation, so that it can be stored as it is.
"""

from __future__ import annotations

from array import array
from zlib import crc32

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kizami_core.transcript.entries import Entry

_UUID_LENGTH = 36
_CHECKED_BYTES = 4_096


class ResumePoint(Record):
    """A place in a transcript where a record begins a turn; the beginning of the file by default.

    Offsets are bytes. ``cwd`` is the folder in which the first turn began. ``clock`` is the time of the
    record before, for records without one. ``waiting`` and ``delivered`` are the offsets of the prompts in
    the client's queue (transcript/prompt_queue.py). ``seen`` holds a number of 8 bytes for each record
    before, which tells its copies. ``begun`` is the time of the first record that this session wrote itself,
    as the record has it, or "": a fork begins with copies of an older session's records.
    """

    offset: int = 0
    cwd: str = ""
    clock: str = ""
    waiting: tuple[int, ...] = ()
    delivered: tuple[int, ...] = ()
    seen: bytes = b""
    begun: str = ""


FROM_START = ResumePoint()


class Place(Record):
    """A resume point in the making: ``seen`` counts the records before it, prompts are those in the queue."""

    offset: int
    clock: str
    seen: int
    waiting: tuple[Entry, ...]
    delivered: tuple[Entry, ...]


class Reading:
    """What is known at the place that a reading has come to.

    Args:
        start: where it begins.
        session_id: the session whose transcript is read.
    """

    def __init__(self, start: ResumePoint, session_id: str) -> None:
        self.start = start
        self.session_id = session_id
        self.cwd = start.cwd
        self.clock = start.clock
        self.begun = start.begun
        # The session that the first record names: a sub-agent's names its parent.
        self.origin = ""
        self.has_sidechains = False
        # Where the turns begin that may still grow, as far as the reading has come.
        self.resume: Place | None = None
        self._order = array("Q", start.seen)
        self._seen = set(self._order)
        self._clock_before = start.clock
        self._seen_before = len(self._order)

    def enter(self, record: Mapping[str, object], time: str) -> None:
        """Take notice of the next record; ``time`` is its own in UTC, or ""."""
        self._clock_before = self.clock
        self._seen_before = len(self._order)
        self.clock = time or self.clock
        session_id = record.get("sessionId")
        if isinstance(session_id, str):
            self.origin = self.origin or session_id
        is_own = session_id in (None, self.session_id) and record.get("sessionKind") != "bg"
        timestamp = record.get("timestamp")
        if not self.begun and is_own and not record.get("forkedFrom") and isinstance(timestamp, str):
            self.begun = timestamp

    def is_copy(self, uuid: str) -> bool:
        """Tell whether a record of this uuid was read before, and remember it."""
        number = _number(uuid)
        if number in self._seen:
            return True
        self._seen.add(number)
        self._order.append(number)
        return False

    def place(self, offset: int, waiting: tuple[Entry, ...], delivered: tuple[Entry, ...]) -> Place:
        """Return the place before the latest record, which begins at ``offset``."""
        return Place(offset, self._clock_before, self._seen_before, waiting, delivered)

    def resume_point(self, place: Place | None) -> ResumePoint:
        """Return the resume point of a place that ``resume`` named."""
        if place is None:
            return self.start.replace(begun=self.begun)
        return ResumePoint(
            place.offset,
            self.cwd,
            place.clock,
            tuple(entry.start for entry in place.waiting),
            tuple(entry.start for entry in place.delivered),
            self._order[: place.seen].tobytes(),
            self.begun,
        )


def digest_before(path: str, offset: int) -> str:
    """Return a digest of the first and the last few kilobytes before ``offset``.

    Of a file that was cut off or written anew it is another one, of one that can't be read "".
    """
    try:
        with open(path, "rb") as file:
            head = file.read(min(offset, _CHECKED_BYTES))
            file.seek(max(0, offset - _CHECKED_BYTES))
            tail = file.read(min(offset, _CHECKED_BYTES))
    except OSError:
        return ""
    return f"{crc32(head):08x}{crc32(tail):08x}"


def _number(uuid: str) -> int:
    """Return 64 bits that tell a uuid from others: the random ones of a real one."""
    if len(uuid) == _UUID_LENGTH:
        try:
            return int(uuid[-17:].replace("-", ""), 16)
        except ValueError:
            pass
    data = uuid.encode("utf-8", "replace")
    return crc32(data) << 32 | crc32(data[::-1])
