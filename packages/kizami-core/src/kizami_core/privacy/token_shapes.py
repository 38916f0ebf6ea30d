"""Tokens that are secret by their shape alone, wherever they stand: ``ghp_…``, ``sk-ant-…``, JWTs.

Issuers give their tokens a fixed beginning so that scanners find them; those are in ``TOKEN_PREFIXES``. The
long runs of letters, digits, ``_`` and ``-`` are found in the shape of a text, at the speed of
``bytes.find``; only those that begin like a token are looked at closely.
"""

from __future__ import annotations

import re

from kizami_core.privacy.triggers import LONG_PART, TOKEN_PREFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.spans import Span

# The shortest token known (AKIA…) has 20 characters; Slack's and Stripe's test tokens can be shorter.
_SHORTEST_RUN = 16
# One byte for each character: "x" where it can stand in a token, else " ".
_IN_TOKENS = b"-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = bytes(ord("x") if code in _IN_TOKENS else ord(" ") for code in range(256))
# What must follow a prefix; the patterns are matched from the prefix on. Prefixes not listed take _ANY_TAIL.
_ANY_TAIL = r"[A-Za-z0-9_\-]{16,}"
_MIXED = r"(?=[A-Za-z_-]*[0-9])"
_TAILS = {
    "AKIA": r"[0-9A-Z]{16}(?![A-Za-z0-9])",
    "ASIA": r"[0-9A-Z]{16}(?![A-Za-z0-9])",
    "AIza": r"[A-Za-z0-9_\-]{30,}",
    "ya29.": r"[A-Za-z0-9_\-.]{16,}",
    "1//": r"0[A-Za-z0-9_\-]{30,}",
    "xoxe.": r"(?:xox[a-z]-)?[A-Za-z0-9_\-]{16,}",
    **dict.fromkeys(("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xapp-"), r"[A-Za-z0-9\-]{11,}"),
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9_]{8,}"),
    # "sk-" also begins CSS classes in kebab case: the known second words, or one unbroken run with a digit.
    "sk-": r"(?:(?:ant|proj|svcacct|admin|or-v1|lf|None)-[A-Za-z0-9_\-]{16,}"
    r"|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}|[A-Za-z0-9]{40,})[A-Za-z0-9_\-]*",
    **dict.fromkeys(("npm_", "hf_"), rf"(?:{_MIXED}[A-Za-z0-9]{{20,}}|[A-Za-z0-9]{{30,}})(?![A-Za-z0-9_\-])"),
    "pypi-": r"(?:AgE[A-Za-z0-9_\-]{12,}|(?=[a-z0-9_\-]*[A-Z])[A-Za-z0-9_\-]{40,})",
    "SG.": r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    **dict.fromkeys(("SK", "AC"), rf"{_MIXED}[0-9a-f]{{32}}(?![A-Za-z0-9_\-])"),
    **dict.fromkeys(("hvs.", "hvb."), r"[A-Za-z0-9_\-]{20,}"),
    **dict.fromkeys(("gsk_", "xai-", "r8_", "sbp_"), rf"{_MIXED}[A-Za-z0-9]{{30,}}"),
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{40,}",
    "tskey-": rf"{_MIXED}[A-Za-z0-9\-]{{16,}}",
    # JSON web tokens (three parts) and encrypted ones (five); a cut one has at least two.
    "eyJ": r"[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){0,3}",
}
# Prefixes that end in a character which is no part of a run: the run begins after it.
_DOTTED = tuple(prefix for prefix in TOKEN_PREFIXES if prefix[-1] == "." or "/" in prefix)
_STARTS = frozenset(prefix[:2] for prefix in TOKEN_PREFIXES)
_LEADS = frozenset("\\%./:")
_PLAIN = tuple(prefix for prefix in TOKEN_PREFIXES if prefix not in _DOTTED)
# Tokens without a prefix: those of Telegram's bots (digits, ":AA…") and of Discord's (three parts).
_TELEGRAM_NUMBER = r"(?<!\d)\d{6,12}:\Z"
_DISCORD_HEAD = (
    r"(?:(?<![A-Za-z0-9_\-.])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
    r"[MNO][A-Za-z0-9_\-]{22,27}\.[A-Za-z0-9_\-]{6,7}\.\Z"
)
_SHORTEST_TELEGRAM = 32
# What may stand before a token: no letter or digit, unless it belongs to an escape.
_FREE_START = r"(?:\A|[^A-Za-z0-9_]|\\[nrt]|%[0-9A-F]{2})\Z"


def find_tokens(text: str) -> Iterator[Span]:
    """Yield the spans of tokens in ``text``, from left to right."""
    for run_start, run_end in _long_runs(text):
        start = _after_escape(text, run_start)
        before = text[max(0, start - 40) : start]
        if text.startswith(_PLAIN, start):
            prefix = next(prefix for prefix in _PLAIN if text.startswith(prefix, start))
        elif before.endswith(_DOTTED):
            prefix = next(prefix for prefix in _DOTTED if before.endswith(prefix))
            start -= len(prefix)
            if re.search(_FREE_START, before[: -len(prefix)]) is None:
                continue
        else:
            head = _unprefixed_head(before, text[start:run_end])
            if head:
                yield start - head, run_end
            continue
        match = re.compile(_TAILS.get(prefix, _ANY_TAIL)).match(text, start + len(prefix))
        if match is not None:
            yield start, match.end()


def _long_runs(text: str) -> Iterator[Span]:
    """Yield the spans of the runs that are long enough to be tokens and begin like one."""
    shape = text.encode("latin-1", "replace").translate(_SHAPE)
    start = shape.find(b"x" * _SHORTEST_RUN)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        while start < end and text[start] == "-":
            start += 1
        # Nearly all runs are words of code.
        begins_like_one = text[start : start + 2] in _STARTS or text[start - 1 : start] in _LEADS
        if begins_like_one and end - start >= _SHORTEST_RUN:
            yield start, end
        start = shape.find(b"x" * _SHORTEST_RUN, end)


def _after_escape(text: str, start: int) -> int:
    """Skip what belongs to an escape: in JSON inside of JSON or in a URL it seems to begin the run."""
    if text[start - 1 : start] == "\\" and text[start] in "nrt":
        return start + 1
    if text[start - 1 : start] == "%":
        return start + 2
    return start


def _unprefixed_head(before: str, run: str) -> int:
    """Return the length of what stands before a run and makes a bot token of it, or 0."""
    if before.endswith(":") and run.startswith("AA") and len(run) >= _SHORTEST_TELEGRAM:
        head = re.search(_TELEGRAM_NUMBER, before)
    elif before.endswith(".") and len(run) >= LONG_PART:
        head = re.search(_DISCORD_HEAD, before)
    else:
        return 0
    return len(head[0]) if head else 0
