"""``chunks_vec``: sqlite-vec's index, made from ``chunks_vec_map`` and brought in step with it.

A partition for each project, and within it one for the chunks of sub-agents, so that a search reads only what
it asks for. What is broken here is made anew from the map; that takes 10 µs a vector and no model.
"""

from __future__ import annotations

from contextlib import suppress

from kizami_core.errors import DatabaseBusyError, StorageError
from kizami_core.storage.connection import transaction
from kizami_hybrid.driver import has_vec
from kizami_hybrid.vector_schema import FLOAT_BYTES, stored_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_hybrid.embedder import ModelIdentity

# Of vectors that sqlite-vec keeps in one piece. It takes the whole piece from the first vector of a partition
# on, and its own 1024 would take 1 MB for a project with one chunk.
_PIECE_VECTORS = 64
_BATCH_VECTORS = 500  # worked off in one transaction, about 10 ms
_SHADOWS = ("info", "chunks", "rowids", "vector_chunks00")


def catch_up(connection: sqlite3.Connection) -> int:
    """Bring the index in step with the map, in short transactions; return how many vectors were worked off.

    Without sqlite-vec, or without vectors, nothing is done. An index that refuses its work is made anew once.

    Raises:
        DatabaseBusyError: another process holds the write lock; what is left is worked off by the next call.
        StorageError: it can't be written.
    """
    model = stored_model(connection)
    if model is None or not has_vec(connection):
        return 0
    try:
        return _work_off(connection, model)
    except DatabaseBusyError:
        raise
    except StorageError:
        forget(connection)
        return _work_off(connection, model)


def is_usable(connection: sqlite3.Connection) -> bool:
    """Tell whether a search may ask the index: sqlite-vec is loaded and the index was made from this map."""
    with suppress(connection.Error):
        row = connection.execute("""SELECT is_indexed FROM vector_model""").fetchone()
        return row is not None and bool(row[0]) and has_vec(connection)
    return False


def forget(connection: sqlite3.Connection) -> None:
    """Have the next ``catch_up`` make the index anew; until then the map is searched."""
    with transaction(connection):
        connection.execute("""UPDATE vector_model SET is_indexed = 0""")


def is_sound(connection: sqlite3.Connection) -> bool:
    """Compare the index with the map, vector by vector (5 µs each); what is queued may differ."""
    try:
        wrong, indexed = connection.execute(
            """
            SELECT coalesce(sum(m.embedding IS NOT v.embedding), 0), count(*) FROM chunks_vec v
            LEFT JOIN chunks_vec_map m ON m.chunk_id = v.rowid
            WHERE v.rowid NOT IN (SELECT chunk_id FROM vector_index_queue)
            """
        ).fetchone()
        (mapped,) = connection.execute(
            """
            SELECT count(*) FROM chunks_vec_map
            WHERE chunk_id NOT IN (SELECT chunk_id FROM vector_index_queue)
            """
        ).fetchone()
        pieces = connection.execute("""SELECT validity FROM chunks_vec_chunks""").fetchall()
        (rows,) = connection.execute("""SELECT count(*) FROM chunks_vec_rowids""").fetchone()
    except connection.Error:
        return False
    # A search goes by the pieces, and by the bits that say which of their places are taken.
    taken = sum(int.from_bytes(validity).bit_count() for (validity,) in pieces)
    return (wrong, indexed, taken) == (0, mapped, rows)


def _work_off(connection: sqlite3.Connection, model: ModelIdentity) -> int:
    if not is_usable(connection):
        with transaction(connection):
            _make(connection, model)
    done, last = 0, _BATCH_VECTORS
    while last == _BATCH_VECTORS:
        with transaction(connection):
            last = _follow(connection, model)
        done += last
    if done and _is_hollow(connection):
        with transaction(connection):
            _make(connection, model)
        return done + _work_off(connection, model)
    return done


def _follow(connection: sqlite3.Connection, model: ModelIdentity) -> int:
    rows = connection.execute(
        """
        SELECT q.chunk_id, c.project_path, m.is_agent, m.embedding
        FROM vector_index_queue q
        LEFT JOIN chunks_vec_map m ON m.chunk_id = q.chunk_id AND length(m.embedding) = ?
        LEFT JOIN chunks c ON c.id = m.chunk_id
        ORDER BY q.chunk_id LIMIT ?
        """,
        (model.dimensions * FLOAT_BYTES, _BATCH_VECTORS),
    ).fetchall()
    for chunk_id, project_path, is_agent, embedding in rows:
        connection.execute("""DELETE FROM chunks_vec WHERE rowid = ?""", (chunk_id,))
        if project_path is not None:
            connection.execute(
                """INSERT INTO chunks_vec(rowid, project_path, is_agent, embedding) VALUES (?, ?, ?, ?)""",
                (chunk_id, project_path, is_agent, embedding),
            )
        connection.execute("""DELETE FROM vector_index_queue WHERE chunk_id = ?""", (chunk_id,))
    return len(rows)


def _is_hollow(connection: sqlite3.Connection) -> bool:
    """Tell whether deletions left most of the index empty: sqlite-vec never uses such places again."""
    places, partitions, vectors = connection.execute(
        """
        SELECT (SELECT coalesce(sum(size), 0) FROM chunks_vec_chunks),
               (SELECT count(*) FROM (SELECT DISTINCT partition00, partition01 FROM chunks_vec_chunks)),
               (SELECT count(*) FROM chunks_vec_rowids)
        """
    ).fetchone()
    is_hollow: bool = places > 2 * vectors + partitions * _PIECE_VECTORS
    return is_hollow


def _make(connection: sqlite3.Connection, model: ModelIdentity) -> None:
    """Make the index with nothing in it and everything in its queue, inside the caller's transaction."""
    _drop(connection)
    connection.execute(
        f"""
        CREATE VIRTUAL TABLE chunks_vec USING vec0(
          project_path TEXT partition key,
          is_agent INTEGER partition key,
          embedding float[{model.dimensions}],
          chunk_size={_PIECE_VECTORS}
        )
        """
    )
    connection.execute("""DELETE FROM vector_index_queue""")
    connection.execute("""INSERT INTO vector_index_queue(chunk_id) SELECT chunk_id FROM chunks_vec_map""")
    connection.execute("""UPDATE vector_model SET is_indexed = 1""")


def _drop(connection: sqlite3.Connection) -> None:
    """Drop the index with its shadow tables, also one that is too damaged for DROP TABLE."""
    try:
        connection.execute("""DROP TABLE IF EXISTS chunks_vec""")
    except connection.Error:
        connection.execute("""PRAGMA writable_schema = ON""")
        connection.execute("""DELETE FROM sqlite_master WHERE name = 'chunks_vec'""")
        connection.execute("""PRAGMA writable_schema = RESET""")
    for name in _SHADOWS:
        connection.execute(f"""DROP TABLE IF EXISTS chunks_vec_{name}""")
