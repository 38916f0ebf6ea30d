"""Merging near-duplicates."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.errors import ConfigError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.maintenance.merging import merge
from kizami_core.maintenance.similarity import Search
from kizami_core.records import Chunk, Metadata
from kizami_core.retrieval import word_index
from kizami_core.retrieval.likeness import jaccard, trigrams
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.maintenance_log import last_entries
from kizami_core.storage.sessions import refresh_session, stored_session
from kizami_core.storage.turns import NewTurn, store_turn

_NOW = 1_780_000_000.0
_POOL = "The pool is exhausted because every request opens a connection of its own and never closes it."
_PARSER = "パーサーは末尾の改行が無い行を捨てていたので、最後の発言が保存されなかった。"


def _chunk(chunk_id, content, *, metadata=Metadata(), created_at="2026-01-01 00:00:00", project="/p"):  # noqa: B008
    return Chunk(chunk_id, "s", project, chunk_id, content, "mixed", metadata, created_at, 1)


def _pairs(chunks, threshold=0.6):
    return {(pair.removed.id, pair.kept.id) for pair in Search(threshold).pairs(chunks)}


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _save(connection, *contents, session_id="s", project="/p"):
    with transaction(connection):
        for content in contents:
            turn = NewTurn(content, "2026-01-01 00:00:00", 1, [NewChunk(content, "mixed", Metadata(), 1)])
            store_turn(connection, session_id, project, turn)
        refresh_session(connection, session_id)
        word_index.refresh(connection)


def _contents(connection):
    return [row[0] for row in connection.execute("SELECT content FROM chunks ORDER BY id")]


def test_the_richer_chunk_is_kept():
    longer = f"{_POOL} So it runs dry."
    assert _pairs([_chunk(1, _POOL), _chunk(2, longer)]) == {(1, 2)}
    assert _pairs([_chunk(1, longer), _chunk(2, _POOL)]) == {(2, 1)}


def test_of_equal_texts_the_one_that_mentions_more_is_kept_then_the_newer():
    files = Metadata(("a.py",), (), ())
    assert _pairs([_chunk(1, _POOL, metadata=files), _chunk(2, _POOL)]) == {(2, 1)}
    assert _pairs([_chunk(1, _POOL, created_at="2026-02-02 00:00:00"), _chunk(2, _POOL)]) == {(2, 1)}
    assert _pairs([_chunk(1, _POOL), _chunk(2, _POOL)]) == {(1, 2)}


def test_case_width_and_white_space_make_no_difference():
    assert trigrams("ＡＰＩ キー\n  ｻｰﾊﾞｰ") == trigrams("api キー サーバー")
    assert trigrams("ab") == {"ab"}
    assert trigrams(" \n") == {""}


def test_jaccard_is_the_shared_part():
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 0.5
    assert jaccard(frozenset("ab"), frozenset("ab")) == 1.0


def test_different_texts_are_left_alone():
    assert _pairs([_chunk(1, _POOL), _chunk(2, _PARSER)]) == set()
    assert Search(0.6).pairs([]) == []


def test_a_chunk_goes_once_however_many_resemble_it():
    chunks = [_chunk(number, f"{_POOL} {'!' * (number % 3)}") for number in range(1, 31)]
    pairs = Search(0.6).pairs(chunks)
    assert len({pair.removed.id for pair in pairs}) == len(pairs) == 29
    assert len({pair.kept.id for pair in pairs}) == 1


_WORDS = st.lists(st.sampled_from(["red", "green", "blue", "認証", "在庫", "決済"]), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(_WORDS, min_size=1, max_size=8), threshold=st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.9, 1.0])
)
def test_prefix_filtering_finds_what_comparing_all_pairs_finds(texts, threshold):
    chunks = [_chunk(number, " ".join(words)) for number, words in enumerate(texts, start=1)]
    pairs = Search(threshold).pairs(chunks)
    removed = {pair.removed.id for pair in pairs}
    kept = [trigrams(chunk.content) for chunk in chunks if chunk.id not in removed]
    for number, one in enumerate(kept):
        assert all(jaccard(one, other) < threshold for other in kept[number + 1 :])
    for pair in pairs:
        assert pair.kept.id not in removed
        similarity = jaccard(trigrams(pair.removed.content), trigrams(pair.kept.content))
        assert pair.similarity == similarity >= threshold
        assert len(trigrams(pair.kept.content)) >= len(trigrams(pair.removed.content))


def _long_texts(count, rng):
    """Return texts of about 150 words, every third a copy with up to a fifth of its words replaced."""
    texts = []
    for number in range(count):
        words = [f"{rng.choice('abcdefgh')}{rng.randrange(9999)}" for _ in range(150)]
        if number % 3 == 2:
            share = rng.random() / 5
            words = [f"x{number}" if rng.random() < share else word for word in texts[-1].split()]
        texts.append(" ".join(words))
    return texts


def test_near_copies_of_long_texts_are_found_and_few_pairs_compared():
    chunks = [_chunk(number, text) for number, text in enumerate(_long_texts(120, random.Random(3)), start=1)]
    sets = [trigrams(chunk.content) for chunk in chunks]
    alike = [
        (one, other)
        for one in range(len(sets))
        for other in range(one)
        if jaccard(sets[one], sets[other]) >= 0.6
    ]
    search = Search(0.6)
    removed = {pair.removed.id - 1 for pair in search.pairs(chunks)}
    assert len(alike) > 20
    assert all(one in removed or other in removed for one, other in alike)
    assert search.compared < 3 * len(chunks)


def test_what_many_long_texts_share_makes_nobody_a_candidate():
    rng = random.Random(5)
    same = " ".join(f"boilerplate{number}" for number in range(12))
    texts = [f"{same} {' '.join(f'{rng.randrange(10**6)}' for _ in range(60))}" for _ in range(60)]
    chunks = [_chunk(number, text) for number, text in enumerate([*texts, texts[7] + " again"], start=1)]
    assert _pairs(chunks) == {(8, 61)}


def test_projects_are_compared_with_each_other_where_that_is_asked(connection):
    _save(connection, _POOL, session_id="one")
    _save(connection, f"{_POOL} So it runs dry.", session_id="two", project="/q")
    assert merge(connection, project_path=None, now=_NOW, archive_max_mb=0, dry_run=True) == []
    (pair,) = merge(connection, project_path="/p", now=_NOW, archive_max_mb=0, across_projects=True)
    assert (pair.removed.project_path, pair.kept.project_path) == ("/p", "/q")


def test_the_log_names_a_bounded_number_of_pairs(connection):
    _save(connection, *(f"{_POOL} {'x' * 3} number {number}" for number in range(230)))
    assert len(merge(connection, project_path="/p", now=_NOW, archive_max_mb=0)) == 229
    assert last_entries(connection, 1)[0].detail.partition(";")[0].endswith("and 29 more")


def test_the_order_of_the_chunks_makes_no_difference():
    rng = random.Random(7)
    words = ["pool", "exhausted", "request", "接続", "閉じる", "timeout", "retry"]
    chunks = [_chunk(number, " ".join(rng.choices(words, k=6))) for number in range(1, 40)]
    expected = _pairs(chunks, 0.5)
    rng.shuffle(chunks)
    assert _pairs(chunks, 0.5) == expected != set()


def test_merging_deletes_and_locks_and_says_so(connection):
    _save(connection, _POOL, f"{_POOL} So it runs dry.", _PARSER)
    (pair,) = merge(connection, project_path="/p", now=_NOW, archive_max_mb=0)
    assert (pair.removed.content, pair.kept.content) == (_POOL, f"{_POOL} So it runs dry.")
    assert _contents(connection) == [f"{_POOL} So it runs dry.", _PARSER]
    assert stored_session(connection, "s").chunk_count == 2
    entry = last_entries(connection, 1)[0]
    assert (entry.action, entry.chunks_deleted) == ("merge", 1)
    assert entry.detail.startswith("similarity of 0.6 or more to a chunk that is kept")
    _save(connection, _POOL)
    assert len(_contents(connection)) == 2
    assert merge(connection, project_path="/p", now=_NOW, archive_max_mb=0) == []


def test_a_dry_run_only_tells(connection):
    _save(connection, _POOL, f"{_POOL} So it runs dry.")
    assert len(merge(connection, project_path=None, now=_NOW, archive_max_mb=0, dry_run=True)) == 1
    assert len(_contents(connection)) == 2


def test_sessions_of_one_project_are_compared_and_other_projects_left_alone(connection):
    _save(connection, _POOL, session_id="one")
    _save(connection, f"{_POOL} ", session_id="two")
    _save(connection, f"{_POOL}  ", session_id="three", project="/q")
    assert merge(connection, project_path="/q", now=_NOW, archive_max_mb=0, dry_run=True) == []
    assert len(merge(connection, project_path="/p", now=_NOW, archive_max_mb=0, dry_run=True)) == 1
    assert len(merge(connection, project_path=None, now=_NOW, archive_max_mb=0)) == 1
    assert stored_session(connection, "one") is None
    assert _contents(connection) == [f"{_POOL} ", f"{_POOL}  "]


@pytest.mark.parametrize("threshold", [0, -1, 1.01, float("nan")])
def test_a_threshold_that_means_nothing_is_refused(connection, threshold):
    with pytest.raises(ConfigError, match=r"The default is 0\.6"):
        merge(connection, project_path=None, now=_NOW, archive_max_mb=0, threshold=threshold)
