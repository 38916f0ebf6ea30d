"""Answers that a hook tells before the transcript holds them.

The client writes its transcript with a delay: when a hook says that an answer has ended, the record of the
answer may still be missing, and for ever if the client is killed. The hook's input has the text; it stands in
for the record until a later reading finds that.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.transcript.injected import strip_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Turn


class AwaitedAnswer(Record):
    """An answer that a turn is told to have; ``after`` counts those that its transcript held by then."""

    text: str
    after: int


def await_answer(turn: Turn, message: str) -> AwaitedAnswer | None:
    """Return the answer that the last turn of a transcript still lacks, None when it is there.

    Args:
        turn: the turn, secrets masked.
        message: the model's last message as the hook has it, secrets masked.
    """
    text = strip_memory(message).strip()
    told = _squeeze(text)
    answers = [part for part in turn.parts if isinstance(part, str)]
    ending: list[str] = []
    for part in reversed(turn.parts):
        if not isinstance(part, str):
            break
        ending.insert(0, part)
    # Several blocks of one response are several parts, and the message may be the last or all of them.
    is_there = ending and (_squeeze("".join(ending)).endswith(told) or told.endswith(_squeeze(ending[-1])))
    return None if is_there or not told else AwaitedAnswer(text, len(answers))


def with_awaited(turn: Turn, awaited: AwaitedAnswer) -> tuple[Turn, AwaitedAnswer | None]:
    """Return a turn with the answer that it lacks, and that answer, or the turn as it is and None.

    The answer has come when a later text says the same, or when a later text ends the turn: the record may
    have another form than what the hook told.
    """
    later = [part for part in turn.parts if isinstance(part, str)][awaited.after :]
    told = _squeeze(awaited.text)
    if later and (isinstance(turn.parts[-1], str) or any(_squeeze(text) == told for text in later)):
        return turn, None
    return turn.replace(parts=(*turn.parts, awaited.text)), awaited


def _squeeze(text: str) -> str:
    return "".join(text.split())
