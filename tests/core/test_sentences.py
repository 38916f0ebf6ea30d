import pytest

from kizami_core.retrieval.sentences import fitting, shorten, split_chunk, split_line
from kizami_core.transcript.tokens import weigh


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("一つ。二つ！三つ？", ["一つ。", "二つ！", "三つ？"]),
        ("本当に！？ はい。", ["本当に！？ ", "はい。"]),
        ("「はい。」と答えた。次。", ["「はい。」と答えた。", "次。"]),
        ("（注。）本文。　続き", ["（注。）本文。　", "続き"]),
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ("1. first, in 3.11. then", ["1. first, in 3.11. then"]),
        ("Use a queue, e.g. this one. Done.", ["Use a queue, e.g. this one. ", "Done."]),
        ("src/app.ts fails", ["src/app.ts fails"]),
        ("", []),
    ],
)
def test_line_is_cut_after_its_sentences(line, expected):
    assert split_line(line) == expected


def test_chunk_is_told_apart_by_sections_and_kinds():
    long = "とても長い説明の文がここにあり、まだ続きます。" * 2
    code = "```py\n  x = 1\n\n```"
    content = f"before\n[User]\nなぜ？ 短い。\n\n[Assistant] {long}\n{code}\n[Tool: Bash] ls → ok\nout"
    assert [(part.section, part.marker, part.text, part.kind) for part in split_chunk(content)] == [
        (0, "", "before", "line"),
        (1, "[User]", "なぜ？ 短い。", "line"),
        (2, "[Assistant]", long[: len(long) // 2], "line"),
        (2, "[Assistant]", long[: len(long) // 2], "continued"),
        (2, "[Assistant]", "```py", "fence"),
        (2, "[Assistant]", "  x = 1", "line"),
        (2, "[Assistant]", "```", "fence"),
        (3, "[Tool: Bash]", "ls → ok", "line"),
        (3, "[Tool: Bash]", "out", "line"),
    ]


def test_fence_that_was_left_open_ends_with_its_section():
    parts = split_chunk("[Tool: Read] a.md → ```\n  code\n[Assistant]\n  text\n```one line```\n  more")
    assert [part.text for part in parts] == ["a.md → ```", "code", "text", "```one line```", "more"]
    parts = split_chunk("[Assistant]\n```\n  code\n[Assistant]\n  text")
    assert [part.text for part in parts] == ["```", "  code", "text"]


def test_tool_marker_without_an_end_is_text():
    assert [(part.marker, part.text) for part in split_chunk("[Tool: x")] == [("", "[Tool: x")]


def test_only_what_is_too_long_is_cut_into_clauses():
    short, long = "短い文です。" * 6, "一つめの句があり、" * 8
    parts = split_chunk(f"[Assistant]\n{short}\n{long}")
    shortened = shorten(parts, longest=weigh("あ" * 30), clause=weigh("あ" * 20))
    assert "".join(part.text for part in shortened) == short + long
    assert [part.kind for part in shortened] == ["line", *["continued"] * 5, "line", *["clause"] * 3]
    assert {part.text for part in shortened[6:]} == {"一つめの句があり、" * 2}


def test_clause_without_a_place_to_cut_is_cut_between_characters():
    (part,) = split_chunk("👍🏽" * 50)
    pieces = [clause.text for clause in shorten([part], 100, weigh("👍🏽") * 2 + 1)]
    assert pieces == ["👍🏽👍🏽"] * 25


def test_clause_is_at_least_one_character():
    (part,) = split_chunk("長い")
    assert [clause.text for clause in shorten([part], 1, 1)] == ["長", "い"]


def test_fitting_is_the_most_that_keeps_the_weight():
    assert [fitting("あああ", weigh("ああ") + extra) for extra in (-1, 0, 1)] == [1, 2, 2]
    assert (fitting("", 10), fitting("あ", 0), fitting("ああ", 10_000)) == (0, 0, 2)
