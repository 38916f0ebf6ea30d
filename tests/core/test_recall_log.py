"""The log of what recall did, and what each session was shown."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.json_text import dump
from kizami_core.recall_log import (
    LoggedRecall,
    forget_shown,
    log_entry,
    note_shown,
    prune_shown,
    read_log,
    read_shown,
    write_log,
)
from kizami_core.recall_report import CandidateReport, RecallReport, TermReport

NOW = 1_767_225_600.0
SESSION = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"
REPORT = RecallReport(
    "shown",
    0.25,
    301,
    (TermReport("認証", 3, 0.812), TermReport("zzyzx", 0, 1.0)),
    (
        CandidateReport(12, "shown", 9.5, 0.97, 0.8, 0.91, 0.88),
        CandidateReport(7, "below_gate", 1.5, 0.97, 0.1, 0.05, 0.04),
        CandidateReport(3, "muted"),
    ),
    118,
    {"lookup": 0.41, "total": 12.5},
)


def entry(prompt="認証の方式は？ zzyzx", report=REPORT, session_id=SESSION):
    return log_entry(prompt, report, session_id=session_id, project_path="/home/dev/app", now=NOW)


JSON_VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_is_what_the_json_package_writes(value):
    assert dump(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_what_is_written_is_read_back_oldest_first(tmp_path):
    path = str(tmp_path / "data" / "recalls.jsonl")
    write_log(path, entry())
    write_log(path, entry("はい", RecallReport("steering", 0.25)))
    assert read_log(path) == [
        LoggedRecall(NOW, SESSION, "/home/dev/app", "認証の方式は？ zzyzx", REPORT),
        LoggedRecall(NOW, SESSION, "/home/dev/app", "はい", RecallReport("steering", 0.25)),
    ]


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_log_and_folder_are_private(tmp_path):
    write_log(str(tmp_path / "data" / "recalls.jsonl"), entry())
    note_shown(str(tmp_path / "data" / "shown"), SESSION, [1])
    modes = {
        str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.glob("data/**/*")
    }
    assert modes == {"data/recalls.jsonl": 0o600, "data/shown": 0o700, f"data/shown/{SESSION}": 0o600}


def test_no_secret_of_a_prompt_is_logged():
    secret = "hunter2zzz"
    terms = (TermReport("password", 2, 0.7), TermReport(secret, 0, 1.0))
    logged = entry(f"認証が通らない password={secret} なのに", REPORT.replace(terms=terms))
    assert secret not in dump(logged.as_dict())
    assert logged.report.terms == terms[:1]
    assert logged.prompt.startswith("認証が通らない password=")


def test_a_secret_is_masked_before_the_prompt_is_cut():
    # Cut at 200 characters the token would be too short to be known for one.
    token = "ghp_" + "aB3" * 12
    logged = entry("x " * 95 + token)
    assert "ghp_a" not in logged.prompt


def test_only_the_beginning_of_a_long_prompt_is_kept():
    assert entry("設計 " * 100_000).prompt == ("設計 " * 100_000)[:200]


def test_lines_that_cant_be_read_are_left_out(tmp_path):
    path = tmp_path / "recalls.jsonl"
    write_log(str(path), entry())
    good = path.read_bytes()
    path.write_bytes(
        b'{"at": 1\n' + good + b"\xff\n[]\n3\n" + b'{"at":1,"session_id":"","project_path":"","prompt":"",'
        b'"report":{"outcome":"shown","gate":0,"terms":[{"new":1}]}}\n' + good
    )
    assert read_log(str(path)) == [entry(), entry()]


def test_a_log_that_has_grown_becomes_the_predecessor(tmp_path):
    path = tmp_path / "recalls.jsonl"
    size = len(dump(entry().as_dict()).encode()) + 1
    path.write_bytes(b"x\n" * 499_990)
    for _ in range(3 + 1_000_000 // size):
        write_log(str(path), entry())
    sizes = {name.name: name.stat().st_size for name in tmp_path.iterdir()}
    assert set(sizes) == {"recalls.jsonl", "recalls.jsonl.1"}
    assert max(sizes.values()) <= 1_000_000 + size
    # The first generation is gone, and what was written since the first rotation is all there.
    assert len(read_log(str(path))) == sum(sizes.values()) // size


def test_processes_at_once_never_tear_a_line(tmp_path):
    path = str(tmp_path / "data" / "recalls.jsonl")
    shown = str(tmp_path / "data" / "shown")
    code = (
        "import sys\n"
        "from kizami_core.recall_log import log_entry, note_shown, write_log\n"
        "from kizami_core.recall_report import RecallReport, TermReport\n"
        "path, shown, number = sys.argv[1:]\n"
        "terms = tuple(TermReport('用語' * 20, 1, 0.5) for _ in range(20))\n"
        "sys.stdin.read()\n"
        "for line in range(40):\n"
        "    report = RecallReport('below_gate', 0.25, 1, terms)\n"
        "    entry = log_entry('認証' * 90, report, session_id=number, project_path='/p', now=line)\n"
        "    write_log(path, entry)\n"
        "    note_shown(shown, 'one', [int(number) * 100 + line])\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, path, shown, str(number)], stdin=subprocess.PIPE)
        for number in range(8)
    ]
    for writer in writers:
        writer.stdin.close()
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 8
    entries = read_log(path)
    assert sorted((int(found.session_id), found.at) for found in entries) == [
        (number, line) for number in range(8) for line in range(40)
    ]
    assert read_shown(shown, "one") == {number * 100 + line for number in range(8) for line in range(40)}


def test_a_place_that_cant_be_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("a file where a folder should be", encoding="utf-8")
    (tmp_path / "recalls.jsonl").mkdir()
    for path in (tmp_path / "file" / "recalls.jsonl", tmp_path / "recalls.jsonl"):
        write_log(str(path), entry())
        assert read_log(str(path)) == []
    folder = str(tmp_path / "file")
    note_shown(folder, SESSION, [1])
    forget_shown(folder, SESSION)
    prune_shown(folder, NOW)
    assert read_shown(folder, SESSION) == frozenset()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_costs_nothing(tmp_path):
    (tmp_path / "recalls.jsonl").symlink_to("/dev/full")
    write_log(str(tmp_path / "recalls.jsonl"), entry())
    assert os.listdir(tmp_path) == ["recalls.jsonl"]


def test_a_log_that_cant_be_put_aside_grows_on(tmp_path):
    path = tmp_path / "recalls.jsonl"
    path.write_bytes(b"x\n" * 500_000)
    (tmp_path / "recalls.jsonl.1").mkdir()
    write_log(str(path), entry())
    assert read_log(str(path)) == [entry()]


def test_each_session_has_its_own_memory_of_what_it_was_shown(tmp_path):
    folder = str(tmp_path / "shown")
    note_shown(folder, SESSION, [3, 1])
    note_shown(folder, SESSION, [12])
    note_shown(folder, "other", [5])
    note_shown(folder, "silent", [])
    note_shown(folder, "", [9])
    assert read_shown(folder, SESSION) == {1, 3, 12}
    assert read_shown(folder, "other") == {5}
    assert read_shown(folder, "") == frozenset()
    assert sorted(os.listdir(folder)) == [SESSION, "other"]
    forget_shown(folder, SESSION)
    assert read_shown(folder, SESSION) == frozenset()
    assert read_shown(folder, "other") == {5}


@pytest.mark.parametrize("session_id", ["../../etc/passwd", ".", "..", "a/b", "会話", "a\x00b", "x" * 5_000])
def test_any_session_id_stays_within_the_folder(tmp_path, session_id):
    folder = tmp_path / "data" / "shown"
    note_shown(str(folder), session_id, [4])
    assert read_shown(str(folder), session_id) == {4}
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == list(folder.iterdir())


def test_a_link_that_leads_nowhere_is_left(tmp_path):
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    prune_shown(str(tmp_path), NOW)
    assert os.listdir(tmp_path) == ["gone"]


def test_after_a_month_it_is_forgotten(tmp_path):
    folder = str(tmp_path / "shown")
    for name, days in (("old", 31), ("new", 29)):
        note_shown(folder, name, [1])
        os.utime(os.path.join(folder, name), (NOW - days * 86_400,) * 2)
    prune_shown(folder, NOW)
    assert os.listdir(folder) == ["new"]
