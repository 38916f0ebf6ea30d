"""Damaged vectors, a damaged index, a killed process: nothing wrong is found, and all is made anew."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hash_embedder
from hash_embedder import HashEmbedder
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_hybrid import vector_index
from kizami_hybrid.vector_centre import find_centre
from kizami_hybrid.vector_refresh import refresh
from kizami_hybrid.vector_repair import broken_vectors, mend
from kizami_hybrid.vector_schema import pending, state
from kizami_hybrid.vector_search import search_vectors
from vector_databases import DRIVERS, HOME, WITHOUT_VEC, WORK, VectorDatabase

TEXTS = tuple(f"{topic}の{number}" for number in range(40) for topic in ("認証", "在庫", "payment"))
SIZE = 16 * 4


@pytest.fixture
def embedder():
    return HashEmbedder()


@pytest.fixture(params=DRIVERS, ids=lambda chosen: chosen.name if chosen.can_load_vec else "numpy")
def book(request, tmp_path, embedder):
    made = VectorDatabase(tmp_path / "memory.db", request.param)
    made.add(*TEXTS[:80], project=HOME)
    made.add(*TEXTS[80:], project=WORK)
    made.refresh(embedder)
    return made


@pytest.fixture
def indexed(tmp_path, embedder):
    """A database whose driver has sqlite-vec."""
    made = VectorDatabase(tmp_path / "memory.db", DRIVERS[0])
    made.add(*TEXTS, project=HOME)
    made.refresh(embedder)
    return made


def search(connection, embedder, text, project=None):
    hits = search_vectors(
        connection,
        embedder.query(text),
        model=embedder.model,
        centre=find_centre(connection, embedder.model),
        project_path=project,
        k=10,
    )
    return [number for number, _ in hits]


GARBAGE = {
    "too short": b"garbage",
    "too long": bytes(SIZE + 4),
    "no blob": "text",
    "zeros": bytes(SIZE),
    "no numbers": np.full(16, np.nan, "<f4").tobytes(),
    "endless": np.full(16, np.inf, "<f4").tobytes(),
    "huge": np.full(16, 1e30, "<f4").tobytes(),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_a_damaged_vector_is_never_near_and_is_made_anew(book, embedder, garbage):
    with book.vectors() as connection:
        connection.execute("UPDATE chunks_vec_map SET embedding = ? WHERE chunk_id = 7", (garbage,))
    with book.vectors() as connection:
        assert 7 not in search(connection, embedder, TEXTS[6])
        assert search(connection, embedder, TEXTS[7])[0] == 8
        assert broken_vectors(connection, embedder.model) == [7]
        assert mend(connection, embedder.model) == 1
        assert refresh(connection, embedder) == 1
        assert search(connection, embedder, TEXTS[6])[0] == 7
        assert mend(connection, embedder.model) == 0


def test_what_no_trigger_told_of_is_found_by_mending(book, embedder):
    with book.vectors() as connection:
        for table in ("chunks_vec_map", "vector_queue"):
            connection.execute(f"DELETE FROM {table} WHERE chunk_id = 7")
        connection.execute("INSERT INTO chunks_vec_map SELECT 9999, 9999, 0, zeroblob(64)")
        connection.execute("INSERT INTO vector_queue VALUES (8888)")
        assert mend(connection, embedder.model) == 1
        assert refresh(connection, embedder) == 1
        assert state(connection).vectors == len(TEXTS)


def test_mending_leaves_vectors_of_another_model_alone(book, embedder):
    other = HashEmbedder(dimensions=24)
    with book.vectors() as connection:
        assert mend(connection, other.model) == 0
        assert state(connection).vectors == len(TEXTS)


def test_lost_triggers_mean_that_no_vector_can_be_trusted(book, embedder):
    with book.core() as connection:
        connection.execute("DROP TRIGGER vectors_chunk_content")
        connection.execute("UPDATE chunks SET content = 'changed' WHERE id = 7")
        assert pending(connection) == len(TEXTS)
    assert book.refresh(embedder) == len(TEXTS)
    with book.vectors() as connection:
        assert search(connection, embedder, "changed")[0] == 7


DAMAGE = {
    "vectors gone": "DELETE FROM chunks_vec_vector_chunks00",
    "one piece gone": "DELETE FROM chunks_vec_vector_chunks00 WHERE rowid = 1",
    "vectors cut": "UPDATE chunks_vec_vector_chunks00 SET vectors = x'00ff'",
    "vectors overwritten": "UPDATE chunks_vec_vector_chunks00 SET vectors = zeroblob(length(vectors))",
    "row ids gone": "DELETE FROM chunks_vec_rowids",
    "pieces gone": "DELETE FROM chunks_vec_chunks",
    "validity cut": "UPDATE chunks_vec_chunks SET validity = x''",
    "a table gone": "DROP TABLE chunks_vec_chunks",
    "all tables gone": "DROP TABLE chunks_vec_vector_chunks00; DROP TABLE chunks_vec_rowids;"
    " DROP TABLE chunks_vec_chunks; DROP TABLE chunks_vec_info",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_index_is_noticed_and_made_anew_without_the_model(indexed, embedder, damage):
    with indexed.core() as connection:  # which has no sqlite-vec, and so no objection
        for statement in damage.split(";"):
            connection.execute(statement)
    embedder.embedded.clear()
    with indexed.vectors() as connection:
        assert mend(connection, embedder.model) == 0
        assert refresh(connection, embedder) == 0
        assert vector_index.is_usable(connection)
        assert vector_index.is_sound(connection)
        assert search(connection, embedder, TEXTS[5])[0] == 6
    with indexed.core() as connection:
        assert check(connection) == IntegrityReport((), ())
    assert embedder.embedded == [TEXTS[5]]


@pytest.mark.parametrize(
    "damage",
    ["vectors gone", "vectors cut", "vectors overwritten", "pieces gone", "validity cut", "a table gone"],
)
def test_a_damaged_index_costs_no_answer_before_it_is_mended(indexed, embedder, damage):
    with indexed.vectors() as connection:
        wanted = search(connection, embedder, TEXTS[5], HOME)
    with indexed.core() as connection:
        connection.execute(DAMAGE[damage])
    with indexed.vectors() as connection:
        assert search(connection, embedder, TEXTS[5], HOME) == wanted


def test_a_new_chunk_heals_an_index_that_refuses_it(indexed, embedder):
    with indexed.core() as connection:
        connection.execute("DROP TABLE chunks_vec_chunks")
    indexed.add("新しい記憶")
    assert indexed.refresh(embedder) == 1
    with indexed.vectors() as connection:
        assert vector_index.is_sound(connection)
        assert search(connection, embedder, "新しい記憶")[0] == len(TEXTS) + 1


def test_a_database_that_was_indexed_is_searched_where_sqlite_vec_is_gone(indexed, embedder):
    with indexed.vectors() as connection:
        wanted = search(connection, embedder, TEXTS[5])
    indexed.driver = WITHOUT_VEC
    with indexed.vectors() as connection:
        assert search(connection, embedder, TEXTS[5]) == wanted


# Ends as by `kill -9` before the n-th statement: neither Python nor SQLite gets to clean up.
_KILLED = """
import os, sys
from hash_embedder import HashEmbedder
from kizami_hybrid import driver
from kizami_hybrid.vector_centre import find_centre
from kizami_hybrid.vector_refresh import refresh
connection = driver.open_database(sys.argv[1], driver.choose())
count, last = 0, int(sys.argv[2])
def step(statement):
    global count
    count += 1
    if count == last:
        os._exit(9)
connection.set_trace_callback(step)
refresh(connection, HashEmbedder())
connection.set_trace_callback(None)
print(count)
"""


def _run_killed(book, last):
    support = str(Path(hash_embedder.__file__).parent)
    paths = os.pathsep.join(filter(None, (support, os.environ.get("PYTHONPATH", ""))))
    return subprocess.run(
        [sys.executable, "-c", _KILLED, book.path, str(last)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=False,
    )


def _rows(connection):
    return connection.execute("SELECT chunk_id, embedding FROM chunks_vec_map ORDER BY chunk_id").fetchall()


@pytest.mark.heavy
def test_a_refresh_that_is_killed_anywhere_goes_on_to_the_same_rows(tmp_path, embedder):
    whole = VectorDatabase(tmp_path / "whole.db", DRIVERS[0])
    whole.add(*TEXTS)
    statements = int(_run_killed(whole, 0).stdout)
    with whole.vectors() as connection:
        wanted = _rows(connection)
    book = VectorDatabase(tmp_path / "memory.db", DRIVERS[0])
    book.add(*TEXTS)
    with book.vectors() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    unharmed = Path(book.path).read_bytes()
    for last in {1 + number * (statements - 1) // 14 for number in range(15)}:
        for leftover in tmp_path.glob("memory.db*"):
            leftover.unlink()
        Path(book.path).write_bytes(unharmed)
        assert _run_killed(book, last).returncode == 9
        book.refresh(embedder)
        with book.core() as connection:
            assert check(connection) == IntegrityReport((), ())
        with book.vectors() as connection:
            assert _rows(connection) == wanted
            assert vector_index.is_sound(connection)
            assert pending(connection) == 0
