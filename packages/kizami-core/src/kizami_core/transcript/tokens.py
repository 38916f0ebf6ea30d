"""How many tokens a text takes, estimated without a tokenizer.

Every UTF-8 byte has a weight: the lead byte of a character stands for the whole character, so the scripts are
told apart at the speed of ``bytes.translate``. The weights were fitted by least squares on the relative error
against the tokenizer that Anthropic published for Claude (``anthropic/tokenizer.json`` of anthropic 0.38.0)
and
rounded. Estimate divided by that tokenizer's count, measured by ``benchmarks/token_estimate.py``:

============  =====  =====  =====  ==================
text          mean   p5     p95    characters/4, mean
============  =====  =====  =====  ==================
Japanese      0.99   0.90   1.07   0.23
ja with en    1.00   0.92   1.07   0.50
English       1.01   0.81   1.19   1.05
code          0.98   0.83   1.14   0.93
tool output   1.02   0.74   1.23   0.83
============  =====  =====  =====  ==================

The weight of two texts joined is the sum of their weights: the chunker relies on it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WEIGHT_OF_A_TOKEN = 80


def _weights() -> bytes:
    table = bytearray(256)

    def assign(codes: Iterable[int], weight: int) -> None:
        for code in codes:
            table[code] = weight

    assign(range(0x80), 80)  # control characters; the rest of ASCII follows
    assign(range(0x21, 0x7F), 25)  # punctuation
    assign(range(0x41, 0x5B), 16)
    assign(range(0x61, 0x7B), 19)
    assign(range(0x30, 0x3A), 87)
    assign(b" ", 7)  # mostly part of the word behind it
    assign(b"\n", 120)  # mostly with an indentation
    assign(b"\t", 96)
    # Continuation bytes (0x80 to 0xBF) keep 0: the lead byte counts for the character.
    assign(range(0xC2, 0xE0), 64)  # accented Latin, Greek, Cyrillic, Arabic
    assign(range(0xE0, 0xE3), 88)  # Indic scripts, Thai, typographic signs
    assign([0xE3], 76)  # kana
    assign(range(0xE4, 0xEA), 108)  # kanji
    assign(range(0xEA, 0xEF), 88)  # Hangul
    assign([0xEF], 80)  # full-width and half-width forms
    assign(range(0xF0, 0xF5), 240)  # emoji, rare kanji
    return bytes(table)


_WEIGHTS = _weights()
LINE_BREAK_WEIGHT = _WEIGHTS[ord("\n")]


def weigh(text: str) -> int:
    """Return the weight of a text; ``WEIGHT_OF_A_TOKEN`` of it make one token."""
    return sum(text.encode("utf-8", "surrogatepass").translate(_WEIGHTS))


def weigh_lines(text: str) -> list[int]:
    """Return the weight of each line of a text, with a line break behind every one."""
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    return [sum(line.translate(_WEIGHTS)) + LINE_BREAK_WEIGHT for line in lines]


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text takes, rounded up; 0 for an empty one."""
    return -(-weigh(text) // WEIGHT_OF_A_TOKEN)
