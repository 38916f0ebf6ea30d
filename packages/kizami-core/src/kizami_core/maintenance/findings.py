"""What `kizami doctor` finds: one record for each thing that was looked at."""

from __future__ import annotations

from kizami_core.messages import Message, part
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    State = Literal["ok", "warning", "problem"]


class Finding(Record):
    """One thing that was looked at.

    ``check`` is a stable name, and several findings may share it. A *warning* costs nothing yet; a *problem*
    keeps Kizami from saving or recalling. ``remedy`` says what to do, "" where there is nothing to be done.
    Both are messages where a person may want them in another language.
    ``figures`` are numbers for programs, by name.
    """

    check: str
    state: State
    found: str
    remedy: str = ""
    figures: Mapping[str, float] = {}


def of_error(check: str, error: Exception) -> Finding:
    """Return the problem that an error names; its last sentence is the remedy, as Kizami's errors have it."""
    found, remedy = part(error.args[0])
    return Finding(check, "problem", found, remedy) if found else Finding(check, "problem", remedy)


def counted(number: int, noun: str) -> Message:
    """Return a number with its noun: "1 chunk", "1,204 chunks"."""
    return Message(f"{{number}} {noun}{'' if number == 1 else 's'}", number=f"{number:,}")
