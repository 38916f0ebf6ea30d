import pytest

from kizami_core.retrieval import glossary
from kizami_core.retrieval.glossary import alternatives
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.terms import index_terms


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("認証", ("auth", "authentication")),
        ("auth", ("認証", "authentication")),
        ("キャッシュ", ("cache",)),
        ("cache", ("キャッシュ",)),
    ],
)
def test_a_meaning_is_found_from_either_language(word, others):
    assert alternatives(word) == others


@pytest.mark.parametrize("word", ["caches", "Cached", "CACHING"])
def test_english_words_are_found_in_any_inflection_and_case(word):
    assert alternatives(word) == ("キャッシュ",)


def test_of_a_long_kanji_word_the_part_with_a_meaning_counts():
    assert alternatives("認証基盤") == alternatives("認証")


def test_of_several_parts_the_longest_counts():
    assert alternatives("重複排除") == ("dedupe", "deduplication")
    assert alternatives("注文重複排除") == ("dedupe", "deduplication")


def test_a_final_long_vowel_makes_no_difference():
    assert alternatives("サーバー") == alternatives("サーバ") == ("server",)
    assert "review" in alternatives("レビュー")


@pytest.mark.parametrize("word", ["zebra", "木星", "ペンギン", "ー"])
def test_word_without_a_known_meaning_has_no_alternatives(word):
    assert alternatives(word) == ()


def test_a_word_on_several_lines_has_the_alternatives_of_all():
    assert {"fail", "失敗"} <= set(alternatives("エラー"))
    assert {"エンコード", "文字化け"} <= set(alternatives("encoding"))


@pytest.mark.parametrize("unit", ["認証", "漢字仮名", "キャッシュ", "cache", "遅い"])
def test_ten_thousand_characters_are_no_word(unit):
    """The list would be read tens of thousands of times for it."""
    assert alternatives(unit * (10_000 // len(unit))) == ()


def test_every_word_of_the_glossary_has_index_terms_and_stands_beside_another():
    lines = [line.split() for line in glossary._MEANINGS.strip().splitlines()]
    assert [line for line in lines if len(set(line)) < 2] == []
    assert [word for line in lines for word in line if not index_terms(word)] == []
    # A word asked for is looked up without it.
    assert [word for line in lines for word in line if len(word) > 3 and word.endswith("ー")] == []


# ---- in a query ----


def others_of(prompt):
    return {word.surface: word.alternatives for word in analyze_query(prompt).words if word.alternatives}


def test_a_query_carries_the_terms_of_other_words():
    assert others_of("認証基盤の設計") == {
        "認証基盤": (("auth",), ("authentication",)),
        "設計": (("design",), ("architectur",)),
    }


def test_what_the_prompt_names_itself_is_no_alternative():
    assert others_of("認証 auth") == {"認証": (("authentication",),), "auth": (("authentication",),)}


def test_the_alternatives_of_a_query_are_bounded():
    words = [line.split()[-1] for line in glossary._MEANINGS.strip().splitlines()]
    found = others_of(" ".join(words[:70]))
    assert sum(map(len, found.values())) == 24
