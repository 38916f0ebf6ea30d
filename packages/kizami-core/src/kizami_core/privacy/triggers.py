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
# How such a word may go on, and what may follow it to say which secret it is.
NAME_RESTS = {"pass": ("word", "wd", "phrase", "code"), "pw": ("d",)}
NAME_SUFFIXES = tuple(
    """
    base prod production dev development staging live sandbox local old new current previous primary secondary
    confirm confirmation repeat again b64 base64 hex
    """.split()
)
# "key" says nothing by itself; these words before it make it a secret, the second line's also with a space.
KEY_QUALIFIERS = (
    *("auth", "account", "master", "shared", "license", "webhook", "hmac", "jwt", "app", "consumer"),
    *("api", "access", "secret", "private", "encryption", "signing"),
)
# What may follow a name, after what closes it; named_values.py says what each of these means.
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_CLOSERS = "\\\"'`]*!?"
_SEPARATORS = (
    *("=", ":", "：", "＝", ">", "|", "+", "(", "value"),
    *("is ", "is\t", "is:", "was ", "was\t", "to ", "to\t"),
)
_QUOTES = ('"', "'", "`")
_QUOTE_PREFIXES = "\\rbfu$@"
_COMMANDS_BEFORE = ("env ", "env\t", "arg ", "arg\t", "set ", "set\t", "setx")
# White space between "<" and the tag's name, at most (private_tags.py allows the same).
TAG_SPACE = 8

# Beginnings of tokens whose shape alone says that they are secret (token_shapes.py), as they are written.
TOKEN_PREFIXES = tuple(
    """
    ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glsoat- glcbt- glft-
    AKIA ASIA AIza ya29. GOCSPX- 1// xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxe. xapp-
    sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sk- npm_ pypi- hf_ SG. SK AC dop_v1_ doo_v1_ dor_v1_
    shpat_ shpss_ shpca_ shppa_ dckr_pat_ hvs. hvb. glsa_ gsk_ xai- r8_ lin_api_ figd_ PMAK- NRAK-
    ATATT3x sbp_ sntrys_ rubygems_ AGE-SECRET-KEY-1 tskey- eyJ
    """.split()
)
# Prefixes that many words hold, too: hexadecimal digits must follow.
_HEXADECIMAL_PREFIXES = ("SK", "AC")
_TELLING_PREFIXES = tuple(prefix for prefix in TOKEN_PREFIXES if prefix not in _HEXADECIMAL_PREFIXES)
_HEXADECIMAL_LENGTH = 34
# A Discord bot token is three dotted parts: the second is short, the last is long.
LONG_PART = 27
_SHORT_PARTS = (6, 7)
# Names of secrets in Japanese (japanese_values.py), half-width kana included.
JAPANESE_NAMES = tuple(
    "パスワード ﾊﾟｽﾜｰﾄﾞ パスフレーズ パスコード 暗証番号 合言葉 秘密鍵 トークン シークレット キー".split()
)
# "キー" alone is any key; these words before it make it a secret one.
JAPANESE_QUALIFIERS = ("api", "ａｐｉ", "アクセス", "シークレット", "認証", "暗号化", "秘密")
_JAPANESE_CLOSERS = "」』】)）\"'`*"
_JAPANESE_LINKS = (":", "：", "=", "＝", "は", "が", "を")
_JAPANESE_QUOTES = ("「", "『", '"', "“", "'", "`")
# Words in lower case that headers, commands, URLs and private keys begin with.
_OTHER_SIGNS = (
    *"bearer authorization curl wget mysql mariadb sshpass redis-cli openssl".split(),
    *("basic ", "basic\t", "private key", "docker login"),
    *"sig= signature= hooks.slack.com /webhooks/ :aa".split(),
)
# A cookie's name and what stands before it, at most.
_COOKIE_LENGTH = 100


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
    if "<" not in text and "＜" not in text:
        return False
    lowered = fold(text)
    for start in occurrences(lowered, "private"):
        before = lowered[max(0, start - 2 * TAG_SPACE - 2) : start].rstrip().removesuffix("/").rstrip()
        if before.endswith(("<", "＜")):
            return True
    return False


def may_hold_secret(text: str) -> bool:
    """Tell whether ``secrets.mask_secrets`` can find something to mask in ``text``."""
    lowered = fold(text)
    return (
        any(sign in lowered for sign in _OTHER_SIGNS)
        or ("://" in text and "@" in text)
        or any(prefix in text for prefix in _TELLING_PREFIXES)
        or _has_hexadecimal_token(text)
        or _has_bot_token(text)
        or _has_named_value(lowered)
        or _has_auth(lowered)
        or any("=" in lowered[start : start + _COOKIE_LENGTH] for start in occurrences(lowered, "cookie"))
        or _has_japanese_value(lowered)
    )


def _has_hexadecimal_token(text: str) -> bool:
    starts = [start for prefix in _HEXADECIMAL_PREFIXES for start in occurrences(text, prefix)]
    return any(text[start : start + _HEXADECIMAL_LENGTH].isalnum() for start in starts)


def _has_auth(lowered: str) -> bool:
    starts = occurrences(lowered, "auth")
    return any(lowered[start + 4 : start + 40].lstrip("\\\"' \t").startswith((":", "=")) for start in starts)


def _has_named_value(lowered: str) -> bool:
    for word in NAME_WORDS:
        for start in occurrences(lowered, word):
            before = lowered[max(0, start - 200) : start]
            after = lowered[start + len(word) : start + 250]
            if not _ends_name(word, before, after):
                continue
            after = after.lstrip(_NAME_CHARACTERS)
            closed = after.lstrip(_CLOSERS)
            linked = closed.lstrip(", \t\r\n\u3000")
            name = before[len(before.rstrip(_NAME_CHARACTERS)) :]
            if (
                linked.startswith(_SEPARATORS)
                or linked.lstrip(_QUOTE_PREFIXES).startswith(_QUOTES)
                or (closed != after and closed.startswith(","))
                or "-" in name
                or "login" in before
                or any(command in before[-80:] for command in _COMMANDS_BEFORE)
            ):
                return True
    return False


def _ends_name(word: str, before: str, after: str) -> bool:
    """Tell whether a name of a secret can end in ``word`` here: not in tokens, passage or foreign_key."""
    if word == "key":
        return before.rstrip("_- ").endswith(KEY_QUALIFIERS) and _goes_on(after)
    return _goes_on(after) or any(
        after.startswith(rest) and _goes_on(after[len(rest) :]) for rest in NAME_RESTS.get(word, ())
    )


def _goes_on(after: str) -> bool:
    return not ("a" <= after[:1] <= "z") or after.startswith(NAME_SUFFIXES)


def _has_japanese_value(lowered: str) -> bool:
    for word in JAPANESE_NAMES:
        for start in occurrences(lowered, word):
            if word == "キー" and not lowered[max(0, start - 9) : start].rstrip(" _-").endswith(
                JAPANESE_QUALIFIERS
            ):
                continue
            end = start + len(word)
            closed = lowered[end : end + 64].removeprefix("キー").lstrip(_JAPANESE_CLOSERS)
            link = closed.lstrip(" \t\u3000")
            if link.startswith(_JAPANESE_LINKS):
                value = link[1:].lstrip("*、 \t\u3000")
            elif link != closed:
                value = link
            else:
                continue
            if value.startswith(_JAPANESE_QUOTES) or _is_run(value[:3]):
                return True
    return False


def _is_run(text: str) -> bool:
    """Tell whether these are printable ASCII characters, half or full width."""
    return bool(text) and all("!" <= sign <= "~" or "！" <= sign <= "～" for sign in text)


def _has_bot_token(text: str) -> bool:
    parts = text.split(".")
    return any(
        len(middle) in _SHORT_PARTS and last[:LONG_PART].replace("_", "").replace("-", "").isalnum()
        for middle, last in zip(parts[1:], parts[2:], strict=False)  # noqa: RUF007 - itertools costs an import
        if len(last) >= LONG_PART
    )
