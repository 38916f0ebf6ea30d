"""Export to be read: sessions with their chunks as JSON or as Markdown, streamed, secrets masked once more.

What can be imported again is the archive (``archive``).

Of a damaged database comes what can be read; which row ids led to damaged pages is said in the output.
"""

from __future__ import annotations

import json

from kizami_core.maintenance.integrity import is_readable
from kizami_core.privacy import redact
from kizami_core.records import Metadata, Record, Session
from kizami_core.storage.chunks import session_chunks
from kizami_core.storage.salvage import readable_chunks
from kizami_core.storage.sessions import list_sessions
from kizami_core.transcript.rendering import ASSISTANT_MARK, TOOL_MARK, USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from kizami_core.records import Chunk

_LABELS = {USER_MARK: "**User**", ASSISTANT_MARK: "**Assistant**"}


class _Source(Record):
    """What to export: each session with its chunks, and the row ids that can't be read."""

    sessions: Iterable[tuple[Session, Iterable[Chunk]]]
    unreadable: Sequence[int]


def export_json(
    connection: sqlite3.Connection, *, project_path: str | None = None, since: str = ""
) -> Iterator[str]:
    """Yield one JSON document in pieces: the sessions of one project, or of all (None), oldest first.

    Chunks of turns before ``since`` (UTC text) are left out.

    Its shape:
    ``{"sessions": [{…columns of sessions…, "chunks": [{…columns of chunks…}]}], "unreadable_ids": []}``
    """
    source = _source(connection, project_path, since)
    yield '{"sessions": ['
    separator = "\n"
    for session, chunks in source.sessions:
        fields = json.dumps(_masked_session(session).as_dict(), ensure_ascii=False)
        yield f'{separator}{fields[:-1]}, "chunks": ['
        separator = ",\n"
        comma = "\n  "
        for chunk in chunks:
            columns = _masked_chunk(chunk).as_dict()
            del columns["turn_id"]
            yield comma + json.dumps(columns, ensure_ascii=False)
            comma = ",\n  "
        yield "]}"
    yield f'],\n"unreadable_ids": {json.dumps(list(source.unreadable))}}}\n'


def export_markdown(
    connection: sqlite3.Connection, *, project_path: str | None = None, since: str = ""
) -> Iterator[str]:
    """Yield a Markdown document in pieces: a chapter for each project, in it its sessions, oldest first.

    What was said is quoted, so that its headings are none of the document and its code stays code.
    """
    source = _source(connection, project_path, since)
    yield "# Kizami memory\n"
    if source.unreadable:
        ids = ", ".join(map(str, source.unreadable))
        yield f"\nDamaged: {len(source.unreadable)} row ids can't be read: {ids}.\n"
    project = None
    # Sorting keeps the order of time within a project; the chunks are still read one session after another.
    for session, chunks in sorted(source.sessions, key=lambda pair: pair[0].project_path):
        shown = _masked_session(session)
        if shown.project_path != project:
            project = shown.project_path
            yield f"\n## {project}\n"
        yield f"\n### {' '.join((shown.first_message or shown.session_id).split())}\n\n"
        yield f"{shown.started_at} to {shown.ended_at} (UTC), session `{shown.session_id}`"
        if shown.parent_session_id is not None:
            yield f", sub-agent of `{shown.parent_session_id or 'unknown'}`"
        yield "\n"
        moment = None
        for chunk in chunks:
            if chunk.created_at != moment:
                moment = chunk.created_at
                yield f"\n#### {moment}\n"
            yield f"\n{_quotation(redact(chunk.content))}\n>\n> <sub>#{chunk.id}</sub>\n"


def _source(connection: sqlite3.Connection, project_path: str | None, since: str) -> _Source:
    # A damaged text is worth more with replacement characters than not at all.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    if is_readable(connection):
        sessions = reversed(list_sessions(connection, project_path=project_path, include_agents=True))
        return _Source(
            (
                (session, _chunks_since(session_chunks(connection, session.session_id), since))
                for session in sessions
                if session.ended_at >= since
            ),
            (),
        )
    chunks, unreadable = readable_chunks(connection)
    by_session: dict[str, list[Chunk]] = {}
    for chunk in _chunks_since(chunks, since):
        if project_path in (None, chunk.project_path):
            by_session.setdefault(chunk.session_id, []).append(chunk)
    return _Source([(_session_of(found), found) for found in by_session.values()], unreadable)


def _chunks_since(chunks: Iterable[Chunk], since: str) -> Iterator[Chunk]:
    return (chunk for chunk in chunks if chunk.created_at >= since)


def _session_of(chunks: list[Chunk]) -> Session:
    """Put together the row of a session from the chunks that are left of it, and these in order."""
    chunks.sort(key=lambda chunk: chunk.chunk_index)
    times = [chunk.created_at for chunk in chunks]
    first = chunks[0]
    return Session(first.session_id, first.project_path, min(times), max(times), len(chunks), None, None)


def _masked_session(session: Session) -> Session:
    return session.replace(
        first_message=redact(session.first_message or ""), last_message=redact(session.last_message or "")
    )


def _masked_chunk(chunk: Chunk) -> Chunk:
    metadata = Metadata(*(tuple(map(redact, texts)) for texts in chunk.metadata.as_dict().values()))
    return chunk.replace(content=redact(chunk.content), metadata=metadata)


def _quotation(content: str) -> str:
    """Quote a chunk, so that headings in it are no headings of the document; its marks become labels."""
    lines = []
    for line in content.split("\n"):
        if line.startswith(TOOL_MARK):
            name, _, rest = line.removeprefix(TOOL_MARK).partition("]")
            lines.append(f"**{name}**{rest}")
        else:
            lines.append(_LABELS.get(line, line))
    return "\n".join(f"> {line}".rstrip() for line in lines)
