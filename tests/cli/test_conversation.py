"""`kizami list` and `kizami show` on a terminal."""

import json
import os
import re
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_cli.passages import Passage, split_passages
from kizami_cli.styled_text import styled_answer
from kizami_core.storage.connection import open_database

SESSION = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"
QUESTION = "フォームの状態管理はどうする？"
ANSWER = "検証が複雑な画面は React Hook Form を採用します。\n\n```python\nx = 1\n```"
HOUR = 3_600.0


def without_styles(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def lines_of(seen):
    return [line.rstrip() for line in without_styles(seen).splitlines()]


def change(home, statement, *values):
    connection = open_database(str(home.database))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def at(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


# list


def test_sessions_stand_under_the_day_when_they_ended(home, on_terminal):
    today = time.strftime("%Y-%m-%d", time.gmtime())
    noon = time.time() // 86_400 * 86_400 + 12 * HOUR
    home.save((QUESTION, ANSWER), ("続きは？", "これです。"))
    home.save(("Which queue?", "PostgreSQL"), session_id="9d40c2aa-1")
    home.save(("もう一つ", "はい"), session_id="5b1f0c6e-2")
    times = {
        SESSION: (noon - 2 * HOUR, noon),
        "9d40c2aa-1": (noon - 24 * HOUR,) * 2,
        "5b1f0c6e-2": (noon - 26 * HOUR - 9 * 86_400, noon - 9 * 86_400),
    }
    for session_id, (began, ended) in times.items():
        change(
            home,
            "UPDATE sessions SET started_at = ?, ended_at = ? WHERE session_id = ?",
            at(began), at(ended), session_id,
        )  # fmt: skip
    home.run("pin", "1")
    assert lines_of(on_terminal("list", "--all-projects")[1]) == [
        f"Today, {today}",
        f"  12:00  {QUESTION}",
        "         0f6a2c41  shop  2 chunks  began 10:00  1 pinned",
        "",
        f"Yesterday, {at(noon - 24 * HOUR)[:10]}",
        "  12:00  Which queue?",
        "         9d40c2aa  shop  1 chunk",
        "",
        at(noon - 9 * 86_400)[:10],
        "  12:00  もう一つ",
        f"         5b1f0c6e  shop  1 chunk  began {at(noon - 26 * HOUR - 9 * 86_400)[:16]}",
    ]


def test_a_sub_agents_session_names_the_one_that_started_it(home, on_terminal):
    home.save((QUESTION, ANSWER))
    home.save(("調べて", "調べました。"), session_id="agent-1")
    change(home, "UPDATE sessions SET parent_session_id = ? WHERE session_id = 'agent-1'", SESSION)
    assert "agent-1" not in on_terminal("list")[1]
    seen = lines_of(on_terminal("list", "--include-agents")[1])
    assert "         agent-1  1 chunk  sub-agent of 0f6a2c41" in seen
    assert "  Task" in lines_of(on_terminal("show", "2")[1])


def test_a_first_prompt_that_an_older_version_stored_with_a_secret_is_masked(home, on_terminal):
    home.save((QUESTION, ANSWER))
    secret = "ghp_" + "a1B2c3D4e5" * 4
    change(home, "UPDATE sessions SET first_message = ?", f"token {secret}")
    assert "ghp_" not in on_terminal("list")[1]
    assert "ghp_" not in home.run("list").stdout.decode()


# show


def test_a_session_reads_as_a_conversation(home, on_terminal):
    home.save((QUESTION, ANSWER), ("Thanks. And tests?", "Added."))
    home.run("pin", "2")
    title, *lines = lines_of(on_terminal("show", "0f6a")[1])
    first = lines.index("")
    assert title == f"Session {SESSION}"
    # rich breaks a long path at its signs.
    where = f"{os.path.realpath(home.project)}, 2099-01-01 09:00, 2 chunks"
    assert "".join("".join(lines[:first]).split()) == "".join(where.split())
    assert lines[first + 1 :] == [
        "#1  2099-01-01 09:00",
        "  You",
        f"    {QUESTION}",
        "",
        "  Claude",
        "    検証が複雑な画面は React Hook Form を採用します。",
        "",
        "    ```python",
        "    x = 1",
        "    ```",
        "",
        "#2  2099-01-02 09:00  pinned",
        "  You",
        "    Thanks. And tests?",
        "",
        "  Claude",
        "    Added.",
    ]


def test_a_chunk_shows_its_place_in_the_session(home, on_terminal):
    home.save((QUESTION, ANSWER), ("続きは？", "これです。"), ("以上？", "はい。"))
    titles = [lines_of(on_terminal("show", str(number))[1])[:2] for number in (1, 2, 3)]
    assert titles == [
        [f"#1  2099-01-01 09:00  session {SESSION}", "1 of 3 in its session  after it #2"],
        [f"#2  2099-01-02 09:00  session {SESSION}", "2 of 3 in its session  before it #1  after it #3"],
        [f"#3  2099-01-03 09:00  session {SESSION}", "3 of 3 in its session  before it #2"],
    ]


@pytest.fixture
def with_tools(home):
    """A chunk with a long tool output."""
    home.save((QUESTION, ANSWER))
    output = "\n".join(f"行 {number} {'とても長い出力' * 10}" for number in range(1, 8))
    content = f"[User]\n直して\n\n[Assistant]\n見ます。\n\n[Tool: Bash] make → {output}\n[Tool: Read] a.py"
    change(home, "UPDATE chunks SET content = ?", f"{content}\n\n[Assistant]\n直しました。")
    return home


def test_tools_are_folded_and_on_demand_whole(with_tools, on_terminal):
    seen = lines_of(on_terminal("show", "1")[1])
    assert seen[1:5] == ["  You", "    直して", "", "  Claude"]
    first = next(number for number, line in enumerate(seen) if line.startswith("    ▸ Bash  make → 行 1 "))
    assert [seen[first][-1], seen[first + 1][:9], seen[first + 1][-1]] == ["…", "      行 2", "…"]
    assert seen[first + 3 : first + 7] == [
        "      … and 4 more lines",
        "    ▸ Read  a.py",
        "",
        "    直しました。",
    ]
    assert seen[-1] == "Tools are folded; --full shows all of them."
    whole = "".join(line.strip() for line in lines_of(on_terminal("show", "1", "--full", "--no-pager")[1]))
    assert whole.count("とても長い出力") == 70
    assert "--full" not in whole


def test_a_pipe_gets_all_of_it_plain(with_tools):
    out = with_tools.run("show", "1").stdout.decode()
    assert out.count("とても長い出力") == 70
    assert "  [User]\n  直して\n\n  [Assistant]\n  見ます。\n" in out
    assert json.loads(with_tools.run("show", "1", "--json").stdout)[0]["content"].startswith("[User]\n直して")


@pytest.mark.skipif(os.name == "nt", reason="a pager of this kind is a shell script")
def test_what_is_longer_than_the_window_goes_through_the_persons_pager(home, on_terminal, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text(
        f"#!{sys.executable}\nimport sys\nprint('PAGED', len(list(sys.stdin)))\n", encoding="utf-8"
    )
    pager.chmod(0o755)
    home.env |= {"PAGER": str(pager), "LINES": "10"}
    home.save((QUESTION, "短い答え"), ("長いのは？", "\n".join(f"{number} 行目" for number in range(30))))
    assert "PAGED" not in on_terminal("show", "1")[1]
    assert re.search(r"PAGED 3\d", on_terminal("show", "2")[1])
    assert "29 行目" in on_terminal("show", "2", "--no-pager")[1]


# The parts


def test_text_is_parted_by_its_marks():
    content = "続き\n[Tool: Bash] ls → a\nb\n\n[Assistant]\n答え\n\n二段落\n[User]\n次"
    assert split_passages(content) == [
        Passage("unknown", "続き"),
        Passage("tool", "ls → a\nb", "Bash"),
        Passage("assistant", "答え\n\n二段落"),
        Passage("user", "次"),
    ]


@given(st.text(st.sampled_from("ab`~# *\n\t[User]日、")))
def test_no_text_is_lost_in_passages(content):
    kept = "".join(passage.text for passage in split_passages(content))
    assert "".join(kept.split()) == "".join(content.replace("[User]", "").split()) or "[User]" in content


MARKDOWN = ["`", "```", "~~~", "\n", "\n```", "\n```py\n", "x = 1", "日本", "**", "# ", "\t", " "]


@given(st.lists(st.sampled_from(MARKDOWN)).map("".join))
def test_styles_change_no_character(text):
    assert styled_answer(text).plain == text.expandtabs(4)


def test_code_headings_and_emphasis_stand_out():
    answer = styled_answer("# 見出し\n**太字** と `code`\n```python\n# 注釈\nx = 12\n```\n")
    styles = {answer.plain[span.start : span.end].strip(): str(span.style) for span in answer.spans}
    assert {text: styles[text] for text in ("# 見出し", "**太字**", "`code`", "# 注釈", "12")} == {
        "# 見出し": "bold",
        "**太字**": "bold",
        "`code`": "cyan",
        "# 注釈": "dim",
        "12": "cyan",
    }
