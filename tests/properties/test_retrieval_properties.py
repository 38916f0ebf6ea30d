import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kizami_core.recall import recall
from kizami_core.retrieval.decay import SECONDS_PER_DAY, decay
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.snippet import snippet
from kizami_core.retrieval.terms import index_terms, stem, words
from kizami_core.searching import search
from kizami_core.transcript.tokens import estimate_tokens
from memories import NOW, PROJECT, MemoryBook, config

_WORDS = ["認証", "サーバー", "の", "useState", "src/db.ts", "々", "한국어"]
_SIGNS = ['"', "'", "NEAR(", "*", "%", "\x00", "\ud83d", "AND"]
TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(_WORDS + _SIGNS), max_size=8).map("".join),
    st.text(st.characters(), max_size=40),
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    made = MemoryBook(tmp_path_factory.mktemp("book") / "memory.db")
    made.add_noise(30)
    made.add("認証の方式", 'JWT の "exp" は 3.11 で NEAR(100%)')
    yield made
    made.connection.close()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=TEXT, scope=st.sampled_from([True, False, "tiered"]))
def test_no_text_makes_search_raise_and_every_relevance_is_a_probability(book, text, scope):
    hits = search(book.connection, text, project_path=PROJECT, scope=scope, limit=5, config=config(), now=NOW)
    assert all(0 <= hit.relevance <= 1 for hit in hits)
    assert len(hits) <= 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=TEXT, gate=st.sampled_from([0.0, 0.3]))
def test_no_text_makes_recall_raise_and_a_block_is_whole_or_absent(book, text, gate):
    settings_ = config(min_relevance_score=gate, project_scope="tiered")
    options = {"session_id": "x", "project_path": PROJECT, "config": settings_, "now": NOW}
    block = recall(book.connection, text, **options).block
    assert block == "" or (block.startswith("<kizami-memory>\n") and block.endswith("</kizami-memory>\n"))
    assert block.count("</kizami-memory>") <= 1


@given(TEXT)
def test_fold_is_idempotent(text):
    assert fold(fold(text)) == fold(text)


@given(TEXT)
def test_every_term_is_lower_case_and_has_no_space(text):
    for term in index_terms(text):
        assert term
        assert not any(character.isspace() for character in term)
        assert term == term.lower()


@given(st.text(st.characters(categories=["L", "N", "P", "Z"]), max_size=60))
def test_index_and_query_agree(text):
    # Whatever a query asks for is among the terms of the same text in the index.
    asked = {term for word in analyze_query(text).words for term in word.terms}
    assert asked <= set(index_terms(text))


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_stem_is_a_prefix(word):
    assert word.startswith(stem(word))
    assert stem(word)


@given(TEXT)
def test_terms_stand_in_the_folded_text(text):
    # The reranker looks for terms in running text.
    folded = fold(text.replace("\x00", " "))
    for _, terms in words(text.replace("\x00", " ")):
        assert all(term in folded for term in terms)


@given(st.floats(0, 3_650), st.floats(0.1, 3_650))
def test_decay_halves_with_each_half_life(days, half_life):
    here = decay(days * SECONDS_PER_DAY, half_life)
    assert decay((days + half_life) * SECONDS_PER_DAY, half_life) == pytest.approx(here / 2)


_LINES = ["[User]", "[Assistant]", "[Tool: Bash] ls", "認証は`jwt`です。次へ。", "a. B c!", ""]


@given(st.lists(st.sampled_from(_LINES), max_size=30), st.integers(1, 130))
def test_snippet_keeps_its_budget(lines, limit):
    assert estimate_tokens(snippet("\n".join(lines), {"認証": 0.9}, limit)) <= limit
