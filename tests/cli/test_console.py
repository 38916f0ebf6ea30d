import os
import re
import subprocess
import sys
import unicodedata

import pytest

from kizami_cli.console import count, local_time, short_ids, size, visible


def test_short_ids_are_unique_beginnings_of_eight_characters_or_more():
    ids = ["0f6a2c41-7b1e", "0f6a2c41-7b2f", "9d53aaaa-0000", "agent", "agent-2"]
    shorten = short_ids(ids)
    assert [shorten(name) for name in ids] == ["0f6a2c41-7b1", "0f6a2c41-7b2", "9d53aaaa", "agent", "agent-2"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KB"), (5 << 20, "5.0 MB"), (3 << 30, "3.0 GB")],
)
def test_sizes_are_in_the_largest_unit_they_fill(number, expected):
    assert size(number) == expected


def test_counts_agree_with_their_noun():
    assert [count(0, "chunk"), count(1, "chunk"), count(1204, "chunk")] == [
        "0 chunks",
        "1 chunk",
        "1,204 chunks",
    ]


def test_stored_times_are_shown_as_local_ones():
    code = "from kizami_cli.console import local_time; print(local_time('2030-01-31 20:30:00'))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TZ": "Asia/Tokyo"}, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "2030-02-01 05:30"
    assert [local_time("soon"), local_time(None)] == ["soon", ""]


def test_control_characters_do_not_reach_the_terminal():
    assert visible("\x1b[31m赤\x1b[0m\tと\n\x9b2J青\x07\r") == "[31m赤[0m\tと\n2J青"


def columns(text):
    """Return how many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def without_styles(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_tables_stay_within_80_columns_and_aligned_whatever_they_hold(home, on_terminal):
    long = (
        "会員登録フォームの入力チェックは、何で書くのがよいだろうか。サーバー側でも同じものを使いたい。" * 3
    )
    home.save((long, "zod"), session_id="aaaaaaaa-1")
    home.save(("short", "zod"), session_id="bbbbbbbb-2")
    code, seen = on_terminal("pin", "1", "2")
    header, *rows = without_styles(seen).splitlines()
    assert code == 0
    assert len(rows) == 2
    assert max(map(columns, [header, *rows])) <= 80
    begins = columns(header[: header.index("memory")])
    cells = {
        row[:2]: columns(row[: row.index(first)])
        for row in rows
        for first in ("short", "会員")
        if first in row
    }
    assert cells == {"#1": begins, "#2": begins}


def test_text_wraps_within_its_indent(home, on_terminal):
    home.save(("折り返しの確認", "一行がとても長い説明です。" * 20))
    _, seen = on_terminal("show", "1")
    title, *lines = without_styles(seen).splitlines()
    assert title.startswith("#1  ")
    assert all(line.startswith("  ") for line in lines if line.strip())
    assert max(map(columns, lines)) <= 80
    assert "".join(line.strip() for line in lines).count("一行がとても長い説明です。") == 20


def test_styles_follow_no_color_and_pipes_have_none(home, on_terminal):
    home.save(("プロンプト", "答え"))
    assert "\x1b[1m" in on_terminal("show", "1")[1]
    assert b"\x1b" not in home.run("show", "1").stdout
