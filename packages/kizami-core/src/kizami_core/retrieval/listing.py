"""Listing: the chunks that pass filters, newest first, whatever words they hold."""

from __future__ import annotations

from itertools import islice

from kizami_core.retrieval.normalize import fold
from kizami_core.storage.chunks import COLUMNS, chunk_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container

    from kizami_core.records import Chunk
    from kizami_core.retrieval.filters import Filters

_TRIGRAM = 3
_MAX_PIECES = 24  # of phrases are looked up; the rest is checked in the texts found


def newest(
    connection: sqlite3.Connection,
    filters: Filters,
    *,
    project_path: str | None,
    include_agents: bool,
    limit: int,
    without: Container[int] = (),
) -> list[Chunk]:
    """Return at most ``limit`` chunks that pass, the newest first.

    Phrases are looked up in the trigram table, or by LIKE where they are shorter: as they are written and
    folded, so what is stored in full width is not found by them alone.

    Args:
        connection: an open database.
        filters: what is wanted.
        project_path: the project to look in, None for all.
        include_agents: look at the sessions of sub-agents too.
        limit: the most chunks.
        without: ids of chunks to pass over.
    """
    condition, parameters = filters.condition()
    held, texts = _holding(filters.phrases)
    columns = ", ".join(f"c.{name.strip()}" for name in COLUMNS.split(","))
    rows = connection.execute(
        f"""
        SELECT {columns} FROM chunks c
        WHERE {condition} AND {held} AND (:project IS NULL OR c.project_path = :project)
          AND (:agents OR NOT c.is_agent)
        ORDER BY c.created_at DESC, c.id DESC
        """,  # noqa: S608 - made of constants
        {**parameters, **texts, "project": project_path, "agents": include_agents},
    )
    chunks = (chunk_of(row) for row in rows if row[0] not in without)
    return list(islice(filter(filters.admits, chunks), limit))


def _holding(phrases: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return an SQL condition that the chunks with these phrases fulfil, and its parameters."""
    pieces = [piece for phrase in phrases for piece in phrase.split()]
    long = [piece for piece in pieces if len(piece) >= _TRIGRAM and len(fold(piece)) >= _TRIGRAM]
    if long:
        either = (
            dict.fromkeys(_quoted(form) for form in (piece, fold(piece))) for piece in long[:_MAX_PIECES]
        )
        match = " AND ".join(f"({' OR '.join(forms)})" for forms in either)
        return (
            "c.id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH :match)",
            {"match": match},
        )
    conditions = ["1"]
    texts: dict[str, str] = {}
    for number, piece in enumerate(pieces[:_MAX_PIECES]):
        texts |= {f"piece{number}": _pattern(piece), f"folded{number}": _pattern(fold(piece))}
        conditions.append(
            f"(c.content LIKE :piece{number} ESCAPE '\\' OR c.content LIKE :folded{number} ESCAPE '\\')"
        )
    return " AND ".join(conditions), texts


def _quoted(piece: str) -> str:
    return '"' + piece.replace('"', '""') + '"'


def _pattern(piece: str) -> str:
    escaped = piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
