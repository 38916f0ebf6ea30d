import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_cli.charts import bars, divided_bars
from kizami_core.json_text import dump
from kizami_core.recall_log import LoggedRecall
from kizami_core.recall_report import CandidateReport, RecallReport

FORMS = ("フォームの状態管理はどうする？", "React Hook Form を採用します。")
BLOCKS = {"█": 8, "▉": 7, "▊": 6, "▋": 5, "▌": 4, "▍": 3, "▎": 2, "▏": 1}


def without_styles(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def logged(at, outcome, *ids, tokens=0, total=30.0):
    candidates = tuple(CandidateReport(chunk_id, "shown") for chunk_id in ids)
    report = RecallReport(outcome, 0.1, candidates=candidates, tokens=tokens, milliseconds={"total": total})
    return LoggedRecall(at, "session", "/home/dev/app", "プロンプト", report)


@pytest.fixture
def with_recalls(home):
    """A home with a log of four recalls, all in the week from Monday, 2026-01-05."""
    home.save(FORMS)
    monday = 1_767_571_200.0
    entries = [
        logged(monday, "shown", 1, 2, tokens=200, total=20.0),
        logged(monday + 60, "steering", total=40.0),
        logged(monday + 90, "below_gate", total=10.0),
        logged(monday + 99, "steering", total=30.0),
    ]
    path = home.database.parent / "recalls.jsonl"
    path.write_text("".join(dump(entry.as_dict()) + "\n" for entry in entries), encoding="utf-8")
    return home


def test_an_empty_database_reads_well(kizami, home):
    home.save(FORMS)
    kizami("delete", "--chunk", "1", "--yes")
    out = kizami("stats").output
    assert "Holds          nothing yet." in out
    assert "Prompts        none yet." in out
    assert "to None" not in out


def test_recalls_are_summed_up_with_the_reasons_of_silence(kizami, with_recalls):
    lines = kizami("stats").output.splitlines()
    begin = lines.index("Prompts        4 since 2026-01-05 00:00")
    assert lines[begin + 1 : begin + 7] == [
        "Shown          for 1 of them (25%): 2 memories, 200 tokens",
        "Silent         for 3 (75%)",
        "Took           p50 20 ms, p95 40 ms",
        "",
        "only steered the conversation\t2",
        "below the gate\t1",
    ]


def test_json_carries_growth_projects_recalls_and_maintenance(kizami, with_recalls):
    figures = json.loads(kizami("stats", "--json").output)
    recalls = figures["recalls"]
    by_week = recalls.pop("by_week")
    assert recalls == {
        "since": "2026-01-05 00:00",
        "prompts": 4,
        "shown": 1,
        "silent": {"steering": 2, "below_gate": 1},
        "memories": 2,
        "tokens": 200,
        "p50_ms": 20.0,
        "p95_ms": 40.0,
    }
    assert len(by_week) == len(figures["growth"]) == 12
    assert set(by_week[0]) == {"begin", *recalls} - {"since"}
    assert [week["begin"] for week in by_week] == [week["begin"] for week in figures["growth"]]
    assert [week["chunks"] for week in figures["growth"]] == [0] * 11 + [1]  # of 2099: the last has no end
    assert (len(figures["projects"]), "maintenance" in figures) == (1, True)


def test_a_terminal_shows_bars_and_a_pipe_none(with_recalls, on_terminal):
    seen = without_styles(on_terminal("stats")[1])
    assert re.search(r"^only steered the conversation +2  █{20} *$", seen, re.MULTILINE)
    assert re.search(r"^below the gate +1  █{10} *$", seen, re.MULTILINE)
    assert "█" not in with_recalls.run("stats").stdout.decode()


def test_bars_are_of_ascii_where_the_encoding_has_no_others(with_recalls, on_terminal):
    with_recalls.env["PYTHONIOENCODING"] = "ascii"
    seen = without_styles(on_terminal("stats")[1])
    assert re.search(r"^only steered the conversation +2  #{20} *$", seen, re.MULTILINE)
    assert "█" not in seen


@given(st.lists(st.integers(0, 10_000), max_size=12), st.integers(1, 60))
def test_bars_are_as_long_as_their_values_to_an_eighth_of_a_column(values, width):
    drawn = [sum(BLOCKS[block] for block in bar) for bar in bars(values, width)]
    largest = max(values, default=0)
    for value, eighths in zip(values, drawn, strict=True):
        assert abs(eighths - 8 * width * value / max(largest, 1)) <= 1
        assert (eighths == 0) == (value == 0)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12), st.integers(2, 40))
def test_divided_bars_show_every_part_and_every_rest(pairs, width):
    values = [(min(pair), max(pair)) for pair in pairs]
    for (part, whole), drawn in zip(values, divided_bars(values, width), strict=True):
        assert len(drawn) <= width + 1
        assert ("█" in drawn, "░" in drawn) == (part > 0, part < whole)
