"""Characters as a person counts them stay whole."""

from itertools import pairwise

import pytest

from kizami_core.transcript.graphemes import boundary_before, is_boundary


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("", []),
        ("abc", ["a", "b", "c"]),
        ("かが", ["か", "が"]),
        ("か\u3099ん", ["か\u3099", "ん"]),
        ("ｶﾞﾊﾟ", ["ｶﾞ", "ﾊﾟ"]),
        ("e\u0301\u0302x", ["e\u0301\u0302", "x"]),
        ("👨‍👩‍👧a", ["👨‍👩‍👧", "a"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("❤️☎", ["❤️", "☎"]),
        ("葛\U000e0100飾", ["葛\U000e0100", "飾"]),
        ("🇯🇵🇫🇷🇩", ["🇯🇵", "🇫🇷", "🇩"]),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿x", ["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "x"]),
        ("각가\u11a8한", ["각", "가\u11a8", "한"]),
        ("\u1100\u1161\u11a8\u1100", ["\u1100\u1161\u11a8", "\u1100"]),
        ("\u1100가", ["\u1100가"]),
        ("각\u11a8", ["각\u11a8"]),
        ("क्षि", ["क्", "षि"]),
        ("\r\n\n\u0301", ["\r\n", "\n", "\u0301"]),
        ("👨‍a", ["👨‍", "a"]),
        ("可‌能", ["可‌", "能"]),
    ],
)
def test_boundaries_lie_between_characters_as_a_person_counts_them(text, clusters):
    boundaries = [at for at in range(len(text) + 1) if is_boundary(text, at)]
    assert [text[a:b] for a, b in pairwise(boundaries)] == clusters


def test_the_boundary_before_a_place_is_that_place_or_an_earlier_one():
    text = "x👨‍👩‍👧y"
    assert [boundary_before(text, at) for at in range(len(text) + 1)] == [0, 1, 1, 1, 1, 1, 6, 7]
