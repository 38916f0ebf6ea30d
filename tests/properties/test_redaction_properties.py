"""Laws of redaction that hold for every text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.privacy import redact, redact_for_display
from kizami_core.privacy.dotenv import mask_env_values
from kizami_core.privacy.private_tags import strip_private
from kizami_core.privacy.secrets import SECRET_MARKER, find_secrets, mask_secrets
from kizami_core.privacy.triggers import may_hold_private, may_hold_secret

# Pieces that redaction knows, so that random texts are near what it looks for.
PIECES = st.sampled_from(
    [
        *(
            "password",
            "token",
            "secret",
            "api_key",
            "DB_PASS",
            "パスワード",
            "Authorization",
            "Cookie",
            "machine",
            "value",
        ),
        *(
            "=",
            ": ",
            ":",
            " = ",
            "：",
            "は",
            " is ",
            " to ",
            "==",
            "=>",
            " | ",
            ", ",
            ";",
            "&",
            "?",
            "\n",
            " ",
            "->",
            "%",
        ),
        *(
            '"',
            "'",
            "`",
            '\\"',
            "\\n",
            "\\",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "<",
            ">",
            "</",
            "$",
            "${",
            "「",
            "」",
            "**",
        ),
        *(
            "hunter2",
            "abc",
            "string",
            "getToken()",
            "process.env.X",
            "Bearer ",
            "Basic ",
            "YTpi",
            "x",
            "1234",
            "a.b",
            "@",
        ),
        *(
            "gh" + "p_" + "a1" * 18,
            "eyJ" + "a1" * 8 + ".eyJ" + "b2" * 8 + ".c3",
            "://",
            "host",
            "curl -u ",
            "a:b",
            "mysql -p",
        ),
        *(
            "-----BEGIN " + "PRIVATE KEY-----",
            "-----END " + "PRIVATE KEY-----",
            "QUJD" * 16,
            "--token ",
            "export ",
            "login ",
        ),
        *(
            "[redacted]",
            "[private]",
            "redacted",
            "<private>",
            "</private>",
            "<PRIVATE a=b",
            "です",
            "キー",
            "sk-",
            "AA",
            "AK",
        ),
    ]
)
TEXTS = st.lists(st.one_of(PIECES, PIECES, st.text(max_size=4)), max_size=14).map("".join)
# Words that hold no name, sign or prefix that redaction knows.
WORDS = st.lists(st.text(alphabet="bcdfghjlmnqruvyz", min_size=1, max_size=8), min_size=1, max_size=8).map(
    " ".join
)
FILLER = st.text(
    alphabet="abcdefghjkmnpqrstuvwxyz23456789ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=36, max_size=36
).map(lambda text: "a1B" + text[3:])
few = settings(max_examples=100, deadline=None)


@few
@given(TEXTS)
def test_masking_secrets_is_idempotent(text):
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@few
@given(TEXTS)
def test_stripping_private_regions_is_idempotent(text):
    once = strip_private(text)
    assert strip_private(once) == once


@few
@given(TEXTS)
def test_redaction_is_idempotent(text):
    once = redact(text)
    assert redact(once) == once


@few
@given(TEXTS)
def test_masking_environment_values_is_idempotent(text):
    once = mask_env_values(text)
    assert mask_env_values(once) == once


@few
@given(TEXTS)
def test_redaction_for_display_does_what_redaction_does(text):
    assert redact_for_display(text) == redact(text)


@few
@given(TEXTS)
def test_cheap_test_never_clears_a_text_with_something_to_redact(text):
    assert may_hold_secret(text) or not find_secrets(text)
    assert may_hold_private(text) or strip_private(text) == text


@few
@given(WORDS)
def test_text_without_any_sign_of_a_secret_stays_as_it_is(text):
    assert redact(text) == text


@few
@given(st.text(max_size=40))
def test_no_text_makes_redaction_fail(text):
    assert isinstance(redact(text), str)
    assert isinstance(mask_env_values(text), str)


@few
@given(before=WORDS, after=WORDS, filler=FILLER)
@pytest.mark.parametrize(
    "shape",
    [
        "gh" + "p_{}",
        "gl" + "pat-{}",
        "sk-" + "ant-api03-{}",
        "xox" + "b-123456789012-{}",
        'password: "{}"',
        "password={}",
        '"api_key": "{}"',
        "export DB_PASS={}",
        "Authorization: Bearer {}",
        "https://bob:{}@example.com",
        "パスワード：{}",
        "--token {}",
    ],
)
def test_secret_between_any_words_is_masked(shape, before, after, filler):
    secret = shape.format(filler)
    masked = mask_secrets(f"{before} {secret} {after}")
    assert filler not in masked
    assert masked.count(SECRET_MARKER) == 1
    assert masked.startswith(before)
    assert masked.endswith(after)


@few
@given(before=WORDS, inside=TEXTS, after=WORDS)
def test_nothing_of_a_private_region_is_left(before, inside, after):
    inside = inside.replace("<", "").replace("＜", "")
    assert strip_private(f"{before} <private>{inside}</private> {after}") == f"{before} [private] {after}"
