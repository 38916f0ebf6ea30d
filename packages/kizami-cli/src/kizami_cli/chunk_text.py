"""How a chunk is shown: a line that names it, and its text, secrets masked in what older versions stored."""

from __future__ import annotations

import os

from kizami_cli.console import local_time, show
from kizami_core.privacy import redact_for_display
from kizami_core.records import Metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kizami_core.records import Chunk


def show_chunk(chunk: Chunk, text: str, *, session: str = "", project: str = "", relevance: str = "") -> None:
    """Write a chunk to stdout: ``text`` is its content or the part to show, indented under its title."""
    title = [
        f"#{chunk.id}",
        local_time(chunk.created_at),
        *([os.path.basename(project)] if project else []),
        *([f"session {session}"] if session else []),
        *([f"relevance {relevance}"] if relevance else []),
    ]
    show("  ".join(title), style="bold")
    show(redact_for_display(text), indent=2)
    show()


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk for JSON output."""
    shown = [tuple(map(redact_for_display, texts)) for texts in chunk.metadata.as_dict().values()]
    fields = chunk.replace(content=redact_for_display(chunk.content), metadata=Metadata(*shown)).as_dict()
    del fields["turn_id"]
    return fields
