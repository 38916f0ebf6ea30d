"""Turns → text."""

import pytest

from kizami_core.records import ToolCall, Turn
from kizami_core.transcript.excerpts import cut_line, cut_lines, hold
from kizami_core.transcript.rendering import render_turn


def render(*parts, prompt="", head_lines=20, tail_lines=5):
    turn = Turn("u", "", prompt, parts, "/p", 0, 1)
    return render_turn(turn, head_lines=head_lines, tail_lines=tail_lines)


def tool(name, output=None, *, is_error=False, **arguments):
    return ToolCall("t", name, arguments, output, is_error)


def test_a_turn_reads_as_the_specification_shows_it():
    assert (
        render(
            "src/components/Form.tsxを作成しました。",
            tool("Edit", "The file has been updated.", file_path="src/components/Form.tsx", new_string=""),
            tool("Bash", "Tests: 3 passed", command="npm test -- --run"),
            prompt="ReactのコンポーネントでuseStateを使ったフォーム管理を実装したい",
        )
        == """[User]
ReactのコンポーネントでuseStateを使ったフォーム管理を実装したい

[Assistant]
src/components/Form.tsxを作成しました。

[Tool: Edit] src/components/Form.tsx
[Tool: Bash] npm test -- --run → Tests: 3 passed"""
    )


def test_text_behind_a_tool_is_the_assistants_again_and_neighbouring_texts_are_paragraphs():
    assert render("一", "二", tool("Bash", command="ls"), " 三 \n", prompt="go\n") == (
        "[User]\ngo\n\n[Assistant]\n一\n\n二\n\n[Tool: Bash] ls\n\n[Assistant]\n三"
    )


def test_a_turn_without_prompt_has_no_user_section():
    assert render("続き", prompt=" \n") == "[Assistant]\n続き"
    assert render() == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (tool("Read", "1→x", file_path="/a/設計 書.md", limit=3), "[Tool: Read] /a/設計 書.md → 1→x"),
        (tool("Bash", command="make", description="Build"), "[Tool: Bash] make"),
        (tool("Bash", "", command="make"), "[Tool: Bash] make"),
        (
            tool("Bash", "no\nsuch file", command="ls x", is_error=True),
            "[Tool: Bash] ls x → Error: no\nsuch file",
        ),
        (tool("Bash", "Error: EPERM", command="x", is_error=True), "[Tool: Bash] x → Error: EPERM"),
        (tool("Bash", None, command="x", is_error=True), "[Tool: Bash] x → Error:"),
        (
            tool("Grep", "a.py:1", pattern="x", path="src", output_mode="content"),
            "[Tool: Grep] x src → a.py:1",
        ),
        (
            tool("WebFetch", "ok", url="https://e.com", prompt="read"),
            "[Tool: WebFetch] https://e.com read → ok",
        ),
        (tool("Agent", "done", description="look", prompt="Find\nit"), "[Tool: Agent] look\nFind\nit → done"),
        (tool("Write", "created", file_path="/a", content="x = 1\n"), "[Tool: Write] /a\nx = 1"),
        (tool("Edit", "updated", file_path="/a", old_string="b", new_string="  c"), "[Tool: Edit] /a\n  c"),
        (
            tool("Edit", "not found", file_path="/a", new_string="c", is_error=True),
            "[Tool: Edit] /a → Error: not found",
        ),
        (tool("Edit", file_path=["odd"], new_string=7), "[Tool: Edit] file_path: odd new_string: 7"),
        (
            tool("MultiEdit", "ok", file_path="/a", edits=[{"new_string": "b"}, "odd", {"new_string": 1}]),
            "[Tool: MultiEdit] /a\nb",
        ),
        (
            tool("NotebookEdit", "ok", notebook_path="/n.ipynb", new_source="y"),
            "[Tool: NotebookEdit] /n.ipynb\ny",
        ),
        (
            tool(
                "AskUserQuestion",
                "JWT",
                questions=[{"question": "方式は?", "options": []}, {"question": "期限は?"}],
            ),
            "[Tool: AskUserQuestion] 方式は?\n期限は? → JWT",
        ),
        (
            tool("TaskUpdate", "Updated", taskId="3", status="done"),
            "[Tool: TaskUpdate] taskId: 3 status: done",
        ),
        (
            tool("mcp__a-b", "ok", q="型", n=1.5, flag=True, none=None, deep={"a": [1, {"b": "c"}]}),
            "[Tool: mcp__a-b] q: 型 n: 1.5 flag: True none:  deep: a: 1; b: c → ok",
        ),
        (tool("odd]\nname"), "[Tool: odd) name]"),
    ],
)
def test_a_tool_call_shows_what_says_most(call, expected):
    assert render(call) == expected


def test_the_same_todo_list_is_shown_once():
    todos = tool("TodoWrite", "ok", todos=[{"content": "測る", "status": "pending"}])
    ticked = tool("TodoWrite", "ok", todos=[{"content": "測る", "status": "completed"}])
    assert render(todos, "途中", ticked, "完了") == "[Tool: TodoWrite] 測る\n\n[Assistant]\n途中\n\n完了"


def test_input_that_is_nested_too_deeply_to_read_is_left_out():
    value = "x"
    for _ in range(900):
        value = [value]
    assert render(tool("X", a=value)) == "[Tool: X] a: …"


def test_input_and_output_keep_head_and_tail_lines():
    lines = "\n".join(map(str, range(1, 31)))
    kept = "\n".join([*map(str, range(1, 21)), "...(truncated)", "26", "27", "28", "29", "30"])
    assert render(tool("Bash", lines, command=lines)) == f"[Tool: Bash] {kept} → {kept}"
    assert (
        render(tool("Bash", lines, command="x"), head_lines=1, tail_lines=0)
        == "[Tool: Bash] x → 1\n...(truncated)"
    )
    assert (
        render(tool("Bash", lines, command="x"), head_lines=25, tail_lines=5) == f"[Tool: Bash] x → {lines}"
    )
    assert render(tool("Write", file_path="/a", content=lines)) == f"[Tool: Write] /a\n{kept}"


def test_a_long_line_keeps_head_and_tail():
    cut = cut_line("a" * 5000 + "z" * 200)
    assert (len(cut), cut) == (400, "a" * 266 + " ...(truncated)... " + "z" * 115)
    assert render(tool("Bash", "x" * 401, command="y" * 401)).count("(truncated)") == 2
    assert cut_line("x" * 400) == "x" * 400


def test_a_line_is_not_cut_inside_a_character():
    family = "👨‍👩‍👧‍👦"
    cut = cut_line(family * 100)
    assert len(cut) <= 400
    head, tail = cut.split(" ...(truncated)... ")
    assert head.replace(family, "") == tail.replace(family, "") == ""


def test_lines_that_look_like_marks_are_moved_aside():
    text = "[User]\nx\n[Tool: Bash] y\n- [Assistant]\n[Assistant]"
    shielded = " [User]\nx\n [Tool: Bash] y\n- [Assistant]\n [Assistant]"
    assert render(text, tool("Bash", text, command=text), prompt=text) == (
        f"[User]\n{shielded}\n\n[Assistant]\n{shielded}\n\n[Tool: Bash] {shielded} → {shielded}"
    )


def test_holding_bounds_a_text_and_keeps_what_cutting_keeps():
    short = "x" * 100
    assert hold(short, head_chars=80, tail_chars=20, line_chars=50) == short
    one_line = hold("a" * 1000 + "b" * 1000, head_chars=900, tail_chars=100, line_chars=800)
    assert cut_line(one_line) == cut_line("a" * 1000 + "b" * 1000)
    many = "\n".join(f"{number:04}" for number in range(1000))
    held = hold(many, head_chars=102, tail_chars=32, line_chars=400)
    assert cut_lines(held, head_lines=20, tail_lines=5) == cut_lines(many, head_lines=20, tail_lines=5)
    assert len(held) < 160
