"""What a chunk's text is made of: who speaks, which tool was called, in order."""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.transcript.rendering import ASSISTANT_MARK, MARKS, TOOL_MARK, USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Voice = Literal["user", "assistant", "tool", "unknown"]


class Passage(Record):
    """A part of a chunk's text without its mark; ``tool`` is the name of the tool that was called.

    Nobody is known to have said ("unknown") what stands before the first mark, or in chunks without any.
    """

    voice: Voice
    text: str
    tool: str = ""


def split_passages(content: str) -> list[Passage]:
    """Return the passages of a chunk's text in order; those without text are left out, but for tools."""
    sections: list[list[str]] = [[]]
    for line in content.split("\n"):
        if line.startswith(MARKS):
            sections.append([])
        sections[-1].append(line)
    found = [_passage(lines) for lines in sections if lines]
    return [passage for passage in found if passage.text or passage.tool]


def _passage(lines: list[str]) -> Passage:
    first = lines[0]
    if first.startswith(TOOL_MARK):
        name, _bracket, rest = first.removeprefix(TOOL_MARK).partition("]")
        return Passage("tool", "\n".join([rest, *lines[1:]]).strip(), name)
    for mark, voice in ((USER_MARK, "user"), (ASSISTANT_MARK, "assistant")):
        if first.startswith(mark):
            text = "\n".join([first.removeprefix(mark), *lines[1:]]).strip("\n").rstrip()
            return Passage(voice, text)  # type: ignore[arg-type]  # of the table above
    return Passage("unknown", "\n".join(lines).strip("\n").rstrip())
