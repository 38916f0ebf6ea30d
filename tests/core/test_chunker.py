"""Turns → chunks: examples. The laws stand in properties/test_chunking_properties.py."""

import pytest

from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.tokens import estimate_tokens


def paragraph(letter, tokens):
    """Return one line of about so many tokens."""
    return " ".join([letter * 4] * tokens)


def test_a_text_that_fits_is_one_chunk_and_a_blank_one_is_none():
    assert split_chunks("\n[User]\n短い\n", 512) == ["[User]\n短い"]
    assert split_chunks(" \n\n", 512) == []
    assert split_chunks("\n" * 400, 32) == []


def test_sections_are_the_first_choice():
    user = f"[User]\n{paragraph('u', 60)}"
    answer = f"[Assistant]\n{paragraph('a', 40)}\n\n{paragraph('b', 20)}"
    assert split_chunks(f"{user}\n\n{answer}", 100) == [user, answer]


def test_tool_lines_are_sections_too():
    tools = [f"[Tool: Bash] {paragraph(letter, 25)}" for letter in "abcd"]
    assert split_chunks("\n".join(tools), 64) == ["\n".join(tools[:2]), "\n".join(tools[2:])]


def test_paragraphs_are_preferred_to_lines_and_continued_answers_keep_their_mark():
    first, second, third = paragraph("a", 30), paragraph("b", 30), paragraph("c", 30)
    assert split_chunks(f"[Assistant]\n{first}\n{second}\n\n{third}", 80) == [
        f"[Assistant]\n{first}\n{second}",
        f"[Assistant]\n{third}",
    ]


def test_the_border_of_a_fence_is_preferred_to_lines():
    code = "\n".join(["```ts", paragraph("x", 20), paragraph("y", 20), "```"])
    first, second = paragraph("a", 20), paragraph("b", 20)
    assert split_chunks(f"[Assistant]\n{first}\n{second}\n{code}", 70) == [
        f"[Assistant]\n{first}\n{second}",
        f"[Assistant]\n{code}",
    ]
    tail = paragraph("c", 20)
    assert split_chunks(f"[Assistant]\n{code}\n{first}\n{tail}", 70) == [
        f"[Assistant]\n{code}",
        f"[Assistant]\n{first}\n{tail}",
    ]


def test_a_fence_that_is_split_is_closed_and_opened_again_with_its_info_string():
    lines = [f"  {paragraph(letter, 15)}" for letter in "abcd"]
    code = "\n".join(["````python title=設計.py", *lines, "````"])
    assert split_chunks(f"[Assistant]\n{code}\n", 64) == [
        "\n".join(["[Assistant]", "````python title=設計.py", *lines[:2], "````"]),
        "\n".join(["[Assistant]", "````python title=設計.py", *lines[2:], "````"]),
    ]


def test_of_a_long_info_string_what_fits_is_repeated():
    for info, repeated in (("ts " + "x" * 70, "```ts"), ("x" * 70, "```")):
        code = "\n".join([f"```{info}", paragraph("a", 40), paragraph("b", 40), "```"])
        _, second = split_chunks(f"[Assistant]\n{code}", 80)
        assert second == f"[Assistant]\n{repeated}\n{paragraph('b', 40)}\n```"


def test_fences_inside_a_longer_fence_and_fences_that_are_never_closed_are_text():
    inner = "\n".join(["~~~~md", "```", paragraph("x", 30), "~~~", paragraph("y", 30), "~~~~"])
    first, second = split_chunks(f"[Assistant]\n{inner}", 60)
    assert (first.split("\n")[1:3], first.split("\n")[-1]) == (["~~~~md", "```"], "~~~~")
    assert (second.split("\n")[1], second.split("\n")[-1]) == ("~~~~md", "~~~~")
    unclosed = f"[Assistant]\n```\n{paragraph('x', 40)}\n{paragraph('y', 40)}\n\n[Tool: Bash] x\n```"
    assert [chunk.count("```") for chunk in split_chunks(unclosed, 60)] == [1, 1]


def test_a_fence_with_an_opening_line_that_is_too_long_is_text():
    opening = "```" + "x" * 100
    chunks = split_chunks(f"[Assistant]\n{opening}\n{paragraph('a', 30)}\n```", 32)
    assert sum(chunk.count("```") for chunk in chunks) == 2


def test_an_empty_fence_is_kept():
    text = f"[Assistant]\n```\n```\n{paragraph('a', 30)}\n{paragraph('b', 30)}"
    assert split_chunks(text, 48) == [
        f"[Assistant]\n```\n```\n{paragraph('a', 30)}",
        f"[Assistant]\n{paragraph('b', 30)}",
    ]


def test_japanese_without_line_breaks_is_cut_behind_sentences():
    sentence = "認証方式はJWTにすると決めました。"
    chunks = split_chunks("[Assistant]\n" + sentence * 40, 128)
    assert all(chunk.startswith("[Assistant]\n認証") and chunk.endswith("。") for chunk in chunks)
    assert "".join(chunk.removeprefix("[Assistant]\n") for chunk in chunks) == sentence * 40


def test_closing_brackets_stay_with_their_sentence():
    chunks = split_chunks("[User]\n" + "「これでよいですか？」と聞いた！（本当に！）" * 20, 64)
    assert all(chunk.removeprefix("[User]\n")[0] not in "」）" for chunk in chunks)


def test_a_long_sentence_is_cut_between_words_and_a_long_word_between_characters():
    words = " ".join(f"word{number}" for number in range(200))
    chunks = split_chunks(f"[User]\n{words}", 64)
    assert " ".join(chunk.removeprefix("[User]\n") for chunk in chunks) == words
    clauses = "、".join(["認証方式を決める"] * 60)
    chunks = split_chunks(f"[User]\n{clauses}", 64)
    assert all(chunk.endswith(("、", "決める")) for chunk in chunks)
    word = "設計" * 500
    chunks = split_chunks(f"[User]\n{word}", 64)
    assert "".join(chunk.removeprefix("[User]\n") for chunk in chunks) == word


def test_no_character_is_torn():
    family = "👨‍👩‍👧‍👦"
    chunks = split_chunks("[User]\n" + family * 40, 64)
    assert all(chunk.removeprefix("[User]\n").replace(family, "") == "" for chunk in chunks)


def test_one_character_that_takes_more_than_half_a_chunk_is_torn():
    monster = "a" + "\u0301" * 400
    chunks = split_chunks(f"[User]\n{monster}", 64)
    assert max(map(estimate_tokens, chunks)) <= 64
    assert "".join(chunk.removeprefix("[User]\n") for chunk in chunks) == monster


def test_a_split_leaves_no_tiny_rest():
    lines = "\n".join(paragraph(letter, 10) for letter in "abcdefghijk")
    sizes = [estimate_tokens(chunk) for chunk in split_chunks(f"[Assistant]\n{lines}", 100)]
    assert (len(sizes), min(sizes) > 45) == (2, True)


def test_a_continued_tool_output_shows_the_call_again():
    output = "\n".join(paragraph(letter, 15) for letter in "abcd")
    first, second = split_chunks(f"[Tool: Bash] npm test → {output}", 64)
    assert first.startswith("[Tool: Bash] npm test → aaaa")
    assert second.startswith("[Tool: Bash] npm test\ncccc")
    command = paragraph("n", 30)
    chunks = split_chunks(f"[Tool: mcp__a-b] {command} → {output}", 64)
    assert all(chunk.startswith("[Tool: mcp__a-b]") for chunk in chunks)
    assert f"{command} →" in chunks[0]
    assert command not in chunks[1]
    chunks = split_chunks(f"[Tool: {'long' * 25}] x → {output}", 64)
    assert [chunk.startswith("[Assistant]\n") for chunk in chunks] == [False, *[True] * (len(chunks) - 1)]


def test_text_without_marks_is_split_without_adding_any():
    lines = [paragraph(letter, 20) for letter in "abcd"]
    assert split_chunks("\n".join(lines), 64) == ["\n".join(lines[:2]), "\n".join(lines[2:])]


def test_indentation_survives_a_cut_between_lines():
    lines = [f"    {paragraph(letter, 20)}" for letter in "abcd"]
    first, second = split_chunks("[Assistant]\n" + "\n".join(lines), 64)
    assert (first, second) == ("[Assistant]\n" + "\n".join(lines[:2]), "[Assistant]\n" + "\n".join(lines[2:]))


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("[User]\n質問", "human"),
        ("[Assistant]\n答え", "assistant"),
        ("[Tool: Bash] ls", "assistant"),
        ("[User]\n質問\n\n[Assistant]\n答え", "mixed"),
        ("[User]\n質問\n\n[Tool: Bash] ls", "mixed"),
        ("印のない本文 [User]", "mixed"),
        ("[User]\n [Assistant] と書いた", "human"),
    ],
)
def test_the_role_follows_from_the_marks(text, role):
    assert chunk_role(text) == role
