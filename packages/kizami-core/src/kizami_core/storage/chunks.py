"""The table ``chunks``: stored pieces, read. What changes them is in `chunk_changes`."""

from __future__ import annotations

from kizami_core.errors import NotFoundError
from kizami_core.json_text import parse, string_lists
from kizami_core.messages import Message
from kizami_core.records import Chunk, Metadata, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from kizami_core.records import Role

COLUMNS = (
    """id, session_id, project_path, chunk_index, content, role, metadata, created_at, token_count, turn_id"""
)
_MAX_ROW_ID = 2**63 - 1


class NewChunk(Record):
    """A piece of a turn that is not stored yet."""

    content: str
    role: Role
    metadata: Metadata
    token_count: int


class Deleted(Record):
    """What a deletion took (or, on a dry run, would take) away, in rows."""

    chunks: int
    sessions: int


class Place(Record):
    """Where a chunk stands in its session: ``number`` of ``total``, from 1, and its neighbours' ids."""

    number: int
    total: int
    previous_id: int | None
    next_id: int | None


def metadata_text(metadata: Metadata) -> str:
    """Return metadata as the JSON that the column holds."""
    lists = {
        "filePaths": metadata.file_paths,
        "toolNames": metadata.tool_names,
        "errorMessages": metadata.error_messages,
    }
    classes = {"types": metadata.types, "concepts": metadata.concepts}
    return string_lists(lists | {name: items for name, items in classes.items() if items})


def parse_metadata(text: str | None) -> Metadata:
    """Read the column; what another program wrote differently counts as absent."""
    try:
        value = parse(text or "{}")
    except ValueError:
        return Metadata()
    if not isinstance(value, dict):
        return Metadata()

    def strings(key: str) -> tuple[str, ...]:
        items = value.get(key)
        return tuple(item for item in items if isinstance(item, str)) if isinstance(items, list) else ()

    keys = ("filePaths", "toolNames", "errorMessages", "types", "concepts")
    return Metadata(*(strings(key) for key in keys))


def chunk_of(row: Sequence[object]) -> Chunk:
    """Return the chunk that a row of ``COLUMNS`` holds."""
    fields = list(row)
    fields[6] = parse_metadata(fields[6])  # type: ignore[arg-type]  # the column is text or null
    return Chunk(*fields)  # type: ignore[arg-type]  # the table's types


def find_chunk(connection: sqlite3.Connection, text: str) -> Chunk:
    """Return the chunk with this id, written as ``42`` or ``#42``.

    Numbers are not completed like session ids: deleting chunk 4, which is gone, must not mean chunk 42.

    Raises:
        NotFoundError: there is no such chunk.
    """
    digits = text.strip().removeprefix("#")
    number = (
        int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= len(str(_MAX_ROW_ID)) else -1
    )
    row = None
    if 0 <= number <= _MAX_ROW_ID:
        row = connection.execute(f"""SELECT {COLUMNS} FROM chunks WHERE id = ?""", (number,)).fetchone()  # noqa: S608
    if row is None:
        raise NotFoundError(
            Message(
                "There is no chunk {text!r}. `kizami search` and `kizami show` print the ids of chunks.",
                text=text,
            )
        )
    return chunk_of(row)


def session_chunks(connection: sqlite3.Connection, session_id: str) -> Iterator[Chunk]:
    """Yield the chunks of a session in the order of the conversation."""
    rows = connection.execute(
        f"""SELECT {COLUMNS} FROM chunks WHERE session_id = ? ORDER BY chunk_index""",  # noqa: S608
        (session_id,),
    )
    for row in rows:
        yield chunk_of(row)


def place_in_session(connection: sqlite3.Connection, chunk: Chunk) -> Place:
    """Return where a stored chunk stands in its session."""
    row = connection.execute(
        """
        SELECT
          (SELECT count(*) FROM chunks WHERE session_id = :session AND chunk_index <= :index),
          (SELECT count(*) FROM chunks WHERE session_id = :session),
          (SELECT id FROM chunks WHERE session_id = :session AND chunk_index < :index
           ORDER BY chunk_index DESC LIMIT 1),
          (SELECT id FROM chunks WHERE session_id = :session AND chunk_index > :index
           ORDER BY chunk_index LIMIT 1)
        """,
        {"session": chunk.session_id, "index": chunk.chunk_index},
    ).fetchone()
    return Place(*row)


def newest_ids(connection: sqlite3.Connection, project_path: str | None, limit: int) -> list[int]:
    """Return the ids of the chunks of one project, or of all, that were saved last, the last one first."""
    if project_path is None:
        rows = connection.execute("""SELECT id FROM chunks ORDER BY id DESC LIMIT ?""", (limit,))
    else:
        rows = connection.execute(
            """SELECT id FROM chunks WHERE project_path = ? ORDER BY id DESC LIMIT ?""", (project_path, limit)
        )
    return [row[0] for row in rows]


def turns_chunks(connection: sqlite3.Connection, first_turn: int, last_turn: int) -> list[Chunk]:
    """Return the chunks of two turns of one session and of the turns between them, in order."""
    rows = connection.execute(
        f"""
        SELECT {COLUMNS} FROM chunks
        WHERE session_id = (SELECT session_id FROM turns WHERE id = :last) AND chunk_index
          BETWEEN (SELECT min(chunk_index) FROM chunks WHERE turn_id = :first)
          AND (SELECT max(chunk_index) FROM chunks WHERE turn_id = :last)
        ORDER BY chunk_index
        """,  # noqa: S608
        {"first": first_turn, "last": last_turn},
    )
    return [chunk_of(row) for row in rows]


def project_chunks(connection: sqlite3.Connection, project_path: str | None) -> Iterator[Chunk]:
    """Yield the chunks of one project, or of all, oldest row first."""
    rows = connection.execute(
        f"""SELECT {COLUMNS} FROM chunks WHERE ? IS NULL OR project_path = ? ORDER BY id""",  # noqa: S608
        (project_path, project_path),
    )
    for row in rows:
        yield chunk_of(row)


def ids_before(connection: sqlite3.Connection, moment: str, project_path: str | None = None) -> list[int]:
    """Return the ids of the chunks from turns before ``moment`` (UTC text), in one project or in all.

    A chunk of that very second stays. ``datetime`` brings what other programs wrote (``…T…Z``) to one form.
    """
    rows = connection.execute(
        """
        SELECT id FROM chunks
        WHERE datetime(created_at) < datetime(?) AND (? IS NULL OR project_path = ?)
        ORDER BY id
        """,
        (moment, project_path, project_path),
    )
    return [row[0] for row in rows]


def imported_since(connection: sqlite3.Connection, moment: str) -> set[int]:
    """Return the ids of the chunks that an import brought at ``moment`` (UTC text) or later."""
    return {
        row[0] for row in connection.execute("""SELECT id FROM chunks WHERE imported_at >= ?""", (moment,))
    }


def ids_of_session(connection: sqlite3.Connection, session_id: str) -> list[int]:
    """Return the ids of a session's chunks in the order of the conversation."""
    rows = connection.execute(
        """SELECT id FROM chunks WHERE session_id = ? ORDER BY chunk_index""", (session_id,)
    )
    return [row[0] for row in rows]


def ids_of_turn(connection: sqlite3.Connection, uuid: str) -> list[int]:
    """Return the ids of the chunks of an identified turn, in order."""
    rows = connection.execute(
        """
        SELECT id FROM chunks WHERE turn_id = (SELECT id FROM turns WHERE uuid = ?) ORDER BY chunk_index
        """,
        (uuid,),
    )
    return [row[0] for row in rows]


def chunk_count(connection: sqlite3.Connection, session_id: str) -> int:
    """Return how many chunks a session holds; 0 for one that is not saved."""
    row = connection.execute(
        """SELECT chunk_count FROM sessions WHERE session_id = ?""", (session_id,)
    ).fetchone()
    return row[0] if row else 0


def count_by_session(connection: sqlite3.Connection, ids: Sequence[int] | None) -> dict[str, int]:
    """Return how many of these chunks, or of all (None), each session holds."""
    if ids is None:
        return dict(connection.execute("""SELECT session_id, count(*) FROM chunks GROUP BY session_id"""))
    counts: dict[str, int] = {}
    for chunk_id in ids:
        for (session_id,) in connection.execute(
            """SELECT session_id FROM chunks WHERE id = ?""", (chunk_id,)
        ):
            counts[session_id] = counts.get(session_id, 0) + 1
    return counts


def bytes_by_session(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the bytes of each session's contents, the session that ended first first."""
    return dict(
        connection.execute(
            """
            SELECT session_id, sum(length(CAST(content AS BLOB))) FROM chunks
            GROUP BY session_id ORDER BY max(datetime(created_at)), session_id
            """
        )
    )
