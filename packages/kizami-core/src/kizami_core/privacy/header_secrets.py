"""Secrets in HTTP headers: ``Authorization``, bearer and basic credentials wherever they stand, cookies."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64

from kizami_core.privacy.literal_values import stands_for_another
from kizami_core.privacy.triggers import occurrences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.spans import Span

_AUTHORIZATION = (
    r"authorization(?:\\{0,4}[\"'`\]]|\*\*){0,3}[ \t]{0,9}[:=,][ \t]{0,9}\\{0,4}[\"'`]?"
    r"(?:(?P<scheme>bearer|basic|token|apikey|api-key|negotiate|digest|key|bot)[ \t]{1,4})?"
    r"(?P<secret>[A-Za-z0-9._~+/=:\-]{6,})"
)
# The same as a basic credential: .npmrc's _auth and the "auth" of Docker's config.json.
_AUTH = r"auth(?:\\{0,4}[\"'])?[ \t]{0,9}[:=][ \t]{0,9}\\{0,4}[\"']?(?P<secret>[A-Za-z0-9+/]{6,}={0,2})"
_BEARER = r"bearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/\-]{8,}=*)"
_BASIC = r"basic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})"
_COOKIES = r"cookie\\?[\"'`]?[ \t]{0,4}[:=]?[ \t]{0,4}\\?[\"'`]?(?P<pairs>[\w.\-]{1,64}=[^\n\"'`\\]{1,4096})"
_COOKIE = r"(?:^|;\s{0,9})(?P<name>[\w.\-]{1,64})=(?P<secret>[^;\s,]+)"
_COOKIE_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "priority", "version"})
_COOKIE_NAMES = r".*(?:sess|sid|token|auth|jwt|csrf|xsrf|login|remember|secret|identity).*"
_LONG_LETTERS = 16
_LONG_COOKIE = 20


def find_header_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of credentials in headers; ``lowered`` is ``fold(text)``."""
    for start in occurrences(lowered, "auth"):
        # EndpointAuthorization is another word; Proxy-Authorization and http_authorization are this one.
        if text[start - 1 : start].isalpha():
            continue
        if lowered.startswith("authorization", start):
            match = re.compile(_AUTHORIZATION, re.IGNORECASE).match(text, start)
            is_secret = match is not None and _is_credential(
                text, match, is_certain=match["scheme"] is not None
            )
        else:
            match = re.compile(_AUTH, re.IGNORECASE).match(text, start)
            is_secret = match is not None and _is_basic(match["secret"])
        if match and is_secret:
            yield match.span("secret")
    for start in occurrences(lowered, "bearer"):
        match = re.compile(_BEARER, re.IGNORECASE).match(text, start)
        if match and _is_credential(text, match, is_certain=False):
            yield match.span("secret")
    for start in occurrences(lowered, "basic"):
        match = re.compile(_BASIC, re.IGNORECASE).match(text, start)
        if match and _is_basic(match["secret"]):
            yield match.span("secret")
    behind = 0
    for start in occurrences(lowered, "cookie"):
        match = re.compile(_COOKIES, re.IGNORECASE).match(text, start) if start >= behind else None
        if match:
            behind = match.end()
            yield from _cookies(text, match.span("pairs"))


def _is_credential(text: str, match: re.Match[str], *, is_certain: bool) -> bool:
    secret = match["secret"]
    if stands_for_another(secret) or text[match.end() : match.end() + 1] in {"(", "[", "{", "<"}:
        return False
    has_digit = any(sign.isdigit() for sign in secret)
    has_letter = any(sign.isalpha() for sign in secret)
    if is_certain:
        return has_digit or len(secret) >= _LONG_LETTERS or secret.endswith("=")
    return has_digit and has_letter and re.fullmatch(r"[A-Za-z_.]+\d?(?:[-.].*)?", secret) is None


def _is_basic(secret: str) -> bool:
    try:
        plain = a2b_base64(secret + "=" * (-len(secret) % 4))
    except Error:
        return False
    return b":" in plain and plain.isascii() and plain.decode("ascii").isprintable()


def _cookies(text: str, span: Span) -> Iterator[Span]:
    for cookie in re.compile(_COOKIE).finditer(text[slice(*span)]):
        name = cookie["name"].lower()
        if name in _COOKIE_ATTRIBUTES or stands_for_another(cookie["secret"]):
            continue
        if re.fullmatch(_COOKIE_NAMES, name) or (
            len(cookie["secret"]) >= _LONG_COOKIE and re.search(r"\d", cookie["secret"])
        ):
            yield span[0] + cookie.start("secret"), span[0] + cookie.end("secret")
