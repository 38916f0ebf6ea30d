"""Cheap signs that a text may hold something to redact, without regular expressions.

`recall` shows rows on the hook path and may not import ``re`` (ARCHITECTURE.md, "The hook path"). What
these functions clear needs no further look; what they flag is looked at properly. So they may flag too
much, never too little: ``tests/properties/test_redaction_properties.py`` holds that law.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Every secret name ends in one of these words (secret_names.py); "pw" covers pwd, "pass" password and passwd.
NAME_WORDS = ("pass", "pw", "secret", "token", "key")
# A name and its value stand this close together: suffix, closing quotes, aligned spaces, separator.
_NAME_WINDOW = 160
_NAME_SIGNS = "=:>：＝|(,\"'`"
_ASKING_WORDS = (" is ", " was ", " to ", "-", "value", "login", "env", "arg", "set")
# White space between "<" and the tag's name, at most (private_tags.py allows the same).
TAG_SPACE = 8

# Beginnings of tokens whose shape alone says that they are secret (token_shapes.py), as they are written.
TOKEN_PREFIXES = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "glptt-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glft-"),
    *("AKIA", "ASIA", "AIza", "ya29.", "GOCSPX-", "1//"),
    *("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"),
    *("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    *("sk-", "npm_", "pypi-", "hf_", "SG.", "SK", "AC", "dop_v1_", "doo_v1_", "dor_v1_"),
    *("shpat_", "shpss_", "shpca_", "shppa_", "dckr_pat_", "hvs.", "hvb.", "glsa_", "gsk_", "xai-", "r8_"),
    *(
        "lin_api_",
        "figd_",
        "PMAK-",
        "NRAK-",
        "ATATT3x",
        "sbp_",
        "sntrys_",
        "rubygems_",
        "AGE-SECRET-KEY-1",
        "tskey-",
    ),
    "eyJ",
)
# Names of secrets in Japanese (japanese_values.py), half-width kana included.
JAPANESE_NAMES = (
    "パスワード",
    "ﾊﾟｽﾜｰﾄﾞ",
    "パスフレーズ",
    "パスコード",
    "暗証番号",
    "合言葉",
    "秘密鍵",
    "トークン",
    "シークレット",
    "キー",
)
_OTHER_SIGNS = (
    *("://", "bearer", "basic", "auth", "cookie", "private key", "curl", "wget", "mysql", "mariadb"),
    *(
        "sshpass",
        "docker login",
        "redis-cli",
        "openssl",
        "sig=",
        "signature=",
        "hooks.slack.com",
        "/webhooks/",
        ":aa",
    ),
    *JAPANESE_NAMES,
)
# A Discord bot token is three dotted parts of which the last is long.
LONG_PART = 27


def fold(text: str) -> str:
    """Lower the case of ``text`` and keep every character at its place."""
    # U+0130 is the one character that becomes two in lower case.
    return text.replace("İ", "I").lower()


def occurrences(text: str, word: str) -> Sequence[int]:
    """Return where ``word`` begins in ``text``, from left to right, without overlaps."""
    # Most texts hold no such word, and this runs some thirty times for each of them: the tuple costs nothing.
    start = text.find(word)
    if start < 0:
        return ()
    starts = []
    while start >= 0:
        starts.append(start)
        start = text.find(word, start + len(word))
    return starts


def may_hold_private(text: str) -> bool:
    """Tell whether a ``<private>`` tag can stand in ``text``."""
    lowered = fold(text)
    for start in occurrences(lowered, "private"):
        before = lowered[max(0, start - 2 * TAG_SPACE - 2) : start].rstrip().removesuffix("/").rstrip()
        if before.endswith(("<", "＜")):
            return True
    return False


def may_hold_secret(text: str) -> bool:
    """Tell whether ``secrets.mask_secrets`` can find something to mask in ``text``."""
    lowered = fold(text)
    if any(sign in lowered for sign in _OTHER_SIGNS) or any(prefix in text for prefix in TOKEN_PREFIXES):
        return True
    return _has_named_value(lowered) or any(len(part) >= LONG_PART for part in text.split(".")[2:])


def _has_named_value(lowered: str) -> bool:
    for word in NAME_WORDS:
        for start in occurrences(lowered, word):
            near = lowered[max(0, start - 64) : start + _NAME_WINDOW]
            if any(sign in near for sign in _NAME_SIGNS) or any(sign in near for sign in _ASKING_WORDS):
                return True
    return False
