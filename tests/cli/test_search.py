"""`kizami search` as a person sees it; what is found stands in tests/core/test_searching.py."""

import json
import re
import sqlite3
import unicodedata
from contextlib import closing

import pytest

_CAUSE = (
    "src/db/pool.ts が接続を閉じていませんでした。トランザクションの途中で例外が起きると、finally に届く前に"
)
POOL = (
    "接続プールが枯渇した原因は？",
    f"{_CAUSE}抜けていました。The pool caches idle clients. user@example.com には知らせました。",
)
QUEUE = (
    "Which queue do we use for mails?",
    "PostgreSQL with SKIP LOCKED, so that Redis is one service less.",
)
FORMS = ("フォームの検証は？", "zod にします。")


@pytest.fixture
def sessions(home):
    """Three sessions of one turn, on the first three days of 2099."""
    for name, turn in (("aaaaaaaa-1", POOL), ("bbbbbbbb-2", QUEUE), ("cccccccc-3", FORMS)):
        home.save(turn, session_id=name)
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("UPDATE chunks SET created_at = '2099-01-0' || id || ' 09:00:00'")


def titles(done):
    assert done.exit_code == 0, done.output
    return re.findall(r"^#(\d+)", done.stdout, re.MULTILINE)


def columns(text):
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_hits_on_a_terminal_of_80_columns(sessions, on_terminal):
    code, seen = on_terminal("search", '接続プール cached "途中で"')
    title, *lines = plain(seen).split("\n")
    assert code == 0
    assert re.fullmatch(r"#1  2099-01-01 09:00  session aaaaaaaa  relevance [01]\.\d\d", title)
    assert [line.rstrip() for line in lines] == [
        "  [User] 接続プールが枯渇した原因は？",
        "  [Assistant] src/db/pool.ts が接続を閉じていませんでした。トランザクションの",
        "  途中で例外が起きると、finally に届く前に抜けていました。The pool caches idle",
        "  clients. user@example.com には知らせました。",
        "",
        "",
    ]
    assert max(map(columns, lines)) == 80
    assert re.findall(r"\x1b\[1;31m(.*?)\x1b", seen) == ["接続プール", "接続", "途中で", "caches"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pool", "queue", "検証", "--since", "2099-01-02"], ["2", "3"]),
        (["pool queue 検証", "--until", "2099-01-02"], ["1", "2"]),
        (["pool queue 検証", "--since", "2099-01-02T09:00", "--until", "2099-01-02 09:00"], ["2"]),
        (["queue", "--role", "user"], ["2"]),
        (["queue", "--role", "assistant"], []),
        (["--file", "pool.ts"], ["1"]),
        (["--file", "*.ts", "--file", "x.py"], ["1"]),
        (["queue", "--tool", "Bash"], []),
        (["pool queue -redis"], ["1"]),
        (['"SKIP LOCKED"'], ["2"]),
        (['"は？"'], ["3", "1"]),
        (["--since", "2099-01-02"], ["3", "2"]),
        (["--until", "1d"], []),
    ],
)
def test_filters_choose_what_is_shown(kizami, sessions, arguments, expected):
    found = titles(kizami("search", *arguments))
    assert (found if '"は？"' in arguments or "--since" in arguments[0] else sorted(found)) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["接続 在庫"], None),
        (["在庫"], "No memory holds this."),
        (["queue", "--since", "2099-01-03"], "1 memory holds words of this, none since 2099-01-03."),
        (
            ["queue pool", "--until", "2099-01-01", "--tool", "Bash", "--tool", "Edit"],
            "2 memories hold words of this, 1 until 2099-01-01, none of them with the tool Bash or Edit.",
        ),
        (["queue", "--role", "assistant"], "1 memory holds words of this, none in what the assistant says."),
        (['queue "no such"'], '1 memory holds words of this, none with "no such".'),
        (["queue -redis"], '1 memory holds words of this, none without "redis".'),
        (["queue", '-"one service"'], '1 memory holds words of this, none without "one service".'),
        (["--file", "x.py"], "3 memories, none with the file x.py."),
        (['"そのような"'], '3 memories, none with "そのような".'),
    ],
)
def test_what_leaves_nothing_is_said(kizami, sessions, arguments, expected):
    arguments = ["--", *arguments] if arguments[-1].startswith("-") else arguments
    done = kizami("search", *arguments)
    assert done.exit_code == 0
    if expected is None:
        assert done.stderr == ""
    else:
        assert done.stderr == f"{expected} --all-projects searches those of all projects.\n"
        assert done.stdout == ""
        assert kizami("search", "--all-projects", *arguments).stderr == f"{expected}\n"


def test_without_words_no_relevance_is_told(kizami, sessions):
    title = kizami("search", "--file", "pool.ts").stdout.splitlines()[0]
    assert title == "#1  2099-01-01 09:00  session aaaaaaaa"


def test_only_what_the_role_says_is_shown(kizami, sessions):
    assert "[Assistant]" not in kizami("search", "queue", "--role", "user").stdout
    assert "[User]" not in kizami("search", "SKIP LOCKED", "--role", "assistant").stdout


def test_a_snippet_holds_the_phrase_wherever_it_stands(kizami, home):
    filler = "これは前置きの文です。" * 40
    home.save(("長い話", f"{filler}結論はこの方でよいです。{filler}"))
    shown = kizami("search", '長い話 "この方で"').stdout
    assert "この方で" in shown
    assert len(shown) < 400


def test_json_tells_the_terms_that_a_hit_holds(kizami, sessions):
    (hit,) = json.loads(kizami("search", "--json", '接続プール caching 在庫 "閉じて"').stdout)
    chunk = json.loads(kizami("show", "1", "--json").stdout)[0]
    assert list(hit) == list(dict.fromkeys(["score", "relevance", "terms", *chunk, "marks"]))
    assert hit["terms"] == ["閉じて", "接続", "プール", "caching", "閉"]
    assert {name: hit[name] for name in chunk} == chunk
    assert json.loads(kizami("search", "--json", "在庫").stdout) == []
    (listed,) = json.loads(kizami("search", "--json", "--file", "pool.ts").stdout)
    assert (listed["score"], listed["relevance"], listed["terms"]) == (0, 0, [])


def test_secrets_that_an_older_version_stored_are_masked_before_they_are_cut(kizami, home, sessions):
    key = "ghp_" + "a1B2" * 9
    text = f"[User]\n鍵は？\n\n[Assistant]\n{'前置きの文です。' * 60}token: {key} です。"
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("UPDATE chunks SET content = ? WHERE id = 1", (text,))
    for options in ([], ["--json"]):
        shown = kizami("search", '"鍵は"', *options).stdout
        assert "鍵は" in shown
        assert key[:12] not in shown


def test_marks_are_styled_on_a_terminal_alone_and_without_colours_on_demand(home, sessions, on_terminal):
    assert "\x1b[1;31mSKIP LOCKED\x1b[0m" in on_terminal("search", '"skip locked"')[1]
    assert b"\x1b" not in home.run("search", '"skip locked"').stdout
    home.env["NO_COLOR"] = "1"
    assert "\x1b[1mSKIP LOCKED\x1b[0m" in on_terminal("search", '"skip locked"')[1]
