"""Secrets in URLs: ``scheme://user:password@host``, signatures, and webhooks whose path is the secret."""

from __future__ import annotations

import re

from kizami_core.privacy.literal_values import stands_for_another
from kizami_core.privacy.triggers import occurrences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.spans import Span

# The password may hold "@" itself: everything up to the last one before the path.
_USERINFO = r"://[^\s/?#:@\"'`<>\\]{0,128}:(?P<secret>[^\s/?#\"'`<>\\]{1,256})@(?=[\w\[$%{])"
_TOKEN_AS_USER = r"://(?P<secret>(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,})(?::|:x-oauth-basic)?@(?=\w)"
# The secret after each of these signs; the signs are in lower case.
_SIGNED = {
    "?sig=": r"\?sig=(?P<secret>[a-z0-9%+/=_-]{16,})",
    "&sig=": r"&sig=(?P<secret>[a-z0-9%+/=_-]{16,})",
    "-signature=": r"-signature=(?P<secret>[a-z0-9%+/=_-]{16,})",
    "hooks.slack.com/": r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[a-z0-9/_-]{8,})",
    "/webhooks/": r"/webhooks/\d{6,}/(?P<secret>[a-z0-9_-]{20,})",
}


def find_url_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of secrets in URLs; ``lowered`` is ``fold(text)``."""
    starts = occurrences(text, "://")
    if not starts:
        return
    for start in starts:
        match = re.compile(_USERINFO).match(text, start) or re.compile(_TOKEN_AS_USER).match(text, start)
        if match and not _is_reference(match["secret"]):
            yield match.span("secret")
    for sign, pattern in _SIGNED.items():
        for start in occurrences(lowered, sign):
            match = re.compile(pattern, re.IGNORECASE).match(text, start)
            if match:
                yield match.span("secret")


def _is_reference(password: str) -> bool:
    return stands_for_another(password) or password[0] in "${%<["
