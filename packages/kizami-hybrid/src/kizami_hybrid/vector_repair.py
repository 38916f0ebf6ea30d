"""Finding what is damaged or missing among the vectors, and having it made anew."""

from __future__ import annotations

from contextlib import closing

from kizami_core.maintenance.findings import counted
from kizami_core.messages import Message
from kizami_core.storage.connection import transaction
from kizami_hybrid import vector_index
from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.stored_vectors import sound_vectors
from kizami_hybrid.vector_schema import stored_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from kizami_core.config import Config
    from kizami_hybrid.embedder import ModelIdentity

_BLOCK_VECTORS = 1_024  # held in memory at once


def repair(_config_path: str, config: Config, _env: Mapping[str, str]) -> list[str]:
    """Do what `kizami doctor --repair` does for the vectors (entry point group ``kizami.repair``).

    What is damaged is thrown away, which the resident process or `kizami embed` then makes anew, and so is
    sqlite-vec's index where it disagrees, at once.

    Returns:
        What was done, in words; nothing outside hybrid mode and where there are no vectors.

    Raises:
        StorageError: the database can't be written.
    """
    if config.search_mode != "hybrid":
        return []
    with closing(open_database(config.database_path, choose())) as connection:
        model = stored_model(connection)
        if model is None:
            return []
        queued = mend(connection, model)
        vector_index.catch_up(connection)
    chunks = counted(queued, "chunk")
    return [Message("vectors: {chunks} without a sound one, made anew with the next prompts", chunks=chunks)]


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
    broken: list[int] = []
    rows = connection.execute("""SELECT chunk_id, embedding FROM chunks_vec_map""")
    while block := rows.fetchmany(_BLOCK_VECTORS):
        kept = set(sound_vectors(block, model)[0].tolist())
        broken += [chunk_id for chunk_id, _ in block if chunk_id not in kept]
    return broken
