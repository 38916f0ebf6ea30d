"""The token estimate. Expected counts are those of Anthropic's tokenizer (benchmarks/token_estimate.py)."""

import pytest

from kizami_core.transcript.tokens import WEIGHT_OF_A_TOKEN, estimate_tokens, weigh, weigh_lines


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("これはひらがなのぶんしょうです", 17),
        ("データベースコネクションプール", 15),
        ("認証方式設計判断記録永続化", 16),
        ("한국어 문장은 어떻게 처리되나요 메모리 데이터베이스를 설계합니다", 37),
        ("Привет мир как дела сегодня утром база данных", 23),
        ("┌──────────┐│└┘├─┤", 17),
    ],
)
def test_the_estimate_is_near_a_real_tokenizers_count(text, tokens):
    assert 0.7 < estimate_tokens(text) / tokens < 1.6


@pytest.mark.parametrize(
    ("text", "estimate"), [("", 0), ("a", 1), ("日本語", 5), ("x" * 400, 95), ("\ud83d", 2)]
)
def test_the_estimate_is_rounded_up(text, estimate):
    assert estimate_tokens(text) == estimate


def test_weights_add_up():
    first, second = "設計 design 🙂\n", "\tlet x = 1;\n"
    assert weigh(first + second) == weigh(first) + weigh(second)
    assert weigh_lines(first + second) == [weigh(first), weigh(second), weigh("\n")]
    assert estimate_tokens(first) == -(-weigh(first) // WEIGHT_OF_A_TOKEN)


def test_every_byte_that_begins_a_character_weighs_something():
    for code in [*range(0x80), 0xE9, 0x3B1, 0x905, 0x2026, 0x3042, 0x4E00, 0xAC00, 0xFF21, 0x1F600]:
        assert weigh(chr(code)) > 0
