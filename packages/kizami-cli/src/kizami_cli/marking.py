"""What `kizami mute` and `kizami pin` share: marking chunks, and listing those that are marked."""

from __future__ import annotations

from kizami_cli.chunk_text import MARK_NAMES, chunk_json, first_line
from kizami_cli.console import local_time, say, show_json, show_table
from kizami_cli.language import _
from kizami_core.editing import mark_chunks as change_marks
from kizami_core.storage.chunks import find_chunk
from kizami_core.storage.marks import all_marks, marked_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_cli.invocation import Invocation
    from kizami_core.records import Chunk
    from kizami_core.storage.marks import Mark


def mark_chunks(
    invocation: Invocation, names: Sequence[str], mark: Mark, *, undo: bool, as_json: bool
) -> None:
    """Set or take off a mark and show the chunks; without names show those that carry it."""
    with invocation.database(read_only=not names) as connection:
        if names:
            chunks = change_marks(connection, names, mark, undo=undo)
        else:
            chunks = _marked(invocation, connection, mark)
        marks = all_marks(connection)
    if as_json:
        show_json([{**chunk_json(chunk), "marks": marks.get(chunk.id, [])} for chunk in chunks])
        return
    if not chunks:
        say(
            _("Nothing is muted here. --all-projects shows what is in other projects.")
            if mark == "muted"
            else _("Nothing is pinned here. --all-projects shows what is in other projects.")
        )
        return
    not_marked = _("not muted") if mark == "muted" else _("not pinned")
    show_table(
        ["id", "when", "marks", "memory"],
        (
            [
                f"#{chunk.id}",
                local_time(chunk.created_at),
                ", ".join(_(MARK_NAMES[name]) for name in marks.get(chunk.id, [])) or not_marked,
                first_line(chunk),
            ]
            for chunk in chunks
        ),
        whole=["id", "when", "marks"],
        brief=["memory"],
    )


def _marked(invocation: Invocation, connection: sqlite3.Connection, mark: Mark) -> list[Chunk]:
    project = invocation.project_filter()
    chunks = [find_chunk(connection, str(chunk_id)) for chunk_id in marked_ids(connection, mark)]
    return [chunk for chunk in chunks if project in (None, chunk.project_path)]
