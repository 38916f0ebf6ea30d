"""Names whose value is a secret: ``password``, ``DB_PASS``, ``apiKey``, ``AWS_SECRET_ACCESS_KEY``.

A name is secret by its last word, so ``token_count``, ``max_tokens``, ``passwordLabel`` and ``primary_key``
are not, while ``DB_PASSWORD_PROD`` is: words that only say which one it is may follow.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kizami_core.privacy.triggers import (
    KEY_QUALIFIERS,
    NAME_RESTS,
    NAME_SUFFIXES,
    NAME_WORDS,
    fold,
    occurrences,
)
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    Kind = Literal["password", "secret", "token", "key"]

_SUFFIX = rf"(?:[_-]?(?:(?i:{'|'.join(NAME_SUFFIXES)})(?![a-z])|\d{{1,3}})){{0,2}}(?![A-Za-z0-9_])"
_SPACED_KEY_QUALIFIERS = KEY_QUALIFIERS[-6:]
_LONGEST_QUALIFIER = 10
_LONGEST_PREFIX = 64
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_WORKING_DIRECTORIES = frozenset({"PWD", "OLDPWD"})


class SecretName(Record):
    """A secret name in a text and its span; ``is_weak`` says that the name proves little."""

    kind: Kind
    start: int
    end: int
    is_weak: bool


@lru_cache(maxsize=256)  # the keys of tools' inputs
def is_secret_name(name: str) -> bool:
    """Tell whether the value under this key, variable or field is a secret."""
    return any(found.end == len(name) for found in secret_names(name, fold(name)))


def secret_names(text: str, lowered: str) -> Iterator[SecretName]:
    """Yield the secret names in ``text`` from left to right; ``lowered`` is ``fold(text)``."""
    heads = [(head, word) for word in NAME_WORDS for head in occurrences(lowered, word)]
    if not heads:
        return
    suffix = re.compile(_SUFFIX)
    for head, word in sorted(heads):
        head_end = head + len(word)
        head_end += next(
            (len(rest) for rest in NAME_RESTS.get(word, ()) if lowered.startswith(rest, head_end)), 0
        )
        end = suffix.match(text, head_end)
        found = _name(text, lowered, head, head_end, end.end()) if end else None
        if found is not None:
            yield found


def _name(text: str, lowered: str, head: int, head_end: int, end: int) -> SecretName | None:
    start = head
    while start > max(0, head - _LONGEST_PREFIX) and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    match lowered[head:head_end]:
        case "key":
            return SecretName("key", start, end, is_weak=False) if _is_qualified_key(lowered, head) else None
        case "secret":
            return SecretName("secret", start, end, is_weak=False)
        case "token":
            return SecretName("token", start, end, is_weak=False)
        case "pass" | "pw" | "pwd":
            # A word of its own, or the last one of DB_PASS, dbPass, smtp-pwd; not of bypass.
            is_camel = text[head].isupper() and text[head - 1].islower()
            begins_word = head == start or text[head - 1] in "_-." or is_camel
            is_name = begins_word and text[start:end] not in _WORKING_DIRECTORIES
            return SecretName("password", start, end, is_weak=head == start) if is_name else None
        case _:
            return SecretName("password", start, end, is_weak=False)


def _is_qualified_key(lowered: str, head: int) -> bool:
    before = lowered[max(0, head - _LONGEST_QUALIFIER - 1) : head]
    if before.endswith(" "):
        return before[:-1].endswith(_SPACED_KEY_QUALIFIERS)
    return before.rstrip("_-").endswith(KEY_QUALIFIERS)
