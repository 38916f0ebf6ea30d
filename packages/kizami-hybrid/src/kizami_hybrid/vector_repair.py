"""Finding what is damaged or missing among the vectors, and having it made anew."""

from __future__ import annotations

import numpy as np

from kizami_core.storage.connection import transaction
from kizami_hybrid import vector_index
from kizami_hybrid.vector_schema import FLOAT_BYTES, stored_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_hybrid.embedder import ModelIdentity

_BLOCK_VECTORS = 1_024  # held in memory at once
_TOLERANCE = 1e-3  # of a length that should be 1


def mend(connection: sqlite3.Connection, model: ModelIdentity) -> int:
    """Queue the chunks whose vector is damaged or missing, and a damaged index; 10 µs a vector.

    Damaged is a vector of the wrong size or not of length 1, and an index that disagrees with the vectors.
    Missing is one that no trigger told of. Where there are no vectors of this model, nothing is done.

    Returns:
        How many chunks wait for a vector because of it.

    Raises:
        StorageError: the database can't be written.
    """
    if stored_model(connection) != model:
        return 0
    broken = broken_vectors(connection, model)
    with transaction(connection):
        connection.executemany(
            """DELETE FROM chunks_vec_map WHERE chunk_id = ?""", [(chunk_id,) for chunk_id in broken]
        )
        for table in ("chunks_vec_map", "vector_queue"):
            connection.execute(f"""DELETE FROM {table} WHERE chunk_id NOT IN (SELECT id FROM chunks)""")  # noqa: S608
        queued = connection.execute(
            """
            INSERT INTO vector_queue(chunk_id) SELECT id FROM chunks
            WHERE id NOT IN (SELECT chunk_id FROM chunks_vec_map)
              AND id NOT IN (SELECT chunk_id FROM vector_queue)
            """
        ).rowcount
    if vector_index.is_usable(connection) and not vector_index.is_sound(connection):
        vector_index.forget(connection)
    return queued


def broken_vectors(connection: sqlite3.Connection, model: ModelIdentity) -> list[int]:
    """Return the chunks whose stored vector is damaged: of another size, or not of length 1."""
    size = model.dimensions * FLOAT_BYTES
    broken: list[int] = []
    rows = connection.execute("""SELECT chunk_id, embedding FROM chunks_vec_map""")
    while block := rows.fetchmany(_BLOCK_VECTORS):
        sound = [row for row in block if isinstance(row[1], bytes) and len(row[1]) == size]
        data = b"".join(embedding for _, embedding in sound)
        vectors = np.frombuffer(data, "<f4").reshape(len(sound), model.dimensions)
        with np.errstate(all="ignore"):
            is_unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _TOLERANCE
        kept = {chunk_id for (chunk_id, _), is_kept in zip(sound, is_unit.tolist(), strict=True) if is_kept}
        broken += [chunk_id for chunk_id, _ in block if chunk_id not in kept]
    return broken
