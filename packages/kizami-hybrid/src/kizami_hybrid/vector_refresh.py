"""Making the vectors that are missing: of the newest chunks first, in short transactions.

While the model works nothing is locked: a hook that saves meanwhile waits for no vector. What was made is
stored batch by batch, so a refresh may end at any moment, by Ctrl-C or `kill -9`, and the next one goes on.
"""

from __future__ import annotations

from kizami_core.locks import ProcessLock
from kizami_core.messages import Message
from kizami_core.storage.connection import database_path, transaction
from kizami_hybrid import vector_index
from kizami_hybrid.errors import ModelDamagedError
from kizami_hybrid.vector_schema import prepare, require_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kizami_hybrid.embedder import Embedder, ModelIdentity, Vectors

    Row = tuple[int, str]

_BATCH_CHUNKS = 16  # with Ruri some seconds of work: what Ctrl-C may lose


def refresh(
    connection: sqlite3.Connection,
    embedder: Embedder,
    *,
    limit: int | None = None,
    project_path: str | None = None,
    progress: Callable[[int], None] | None = None,
    rebuild: bool = False,
) -> int:
    """Embed chunks that have no vector, the newest first.

    Two processes never do the same work: where another one is at it, nothing is done.

    Args:
        connection: a connection that may write; where it has sqlite-vec, its index follows.
        embedder: the model.
        limit: the most chunks to embed, None for all.
        project_path: the project to keep to, None for all.
        progress: called with the number of chunks that were just stored.
        rebuild: give up the vectors of another model.

    Returns:
        How many chunks were embedded.

    Raises:
        VectorsStaleError: there are vectors of another model, and they are not to be given up; or another
            process gave up those of this one meanwhile.
        ModelError: the model fails.
        StorageError: the database can't be written.
    """
    with ProcessLock(f"{database_path(connection)}.embedding.lock") as lock:
        if not lock.is_held:
            return 0
        prepare(connection, embedder.model, rebuild=rebuild)
        vector_index.catch_up(connection)
        done = 0
        while limit is None or done < limit:
            size = _BATCH_CHUNKS if limit is None else min(_BATCH_CHUNKS, limit - done)
            rows = _waiting(connection, size, project_path)
            if not rows:
                break
            vectors = _embed(embedder, [content for _, content in rows])
            stored = _store(connection, embedder.model, rows, vectors)
            vector_index.catch_up(connection)
            done += stored
            if progress:
                progress(stored)
        return done


def _waiting(connection: sqlite3.Connection, limit: int, project_path: str | None) -> list[Row]:
    """Return the newest chunks that wait for a vector.

    The index over the times is walked, which CROSS JOIN insists on: it is small, and the chunks are not. A
    backfill saves the newest transcripts first, so the row ids tell nothing of the time.
    """
    is_any = connection.execute("""SELECT EXISTS (SELECT 1 FROM vector_queue)""").fetchone()[0]
    if not is_any:
        return []
    return connection.execute(
        """
        SELECT c.id, c.content FROM chunks c CROSS JOIN vector_queue q ON q.chunk_id = c.id
        WHERE :project IS NULL OR c.project_path = :project
        ORDER BY c.created_at DESC LIMIT :limit
        """,
        {"project": project_path, "limit": limit},
    ).fetchall()


def _embed(embedder: Embedder, texts: list[str]) -> Vectors:
    vectors = embedder.embed(texts, "document")
    wanted = (len(texts), embedder.model.dimensions)
    if vectors.shape != wanted:
        raise ModelDamagedError(
            Message(
                "{model} gives vectors of the shape {shape}, not {wanted}. Set embedding.dimensions "
                "to what the model gives, then run: kizami setup --hybrid",
                model=embedder.model.name,
                shape=vectors.shape,
                wanted=wanted,
            )
        )
    return vectors


def _store(connection: sqlite3.Connection, model: ModelIdentity, rows: list[Row], vectors: Vectors) -> int:
    """Store the vectors of the chunks that are still what was embedded; return how many."""
    stored = 0
    with transaction(connection):
        require_model(connection, model)
        for (chunk_id, content), vector in zip(rows, vectors, strict=True):
            is_current = connection.execute(
                """
                INSERT INTO chunks_vec_map(chunk_id, vec_rowid, is_agent, embedding)
                SELECT id, id, is_agent, :embedding FROM chunks
                WHERE id = :id AND content = :content AND id IN (SELECT chunk_id FROM vector_queue)
                """,
                {"id": chunk_id, "content": content, "embedding": vector.astype("<f4").tobytes()},
            ).rowcount
            if is_current:
                connection.execute("""DELETE FROM vector_queue WHERE chunk_id = ?""", (chunk_id,))
            stored += is_current
    return stored
