"""What a source of vectors adds to recall and search, and what it can't change."""

from math import inf

import pytest

from kizami_core.recall import recall
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.vector_source import Judgement
from kizami_core.searching import find, read_search
from memories import NOW, OTHER_PROJECT, PROJECT, MemoryBook, config

PROMPT = "監査ログの置き場所を決めた？"


class Vectors:
    """A source that says which chunks are near, and that these are relevant; it notes what it was asked."""

    def __init__(self, near, *, relevance=0.9):
        self._near = near
        self._relevance = relevance
        self.asked = []

    odds = inf

    def ask(self, project_path):
        self.asked.append(project_path)

    def nearest(self):
        return list(self._near)

    def judge(self, candidates):
        return [
            Judgement(
                item.chunk_id, self._relevance, 100.0 + self._near[item.chunk_id], self._near[item.chunk_id]
            )
            if item.chunk_id in self._near
            else item
            for item in candidates
        ]


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    made.add_noise(60)
    yield made
    made.connection.close()


def ask(book, vectors, prompt=PROMPT, gate=0.3, **changes):
    settings = {"session_id": "now", "project_path": PROJECT, "now": NOW}
    chosen = config(min_relevance_score=gate, **changes)
    return recall(book.connection, prompt, config=chosen, vectors=vectors, **settings)


def test_vectors_bring_back_what_shares_no_word_with_the_prompt(book):
    number = book.add("Where do audit trails go?", "Into the bucket kept for the accountants.")
    assert ask(book, None).block == ""
    vectors = Vectors({number: 0.8})
    recalled = ask(book, vectors)
    assert "bucket kept for the accountants" in recalled.block
    assert vectors.asked == [PROJECT]
    (shown,) = (item for item in recalled.report.candidates if item.verdict == "shown")
    assert (shown.chunk_id, shown.relevance, shown.cosine) == (number, 0.9, 0.8)
    assert list(recalled.report.milliseconds)[:4] == ["lookup", "candidates", "rerank", "vectors"]


def test_without_an_answer_of_the_vectors_the_words_decide(book):
    book.add("監査ログの置き場所は？", "S3 の監査用バケットです。")
    by_words = ask(book, None)
    assert by_words.block
    without_answer = ask(book, Vectors({}))
    assert without_answer.block == by_words.block
    assert without_answer.report.candidates == by_words.report.candidates


def test_a_prompt_that_asks_nothing_is_not_sent_to_the_vectors(book):
    vectors = Vectors({1: 0.9})
    assert ask(book, vectors, prompt="はい、お願いします").block == ""
    assert vectors.asked == []


def test_what_must_not_be_shown_stays_hidden_however_near_it_is(book):
    own = book.add("Where do audit trails go?", "Into the bucket.", session="now")
    gone = own + 1_000
    recalled = ask(book, Vectors({own: 0.9, gone: 0.9}))
    assert recalled.block == ""
    verdicts = {item.chunk_id: item.verdict for item in recalled.report.candidates}
    assert verdicts[own] == "own_session"
    assert gone not in verdicts


def test_other_projects_are_asked_when_their_turn_comes(book):
    number = book.add("Where do audit trails go?", "Into the bucket.", project=OTHER_PROJECT)
    vectors = Vectors({number: 0.9}, relevance=0.99)
    assert "bucket" in ask(book, vectors, project_scope="tiered").block
    assert vectors.asked == [PROJECT, None]
    vectors = Vectors({number: 0.9}, relevance=0.5)
    assert ask(book, vectors, project_scope="tiered").block == ""


def test_filters_apply_to_what_vectors_find_and_its_order_is_theirs(book):
    near = book.add("Where do audit trails go?", "Into the bucket.")
    old = book.add("Where did audit trails go?", "To a disk.", at="2025-01-01 00:00:00", session="old")
    words = book.add("監査ログの置き場所は？", "S3 の監査用バケットです。", session="words")

    def found(filters):
        search = read_search(PROMPT, project_path=PROJECT, scope=True, filters=filters)
        vectors = Vectors({near: 0.9, old: 0.8})
        hits = find(book.connection, search, limit=3, config=config(), now=NOW, vectors=vectors).hits
        return [hit.chunk.id for hit in hits]

    assert found(Filters())[:3] == [near, old, words]
    assert found(Filters(since="2025-06-01 00:00:00"))[:2] == [near, words]


def test_of_what_no_word_speaks_for_a_search_lists_the_nearest_four(book):
    near = [book.add(f"Where do they go, {number}?", "Into the bucket.") for number in range(6)]
    words = book.add("監査ログの置き場所は？", "S3 の監査用バケットです。", session="words")
    vectors = Vectors({number: 0.9 - place / 100 for place, number in enumerate([*near, words])})
    search = read_search(PROMPT, project_path=PROJECT, scope=True)
    hits = find(book.connection, search, limit=20, config=config(), now=NOW, vectors=vectors).hits
    found = {hit.chunk.id for hit in hits}
    assert found.intersection([*near, words]) == {*near[:4], words}


class Doubling(Vectors):
    """A source that at most doubles the odds of what has a word in common with the query."""

    odds = 2.0


@pytest.mark.parametrize(("prompt", "asked"), [("監査", []), ("天気予報", [PROJECT])])
def test_vectors_that_can_bring_nothing_through_are_not_waited_for(book, prompt, asked):
    book.add("監査ログの置き場所は？", "S3 の監査用バケットです。")
    vectors = Doubling({1: 0.9})
    recalled = ask(book, vectors, prompt=prompt, gate=1.0)
    assert (recalled.block, vectors.asked) == ("", asked)
    assert "vectors" not in recalled.report.milliseconds
    assert ask(book, vectors, prompt="監査ログの置き場所").block
    assert vectors.asked == [*asked, PROJECT]
