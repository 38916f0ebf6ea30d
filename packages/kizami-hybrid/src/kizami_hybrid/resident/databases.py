"""The databases that the resident process looks into: opened for each question, by the one driver it uses.

Opening takes half a millisecond, and a connection that is kept would go on reading a file that was replaced.
"""

from __future__ import annotations

from contextlib import closing

from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.resident.memory_use import give_back
from kizami_hybrid.vector_centre import Centres
from kizami_hybrid.vector_refresh import refresh
from kizami_hybrid.vector_repair import mend
from kizami_hybrid.vector_schema import pending, stored_model
from kizami_hybrid.vector_search import search_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kizami_hybrid.embedder import Embedder

# So few at a time that what wants the machine for itself waits for half a second of work at most.
_BATCH_CHUNKS = 8


class VectorDatabases:
    """The vectors of databases, by their paths; where there are no vectors, nothing is found."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._driver = choose()
        self._centres = Centres()
        self._mended: set[str] = set()

    def search(
        self,
        database: str,
        vector: NDArray[np.float32],
        project_path: str | None,
        k: int,
        *,
        include_agents: bool,
    ) -> Sequence[tuple[int, float]]:
        """Return the chunks nearest to a vector with their cosines, best first."""
        with closing(open_database(database, self._driver)) as connection:
            model = self._embedder.model
            if stored_model(connection) is None:  # its first chunks are being embedded
                return []
            return search_vectors(
                connection,
                vector,
                model=model,
                centre=self._centres.of(database, connection, model),
                project_path=project_path,
                k=k,
                include_agents=include_agents,
            )

    def embed_some(self, database: str) -> int:
        """Embed a few chunks that have no vector, the newest first; return how many (0: all done)."""
        try:
            connection = open_database(database, self._driver)
        except FileNotFoundError:
            return 0
        with closing(connection):
            if database not in self._mended:  # once in the life of the process, a tenth of a second
                self._mended.add(database)
                mend(connection, self._embedder.model)
            done = refresh(connection, self._embedder, limit=_BATCH_CHUNKS)
        give_back()
        return done

    def waiting(self, database: str) -> int:
        """Return how many chunks have no vector."""
        try:
            connection = open_database(database, self._driver)
        except FileNotFoundError:
            return 0
        with closing(connection):
            return pending(connection)
