"""The tables of vectors, as far as plain SQL can clean them: their owner may not be installed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_INDEX = "chunks_vec"
_MAP = "chunks_vec_map"


def drop_vector_index(connection: sqlite3.Connection) -> None:
    """Leave no vector of a chunk that is gone, inside the caller's transaction.

    The index keeps deleted vectors in its pieces, and only an extension that may not be there can open it: so
    it is dropped whole, and made anew from the map by its owner.
    """
    names = {row[0] for row in connection.execute("""SELECT name FROM sqlite_master WHERE type = 'table'""")}
    if _MAP in names:
        columns = {row[1] for row in connection.execute(f"""PRAGMA table_info({_MAP})""")}
        if "chunk_id" in columns:
            connection.execute(f"""DELETE FROM {_MAP} WHERE chunk_id NOT IN (SELECT id FROM chunks)""")  # noqa: S608
    if _INDEX not in names:
        return
    connection.execute("""PRAGMA writable_schema = ON""")
    connection.execute("""DELETE FROM sqlite_master WHERE name = ?""", (_INDEX,))
    connection.execute("""PRAGMA writable_schema = RESET""")
    for name in sorted(names):
        if name.startswith(_INDEX + "_") and name != _MAP:
            connection.execute(f"""DROP TABLE {name}""")
    if "vector_model" in names:
        connection.execute("""UPDATE vector_model SET is_indexed = 0""")
