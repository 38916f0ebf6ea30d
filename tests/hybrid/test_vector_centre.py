"""What all vectors have in common is left out of how near they are."""

import numpy as np
import pytest

from hash_embedder import HashEmbedder
from kizami_hybrid.vector_centre import Centres, centre_of, find_centre, from_centre
from kizami_hybrid.vector_search import search_vectors
from vector_databases import DRIVERS, HOME, VectorDatabase

ORIGIN = np.zeros(16, np.float32)


class AlikeEmbedder(HashEmbedder):
    """Its vectors are mostly the same direction, as those of multilingual models are."""

    def _vector(self, text):
        own = super()._vector(text)
        return own / np.linalg.norm(own) + 4 * np.eye(16, dtype=np.float32)[0]


@pytest.fixture
def embedder():
    return AlikeEmbedder()


@pytest.fixture(params=DRIVERS, ids=lambda chosen: chosen.name if chosen.can_load_vec else "numpy")
def book(request, tmp_path):
    return VectorDatabase(tmp_path / "memory.db", request.param)


def test_the_centre_is_part_of_the_way_to_the_middle():
    vectors = np.eye(25, dtype=np.float32)
    assert centre_of(vectors) == pytest.approx(np.full(25, 0.7 / 25))


def test_few_vectors_have_no_middle():
    assert centre_of(np.ones((19, 3), np.float32)).tolist() == [0, 0, 0]


def test_a_direction_from_the_centre_has_length_one():
    centre = np.array([0.5, 0.0], np.float32)
    found = from_centre(np.array([[1, 0], [0.5, 0.2], [0.5, 0]], np.float32), centre)
    assert found[:2].tolist() == [[1, 0], [0, 1]]
    assert np.isnan(found[2]).all()


def test_the_stored_vectors_tell_the_centre_and_damaged_ones_do_not(book, embedder):
    texts = [f"記憶 {number}" for number in range(40)]
    book.add(*texts)
    book.refresh(embedder)
    with book.vectors() as connection:
        assert find_centre(connection, embedder.model) == pytest.approx(
            centre_of(embedder.embed(texts, "document")), abs=1e-6
        )
        connection.execute("UPDATE chunks_vec_map SET embedding = x'00' WHERE chunk_id = 1")
        huge = np.full(16, 1e30, "<f4").tobytes()
        connection.execute("UPDATE chunks_vec_map SET embedding = ? WHERE chunk_id = 2", (huge,))
        assert find_centre(connection, embedder.model) == pytest.approx(
            centre_of(embedder.embed(texts[2:], "document")), abs=1e-6
        )


def test_a_few_hundred_of_many_vectors_tell_the_centre(book, embedder):
    texts = [f"記憶 {number}" for number in range(700)]
    book.add(*texts)
    book.refresh(embedder)
    with book.vectors() as connection:
        found = find_centre(connection, embedder.model)
        read = []
        connection.set_trace_callback(read.append)
        find_centre(connection, embedder.model)
        connection.set_trace_callback(None)
    whole = centre_of(embedder.embed(texts, "document"))
    assert np.linalg.norm(found - whole) < 0.05
    assert len(read) == 1


def test_without_vectors_the_centre_is_the_origin(book, embedder):
    book.add("x")
    book.refresh(embedder, limit=1)
    with book.vectors() as connection:
        connection.execute("DELETE FROM chunks_vec_map")
        assert find_centre(connection, embedder.model).tolist() == ORIGIN.tolist()


def test_the_centre_is_looked_for_again_when_a_tenth_is_new(book, embedder):
    book.add(*(f"記憶 {number}" for number in range(40)))
    book.refresh(embedder)
    centres = Centres()
    with book.vectors() as connection:
        first = centres.of(book.path, connection, embedder.model)
    for texts, is_new in ((["少し"], False), ([f"多く {number}" for number in range(4)], True)):
        book.add(*texts)
        book.refresh(embedder)
        with book.vectors() as connection:
            again = centres.of(book.path, connection, embedder.model)
            assert (again is not first) is is_new
            assert centres.of("another.db", connection, embedder.model) is not again


def test_seen_from_the_centre_what_is_near_stands_out(book, embedder):
    ids = book.add(*(f"{topic} {number}" for number in range(20) for topic in ("認証", "在庫")), project=HOME)
    book.refresh(embedder)
    with book.vectors() as connection:
        options = {"model": embedder.model, "project_path": HOME, "k": len(ids)}
        query = embedder.query("認証 7")
        plain = search_vectors(connection, query, centre=ORIGIN, **options)
        seen = search_vectors(connection, query, centre=find_centre(connection, embedder.model), **options)
    assert plain[0][0] == seen[0][0] == ids[14]
    assert plain[0][1] == pytest.approx(1) == seen[0][1]
    # Cosines that hardly differ become ones that tell them apart.
    assert min(cosine for _, cosine in plain) > 0.8
    assert min(cosine for _, cosine in seen) < 0.5
    assert [cosine for _, cosine in seen] == sorted((cosine for _, cosine in seen), reverse=True)
