"""Laws of the token estimate, of rendering and of chunking."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.records import ToolCall, Turn
from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.excerpts import cut_line, cut_lines, hold
from kizami_core.transcript.graphemes import is_boundary
from kizami_core.transcript.rendering import MARKS, render_turn
from kizami_core.transcript.tokens import estimate_tokens, weigh

_CLUSTERS = [
    *"aZ7_。、?é漢한😀—",
    *("e\u0301", "か\u3099", "ﾊﾟ", "葛\U000e0100", "\u1100\u1161", "👍🏽", "👨‍👩‍👧", "🇯🇵", "❤️"),
]
words = st.lists(st.sampled_from(_CLUSTERS), min_size=1, max_size=16).map("".join)
lines = st.lists(words, min_size=1, max_size=6).map(" ".join)
paragraphs = st.lists(lines, min_size=1, max_size=4).map("\n".join)
fences = st.builds(
    lambda ticks, info, body: f"{ticks}{info}\n{body}\n{ticks}",
    st.sampled_from(["```", "~~~~"]),
    st.sampled_from(["", "ts", "python title=設計"]),
    st.lists(lines, min_size=1, max_size=5).map("\n\n".join),
)
bodies = st.lists(paragraphs | fences, min_size=1, max_size=3).map("\n\n".join)
sections = st.builds(
    "{}\n{}".format, st.sampled_from(["[User]", "[Assistant]", "[Tool: Bash] ls → x"]), bodies
)
documents = st.lists(sections, min_size=1, max_size=3).map("\n\n".join)
limits = st.integers(min_value=32, max_value=200)

_FENCE = re.compile(r"(```|~~~~)")


def content(text):
    """Return the characters that a split must keep: not white space, not marks, not fences."""
    kept = [line for line in text.split("\n") if not line.startswith(MARKS) and not _FENCE.match(line)]
    return "".join("".join(kept).split())


@settings(max_examples=100, deadline=None)
@given(documents, limits)
def test_chunks_keep_the_limit_and_all_text_in_order(text, limit):
    chunks = split_chunks(text, limit)
    assert max(map(estimate_tokens, chunks)) <= limit
    assert "".join(map(content, chunks)) == content(text)


@settings(max_examples=60, deadline=None)
@given(documents, st.integers(min_value=48, max_value=200))
def test_each_chunk_reads_on_its_own(text, limit):
    for chunk in split_chunks(text, limit):
        assert chunk.startswith(MARKS)
        assert len(re.findall(r"^(?:```|~~~~)", chunk, re.MULTILINE)) % 2 == 0
        assert chunk == chunk.rstrip()


@settings(max_examples=60, deadline=None)
@given(documents, limits)
def test_characters_stay_whole(text, limit):
    for chunk in split_chunks(text, limit):
        body = next(
            (
                line
                for line in chunk.split("\n")
                if line and not line.startswith(MARKS) and not _FENCE.match(line)
            ),
            "x",
        )
        assert is_boundary(f"x{body}", 1)
        assert len(re.findall("[\U0001f1e6-\U0001f1ff]", chunk)) % 2 == 0


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), limits)
def test_any_text_at_all_is_split_within_the_limit(text, limit):
    chunks = split_chunks(text, limit)
    assert all(0 < estimate_tokens(chunk) <= limit for chunk in chunks)


@given(st.text(), st.text())
def test_weights_add_up(first, second):
    assert weigh(first + second) == weigh(first) + weigh(second)


@given(st.text(), st.integers(min_value=30, max_value=60))
def test_cutting_a_line_again_changes_nothing(line, limit):
    cut = cut_line(line, limit)
    assert len(cut) <= limit
    assert cut_line(cut, limit) == cut


@given(
    st.lists(st.text("ab あ", max_size=30) | st.just("長い行" * 300), max_size=60).map("\n".join),
    st.integers(min_value=0, max_value=20),
    st.integers(min_value=0, max_value=5),
)
def test_holding_a_text_changes_nothing_that_is_rendered(text, head_lines, tail_lines):
    held = hold(text, head_chars=20 * 401, tail_chars=5 * 401, line_chars=400)
    cut = cut_lines(text, head_lines=head_lines, tail_lines=tail_lines)
    assert len(held) <= 25 * 401 + 20
    assert cut_lines(held, head_lines=head_lines, tail_lines=tail_lines) == cut or len(text.split("\n")) <= 26


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
calls = st.builds(
    ToolCall,
    st.text(max_size=5),
    st.sampled_from(["Bash", "Edit", "Write", "MultiEdit", "TodoWrite", "AskUserQuestion", "mcp__a-b"])
    | st.text(),
    st.dictionaries(st.sampled_from(["command", "file_path", "content", "edits", "todos", "x"]), json_values),
    st.none() | st.text(),
    st.booleans(),
)
turns = st.builds(
    Turn,
    st.just("u"),
    st.just(""),
    st.text(),
    st.lists(st.text() | calls, max_size=6),
    st.just(""),
    st.just(0),
    st.just(1),
)


@settings(max_examples=100, deadline=None)
@given(turns)
def test_marks_in_a_rendered_turn_are_always_marks(turn):
    text = render_turn(turn, head_lines=3, tail_lines=1)
    marks = [line for line in text.split("\n") if line.startswith(MARKS)]
    tools = sum(isinstance(part, ToolCall) for part in turn.parts)
    assert sum(line.startswith("[User]") for line in marks) == (1 if turn.prompt.strip() else 0)
    assert sum(line.startswith("[Tool: ") for line in marks) <= tools
    for chunk in split_chunks(text, 64):
        assert chunk_role(chunk) in ("human", "assistant", "mixed")
        assert estimate_tokens(chunk) <= 64
