import pytest

from kizami_core.retrieval.matches import matched_spans, matched_words
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.search_syntax import parse_search


def marked(search, text):
    sought = parse_search(search)
    shown, before = "", 0
    for begin, end in matched_spans(analyze_query(sought.text), sought.phrases, text):
        shown += f"{text[before:begin]}<{text[begin:end]}>"
        before = end
    return shown + text[before:]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("cache", "The <caches> were <cached>; <Cache>Manager, <cache>_dir, cachet"),
        ("name", "user<Name>, user<Names>, <named>"),
        ("userName", "<userName> and <user>_<name>"),
        ("userpass", "forgot<UserPass>wordLink"),
        ("C#", "in <C#> and C"),
        ("3.11", "Python <3.11> not 3.1"),
        ("接続プール", "<接続プール>の枯渇と、<接続>、<プール>、ルール"),
        ("決め", "<決め>た。解決"),
        ("認証設定", "<認証>の<設定>"),
        ("APIキー", "<ＡＰＩキー>の発行"),
        ("データベース", "<ﾃﾞｰﾀﾍﾞｰｽ>の分割"),
        ("佐々木", "<佐々木>さん"),
        ('"skip locked"', "<SKIP\nLOCKED> and <skip>, <locked>"),
        ('"の方"', "こ<の方>がよい。あの 方"),
        ("キロ", "5<㌔>先"),
        ('"株" "社"', "A<㍿>"),
        ("が", "か\u3099は"),
        ("rare", ""),
        ("cache", "İİ <cache>"),
    ],
)
def test_matches_are_marked_where_they_stand(search, expected):
    text = expected.replace("<", "").replace(">", "")
    assert marked(search, text) == expected


@pytest.mark.parametrize(
    ("search", "text", "expected"),
    [
        (
            '"Skip Locked" 接続プール cache MySQL',
            "接続 caches SKIP LOCKED",
            ["Skip Locked", "Skip", "Locked", "接続", "cache"],
        ),
        ("userpass", "forgotUserPasswordLink", ["userpass"]),
        ("決め 接続プール", "解決。接続プール", ["接続", "プール"]),
        ("go", "google", []),
    ],
)
def test_matched_words_are_phrases_and_words_as_asked(search, text, expected):
    sought = parse_search(search)
    assert matched_words(analyze_query(sought.text), sought.phrases, text) == expected
