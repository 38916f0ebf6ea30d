import pytest

from kizami_core.retrieval import terms as terms_module
from kizami_core.retrieval.normalize import fold, normalize
from kizami_core.retrieval.terms import index_terms, stem, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("認証", ["認証"]),
        ("除外制約", ["除外", "外制", "制約"]),
        ("型", ["型"]),
        ("決めた", ["決", "決め"]),
        ("在庫を確認する", ["在庫", "確認", "認す"]),
        ("サーバー", ["サーバ", "サー", "ーバ"]),
        ("サーバ", ["サーバ", "サー", "ーバ"]),
        ("すだれ", []),
        ("useState", ["usestate", "stat"]),
        ("parseHTTPResponse2", ["parsehttpresponse2", "pars", "http", "respons"]),
        ("ERR_CONN_REFUSED", ["err_conn_refused", "err", "conn", "refus"]),
        ("src/db/pool.ts", ["src", "db", "pool", "ts"]),
        ("foo-bar", ["foo", "bar"]),
        ("@scope/name", ["scop", "nam"]),
        ("std::vector", ["std", "vector"]),
        ("v3.11.7 3.11", ["3.11.7", "3.11"]),
        ("C# C++ F#", ["c#", "c++", "f#"]),
        ("E11000 404", ["e11000", "11000", "404"]),
        ("the caches are cached", ["cach"]),
        ("Reactのフォーム", ["react", "フォーム", "フォ", "ォー", "ーム"]),
        ("ＡＰＩキー", ["api", "キー"]),
        ("ﾃﾞｰﾀﾍﾞｰｽ", ["データベース", "デー", "ータ", "タベ", "ベー", "ース"]),
        ("데이터베이스", ["데이", "이터", "터베", "베이", "이스"]),
        ("数据库连接", ["数据", "据库", "库连", "连接"]),
        ("база данных", ["база", "данных"]),
        ("__init__", ["init"]),
        ("_ 1 a", []),
    ],
)
def test_text_becomes_these_terms(text, expected):
    assert index_terms(text) == expected


def test_width_and_case_do_not_matter():
    assert index_terms("ＲＥＡＣＴ ｻｰﾊﾞｰ") == index_terms("react サーバー")


def test_repetition_mark_is_spelled_out():
    assert normalize("佐々木と人々々") == "佐佐木と人人人"


def test_repetition_mark_at_the_beginning_stays():
    assert normalize("々木") == "々木"


def test_people_who_share_only_the_repetition_mark_share_no_term_but_the_first():
    assert set(index_terms("佐々木")) & set(index_terms("佐々野")) == {"佐佐"}


def test_fold_is_normalized_lower_case():
    assert fold("ＡＢＣ佐々") == "abc佐佐"


def test_words_keep_their_surface_beside_their_terms():
    assert list(words("認証Token")) == [("認証", ["認証"]), ("Token", ["token"])]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("categories", "categor"),
        ("category", "categor"),
        ("stopped", "stop"),
        ("running", "run"),
        ("classes", "class"),
        ("boxes", "box"),
        ("status", "status"),
        ("this", "this"),
        ("creating", "creat"),
        ("create", "creat"),
        ("bed", "bed"),
        ("sing", "sing"),
        ("naïve", "naïve"),
        ("abc1", "abc1"),
    ],
)
def test_stem_takes_inflection_off(word, expected):
    assert stem(word) == expected


def test_hash_is_cut_to_its_beginning():
    assert index_terms("0a1b" * 20) == ["0a1b" * 10]


def test_very_long_katakana_run_is_known_by_its_pairs_alone():
    run = "アイウエオカキクケコサシスセ"
    assert index_terms(run) == [run[at : at + 2] for at in range(len(run) - 1)]


def test_terms_do_not_depend_on_what_was_indexed_before(monkeypatch):
    monkeypatch.setattr(terms_module, "_MAX_KNOWN_WORDS", 2)
    text = "useState v3.11 C++ 認証した pool.ts useState 認証 " + "長い文は一度しか現れない" * 4
    expected = list(dict.fromkeys(term for _, found in words(text) for term in found))
    assert [index_terms(text) for _ in range(3)] == [expected] * 3
