import pytest

from kizami_core.retrieval.search_syntax import comparable, holds_phrase, holds_word, parse_search


def parts(text):
    sought = parse_search(text)
    return (
        " ".join(sought.text.split()),
        sought.loose,
        sought.phrases,
        sought.excluded_phrases,
        sought.excluded_words,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'connection pool "SKIP  LOCKED" -redis -"dead lock"',
            ("connection pool SKIP LOCKED", "connection pool", ("SKIP LOCKED",), ("dead lock",), ("redis",)),
        ),
        (
            "認証の“有効 期限”は　－期限切れ",
            ("認証の 有効 期限 は", "認証の は", ("有効 期限",), (), ("期限切れ",)),
        ),
        ('"の方"', ("の方", "", ("の方",), (), ())),
        ('"" "  " -""', ("", "", (), (), ())),
        ('"a" "a" -b -b', ("a a", "", ("a",), (), ("b",))),
        ("", ("", "", (), (), ())),
    ],
)
def test_words_phrases_and_exclusions_are_told_apart(text, expected):
    assert parts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "foo-bar",
        "git commit --no-verify",
        "exit code -1",
        "a -> b",
        "- item",
        "x - y",
        "-",
        "--",
        '5" disk',
        '-"open',
        "ls -@scope -/src -.env",
        "user's",
        "「引用」",
    ],
)
def test_signs_that_mean_nothing_special_are_text(text):
    assert parts(text) == (text, text, (), (), ())


def test_what_sqlite_cannot_take_does_not_reach_it():
    assert parts('\ud83d "a\x00b"') == ("? a b", "?", ("a b",), (), ())


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("ＡＰＩ\n  キー の発行", "api キー"),
        ("佐々木さん", "佐佐木"),
        ("Use SKIP\tLOCKED here", "skip locked"),
        ("forgotUserPassword", "userpass"),
    ],
)
def test_a_phrase_is_found_whatever_its_width_case_and_white_space(text, phrase):
    assert holds_phrase(comparable(text), phrase)
    assert not holds_phrase(comparable(text), f"{phrase} x")


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("let it go", "go", True),
        ("google cargo go_1", "go", False),
        ("a Go.", "go", True),
        ("config.py", "config.py", True),
        ("myconfig.py", "config.py", False),
        ("use C++ now", "C++", True),
        ("再認証する", "認証", True),
        ("認証go認証", "go", True),
    ],
)
def test_an_excluded_word_is_no_part_of_a_longer_latin_one(text, word, expected):
    assert holds_word(comparable(text), word) is expected
