"""The tables of the vectors, and whose vectors they hold.

The vectors themselves stand in ``chunks_vec_map``, an ordinary table: any SQLite can read and write it, and
NumPy searches it where sqlite-vec can't be loaded. ``chunks_vec`` (sqlite-vec's ``vec0``) is made from it, so
it can be made anew without the model.

Both follow by reconciliation, as core's word index does. Triggers in plain SQL note in ``vector_queue`` which
chunks have no vector (any more), and in ``vector_index_queue`` which vectors ``chunks_vec`` has yet to
follow. No trigger names ``chunks_vec``: core, and every other program without sqlite-vec, must be able to
change ``chunks``.
"""

from __future__ import annotations

from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.storage.connection import transaction
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.errors import VectorsStaleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

FLOAT_BYTES = 4  # vectors are stored as little-endian float32, sqlite-vec's own form

# vector_model: whose vectors these are, in one row. is_indexed: chunks_vec holds what chunks_vec_map holds,
#   but for what is noted in vector_index_queue.
# chunks_vec_map: a row for each chunk that has a vector. vec_rowid (the specification's column) is the row of
#   chunks_vec, which carries the chunk's own id.
# NOT EXISTS rather than OR IGNORE, which the conflict clause of the outer statement would override. An OR
# REPLACE of a chunk fires no trigger for the row it removes, hence the DELETE after each insertion.
_OBJECTS = {
    "vector_model": """
        CREATE TABLE vector_model (
          id INTEGER PRIMARY KEY CHECK(id = 1),
          name TEXT NOT NULL,
          revision TEXT NOT NULL,
          dimensions INTEGER NOT NULL,
          is_indexed INTEGER NOT NULL DEFAULT 0 CHECK(is_indexed IN (0, 1))
        )
    """,
    "chunks_vec_map": """
        CREATE TABLE chunks_vec_map (
          chunk_id INTEGER PRIMARY KEY,
          vec_rowid INTEGER NOT NULL,
          is_agent INTEGER NOT NULL,
          embedding BLOB NOT NULL
        )
    """,
    "vector_queue": """CREATE TABLE vector_queue (chunk_id INTEGER PRIMARY KEY)""",
    "vector_index_queue": """CREATE TABLE vector_index_queue (chunk_id INTEGER PRIMARY KEY)""",
    "vectors_chunk_ai": """
        CREATE TRIGGER vectors_chunk_ai AFTER INSERT ON chunks BEGIN
          DELETE FROM chunks_vec_map WHERE chunk_id = new.id;
          INSERT INTO vector_queue(chunk_id) SELECT new.id
            WHERE NOT EXISTS (SELECT 1 FROM vector_queue WHERE chunk_id = new.id);
        END
    """,
    "vectors_chunk_ad": """
        CREATE TRIGGER vectors_chunk_ad AFTER DELETE ON chunks BEGIN
          DELETE FROM chunks_vec_map WHERE chunk_id = old.id;
          DELETE FROM vector_queue WHERE chunk_id = old.id;
        END
    """,
    "vectors_chunk_content": """
        CREATE TRIGGER vectors_chunk_content AFTER UPDATE OF content ON chunks
        WHEN old.content <> new.content BEGIN
          DELETE FROM chunks_vec_map WHERE chunk_id = new.id;
          INSERT INTO vector_queue(chunk_id) SELECT new.id
            WHERE NOT EXISTS (SELECT 1 FROM vector_queue WHERE chunk_id = new.id);
        END
    """,
    "vectors_chunk_place": """
        CREATE TRIGGER vectors_chunk_place AFTER UPDATE OF project_path, is_agent ON chunks
        WHEN old.project_path <> new.project_path OR old.is_agent <> new.is_agent BEGIN
          UPDATE chunks_vec_map SET is_agent = new.is_agent WHERE chunk_id = new.id;
        END
    """,
    "vectors_map_ai": """
        CREATE TRIGGER vectors_map_ai AFTER INSERT ON chunks_vec_map BEGIN
          INSERT INTO vector_index_queue(chunk_id) SELECT new.chunk_id
            WHERE NOT EXISTS (SELECT 1 FROM vector_index_queue WHERE chunk_id = new.chunk_id);
        END
    """,
    "vectors_map_au": """
        CREATE TRIGGER vectors_map_au AFTER UPDATE ON chunks_vec_map BEGIN
          INSERT INTO vector_index_queue(chunk_id) SELECT new.chunk_id
            WHERE NOT EXISTS (SELECT 1 FROM vector_index_queue WHERE chunk_id = new.chunk_id);
        END
    """,
    "vectors_map_ad": """
        CREATE TRIGGER vectors_map_ad AFTER DELETE ON chunks_vec_map BEGIN
          INSERT INTO vector_index_queue(chunk_id) SELECT old.chunk_id
            WHERE NOT EXISTS (SELECT 1 FROM vector_index_queue WHERE chunk_id = old.chunk_id);
        END
    """,
}
_CHUNK_TRIGGERS = tuple(name for name in _OBJECTS if name.startswith("vectors_chunk"))
_TABLES = tuple(name for name, statement in _OBJECTS.items() if "CREATE TABLE" in statement)


class VectorState(Record):
    """How far the vectors are.

    ``model`` is whose they are, None where there are none yet. ``pending`` counts the chunks without a
    vector, ``stale`` the vectors that another model made than the one that was asked for, ``unindexed`` what
    sqlite-vec has yet to follow (it is searched all the same).
    """

    model: ModelIdentity | None
    vectors: int
    pending: int
    stale: int
    unindexed: int


def state(connection: sqlite3.Connection, wanted: ModelIdentity | None = None) -> VectorState:
    """Look at the vectors; also where there are no tables for them yet. Any connection of core's will do.

    Args:
        connection: a connection that may be read-only and needs no sqlite-vec.
        wanted: the model that is configured; None: the one that made the vectors.
    """
    if not _is_complete(connection):
        chunks = connection.execute("""SELECT count(*) FROM chunks""").fetchone()[0]
        return VectorState(None, 0, chunks, 0, 0)
    model = stored_model(connection)
    vectors, waiting, unindexed = connection.execute(
        """
        SELECT (SELECT count(*) FROM chunks_vec_map), (SELECT count(*) FROM vector_queue),
               (SELECT count(*) FROM vector_index_queue)
        """
    ).fetchone()
    stale = vectors if wanted is not None and wanted != model else 0
    return VectorState(model, vectors, waiting, stale, unindexed)


def pending(connection: sqlite3.Connection, project_path: str | None = None) -> int:
    """Return how many chunks, of one project or of all, have no vector; see ``state``."""
    waiting = "WHERE id IN (SELECT chunk_id FROM vector_queue)" if _is_complete(connection) else "WHERE TRUE"
    count: int = connection.execute(
        f"""SELECT count(*) FROM chunks {waiting} AND (:project IS NULL OR project_path = :project)""",  # noqa: S608
        {"project": project_path},
    ).fetchone()[0]
    return count


def stored_model(connection: sqlite3.Connection) -> ModelIdentity | None:
    """Return whose vectors the database holds, None where it has no tables for them."""
    if not _is_complete(connection):
        return None
    row = connection.execute("""SELECT name, revision, dimensions FROM vector_model""").fetchone()
    return None if row is None else ModelIdentity(*row)


def require_model(connection: sqlite3.Connection, model: ModelIdentity) -> None:
    """Refuse to go on with vectors of another model.

    Raises:
        VectorsStaleError: the vectors are not those of ``model``, or there are none.
    """
    stored = stored_model(connection)
    if stored == model:
        return
    if stored is None:
        raise VectorsStaleError(Message("The memories have no vectors yet. Run: kizami embed --backfill"))
    raise VectorsStaleError(
        Message(
            "The vectors were made by {stored}, and the model in use is {model}; they can't be "
            "compared. Run: kizami embed --backfill",
            stored=_named(stored),
            model=_named(model),
        )
    )


def prepare(connection: sqlite3.Connection, model: ModelIdentity, *, rebuild: bool = False) -> None:
    """Make the tables where they are not there, or not whole: then every chunk waits for its vector.

    Args:
        connection: a connection that may write.
        model: whose vectors they are to hold.
        rebuild: give up the vectors of another model.

    Raises:
        VectorsStaleError: there are vectors of another model, and they are not to be given up.
    """
    stored = stored_model(connection)
    if stored == model:
        return
    if stored is not None and not rebuild:
        require_model(connection, model)
    with transaction(connection):
        # Looked at again under the lock: another process may have made them meanwhile.
        if stored_model(connection) != model:
            _make(connection, model)


def _make(connection: sqlite3.Connection, model: ModelIdentity) -> None:
    for name in _CHUNK_TRIGGERS:
        connection.execute(f"""DROP TRIGGER IF EXISTS {name}""")
    # Much faster than to delete row by row, and hooks may be waiting. Triggers go with their tables.
    for name in _TABLES:
        connection.execute(f"""DROP TABLE IF EXISTS {name}""")
    for statement in _OBJECTS.values():
        connection.execute(statement)
    connection.execute("""INSERT INTO vector_queue(chunk_id) SELECT id FROM chunks""")
    connection.execute(
        """INSERT INTO vector_model(id, name, revision, dimensions) VALUES (1, ?, ?, ?)""",
        (model.name, model.revision, model.dimensions),
    )


def _is_complete(connection: sqlite3.Connection) -> bool:
    """Tell whether all objects are there and ours: the TypeScript Kizami has a ``chunks_vec_map`` too."""
    names = {row[0] for row in connection.execute("""SELECT name FROM sqlite_master""")}
    if not names.issuperset(_OBJECTS):
        return False
    columns = {row[1] for row in connection.execute("""PRAGMA table_info(chunks_vec_map)""")}
    return columns == {"chunk_id", "vec_rowid", "is_agent", "embedding"}


def _named(model: ModelIdentity) -> Message:
    return Message(
        "{model} ({revision}, {dimensions} dimensions)",
        model=model.name,
        revision=model.revision[:8],
        dimensions=model.dimensions,
    )
