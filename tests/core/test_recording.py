"""Saving transcripts: the pipeline from the file to the rows."""

import os
import subprocess
import sys
import tracemalloc
from datetime import timedelta

import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.errors import DatabaseBusyError, StorageError, TranscriptError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import LastAnswer, save_transcript
from kizami_core.records import Metadata, ReadReport, SaveReport, Session
from kizami_core.retrieval import word_index
from kizami_core.storage.chunks import find_chunk, session_chunks
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.maintenance_log import last_entries
from kizami_core.storage.sessions import refresh_session, stored_session
from kizami_core.timestamps import format_utc
from transcripts import BEGIN, Transcript, rows

_NOW = 1_780_000_000.0


def _config(**chunking):
    config, problems = parse_config({"chunking": chunking}, {"HOME": "/nowhere"})
    assert problems == []
    return config


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "data" / "memory.db")


@pytest.fixture
def connection(path):
    connection = open_database(path)
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _save(connection, path, *, config=None, now=_NOW, **options):
    return save_transcript(connection, path, config=config or _config(), now=now, **options)


def _contents(connection, session_id="session-1"):
    return [chunk.content for chunk in session_chunks(connection, session_id)]


def _everything(connection):
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('chunks_fts', 'chunks_words')"
    ).fetchall()
    return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}


def _conversation():
    return (
        Transcript()
        .ask("Reactのフォームで useState を使いたい")
        .answer("作ります。")
        .call("c1", "Bash", command="npm test -- --run")
        .result("c1", "Tests: 3 passed")
        .answer("src/Form.tsx を作りました。")
        .ask("ありがとう。次は検証")
        .answer("zod を使います。")
    )


def test_a_session_becomes_chunks_in_the_order_of_the_conversation(connection, tmp_path):
    path = _conversation().write(tmp_path)
    report = _save(connection, path)
    assert report == SaveReport(
        "session-1", "/home/dev/my-app", ReadReport(7, 2, {}, 0), 2, 0, 2, 0, os.path.getsize(path)
    )
    first, second = session_chunks(connection, "session-1")
    assert first.content == (
        "[User]\nReactのフォームで useState を使いたい\n\n[Assistant]\n作ります。\n\n"
        "[Tool: Bash] npm test -- --run → Tests: 3 passed\n\n[Assistant]\nsrc/Form.tsx を作りました。"
    )
    assert first.metadata == Metadata(("src/Form.tsx",), ("Bash",), ())
    assert (first.chunk_index, first.role, first.created_at) == (0, "mixed", "2026-03-04 05:07:07")
    assert (second.chunk_index, second.created_at) == (1, "2026-03-04 05:12:07")
    assert stored_session(connection, "session-1") == Session(
        "session-1",
        "/home/dev/my-app",
        "2026-03-04 05:07:07",
        "2026-03-04 05:12:07",
        2,
        "Reactのフォームで useState を使いたい",
        "ありがとう。次は検証",
    )


def test_saving_again_changes_nothing(connection, tmp_path):
    path = _conversation().write(tmp_path)
    _save(connection, path)
    before = _everything(connection)
    assert _save(connection, path, now=_NOW + 1e6) == SaveReport(
        "session-1", "/home/dev/my-app", ReadReport(0, 0, {}, 0), 0, 0, 0, 0, 0
    )
    assert _everything(connection) == before
    assert _save(connection, path, now=_NOW + 1e6, from_start=True) == SaveReport(
        "session-1", "/home/dev/my-app", ReadReport(7, 2, {}, 0), 0, 2, 0, 0, os.path.getsize(path)
    )
    assert _everything(connection) == before


def test_the_database_is_found_by_words_at_once(connection, tmp_path):
    _save(connection, _conversation().write(tmp_path))
    with transaction(connection):
        assert word_index.refresh(connection) == 0


def test_a_session_that_went_on_is_completed(connection, tmp_path):
    transcript = _conversation()
    _save(connection, transcript.write(tmp_path, lines=2))
    ids = [chunk.id for chunk in session_chunks(connection, "session-1")]
    report = _save(connection, transcript.write(tmp_path))
    assert (report.turns_written, report.turns_unchanged) == (2, 0)
    assert [chunk.id for chunk in session_chunks(connection, "session-1")][:1] == ids


def test_chunking_follows_the_configuration(connection, tmp_path):
    transcript = (
        Transcript()
        .ask("手順を全部書いて")
        .answer("\n\n".join(f"手順{n}を実行します。" * 10 for n in range(20)))
    )
    path = transcript.write(tmp_path)
    _save(connection, path)
    large = len(_contents(connection))
    report = _save(connection, path, config=_config(maxTokensPerChunk=64), from_start=True)
    chunks = list(session_chunks(connection, "session-1"))
    assert len(chunks) > large
    assert report.chunks_written == len(chunks)
    assert max(chunk.token_count for chunk in chunks) <= 64
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    report = _save(connection, path, from_start=True)
    assert (len(_contents(connection)), report.chunks_removed) == (large, len(chunks) - large)


def test_tool_output_is_cut_as_configured(connection, tmp_path):
    output = "\n".join(f"line {n}" for n in range(100))
    path = Transcript().ask("run").call("c", "Bash", command="make").result("c", output).write(tmp_path)
    _save(connection, path, config=_config(truncateToolOutputLines=2, truncateToolOutputTailLines=1))
    assert _contents(connection) == [
        "[User]\nrun\n\n[Tool: Bash] make → line 0\nline 1\n...(truncated)\nline 99"
    ]


def test_secrets_and_private_regions_are_not_stored(connection, path, tmp_path):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    transcript = Transcript().ask(f"token {token} <private>hidden-kumquat</private> go")
    transcript.call("c", "Bash", command=f"export GITHUB_TOKEN={token}").result("c", f"Error: bad {token}")
    _save(connection, transcript.write(tmp_path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "rb") as file:
        stored = file.read()
    assert token.encode() not in stored
    assert b"kumquat" not in stored
    assert "[User]" in _contents(connection)[0]


def test_what_only_asked_kizami_is_not_stored_and_what_follows_is(connection, tmp_path):
    transcript = Transcript().ask("最初の質問").answer("最初の回答")
    asked = "<command-message>kizami:forget</command-message>\n<command-name>/kizami:forget</command-name>"
    transcript.ask(f"{asked}\n<command-args>ACME deal</command-args>").answer("The ACME deal: 3 memories.")
    _save(connection, transcript.write(tmp_path))
    assert _contents(connection) == ["[User]\n最初の質問\n\n[Assistant]\n最初の回答"]
    transcript.ask("次の質問").answer("次の回答")
    _save(connection, transcript.write(tmp_path))
    assert _contents(connection)[1:] == ["[User]\n次の質問\n\n[Assistant]\n次の回答"]


def test_the_project_is_the_folder_of_the_records_not_of_the_file(connection, tmp_path):
    path = Transcript(cwd="/home/dev/my-app.v2").ask("x").write(tmp_path / "-home-dev-my-app-v2")
    assert _save(connection, path, cwd="/somewhere/else").project_path == "/home/dev/my-app.v2"


def test_sub_directories_and_links_lead_to_the_repository(connection, tmp_path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    path = Transcript(cwd=str(tmp_path / "link" / "src")).ask("x").write(tmp_path)
    assert _save(connection, path).project_path == str((tmp_path / "repo").resolve())


def test_the_hooks_folder_stands_in_where_the_records_name_none(connection, tmp_path):
    path = Transcript(cwd=None).ask("x").write(tmp_path)
    assert _save(connection, path).project_path == ""
    assert _save(connection, path, cwd="/home/dev/other").project_path == "/home/dev/other"
    assert {chunk.project_path for chunk in session_chunks(connection, "session-1")} == {"/home/dev/other"}
    assert stored_session(connection, "session-1").project_path == "/home/dev/other"
    assert _save(connection, path).project_path == "/home/dev/other"


def test_a_worktree_that_is_gone_keeps_its_project(connection, tmp_path):
    worktree = tmp_path / "wt"
    git_dir = tmp_path / "repo" / ".git" / "worktrees" / "wt"
    git_dir.mkdir(parents=True)
    (git_dir / "commondir").write_text("../..\n", encoding="utf-8")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {git_dir}\n", encoding="utf-8")
    transcript = Transcript(cwd=str(worktree)).ask("x")
    root = str((tmp_path / "repo").resolve())
    assert _save(connection, transcript.write(tmp_path)).project_path == root
    (worktree / ".git").unlink()
    worktree.rmdir()
    assert _save(connection, transcript.ask("y").write(tmp_path)).project_path == root


def test_windows_paths_are_kept_as_text(connection, tmp_path):
    path = Transcript(cwd="C:\\Users\\me\\アプリ").ask("x").write(tmp_path)
    assert _save(connection, path).project_path == "C:\\Users\\me\\アプリ"


def test_turns_without_a_time_take_that_of_the_file(connection, tmp_path):
    path = Transcript().ask("x", timestamp=None).write(tmp_path)
    os.utime(path, (_NOW - 1000, _NOW - 1000))
    _save(connection, path)
    os.utime(path, (_NOW - 500, _NOW - 500))
    _save(connection, path)
    assert find_chunk(connection, "1").created_at == format_utc(_NOW - 1000)


def test_a_file_of_the_future_counts_as_now(connection, tmp_path):
    path = Transcript().ask("x", timestamp="soon").write(tmp_path)
    os.utime(path, (_NOW + 1000, _NOW + 1000))
    _save(connection, path)
    assert find_chunk(connection, "1").created_at == format_utc(_NOW)


def test_a_file_that_vanishes_while_it_is_saved_is_saved_as_far_as_it_can_be_read(connection, tmp_path):
    transcript = Transcript()
    for number in range(250):
        transcript.ask(f"question {number}", timestamp=None)
    path = transcript.write(tmp_path)
    os.utime(path, (_NOW - 1000, _NOW - 1000))
    connection.set_trace_callback(
        lambda statement: os.path.exists(path) and os.remove(path) if "BEGIN" in statement else None
    )
    report = _save(connection, path, last_answer=LastAnswer("the answer", "prompt-7"))
    connection.set_trace_callback(None)
    assert report.turns_written == 250
    assert _contents(connection)[-1] == "[User]\nquestion 249\n\n[Assistant]\nthe answer"
    assert find_chunk(connection, "250").created_at == format_utc(_NOW - 1000)
    transcript.answer("the answer").write(tmp_path)
    assert _save(connection, path).bytes_read == os.path.getsize(path)


def test_an_empty_transcript_saves_nothing(connection, tmp_path):
    report = _save(connection, Transcript().write(tmp_path))
    assert report == SaveReport("session-1", "", ReadReport(0, 0, {}, 0), 0, 0, 0, 0, 0)
    assert rows(connection) == {"chunks": [], "turns": [], "sessions": [], "resolutions": []}


def test_a_missing_transcript_says_what_to_check(connection, tmp_path):
    with pytest.raises(TranscriptError, match="Check the path"):
        _save(connection, str(tmp_path / "gone.jsonl"))


def test_the_session_is_named_by_the_file_unless_that_is_no_transcripts_name(connection, tmp_path):
    transcript = Transcript("inner").ask("x")
    assert (
        _save(connection, transcript.write(tmp_path, name="stem.jsonl"), session_id="stale").session_id
        == "stem"
    )
    assert _save(connection, transcript.write(tmp_path, name="pipe"), session_id="hook").session_id == "hook"
    assert _save(connection, transcript.write(tmp_path, name="pipe")).session_id == "pipe"


def test_a_file_name_that_is_no_utf_8_is_no_obstacle(connection, tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(Transcript().ask("x").lines))
    assert _save(connection, os.fsdecode(path)).session_id == "caf?"


def test_a_fork_counts_what_it_copied_once(connection, tmp_path):
    parent = _conversation()
    _save(connection, parent.write(tmp_path))
    fork = Transcript("session-2", begin=BEGIN + timedelta(hours=1))
    fork.lines = [
        line.replace('"sessionId": "session-1"', '"sessionId": "session-2"') for line in parent.lines
    ]
    fork.ask("forked question").answer("forked answer")
    report = _save(connection, fork.write(tmp_path))
    assert (report.turns_written, report.turns_unchanged) == (1, 2)
    assert len(_contents(connection, "session-1")) == 2
    assert _contents(connection, "session-2") == ["[User]\nforked question\n\n[Assistant]\nforked answer"]


def test_a_turn_that_went_on_in_a_copy_completes_the_session_that_it_stands_in(connection, tmp_path):
    parent = Transcript().ask("long work").answer("begun")
    _save(connection, parent.write(tmp_path))
    copy = Transcript("session-2")
    copy.lines = [*parent.lines]
    copy.answer("step. " * 600)
    assert _save(connection, copy.write(tmp_path)).turns_written == 1
    session = stored_session(connection, "session-1")
    assert session.chunk_count == len(_contents(connection)) > 1
    assert stored_session(connection, "session-2") is None


def test_edited_and_deleted_chunks_stay_so(connection, tmp_path):
    transcript = _conversation()
    _save(connection, transcript.write(tmp_path))
    edit_chunk(connection, "1", "corrected", now=_NOW)
    delete_chunks(connection, ["2"], now=_NOW)
    transcript.answer("more").ask("third")
    _save(connection, transcript.write(tmp_path))
    assert _contents(connection) == ["corrected", "[User]\nthird"]


def test_a_deleted_session_does_not_come_back(connection, tmp_path):
    path = _conversation().write(tmp_path)
    _save(connection, path)
    delete_session(connection, "session-1", now=_NOW)
    assert _save(connection, path, from_start=True).turns_unchanged == 2
    assert rows(connection)["chunks"] == rows(connection)["sessions"] == []


def test_chunks_of_the_typescript_kizami_are_replaced_by_identified_ones(connection, tmp_path):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
            "VALUES (?, '/x', ?, ?, 'mixed')",
            [("session-1", 0, "old 0"), ("session-1", 1, "old 1"), ("session-9", 0, "other")],
        )
        refresh_session(connection, "session-9")
    report = _save(connection, _conversation().write(tmp_path))
    assert (report.chunks_written, report.chunks_removed) == (2, 2)
    assert [chunk.chunk_index for chunk in session_chunks(connection, "session-1")] == [0, 1]
    assert _contents(connection, "session-9") == ["other"]
    entry = last_entries(connection, 1)[0]
    assert (entry.action, entry.chunks_deleted) == ("replace", 2)
    assert entry.detail == "chunks of the TypeScript Kizami, saved anew: session session-1"


def test_an_empty_transcript_does_not_replace_them(connection, tmp_path):
    with transaction(connection):
        connection.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
            "VALUES ('session-1', '/x', 0, 'old', 'mixed')"
        )
        refresh_session(connection, "session-1")
    _save(connection, Transcript().raw('{"type":"summary"}').write(tmp_path))
    assert _contents(connection) == ["old"]


def test_what_other_programs_left_for_the_word_index_is_caught_up_first(connection, tmp_path):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
            "VALUES ('old', '/x', ?, 'w', 'mixed')",
            [(number,) for number in range(1200)],
        )
        refresh_session(connection, "old")
    _save(connection, Transcript().write(tmp_path))
    assert connection.execute("SELECT count(*) FROM word_queue").fetchone() == (0,)


def test_a_long_session_is_written_in_batches(connection, path, tmp_path):
    transcript = Transcript()
    for number in range(450):
        transcript.ask(f"question {number}").answer(f"answer {number}")
    commits = []
    connection.set_trace_callback(
        lambda statement: commits.append(statement) if statement == "COMMIT" else None
    )
    report = _save(connection, transcript.write(tmp_path))
    connection.set_trace_callback(None)
    assert report.turns_written == 450
    assert len(commits) == 3  # 200 + 200 + 50 turns
    contents = _contents(connection)
    assert [contents[0], contents[449]] == [
        f"[User]\nquestion {n}\n\n[Assistant]\nanswer {n}" for n in (0, 449)
    ]


def test_a_save_that_died_half_way_is_completed_by_the_next(connection, tmp_path):
    transcript = Transcript()
    for number in range(250):
        transcript.ask(f"question {number}").answer(f"answer {number}")
    path = transcript.write(tmp_path)

    other = open_database(str(tmp_path / "dies.db"))
    other.execute(
        "CREATE TEMP TRIGGER death BEFORE INSERT ON main.turns WHEN (SELECT count(*) FROM turns) = 220 "
        "BEGIN SELECT RAISE(ABORT, 'died'); END"
    )
    with pytest.raises(StorageError, match="died"):
        _save(other, path)
    assert stored_session(other, "session-1").chunk_count == 200
    other.execute("DROP TRIGGER death")
    _save(other, path)
    _save(connection, path)
    assert rows(other) == rows(connection)
    other.close()


def test_memory_does_not_grow_with_the_transcript(connection, tmp_path):
    def peak(turns):
        transcript = Transcript(f"s{turns}")
        for number in range(turns):
            transcript.ask(f"question {number}").call(f"c{number}", "Bash", command="make")
            transcript.result(f"c{number}", "一行の出力です。\n" * 4000)
        path = transcript.write(tmp_path)
        del transcript
        tracemalloc.start()
        _save(connection, path)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    small = peak(10)
    assert peak(80) < 1.5 * small


def test_a_database_that_stays_locked_is_reported_as_busy(path, tmp_path):
    holder = open_database(path)
    connection = open_database(path, busy_timeout_ms=1)
    with transaction(holder), pytest.raises(DatabaseBusyError):
        _save(connection, _conversation().write(tmp_path))
    connection.close()
    holder.close()


_SAVER = """
import sys
from kizami_core.config import parse_config
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
connection = open_database(sys.argv[1])
for path in sys.argv[2:]:
    save_transcript(connection, path, config=parse_config({}, {})[0], now=1780000000.0)
connection.close()
"""


@pytest.mark.heavy
@pytest.mark.parametrize("exists", [False, True])
def test_eight_savers_at_once_lose_nothing(path, tmp_path, exists):
    """Each saves a session of its own, and one that all of them share, at different lengths."""
    shared = Transcript("shared")
    for number in range(40):
        shared.ask(f"shared question {number}").answer(f"shared answer {number}")
    paths = []
    for saver in range(8):
        own = Transcript(f"own-{saver}")
        for number in range(120):
            own.ask(f"question {number} of {saver}").answer("yes")
        paths.append(
            [own.write(tmp_path / "own"), shared.write(tmp_path / str(saver), lines=10 * (saver + 1))]
        )
    if exists:
        open_database(path).close()
    command = [sys.executable, "-W", "error", "-c", _SAVER, path]
    savers = [subprocess.Popen([*command, *saved], stderr=subprocess.PIPE) for saved in paths]
    assert [saver.communicate()[1] for saver in savers] == [b""] * 8
    once = open_database(str(tmp_path / "once.db"))
    for own, _ in paths:
        _save(once, own, config=parse_config({}, {})[0])
    _save(once, paths[-1][1], config=parse_config({}, {})[0])
    connection = open_database(path)
    assert rows(connection) == rows(once)
    assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (8 * 120 + 40,)
    assert check(connection) == IntegrityReport((), ())
    connection.close()
    once.close()
