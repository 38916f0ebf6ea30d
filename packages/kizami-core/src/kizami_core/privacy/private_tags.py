"""``<private>…</private>``: what a person marks as private is never stored.

Tags may be nested, in any case, with attributes or white space, and typed with full-width brackets. A
region that is never closed is private to the end of the text; ``<private/>`` opens one, too. A closing tag
without an opening one is text.
"""

from __future__ import annotations

import re

from kizami_core.privacy.triggers import TAG_SPACE, may_hold_private

PRIVATE_MARKER = "[private]"
_SPACE = rf"\s{{0,{TAG_SPACE}}}"
_TAG = rf"[<＜]{_SPACE}(/?){_SPACE}private(?:\s[^<>＜＞]*+|/{_SPACE})?[>＞]"


def strip_private(text: str) -> str:
    """Replace every private region by ``PRIVATE_MARKER``. Idempotent; linear in the length of the text."""
    if not may_hold_private(text):
        return text
    kept: list[str] = []
    position = depth = 0
    for tag in re.compile(_TAG, re.IGNORECASE).finditer(text):
        if tag[1]:
            if depth == 1:
                position = tag.end()
            depth = max(0, depth - 1)
        else:
            if depth == 0:
                kept.append(text[position : tag.start()])
                kept.append(PRIVATE_MARKER)
            depth += 1
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)
