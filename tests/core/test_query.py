import pytest

from kizami_core.retrieval.query import QueryWord, analyze_query


def surfaces(prompt):
    return [word.surface for word in analyze_query(prompt).words]


def test_words_are_distinct_and_in_order():
    assert analyze_query("木星 Zebra 木星").words == (
        QueryWord("木星", ("木星",)),
        QueryWord("Zebra", ("zebra",)),
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "はい",
        "ok",
        "続けて",
        "続けてください",
        "ありがとうございます！",
        "お願いします",
        "よろしくお願いいたします。",
        "進めてください",
        "了解です",
        "please continue",
        "Thanks, looks good!",
        "yes, go ahead",
        "👍",
        "",
        "  \n",
        "…！？",
    ],
)
def test_chat_has_no_words(prompt):
    assert analyze_query(prompt).words == ()


@pytest.mark.parametrize(
    ("plain", "polite"),
    [
        ("Kubernetes の HPA の閾値", "お願いがあります。確認してください。Kubernetes の HPA の閾値"),
        ("retry budget of the worker", "Hi, could you please help me. retry budget of the worker, thanks!"),
    ],
)
def test_politeness_adds_no_words(plain, polite):
    assert surfaces(polite) == surfaces(plain)


def test_long_prompt_keeps_the_words_at_both_ends():
    log = "\n".join(f"worker{number} finished job{number}" for number in range(5_000))
    found = analyze_query(f"zebra 除外制約\n{log}\nquokka 認証").words
    assert [word.surface for word in (*found[:2], *found[-2:])] == ["zebra", "除外制約", "quokka", "認証"]
    assert len(found) <= 80
    assert sum(len(word.terms) for word in found) <= 160


def test_terms_are_bounded_too():
    run = "".join(chr(0x4E00 + number) for number in range(400))
    query = analyze_query(f"zebra {run} quokka")
    assert [word.surface for word in query.words] == ["zebra", "quokka"]


@pytest.mark.parametrize("prompt", ["\ud83d broken", "a\x00b", "ａ" * 50, "%_\\\"'", "NOT AND OR NEAR("])
def test_any_text_is_a_query(prompt):
    assert "\x00" not in analyze_query(prompt).text.encode("utf-8").decode()


def test_alternative_is_looked_up_as_a_whole_word_where_the_index_has_one():
    (word,) = analyze_query("transaction").words
    assert word.alternatives == (("トランザクション",),)


def test_line_that_repeats_adds_nothing_to_a_query():
    line = "worker finished job-42 in src/queue.ts\n"
    once, often = analyze_query(f"在庫の競合\n{line}"), analyze_query(f"在庫の競合\n{line * 50}")
    assert (often.words, often.chat) == (once.words, once.chat)
