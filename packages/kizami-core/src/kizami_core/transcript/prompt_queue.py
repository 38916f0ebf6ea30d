"""The client's queue of prompts typed while the model works.

Since 2.1.97 such a prompt stands in the transcript when it is delivered (``queued_prompt``). Before, only the
queue's own records tell of it: ``enqueue`` with the text and ``remove`` at the delivery.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.transcript.entries import Entry

_MAX_QUEUED = 64


class PromptQueue:
    """The queue as far as the transcript has been read.

    Args:
        waiting: the prompts in it, oldest first.
        delivered: those that were delivered and begin a turn with the next entry of the conversation.
    """

    def __init__(self, waiting: Sequence[Entry] = (), delivered: Sequence[Entry] = ()) -> None:
        # Tuples, so that what was there before an entry can be kept.
        self.waiting = tuple(waiting)
        self.delivered = tuple(delivered)

    def follow(self, entry: Entry) -> list[Entry]:
        """Take notice of an entry; return the prompts that begin a turn before it or with it."""
        kind = entry.kind
        if kind == "enqueue":
            self.waiting = (*self.waiting[1 - _MAX_QUEUED :], entry)
        elif kind in ("dequeue", "remove") and self.waiting:
            oldest, *rest = self.waiting
            self.waiting = tuple(rest)
            if kind == "remove" and oldest.blocks[0]:
                self.delivered = (*self.delivered, oldest)
        elif kind == "popAll":
            self.waiting = _without_first(self.waiting, entry)
        elif kind in ("prompt", "queued_prompt"):
            self.waiting = _without_first(self.waiting, entry)
            self.delivered = _without_first(self.delivered, entry)
        beginnings: list[Entry] = []
        if kind in ("prompt", "answer"):
            beginnings, self.delivered = list(self.delivered), ()
        return [*beginnings, entry] if kind in ("prompt", "queued_prompt") else beginnings


def _without_first(entries: tuple[Entry, ...], other: Entry) -> tuple[Entry, ...]:
    """Return the entries without the first that has the text of another."""
    for index, entry in enumerate(entries):
        if entry.blocks[0] == other.blocks[0]:
            return entries[:index] + entries[index + 1 :]
    return entries
