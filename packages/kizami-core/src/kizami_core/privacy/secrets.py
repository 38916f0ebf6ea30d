"""Masking of secrets: passwords, keys and tokens never reach the database, nor the prompt from old rows.

Finders look for one kind of secret each and yield the spans of the values; the names beside them stay
readable. They err on the side of code: what is stored is meant to be read again (``literal_values``).
"""

from __future__ import annotations

from kizami_core.privacy.command_secrets import find_command_secrets
from kizami_core.privacy.header_secrets import find_header_secrets
from kizami_core.privacy.japanese_values import JAPANESE_SIGNS, find_japanese_values
from kizami_core.privacy.named_values import find_named_values
from kizami_core.privacy.private_keys import find_private_keys
from kizami_core.privacy.token_shapes import find_tokens
from kizami_core.privacy.triggers import NAME_WORDS, fold
from kizami_core.privacy.url_secrets import find_url_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.privacy.spans import Span

SECRET_MARKER = "[redacted]"
# A mask can bring a name and another value together; that settles in the second round.
_MOST_ROUNDS = 4
# Of the signs beside a finder one stands in every text, in lower case, in which it finds anything. Most texts
# are short and hold none.
_FINDERS = (
    (NAME_WORDS, find_named_values),
    (("auth", "bearer", "basic", "cookie"), find_header_secrets),
    (("://",), find_url_secrets),
    ((" -",), find_command_secrets),
    (JAPANESE_SIGNS, find_japanese_values),
)


def mask_secrets(text: str) -> str:
    """Replace the value of every secret by ``SECRET_MARKER``. Idempotent; linear in its length."""
    for _ in range(_MOST_ROUNDS):
        spans = find_secrets(text)
        if not spans:
            break
        parts: list[str] = []
        position = 0
        for start, end in spans:
            parts += (text[position:start], SECRET_MARKER)
            position = end
        text = "".join((*parts, text[position:]))
    return text


def find_secrets(text: str) -> list[Span]:
    """Return the spans of secret values, from left to right, none touching another."""
    lowered = fold(text)
    spans = list(find_tokens(text))
    for signs, find in _FINDERS:
        for sign in signs:
            if sign in lowered:
                spans += find(text, lowered)
                break
    if "-----" in text:
        spans += find_private_keys(text)
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
