import pytest

from kizami_core.retrieval import word_index
from kizami_core.retrieval.lexical import LexicalRetriever
from kizami_core.retrieval.query import analyze_query
from kizami_core.storage.connection import transaction
from memories import OTHER_PROJECT, PROJECT, MemoryBook


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()


def found(book, text, project=PROJECT, limit=50):
    query = analyze_query(text)
    retriever = LexicalRetriever(book.connection, project)
    return [chunk.id for chunk in retriever.retrieve(query, retriever.statistics(query), limit=limit)]


def test_chunk_with_more_and_rarer_terms_comes_first(book):
    common = [book.add("設定", f"設定の話 {n}") for n in range(5)]
    both = book.add("認証の設定", "JWT にしました")
    assert found(book, "認証の設定") == [both, *reversed(common)]


def test_other_projects_are_only_seen_when_asked_for(book):
    here = book.add("認証", "ここ")
    there = book.add("認証", "よそ", project=OTHER_PROJECT, session="there")
    assert found(book, "認証") == [here]
    assert found(book, "認証", project=None) == [there, here]


def test_unknown_project_has_nothing(book):
    book.add("認証", "ここ")
    assert found(book, "認証", project="/nowhere") == []


def test_limit_is_kept(book):
    for number in range(20):
        book.add("認証", f"{number}")
    assert len(found(book, "認証", limit=7)) == 7


def test_two_letter_query_falls_back_to_like(book):
    inside = book.add("すだれ", "これ")
    assert found(book, "だれ") == [inside]


@pytest.mark.parametrize("wild", ["%", "_", "\\", "%_"])
def test_like_wildcards_are_literal(book, wild):
    book.add("何もない", "text")
    with_sign = book.add("しるし", f"ここに {wild} がある")
    assert found(book, wild) == [with_sign]


def test_hiragana_alone_is_found_by_trigrams(book):
    book.add("ほかの話", "べつのこと")
    inside = book.add("すだれかけ", "こう付けます")
    assert found(book, "すだれかけ") == [inside]


def test_part_of_an_unknown_word_is_found_by_trigrams(book):
    inside = book.add("forgotUserPasswordLink", "done")
    assert found(book, "userpass") == [inside]


def test_nothing_is_found_for_white_space(book):
    book.add("認証", "x")
    assert found(book, " \u3000\n") == []


@pytest.mark.parametrize(
    "text", ['"', "' OR 1=1 --", "NEAR(a b)", "a*", "^a", "col:term", "{a}", "\x00", "a\x00b", "日本\x00語"]
)
def test_no_text_upsets_fts5(book, text):
    book.add("認証", "x")
    assert isinstance(found(book, text), list)


def test_document_frequency_of_a_very_common_term_is_estimated(book):
    with transaction(book.connection):
        book.connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role)"
            " VALUES ('many', ?, ?, ?, 'mixed')",
            [
                (PROJECT, n, ("zebra everywhere" if n % 2 else "quokka") + (" okapi" if n % 10 == 0 else ""))
                for n in range(4_000)
            ],
        )
        book.connection.execute(
            "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('many', ?, 4000)", (PROJECT,)
        )
        word_index.refresh(book.connection)
    statistics = LexicalRetriever(book.connection, PROJECT).statistics(analyze_query("zebra okapi"))
    posting = statistics.postings["zebra"]
    assert (len(posting.chunk_ids), posting.is_complete) == (200, False)
    assert posting.document_frequency == pytest.approx(2_000, rel=0.01)
    # Of a rarer one all are read.
    posting = statistics.postings["okapi"]
    assert (len(posting.chunk_ids), posting.document_frequency, posting.is_complete) == (400, 400, True)


def test_slip_of_the_keyboard_is_found_where_substrings_are_not_asked_for(book):
    meant = book.add("kubernetes", "done")
    book.add("すだれ", "other")
    book.add("kubernetes", "よそ", project=OTHER_PROJECT, session="there")

    def alike(text):
        query = analyze_query(text)
        retriever = LexicalRetriever(book.connection, PROJECT)
        statistics = retriever.statistics(query)
        found = retriever.retrieve(query, statistics, limit=50, by_substring=False)
        return [chunk.id for chunk in found]

    assert alike("kuberntes") == [meant]
    # Four letters resemble too much, and what is no word at all is not looked for.
    assert (alike("kube"), alike("kuqqqqqqtes"), alike("だれ"), alike("?!")) == ([], [], [], [])


def test_chunk_that_another_program_deleted_is_passed_over(book):
    gone = book.add("認証", "ここ")
    left = book.add("認証", "そこ")
    with transaction(book.connection):
        book.connection.execute("DELETE FROM chunks WHERE id = ?", (gone,))
    assert found(book, "認証") == [left]
