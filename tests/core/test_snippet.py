import pytest

from kizami_core.retrieval.snippet import cut, snippet
from kizami_core.transcript.tokens import estimate_tokens

EXCHANGE = """[User]
フォームの入力値はどう管理する？

[Assistant]
まず調べます。小規模なら `useState` で足ります。複雑な検証が要る画面では React Hook Form を採用します。
理由は3つあります。1. 再描画が少ない 2. 検証を宣言できる 3. 型が付く

ほかの画面は今のままです。見た目は変えていません。

[Tool: Edit] src/components/Form.tsx → ok"""


def test_short_exchange_is_shown_whole_without_blank_lines():
    content = "[User]\nなぜ？\n\n[Assistant]\nこうだから。\n\n[Tool: Bash] npm test → 3 passed"
    assert (
        snippet(content, {}, 200)
        == "[User] なぜ？\n[Assistant] こうだから。\n[Tool: Bash] npm test → 3 passed"
    )


def test_sentence_with_the_evidence_is_shown_with_the_question():
    shown = snippet(EXCHANGE, {"複雑": 0.9, "検証": 0.8}, 70)
    assert shown.startswith("[User] フォームの入力値はどう管理する？\n[Assistant] ")
    assert "複雑な検証が要る画面では React Hook Form を採用します。" in shown
    assert "ほかの画面" not in shown


def test_what_is_left_out_is_marked():
    shown = snippet(EXCHANGE, {"見た目": 0.9}, 40)
    assert (
        shown == "[User] フォーム…\n[Assistant] …見た目は変えていません。"
        or "…見た目は変えていません。" in shown
    )


@pytest.mark.parametrize("limit", [5, 20, 40, 70, 100, 125])
def test_limit_is_kept(limit):
    for rarities in ({}, {"検証": 0.9}, {"form": 0.5}):
        assert estimate_tokens(snippet(EXCHANGE, rarities, limit)) <= limit


def test_numbered_list_is_not_cut_after_its_numbers():
    content = "[Assistant]\n" + "\n".join(f"{n}. step number {n} with some words to it" for n in range(1, 40))
    shown = snippet(content, {"step number 7": 1.0}, 40)
    assert "7. step number 7 with some words to it" in shown


def test_piece_of_an_answer_without_a_question_is_shown():
    content = "[Assistant]\n" + "前置きです。" * 60 + "答えは42です。"
    assert "答えは42です。" in snippet(content, {"答え": 1.0}, 40)


def test_one_endless_line_is_cut():
    shown = snippet("[User]\n" + "x" * 10_000, {}, 50)
    assert shown.startswith("[User] xxx")
    assert shown.endswith("…")
    assert estimate_tokens(shown) <= 50


def test_text_without_markers_is_shown_as_it_is():
    assert snippet("plain words", {}, 50) == "plain words"


def test_cut_keeps_what_fits():
    assert cut("short", 10) == "short"
    assert cut("あ" * 100, 10).endswith("…")
    assert estimate_tokens(cut("あ" * 100, 10)) <= 10


def test_cut_to_nothing_is_empty():
    assert cut("あ" * 100, 0) == ""
