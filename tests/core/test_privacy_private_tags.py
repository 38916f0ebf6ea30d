import pytest

from kizami_core.privacy.private_tags import PRIVATE_MARKER, strip_private
from kizami_core.privacy.triggers import may_hold_private

M = PRIVATE_MARKER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>b</private> c", f"a {M} c"),
        ("<private>b</private>", M),
        ("a <private>b</private> c <private>d</private> e", f"a {M} c {M} e"),
        ("a <private>b <private>c</private> hunter2</private> d", f"a {M} d"),
        ("a <private>b <private>c</private> hunter2", f"a {M}"),
        ("a <private>b\nc", f"a {M}"),
        ("a <PRIVATE>b</Private> c", f"a {M} c"),
        ('a <private reason="x y" level=2>b</private> c', f"a {M} c"),
        ("a <private\n  reason='x'\n>b</private\n> c", f"a {M} c"),
        ("a < private >b< / private > c", f"a {M} c"),
        ("a ＜private＞b＜/private＞ c", f"a {M} c"),
        ("a <private/> b", f"a {M}"),
        ("秘密は<private>こちら</private>です", f"秘密は{M}です"),
        ("a <private>b</private> c</private> d", f"a {M} c</private> d"),
    ],
)
def test_private_region_is_removed(text, expected):
    assert may_hold_private(text)
    assert strip_private(text) == expected
    assert strip_private(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing here",
        "a </private> b",
        "private static int x;",
        "<privateKey>x</privateKey>",
        "#include <private/foo.h>",
        "a <private",
        "a <private reason=",
        "a<b, private> c",
        "the private tag",
    ],
)
def test_other_text_stays_as_it_is(text):
    assert strip_private(text) == text


@pytest.mark.parametrize(
    "unit",
    ["<private>", "</private>", "<private", "<private ", "<", "< ", "<private>a</private>", "<private \n"],
)
def test_a_megabyte_of_tags_is_bounded_work(unit):
    stripped = strip_private(unit * (1_000_000 // len(unit)))
    assert strip_private(stripped) == stripped
