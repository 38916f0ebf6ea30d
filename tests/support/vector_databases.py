"""Databases with vectors, opened by each driver that this Python has.

Core's own connections and a driver's are never open at the same time: they may be of two SQLite libraries.
"""

from contextlib import closing

from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_database, transaction
from kizami_hybrid import driver
from kizami_hybrid.vector_refresh import refresh
from memories import MemoryBook

WITHOUT_VEC = driver.choose(("no_such_library",))
# The preferred one first: Python's own where it loads extensions, else a library in its place.
_ALL = [driver.choose((name,)) for name in driver.LIBRARIES]
DRIVERS = [*(chosen for chosen in _ALL if chosen.can_load_vec), WITHOUT_VEC]
HOME, WORK = "/home/dev/app", "/home/dev/other-app"


class VectorDatabase:
    """A file, and how this test opens it."""

    def __init__(self, path, chosen):
        self.path = str(path)
        self.driver = chosen
        MemoryBook(self.path).connection.close()

    def core(self):
        """Open it as core does, for a block."""
        return closing(open_database(self.path))

    def vectors(self):
        """Open it by the driver, for a block."""
        return closing(driver.open_database(self.path, self.driver))

    def add(self, *contents, project=HOME, session=None, at="2026-01-01 00:00:00", is_agent=0):
        """Add a chunk for each text as core's writers do; return their ids."""
        with self.core() as connection, transaction(connection):
            session = session or f"{project}-{at}-{is_agent}"
            common = {"session": session, "project": project, "at": at, "agent": is_agent}
            ids = [
                connection.execute(
                    "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at,"
                    " token_count, is_agent) SELECT :session, :project, coalesce(max(chunk_index) + 1, 0),"
                    " :content, 'mixed', :at, 1, :agent FROM chunks WHERE session_id = :session RETURNING id",
                    common | {"content": content},
                ).fetchone()[0]
                for content in contents
            ]
            connection.execute(
                "INSERT INTO sessions(session_id, project_path, ended_at, chunk_count, parent_session_id)"
                " VALUES (:session, :project, :at, :count, :parent)"
                " ON CONFLICT(session_id) DO UPDATE SET chunk_count = chunk_count + :count",
                common | {"count": len(ids), "parent": "" if is_agent else None},
            )
            word_index.refresh(connection)
        return ids

    def refresh(self, embedder, **options):
        with self.vectors() as connection:
            return refresh(connection, embedder, **options)
