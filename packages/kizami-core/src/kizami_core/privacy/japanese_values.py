"""Secrets told in Japanese: パスワード：…, パスワードは … です, 暗証番号は…, トークンを … に変更."""

from __future__ import annotations

import re

from kizami_core.privacy.literal_values import is_mixed, is_quoted_secret, is_unquoted_secret
from kizami_core.privacy.triggers import JAPANESE_NAMES, JAPANESE_QUALIFIERS, occurrences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.secret_names import Kind
    from kizami_core.privacy.spans import Span

_KINDS: dict[str, Kind] = {"トークン": "token", "秘密鍵": "key", "シークレット": "secret", "キー": "key"}
# Each of JAPANESE_NAMES holds one of these.
JAPANESE_SIGNS = ("ー", "ﾊﾟｽ", "暗証番号", "合言葉", "秘密鍵")
# Quoted values may be Japanese; others are printable ASCII, half or full width, without what ends a sentence.
_LINK = (
    r"(?:キー)?[」』】)）\"'`*]{0,3}[ \t\u3000]{0,9}"
    r"(?:(?P<colon>[:：=＝])\*{0,2}|(?P<particle>は、?|が|を|(?=[ \t\u3000])))[ \t\u3000]{0,9}"
    r"(?:「(?P<corner>[^」\n]{1,200})」|『(?P<double>[^』\n]{1,200})』|[\"“](?P<straight>[^\"”\n]{1,200})[\"”]"
    r"|'(?P<single>[^'\n]{1,200})'|`(?P<code>[^`\n]{1,200})`"
    r"|(?P<run>[!#-&*+\-./0-9:;=?@A-Z\\^_a-z|~！＃-＆＊＋－．０-９：；＝？＠Ａ-Ｚ＾＿ａ-ｚ｜～]{3,256}))"
)
# What follows a value that was just stated or set, not described ("パスワードはbcryptで…").
_STATED = (
    r"[ \t\u3000]?(?:です|でした|だ|だった|にし|に変|に設|に更新|に再設|に統一|を使"
    r"|でお願い|と|で(?:ログイン|入|OK|接続)"
    r"|。|、|）|\)|」|\s*(?:\n|\Z))"
)
_LIMIT = r"[ \t]?(?:文字|桁|回|個|日|分|秒|時間|件|種|つ|以上|以下|未満|ヶ月|か月|か所|%|％|円|番目|世代)"
_SHORTEST_CODE = 4
_SHORTEST_BARE = 6
_SHORTEST_TOKEN = 12


def find_japanese_values(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of values beside Japanese secret names; ``lowered`` is ``fold(text)``."""
    link_pattern = re.compile(_LINK)
    for word in JAPANESE_NAMES:
        for start in occurrences(lowered, word):
            if word == "キー" and not lowered[max(0, start - 6) : start].rstrip(" _-").endswith(
                JAPANESE_QUALIFIERS
            ):
                continue
            link = link_pattern.match(text, start + len(word))
            if link is not None and _is_secret(text, link, _KINDS.get(word, "password")):
                yield _span(link)


def _span(link: re.Match[str]) -> Span:
    start, end = link.span(link.lastgroup or 0)
    return start, end - (len(link["run"]) - len(link["run"].rstrip(".:")) if link["run"] else 0)


def _is_secret(text: str, link: re.Match[str], kind: Kind) -> bool:
    start, end = _span(link)
    value = text[start:end]
    if link["run"] is None:
        # "パスワードが「必須」です" describes it.
        is_value = link["colon"] or is_mixed(value) or (kind == "password" and value.isascii())
        return bool(is_value) and is_quoted_secret(value, kind)
    if text[end : end + 1] in {"(", "[", "{"} or re.compile(_LIMIT).match(text, end):
        return False
    if value.isdecimal():
        return kind == "password" and len(value) >= _SHORTEST_CODE
    if link["colon"]:
        return is_unquoted_secret(
            value, text[end : end + 1], kind, "assigned" if kind == "password" else "line"
        )
    if not is_unquoted_secret(value, "", kind, "assigned" if kind == "password" else "inline"):
        return False
    if not link["particle"]:
        return len(value) >= _SHORTEST_BARE and is_mixed(value)
    is_stated = re.compile(_STATED).match(text, end) is not None
    if kind == "password":
        return is_stated or is_mixed(value)
    return len(value) >= _SHORTEST_TOKEN and is_mixed(value)
