"""The measured faults of the TypeScript Kizami in saving, storing and deleting: none is Kizami's.

Each test is named by the number that the fault carries in the study of it.
"""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.errors import ConfigError, DatabaseCorruptError, NotFoundError
from kizami_core.export import export_json
from kizami_core.maintenance.merging import merge
from kizami_core.maintenance.retention import prune, run_maintenance
from kizami_core.recall import recall
from kizami_core.recording import save_transcript
from kizami_core.storage.chunks import session_chunks
from kizami_core.storage.connection import open_damaged_database, open_database
from kizami_core.storage.sessions import find_session, list_sessions
from kizami_core.timestamps import parse_age, parse_date
from kizami_core.transcript.tokens import estimate_tokens
from transcripts import BEGIN, Transcript

_NOW = (BEGIN + timedelta(days=1)).timestamp()
_CONFIG = parse_config({}, {})[0]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "data" / "memory.db")


@pytest.fixture
def connection(path):
    connection = open_database(path)
    yield connection
    connection.close()


def _save(connection, path, **options):
    return save_transcript(connection, path, config=_CONFIG, now=_NOW, **options)


def _contents(connection, session_id="session-1"):
    return [chunk.content for chunk in session_chunks(connection, session_id)]


def _recall(path, prompt, *, cwd="/home/dev/my-app", session_id="now"):
    reader = open_database(path, read_only=True)
    try:
        options = {"session_id": session_id, "project_path": cwd, "config": _CONFIG, "now": _NOW}
        return recall(reader, prompt, **options).block
    finally:
        reader.close()


def test_fault_1_a_session_recalled_while_it_lives_is_saved_whole_when_it_ends(connection, path, tmp_path):
    transcript = Transcript().ask("接続プールの最大数を決めたい").answer("20 にします。")
    _save(connection, transcript.write(tmp_path / "-home-dev-my-app"))
    _recall(path, "接続プールの最大数は？", session_id="session-1")
    transcript.ask("タイムアウトは？").answer("5 秒です。")
    _save(connection, transcript.write(tmp_path / "-home-dev-my-app"))
    assert _contents(connection) == [
        "[User]\n接続プールの最大数を決めたい\n\n[Assistant]\n20 にします。",
        "[User]\nタイムアウトは？\n\n[Assistant]\n5 秒です。",
    ]


def test_fault_2_a_resumed_session_is_saved_again(connection, tmp_path):
    transcript = Transcript().ask("first").answer("one")
    _save(connection, transcript.write(tmp_path))
    report = _save(connection, transcript.ask("second").answer("two").write(tmp_path))
    assert (report.turns_written, report.turns_unchanged) == (1, 1)
    assert len(_contents(connection)) == 2


@pytest.mark.parametrize("cwd", ["/home/dev/my-app", "/home/dev/my.app_v2", "/home/開発/アプリ-1"])
def test_fault_3_signs_in_folder_names_survive(connection, path, tmp_path, cwd):
    folder = tmp_path / "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in cwd)
    report = _save(
        connection, Transcript(cwd=cwd).ask("接続プールの最大数は 20").answer("はい").write(folder)
    )
    assert report.project_path == cwd
    assert "接続プール" in _recall(path, "接続プールの最大数は？", cwd=cwd)


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[]",
        "3",
        '"text"',
        "{",
        "\0" * 100,
        '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"Bash"}]}}',
        '{"type":"assistant","message":{"role":"assistant","content":"a plain answer"}}',
        '{"type":"assistant","message":null}',
        '{"type":"user","message":{"role":"user","content":null}}',
    ],
)
def test_fault_7_one_odd_line_costs_nothing_else(connection, tmp_path, line):
    _save(
        connection,
        Transcript().ask("before").raw(line).answer("after the odd line").ask("next").write(tmp_path),
    )
    first, second = _contents(connection)
    assert first.startswith("[User]\nbefore")
    assert "after the odd line" in first
    assert second == "[User]\nnext"


def test_fault_7_an_answer_that_is_plain_text_is_kept(connection, tmp_path):
    line = '{"type":"assistant","message":{"role":"assistant","content":"a plain answer"}}'
    _save(connection, Transcript().ask("q").raw(line).write(tmp_path))
    assert _contents(connection) == ["[User]\nq\n\n[Assistant]\na plain answer"]


@pytest.mark.parametrize(("age", "kept"), [("1h", 2), ("0h", 0)])
def test_fault_8_an_age_deletes_what_is_older_and_nothing_younger(connection, tmp_path, age, kept):
    begin = datetime.fromtimestamp(_NOW, UTC) - timedelta(minutes=30)
    _save(connection, Transcript("young", begin=begin).ask("a").answer("b").ask("c").write(tmp_path))
    _save(connection, Transcript("old", begin=begin - timedelta(hours=1)).ask("d").write(tmp_path))
    prune(connection, older_than_days=parse_age(age), now=_NOW)
    assert len(_contents(connection, "young")) == kept
    assert _contents(connection, "old") == []


def test_fault_8_minutes_or_months_are_asked_about_not_guessed():
    with pytest.raises(ConfigError, match="hours, days or weeks"):
        parse_age("1m")
    assert parse_date("2024-01-01T00:00:00Z") == "2024-01-01 00:00:00"


def test_fault_9_making_room_never_takes_the_session_just_saved(connection, tmp_path):
    config = parse_config({"maintenance": {"maxDbSizeMB": 1}}, {})[0]
    _save(connection, Transcript("old").ask("old question").answer("old answer").write(tmp_path))
    huge = Transcript("huge", begin=BEGIN + timedelta(hours=1))
    for number in range(120):
        huge.ask(f"question {number}").answer(f"{number} {'答えです。' * 300}")
    _save(connection, huge.write(tmp_path))
    saved = len(_contents(connection, "huge"))
    report = run_maintenance(connection, config=config, now=_NOW)
    assert report.over_size.chunks == 1
    assert len(_contents(connection, "huge")) == saved > 120


@pytest.mark.parametrize("cwd", ["/gone/for/good", "", "C:\\gone", "/with\0nul"])
def test_fault_10_a_working_directory_that_is_gone_is_no_obstacle(connection, tmp_path, cwd):
    assert _save(connection, Transcript(cwd=cwd).ask("x").write(tmp_path), cwd=cwd).turns_written == 1


def test_fault_11_every_turn_is_saved_not_the_last_alone(connection, tmp_path):
    transcript = Transcript()
    for number in range(5):
        transcript.ask(f"question {number}").answer(f"answer {number}")
    _save(connection, transcript.write(tmp_path))
    assert len(_contents(connection)) == 5


def test_fault_12_and_28_the_output_of_a_tool_that_worked_is_kept(connection, tmp_path):
    transcript = (
        Transcript().ask("run").call("c", "Bash", command="make test").result("c", "42 passed in 3 s")
    )
    assert '"toolUseResult": {"stdout"' in transcript.lines[-1]
    _save(connection, transcript.write(tmp_path))
    assert "[Tool: Bash] make test → 42 passed in 3 s" in _contents(connection)[0]


def test_fault_24_the_time_of_a_memory_is_the_time_of_its_turn(connection, tmp_path):
    _save(connection, Transcript().ask("x").write(tmp_path))
    (chunk,) = session_chunks(connection, "session-1")
    assert chunk.created_at == "2026-03-04 05:07:07"
    assert find_session(connection, "session-1").ended_at == "2026-03-04 05:07:07"


def test_fault_26_a_linked_project_and_its_sub_directories_are_one(connection, tmp_path):
    (tmp_path / "real" / ".git").mkdir(parents=True)
    (tmp_path / "real" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for number, cwd in enumerate([tmp_path / "real", tmp_path / "link", tmp_path / "link" / "src"]):
        _save(connection, Transcript(f"s{number}", cwd=str(cwd)).ask("x").write(tmp_path))
    root = str((tmp_path / "real").resolve())
    assert len(list_sessions(connection, project_path=root)) == 3


@pytest.mark.parametrize(
    ("text", "is_meta"),
    [
        ("Caveat: The messages below were generated by the user while running local commands. DO NOT", True),
        ("<command-name>/clear</command-name>\n<command-message>clear</command-message>", None),
        ("<local-command-stdout>Set model to opus</local-command-stdout>", None),
        ("<system-reminder>As you answer, mind this.</system-reminder>", True),
        ("<task-notification>\n<task-id>b1</task-id>\n</task-notification>", None),
        ("[Request interrupted by user]", None),
    ],
)
def test_fault_29_what_programs_wrote_is_neither_a_turn_nor_a_title(connection, tmp_path, text, is_meta):
    _save(connection, Transcript().ask(text, isMeta=is_meta).ask("the real question").write(tmp_path))
    assert _contents(connection) == ["[User]\nthe real question"]
    assert find_session(connection, "session-1").first_message == "the real question"


def test_fault_29_what_sub_agents_say_is_not_mixed_in(connection, tmp_path):
    transcript = Transcript().ask("real").ask("to the agent", isSidechain=True).answer("answer")
    _save(connection, transcript.write(tmp_path))
    assert _contents(connection) == ["[User]\nreal\n\n[Assistant]\nanswer"]


def test_fault_30_an_id_as_shown_is_accepted_and_one_that_is_not_there_is_refused(connection, tmp_path):
    _save(connection, Transcript("aaaaaaaa-1111").ask("x").write(tmp_path))
    assert find_session(connection, "aaaaaaaa").session_id == "aaaaaaaa-1111"
    for delete, name in ((delete_session, "bbbbbbbb"), (delete_chunks, ["999"])):
        with pytest.raises(NotFoundError):
            delete(connection, name, now=_NOW)
    assert delete_session(connection, "aaaaaaaa", now=_NOW).chunks == 1
    assert list_sessions(connection) == []


def test_fault_31_a_threshold_that_is_no_number_merges_nothing_and_says_so(connection):
    with pytest.raises(ConfigError):
        merge(connection, project_path=None, now=_NOW, archive_max_mb=0, threshold=float("nan"))


def test_fault_32_a_damaged_database_says_how_to_go_on_and_going_on_works(connection, path, tmp_path):
    transcript = Transcript().ask("接続プールの最大数は？").answer("20 です。").write(tmp_path)
    _save(connection, transcript)
    connection.close()
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.truncate()
    damaged = open_damaged_database(path)
    with pytest.raises(DatabaseCorruptError, match=r"kizami doctor.*kizami export"):
        connection = open_database(path)
        _save(connection, transcript)
    assert "接続プール" in json.dumps(json.loads("".join(export_json(damaged))), ensure_ascii=False)
    damaged.close()
    os.rename(path, f"{path}.damaged")
    connection = open_database(path)
    _save(connection, transcript)
    assert len(_contents(connection)) == 1
    connection.close()


def test_fault_34_recalling_saves_nothing_and_looks_at_no_transcript(connection, path, tmp_path):
    before = connection.execute("PRAGMA data_version").fetchone()
    for number in range(60):
        Transcript(f"s{number}").ask("接続プール").write(tmp_path / "home" / ".claude" / "projects" / "p")
    assert _recall(path, "接続プールの最大数は？") == ""
    assert connection.execute("PRAGMA data_version").fetchone() == before


def test_fault_37_a_chunk_of_japanese_keeps_the_limit_in_real_tokens(connection, tmp_path):
    _save(connection, Transcript().ask("長い説明").answer("接続の再試行を説明します。" * 400).write(tmp_path))
    chunks = list(session_chunks(connection, "session-1"))
    assert max(chunk.token_count for chunk in chunks) <= 512
    assert all(len(chunk.content) < 1024 for chunk in chunks)
    assert all(chunk.token_count == estimate_tokens(chunk.content) for chunk in chunks)


def test_deleted_and_edited_memories_stay_so_whatever_is_saved_later(connection, tmp_path):
    transcript = Transcript().ask("one").answer("1").ask("two").answer("2").ask("three").answer("3")
    _save(connection, transcript.write(tmp_path))
    first, second, _ = session_chunks(connection, "session-1")
    edit_chunk(connection, str(first.id), "edited", now=_NOW)
    delete_chunks(connection, [str(second.id)], now=_NOW)
    _save(connection, transcript.ask("four").write(tmp_path))
    assert _contents(connection) == ["edited", "[User]\nthree\n\n[Assistant]\n3", "[User]\nfour"]
