"""How a chunk is shown: a line that names it, and its text, secrets masked in what older versions stored."""

from __future__ import annotations

import os

from kizami_cli.console import local_time, show, visible
from kizami_cli.language import _
from kizami_core.messages import Message
from kizami_core.privacy import redact_for_display
from kizami_core.records import Metadata
from kizami_core.transcript.rendering import ASSISTANT_MARK, USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from kizami_core.records import Chunk
    from kizami_core.storage.marks import Mark

MARK_NAMES: Mapping[Mark, Message] = {"muted": Message("muted"), "pinned": Message("pinned")}


def show_chunk(
    chunk: Chunk,
    text: str,
    *,
    session: str = "",
    project: str = "",
    relevance: str = "",
    labels: Sequence[Mark] = (),
    find_spans: Callable[[str], Sequence[tuple[int, int]]] = lambda _text: (),
) -> None:
    """Write a chunk to stdout: ``text`` is its content or the part to show, indented under its title.

    ``labels`` end the title. ``find_spans`` finds the parts that stand out on a
    terminal, as (begin, end), in the text that is shown.
    """
    title = chunk_title(chunk, session=session, project=project, relevance=relevance, labels=labels)
    show(title, style="bold")
    shown = visible(redact_for_display(text))
    show(shown, indent=2, spans=find_spans(shown))
    show()


def chunk_title(
    chunk: Chunk, *, session: str = "", project: str = "", relevance: str = "", labels: Sequence[Mark] = ()
) -> str:
    """Return the line that names a chunk."""
    parts = [
        f"#{chunk.id}",
        local_time(chunk.created_at),
        *([os.path.basename(project)] if project else []),
        *([_("session {session}", session=session)] if session else []),
        *([_("relevance {relevance}", relevance=relevance)] if relevance else []),
        *(_(MARK_NAMES[mark]) for mark in labels),
    ]
    return visible("  ".join(parts))


def first_line(chunk: Chunk) -> str:
    """Return the first line that says something, secrets masked."""
    lines = (line.strip() for line in redact_for_display(chunk.content).split("\n"))
    return next((line for line in lines if line and line not in (USER_MARK, ASSISTANT_MARK)), "")


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk for JSON output."""
    shown = [tuple(map(redact_for_display, texts)) for texts in chunk.metadata.as_dict().values()]
    fields = chunk.replace(content=redact_for_display(chunk.content), metadata=Metadata(*shown)).as_dict()
    del fields["turn_id"]
    return fields
