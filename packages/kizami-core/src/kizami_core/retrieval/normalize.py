"""One normal form for what is indexed and what is asked.

NFKC folds full-width Latin and half-width katakana; lower case folds the rest. Repetition marks are spelled
out, so that 佐々木 and 佐佐木 agree and 佐々木 and 佐々野 don't agree by 々 alone.
"""

from __future__ import annotations

import unicodedata


def normalize(text: str) -> str:
    """Return ``text`` in NFKC with 々 spelled out; the case is kept (identifiers are split by it)."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        at = text.find("々")
        while at > 0:
            text = f"{text[:at]}{text[at - 1]}{text[at + 1 :]}"
            at = text.find("々", at + 1)
    return text


def fold(text: str) -> str:
    """Return the form in which texts are compared: ``normalize`` in lower case."""
    return normalize(text).lower()
