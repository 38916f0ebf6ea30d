"""Chunks on a terminal as the conversation that they are: who spoke, what was answered, which tools ran."""

from __future__ import annotations

from rich.padding import Padding
from rich.text import Text

from kizami_cli.chunk_text import chunk_title
from kizami_cli.console import can_show, count, local_time, visible
from kizami_cli.language import _
from kizami_cli.passages import split_passages
from kizami_cli.styled_text import styled_answer
from kizami_cli.wide_text import WideText
from kizami_core.messages import Message
from kizami_core.privacy import redact_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from kizami_cli.passages import Passage
    from kizami_core.records import Chunk, Session
    from kizami_core.storage.chunks import Place
    from kizami_core.storage.marks import Mark

_FOLDED_LINES = 3
_SPEAKER_INDENT = 2
_INDENT = 4
_TOOL_SIGN = "▸"
_ASCII_TOOL_SIGN = ">"
_SPEAKERS: Mapping[str, Message] = {"user": Message("You"), "assistant": Message("Claude")}
_STYLES = {"user": "bold green", "assistant": "bold magenta"}


class Conversation:
    """What is shown of the chunks of one session, in the order of the conversation.

    ``full``: what tools were given and answered is shown whole. Whether something was left out of it stands
    in ``is_folded``, once all was drawn.
    """

    def __init__(self, session: Session, marks: Mapping[int, Sequence[Mark]], *, full: bool) -> None:
        self.is_folded = False
        self._session = session
        self._marks = marks
        self._is_full = full
        self._speaker = ""

    def draw_session(self, chunks: Sequence[Chunk]) -> Iterator[RenderableType]:
        """Yield all chunks of the session under its name."""
        yield Text(_("Session {session}", session=self._session.session_id), style="bold")
        yield WideText(
            _(
                "{project}, {time}, {chunks}",
                project=visible(self._session.project_path),
                time=local_time(self._session.started_at),
                chunks=count(len(chunks), "chunk"),
            )
        )
        turn: int | None = None
        for number, chunk in enumerate(chunks):
            is_continued = number > 0 and chunk.turn_id is not None and chunk.turn_id == turn
            turn = chunk.turn_id
            if not is_continued:
                self._speaker = ""
            yield ""
            title = chunk_title(chunk, labels=self._marks.get(chunk.id, []))
            yield Text(title, style="dim" if is_continued else "bold")
            yield from self._draw(chunk)

    def draw_chunk(self, chunk: Chunk, place: Place) -> Iterator[RenderableType]:
        """Yield one chunk, and where it stands in the session."""
        session = self._session.session_id
        yield WideText(
            chunk_title(chunk, session=session, labels=self._marks.get(chunk.id, [])), style="bold"
        )
        where = [
            _("{number:,} of {total:,} in its session", number=place.number, total=place.total),
            *([_("before it #{id}", id=place.previous_id)] if place.previous_id else []),
            *([_("after it #{id}", id=place.next_id)] if place.next_id else []),
        ]
        if place.total > 1:
            yield WideText("  ".join(where), style="dim")
        yield from self._draw(chunk)

    def _draw(self, chunk: Chunk) -> Iterator[RenderableType]:
        before = ""
        for passage in split_passages(visible(redact_for_display(chunk.content))):
            speaker = "assistant" if passage.voice == "tool" else passage.voice
            is_new = speaker != self._speaker
            if before and (is_new or "tool" not in (before, passage.voice) or before != passage.voice):
                yield ""
            if is_new and speaker in _SPEAKERS:
                yield self._name(speaker)
            self._speaker, before = speaker, passage.voice
            if passage.voice == "tool":
                yield from self._draw_tool(passage)
            else:
                text = styled_answer(passage.text) if passage.voice == "assistant" else WideText(passage.text)
                yield _indented(text)

    def _name(self, speaker: str) -> RenderableType:
        name = _(_SPEAKERS[speaker])
        if speaker == "user" and self._session.parent_session_id is not None:
            name = _("Task")  # which Claude gave to a sub-agent
        return _indented(Text(name, style=_STYLES[speaker]), _SPEAKER_INDENT)

    def _draw_tool(self, passage: Passage) -> Iterator[RenderableType]:
        """Yield a call dimmed: its first lines, each on one row, unless it is to be shown whole."""
        first, *rest = passage.text.split("\n")
        sign = _TOOL_SIGN if can_show(_TOOL_SIGN) else _ASCII_TOOL_SIGN
        lines = [f"{sign} {passage.tool}  {first}".rstrip(), *(f"  {line}" for line in rest)]
        if self._is_full:
            yield _indented(WideText("\n".join(lines), style="dim"))
            return
        for line in lines[:_FOLDED_LINES]:
            row = Text(line, style="dim", no_wrap=True, overflow="ellipsis")
            yield _indented(row)
        left = len(lines) - _FOLDED_LINES
        if left > 0:
            self.is_folded = True
            more = _("and {lines}", lines=count(left, "more line"))
            yield _indented(Text(f"  … {more}" if can_show("…") else f"  ... {more}", style="dim italic"))


def _indented(text: Text, columns: int = _INDENT) -> RenderableType:
    return Padding(text, (0, 0, 0, columns), expand=False)
