"""Vectors: made, searched, and kept in step with what core does to the chunks."""

import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from hash_embedder import HashEmbedder
from kizami_core import Memory
from kizami_core.config import Config
from kizami_core.editing import delete_chunks
from kizami_core.export import export_json
from kizami_core.locks import ProcessLock
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.maintenance.merging import merge
from kizami_core.maintenance.repair import repair
from kizami_core.maintenance.retention import prune, run_maintenance
from kizami_core.project_renaming import rename_project
from kizami_core.storage.connection import open_database
from kizami_core.storage.space import reclaim_space
from kizami_hybrid import vector_index
from kizami_hybrid.errors import ModelDamagedError, VectorsStaleError
from kizami_hybrid.vector_schema import VectorState, pending, state
from kizami_hybrid.vector_search import search_vectors
from vector_databases import DRIVERS, HOME, WITHOUT_VEC, WORK, VectorDatabase

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
TEXTS = ("認証トークンの更新", "在庫の引き当て", "payment retries", "検索画面の余白")


@pytest.fixture(params=DRIVERS, ids=lambda chosen: chosen.name if chosen.can_load_vec else "numpy")
def book(request, tmp_path):
    return VectorDatabase(tmp_path / "memory.db", request.param)


@pytest.fixture
def embedder():
    return HashEmbedder()


def search(connection, embedder, text, *, project=None, k=10, **options):
    vector = embedder.query(text)
    centre = np.zeros(embedder.model.dimensions, np.float32)
    return search_vectors(
        connection,
        vector,
        **{"model": embedder.model, "centre": centre, "project_path": project, "k": k} | options,
    )


def found(book, embedder, text, **options):
    """The ids, nearest first, in a connection of their own."""
    with book.vectors() as connection:
        return [number for number, _ in search(connection, embedder, text, **options)]


def is_in_step(book):
    """The index holds what the map holds, or there is none."""
    with book.vectors() as connection:
        return not book.driver.can_load_vec or (
            vector_index.is_usable(connection)
            and vector_index.is_sound(connection)
            and connection.execute("SELECT count(*) FROM vector_index_queue").fetchone() == (0,)
        )


def test_every_chunk_gets_a_vector_once(book, embedder):
    book.add(*TEXTS)
    assert book.refresh(embedder) == len(TEXTS)
    assert book.refresh(embedder) == 0
    assert sorted(embedder.embedded) == sorted(TEXTS)
    assert is_in_step(book)


def test_the_newest_turns_come_first_whatever_their_row(book, embedder):
    book.add("new", at="2026-02-02 00:00:00")
    book.add("old", at="2026-01-01 00:00:00")
    book.add("newest", at="2026-03-03 00:00:00")
    assert book.refresh(embedder, limit=2) == 2
    assert embedder.embedded == ["newest", "new"]
    with book.vectors() as connection:
        assert pending(connection) == 1


def test_more_than_one_batch_is_told_as_it_is_stored(book, embedder):
    book.add(*(f"text {number}" for number in range(70)))
    told = []
    assert book.refresh(embedder, progress=told.append) == 70
    assert told == [16, 16, 16, 16, 6]


def test_one_project_can_be_embedded_alone(book, embedder):
    book.add("here", project=HOME)
    book.add("there", project=WORK)
    assert book.refresh(embedder, project_path=WORK) == 1
    assert embedder.embedded == ["there"]
    with book.vectors() as connection:
        assert (pending(connection), pending(connection, HOME), pending(connection, WORK)) == (1, 1, 0)


def test_the_nearest_chunk_comes_first_with_its_cosine(book, embedder):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    with book.vectors() as connection:
        hits = search(connection, embedder, TEXTS[1])
    wanted = dict(zip(ids, embedder.embed(TEXTS, "document") @ embedder.query(TEXTS[1]), strict=True))
    assert [number for number, _ in hits] == sorted(ids, key=lambda number: -wanted[number])
    assert dict(hits) == pytest.approx(wanted, abs=1e-6)
    assert hits[0] == (ids[1], pytest.approx(1, abs=1e-6))


def test_equally_near_chunks_come_newest_row_first(book, embedder):
    ids = book.add("同じ文", "同じ文", "同じ文")
    book.refresh(embedder)
    assert found(book, embedder, "同じ文", k=3) == ids[::-1]


def test_a_search_keeps_to_its_project_and_to_persons(book, embedder):
    (here,) = book.add("認証の更新", project=HOME)
    (there,) = book.add("認証の更新", project=WORK)
    (agent,) = book.add("認証の更新", project=HOME, is_agent=1)
    book.refresh(embedder)
    assert found(book, embedder, "認証") == [there, here]
    assert found(book, embedder, "認証", project=HOME) == [here]
    assert found(book, embedder, "認証", project=HOME, include_agents=True) == [agent, here]
    assert found(book, embedder, "認証", include_agents=True) == [agent, there, here]
    assert found(book, embedder, "認証", project="/nowhere") == []


def test_no_more_chunks_are_found_than_are_wanted(book, embedder):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    assert found(book, embedder, TEXTS[2], k=1) == [ids[2]]
    assert found(book, embedder, TEXTS[2], k=0) == []
    assert sorted(found(book, embedder, TEXTS[2], k=100_000)) == ids


def test_sqlite_vec_and_numpy_find_the_same(tmp_path, embedder):
    book = VectorDatabase(tmp_path / "memory.db", DRIVERS[0])
    for number in range(6):
        texts = [f"{topic} {number} {place}" for place, topic in enumerate(TEXTS * 12)]
        book.add(*texts, project=(HOME, WORK)[number % 2], is_agent=number // 4)
    book.refresh(embedder)
    queries = [*TEXTS, "unlike all", "42"]
    options = [{"project": p, "include_agents": a} for p in (None, HOME, WORK) for a in (False, True)]
    with book.vectors() as connection:
        indexed = [search(connection, embedder, text, **option) for text in queries for option in options]
    book.driver = WITHOUT_VEC
    with book.vectors() as connection:
        mapped = [search(connection, embedder, text, **option) for text in queries for option in options]
    rounded = [[(number, round(cosine, 5)) for number, cosine in hits] for hits in indexed]
    assert rounded == [[(number, round(cosine, 5)) for number, cosine in hits] for hits in mapped]


def test_what_sqlite_vec_has_yet_to_follow_is_found_too(book, embedder):
    """As after a `kizami embed` of another Python, whose SQLite loads no extension."""
    first = book.add("認証の更新", project=HOME)
    book.refresh(embedder)
    with_vec, book.driver = book.driver, WITHOUT_VEC
    later = book.add("認証の設定", project=HOME) + book.add("認証の設定", project=WORK)
    book.refresh(embedder)
    book.driver = with_vec
    assert found(book, embedder, "認証の設定") == [*later[::-1], *first]
    assert found(book, embedder, "認証の設定", project=HOME) == [later[0], *first]
    book.refresh(embedder)
    assert is_in_step(book)


def test_an_edited_chunk_is_not_found_by_what_it_said(book, embedder):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    with Memory(book.path) as memory:
        memory.edit(ids[0], "全く別の話")
    assert ids[0] not in found(book, embedder, TEXTS[0])
    assert book.refresh(embedder) == 1
    assert found(book, embedder, "全く別の話")[0] == ids[0]
    assert is_in_step(book)


def test_a_deleted_chunk_is_never_found(book, embedder):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    with Memory(book.path) as memory:
        memory.delete(chunk=ids[0])
    assert sorted(found(book, embedder, TEXTS[0])) == ids[1:]
    assert book.refresh(embedder) == 0
    assert is_in_step(book)


def test_merged_chunks_leave_one_vector(book, embedder):
    book.add("同じことを二度言いました。一度目。", "同じことを二度言いました。一度目！", "別の話")
    book.refresh(embedder)
    with book.core() as connection:
        assert len(merge(connection, project_path=None, now=NOW, archive_max_mb=1)) == 1
    assert book.refresh(embedder) == 0
    assert len(found(book, embedder, "同じことを二度")) == 2
    assert is_in_step(book)


def test_a_renamed_project_keeps_its_vectors(book, embedder, tmp_path):
    ids = book.add(*TEXTS, project=HOME)
    book.add("elsewhere", project=WORK)
    book.refresh(embedder)
    moved = tmp_path / "moved"
    moved.mkdir()
    with book.core() as connection:
        rename_project(connection, HOME, str(moved), now=NOW)
    for _ in range(2):
        assert found(book, embedder, TEXTS[0], project=HOME) == []
        assert sorted(found(book, embedder, TEXTS[0], project=str(moved))) == ids
        assert book.refresh(embedder) == 0
    assert is_in_step(book)


def test_projects_that_became_one_are_searched_as_one(book, embedder, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    ids = book.add(*TEXTS, project=HOME) + book.add("もう一つ", project=str(moved))
    book.refresh(embedder)
    with book.core() as connection:
        rename_project(connection, HOME, str(moved), now=NOW)
    assert sorted(found(book, embedder, TEXTS[0], project=str(moved))) == ids
    assert book.refresh(embedder) == 0


def test_core_works_on_the_database_without_sqlite_vec(book, embedder):
    ids = book.add(*TEXTS) + book.add(*(f"old {number}" for number in range(40)), at="2020-01-01 00:00:00")
    book.refresh(embedder)
    with book.core() as connection:
        assert check(connection) == IntegrityReport((), ())
        prune(connection, older_than_days=30, now=NOW)
        reclaim_space(connection)
        repair(connection)
        assert "".join(export_json(connection)).count('"content"') == len(TEXTS)
        connection.execute("ALTER TABLE chunks ADD COLUMN later TEXT")
        assert check(connection) == IntegrityReport((), ())
    with closing(open_database(book.path, read_only=True)) as connection:
        assert state(connection).vectors == len(TEXTS)
    assert book.refresh(embedder) == 0
    assert sorted(found(book, embedder, TEXTS[2], k=50)) == ids[: len(TEXTS)]
    assert is_in_step(book)


def test_a_chunk_that_another_program_replaces_is_embedded_anew(book, embedder):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    with book.core() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO chunks(id, session_id, project_path, chunk_index, content, role)"
            " VALUES (?, 'x', ?, 0, 'replaced', 'mixed')",
            (ids[0], HOME),
        )
    assert ids[0] not in found(book, embedder, TEXTS[0])
    assert book.refresh(embedder) == 1
    assert found(book, embedder, "replaced")[0] == ids[0]


def test_an_index_of_which_most_was_deleted_is_made_anew(book, embedder):
    ids = book.add(*(f"text {number}" for number in range(300)))
    book.refresh(embedder)
    with book.core() as connection:
        delete_chunks(connection, [str(number) for number in ids if number % 60], now=NOW)
    book.refresh(embedder)
    assert is_in_step(book)
    if book.driver.can_load_vec:
        with book.vectors() as connection:
            assert connection.execute("SELECT count(*) FROM chunks_vec_chunks").fetchone() == (1,)


def test_state_is_told_before_there_are_vectors_and_after(book, embedder):
    book.add(*TEXTS)
    with book.core() as connection:
        assert state(connection, embedder.model) == VectorState(None, 0, 4, 0, 0)
    book.refresh(embedder, limit=3)
    other = HashEmbedder(name="other")
    unindexed = 0 if book.driver.can_load_vec else 3
    with book.core() as connection:
        assert state(connection, embedder.model) == VectorState(embedder.model, 3, 1, 0, unindexed)
        assert state(connection) == VectorState(embedder.model, 3, 1, 0, unindexed)
        assert state(connection, other.model) == VectorState(embedder.model, 3, 1, 3, unindexed)


@pytest.mark.parametrize(
    "other", [HashEmbedder(name="other"), HashEmbedder(dimensions=24)], ids=["model", "dimensions"]
)
def test_vectors_of_two_models_are_never_mixed(book, embedder, other):
    ids = book.add(*TEXTS)
    book.refresh(embedder)
    with (
        book.vectors() as connection,
        pytest.raises(VectorsStaleError, match=r"Run: kizami embed --backfill$"),
    ):
        search(connection, other, TEXTS[0])
    with pytest.raises(VectorsStaleError, match=r"Run: kizami embed --backfill$"):
        book.refresh(other)
    assert book.refresh(other, rebuild=True) == len(TEXTS)
    assert found(book, other, TEXTS[1])[0] == ids[1]
    assert is_in_step(book)


def test_without_vectors_a_search_says_how_to_make_them(book, embedder):
    book.add(*TEXTS)
    with book.vectors() as connection, pytest.raises(VectorsStaleError, match="have no vectors yet"):
        search(connection, embedder, "x")


def test_the_typescript_kizamis_vector_tables_are_replaced(book, embedder):
    book.add(*TEXTS)
    with book.vectors() as connection:
        if book.driver.can_load_vec:
            connection.execute("CREATE VIRTUAL TABLE chunks_vec USING vec0(embedding float[256])")
        connection.execute(
            "CREATE TABLE chunks_vec_map (chunk_id INTEGER PRIMARY KEY, vec_rowid INTEGER NOT NULL)"
        )
        connection.execute("INSERT INTO chunks_vec_map VALUES (1, 1)")
    assert book.refresh(embedder) == len(TEXTS)
    assert is_in_step(book)


def test_a_model_that_gives_other_shapes_is_refused(book, embedder):
    book.add(*TEXTS)
    embedder.embed = lambda texts, kind: HashEmbedder(dimensions=8).embed(texts, kind)
    with pytest.raises(ModelDamagedError, match="kizami setup --hybrid"):
        book.refresh(embedder)
    with book.vectors() as connection:
        assert pending(connection) == len(TEXTS)


def test_where_another_process_embeds_nothing_is_done(book, embedder):
    book.add(*TEXTS)
    with ProcessLock(f"{book.path}.embedding.lock"):
        assert book.refresh(embedder) == 0
    assert book.refresh(embedder) == len(TEXTS)


# Run by a process of its own: it may have another SQLite library than the test's connection.
_CORE = """
import sys
from kizami_core import Memory
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_database, transaction
memory = Memory(sys.argv[1])
connection = open_database(sys.argv[1], busy_timeout_ms=0)
"""
_SAVE = """
for number in range(100):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role)"
            " VALUES (?, '/p', ?, ?, 'mixed')",
            [(f"s{number}", index, f"save {number} {index}") for index in range(100)],
        )
        word_index.refresh(connection)
"""


def _in_another_process(book, code):
    return lambda texts: subprocess.run([sys.executable, "-c", _CORE + code, book.path], check=True)


@pytest.mark.heavy
def test_100_saves_of_100_chunks_do_not_wait_for_the_model(book):
    """They take place while the model works, and would fail at once if anything was locked."""
    book.add("one")
    assert book.refresh(HashEmbedder(before=_in_another_process(book, _SAVE)), limit=1) == 1
    with book.vectors() as connection:
        assert pending(connection) == 10_000


def test_a_chunk_edited_while_the_model_works_waits_for_its_new_vector(book):
    (number,) = book.add("before")
    edit = _in_another_process(book, f"memory.edit({number}, 'after')")
    calls = []
    slow = HashEmbedder(before=lambda texts: calls or (calls.append(1), edit(texts)))
    assert book.refresh(slow) == 1
    assert slow.embedded == ["before", "after"]
    assert found(book, HashEmbedder(), "after") == [number]


def test_a_chunk_deleted_while_the_model_works_gets_no_vector(book):
    ids = book.add("keep", "drop")
    drop = _in_another_process(book, f"memory.delete(chunk={ids[1]})")
    assert book.refresh(HashEmbedder(before=drop)) == 1
    assert found(book, HashEmbedder(), "drop") == ids[:1]


def test_maintenance_by_size_deletes_as_before(book, embedder):
    for year in range(2000, 2008):
        book.add(*(f"{number} " + "long " * 5_000 for number in range(10)), at=f"{year}-01-01 00:00:00")
    book.refresh(embedder)
    config = Config(database_path=book.path, max_db_size_mb=2.0, max_chunk_age_days=36_500.0)
    with book.core() as connection:
        run_maintenance(connection, config=config, now=NOW)
        assert check(connection) == IntegrityReport((), ())
        left = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    assert 0 < left < 80
    assert book.refresh(embedder) == 0
    assert is_in_step(book)
