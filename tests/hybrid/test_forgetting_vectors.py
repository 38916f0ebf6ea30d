"""`kizami forget` leaves no vector of what is forgotten, and what is left is searched as before."""

import sqlite3

import numpy as np
import pytest

from hash_embedder import HashEmbedder
from kizami_core.config import Config
from kizami_core.forgetting.erasure import forget
from kizami_core.forgetting.wanted import Wanted
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_hybrid import vector_index
from kizami_hybrid.vector_search import search_vectors
from vector_databases import DRIVERS, VectorDatabase

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
TEXTS = ("認証トークンの更新", "在庫の引き当て", "payment retries")


@pytest.fixture(params=DRIVERS, ids=lambda chosen: chosen.name if chosen.can_load_vec else "numpy")
def book(request, tmp_path):
    return VectorDatabase(tmp_path / "data" / "memory.db", request.param)


def forget_in(book, text):
    with book.core() as connection:
        env = {"HOME": str(book.path) + "-home"}
        return forget(
            connection,
            Wanted(text),
            with_backups=False,
            config=Config(database_path=book.path),
            env=env,
            now=NOW,
        )


def holds(book, vector):
    with open(book.path, "rb") as file:
        return vector.astype("<f4").tobytes() in file.read()


def found(book, embedder, text):
    with book.vectors() as connection:
        centre = np.zeros(embedder.model.dimensions, np.float32)
        hits = search_vectors(
            connection,
            embedder.query(text),
            model=embedder.model,
            centre=centre,
            project_path=None,
            k=10,
        )
        return [number for number, _ in hits]


def test_no_vector_of_it_is_left_and_others_are_found(book):
    embedder = HashEmbedder()
    gone, *kept = book.add(*TEXTS)
    book.refresh(embedder)
    (vector,) = embedder.embed([TEXTS[0]], "document")
    assert holds(book, vector)
    assert forget_in(book, "トークン").chunks == (gone,)
    assert not holds(book, vector)
    assert sorted(found(book, embedder, "在庫")) == kept
    with book.core() as connection:
        assert check(connection) == IntegrityReport((), ())
    book.refresh(embedder)
    assert not holds(book, vector)
    assert sorted(found(book, embedder, "在庫")) == kept
    with book.vectors() as connection:
        assert not book.driver.can_load_vec or vector_index.is_sound(connection)


def test_vectors_of_the_typescript_kizami_go_too(book):
    (gone, kept) = book.add(*TEXTS[:2])
    with book.core() as connection:
        connection.execute("CREATE TABLE chunks_vec_map (chunk_id INTEGER PRIMARY KEY, vec_rowid INTEGER)")
        connection.executemany("INSERT INTO chunks_vec_map VALUES (?, 1)", [(gone,), (kept,)])
    forget_in(book, "トークン")
    with book.core() as connection:
        assert connection.execute("SELECT chunk_id FROM chunks_vec_map").fetchall() == [(kept,)]
        connection.execute("DROP TABLE chunks_vec_map")
        connection.execute("CREATE TABLE chunks_vec_map (other)")
    forget_in(book, "在庫")
    with book.core() as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT chunk_id FROM chunks_vec_map")
