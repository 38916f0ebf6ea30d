"""Whether a prompt speaks of the past, and whether it asks."""

import pytest

from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.recollection import asks_about_the_past, is_question


@pytest.mark.parametrize(
    "prompt",
    [
        "キャッシュの期限、何分にしたっけ",
        "前に決めた命名の規則を教えて",
        "一覧が遅かった件は何が原因？",
        "Why did we drop Redis?",
        "what was the flag for that",
    ],
)
def test_what_was_decided_or_happened_is_the_past(prompt):
    assert asks_about_the_past(fold(prompt))


@pytest.mark.parametrize("prompt", ["わかった", "一つ前のほうがよかった", "テストを書いて", "add a flag"])
def test_chat_in_the_past_tense_and_orders_are_not(prompt):
    assert not asks_about_the_past(fold(prompt))


def test_only_the_ends_of_a_long_prompt_are_read():
    log = "エラー" * 300
    assert asks_about_the_past(fold(f"どう直したっけ\n{log}"))
    assert asks_about_the_past(fold(f"{log}\nどう直したっけ"))
    assert not asks_about_the_past(fold(f"{log}どう直したっけ{log}"))


@pytest.mark.parametrize(
    ("prompt", "is_one"), [("何分？", True), ("何分にしたっけ", True), ("直して", False)]
)
def test_marks_tell_a_question(prompt, is_one):
    assert is_question(fold(prompt)) is is_one
