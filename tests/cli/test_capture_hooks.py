"""The hooks Stop, PreCompact, SessionEnd and SessionStart: no turn is lost, and nobody is kept waiting."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from zlib import crc32

import pytest

from kizami_core.locks import ProcessLock

posix = pytest.mark.skipif(os.name == "nt", reason="waits for detached processes by an inherited descriptor")
QUESTION = ("状態管理は？", "小規模な画面は useState を採用します。")
MORE = ("検証は？", "React Hook Form と zod を使います。")


class Detached:
    """Runs a hook and waits for the processes that it left behind: each holds one end of a pipe."""

    def __init__(self, home):
        self._home = home

    def __call__(self, hook, fields, **environment):
        reader, writer = os.pipe()
        with subprocess.Popen(
            [sys.executable, "-m", "kizami_cli", hook, "--stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._home.env | environment,
            pass_fds=(writer,),
            start_new_session=True,
        ) as process:
            os.close(writer)
            out, err = process.communicate(json.dumps(fields).encode(), timeout=60)
            assert (process.returncode, err) == (0, b""), err
            # The client is gone with all of its process group, whatever else was in it.
            with closing(os.fdopen(reader, "rb")) as pipe:
                assert pipe.read() == b""
        return out.decode()


@pytest.fixture
def detached(home):
    return Detached(home)


def chunks(home):
    with closing(sqlite3.connect(home.database)) as connection:
        return [
            row[0]
            for row in connection.execute("SELECT content FROM chunks ORDER BY session_id, chunk_index")
        ]


def fields_of(home, path, event, **more):
    session_id = os.path.basename(path).removesuffix(".jsonl")
    return {
        "session_id": session_id,
        "transcript_path": path,
        "cwd": str(home.project),
        "hook_event_name": event,
        **more,
    }


def exchange(question, answer):
    return f"[User]\n{question}\n\n[Assistant]\n{answer}"


def make_large(path, turns=5, kilobytes=600):
    """Give a transcript turns with large outputs: more than is saved while somebody waits."""
    with open(path, "a", encoding="utf-8") as file:
        for number in range(turns):
            common = {"timestamp": "2099-01-02T09:00:00.000Z", "sessionId": "x", "type": "user"}
            prompt = {"content": f"large question {number}"}
            file.write(json.dumps({**common, "uuid": f"l{number}", "message": prompt}) + "\n")
            call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": "make"}}
            message = {"id": f"m{number}", "content": [call]}
            file.write(
                json.dumps({**common, "type": "assistant", "uuid": f"a{number}", "message": message}) + "\n"
            )
            block = {
                "type": "tool_result",
                "tool_use_id": f"c{number}",
                "content": "output\n" * (kilobytes * 150),
            }
            file.write(json.dumps({**common, "uuid": f"r{number}", "message": {"content": [block]}}) + "\n")
    assert os.path.getsize(path) > 2_000_000
    return path


def test_a_turn_is_found_when_its_answer_has_ended(home):
    path = home.write_transcript(QUESTION)
    assert home.hook("save", fields_of(home, path, "Stop", last_assistant_message=QUESTION[1])).out == ""
    assert chunks(home) == [exchange(*QUESTION)]
    home.write_transcript(QUESTION, MORE)
    home.hook("save", fields_of(home, path, "Stop", last_assistant_message=MORE[1]))
    assert chunks(home) == [exchange(*QUESTION), exchange(*MORE)]
    assert MORE[1] in home.hook("recall", home.prompt("検証は React Hook Form だった？")).out


def test_an_answer_that_is_not_written_yet_is_found_too_and_the_end_puts_it_right(home):
    path = home.write_transcript(QUESTION)
    with open(path, encoding="utf-8") as file:
        prompt, answer = file.readlines()
    with open(path, "w", encoding="utf-8") as file:
        file.write(prompt)
    home.hook("save", fields_of(home, path, "Stop", last_assistant_message=QUESTION[1]))
    assert chunks(home) == [exchange(*QUESTION)]
    with open(path, "a", encoding="utf-8") as file:
        file.write(answer)
    home.hook("save", fields_of(home, path, "SessionEnd"))
    assert chunks(home) == [exchange(*QUESTION)]
    with closing(sqlite3.connect(home.database)) as connection:
        assert connection.execute("SELECT awaited_answer FROM turns").fetchall() == [(None,)]


def test_a_compaction_is_preceded_by_a_save(home):
    path = home.write_transcript(QUESTION)
    home.hook("save", fields_of(home, path, "PreCompact", trigger="auto"))
    assert chunks(home) == [exchange(*QUESTION)]


@pytest.mark.parametrize("event", ["Stop", "PreCompact"])
def test_a_client_that_keeps_no_transcripts_is_no_error_at_every_turn(home, event):
    fields = fields_of(home, str(home.path / "gone.jsonl"), event, last_assistant_message="x")
    done = home.hook("save", fields)
    assert (done.out, done.err) == ("", "")
    assert not home.database.exists()


def test_the_end_of_a_session_that_was_asked_nothing_is_no_error(home):
    """The client tells of such an end after `claude plugin install`."""
    done = home.hook("save", fields_of(home, str(home.path / "gone.jsonl"), "SessionEnd"))
    assert (done.out, done.err) == ("", "")


def test_the_end_of_a_session_with_prompts_but_no_transcript_is_told(home):
    home.hook("save", fields_of(home, home.write_transcript(QUESTION), "Stop"))
    fields = fields_of(home, str(home.path / "gone.jsonl"), "SessionEnd")
    home.hook("recall", {"prompt": QUESTION[0], "session_id": fields["session_id"], "cwd": fields["cwd"]})
    done = home.hook("save", fields)
    assert "gone.jsonl" in done.err


def test_within_a_session_nothing_is_deleted(home):
    """Maintenance is for the end of a session."""
    home.write_config(maintenance={"maxChunkAgeDays": 1})
    path = home.write_transcript(QUESTION)
    with open(path, encoding="utf-8") as file:
        old = file.read().replace("2099-", "2020-")
    with open(path, "w", encoding="utf-8") as file:
        file.write(old)
    home.hook("save", fields_of(home, path, "Stop"))
    assert len(chunks(home)) == 1
    home.hook("save", fields_of(home, path, "SessionEnd"))
    assert chunks(home) == []


def test_the_end_saves_sub_agents_and_a_turn_does_not(home):
    path = home.write_transcript(QUESTION)
    agent = home.write_transcript(("Explore", "Explored."), session_id="agent-a1")
    folder = path.removesuffix(".jsonl") + "/subagents"
    os.makedirs(folder)
    os.rename(agent, f"{folder}/agent-a1.jsonl")
    home.hook("save", fields_of(home, path, "Stop"))
    assert len(chunks(home)) == 1
    home.hook("save", fields_of(home, path, "SessionEnd"))
    assert len(chunks(home)) == 2
    listed = json.loads(home.run("list", "--json").stdout)
    assert [session["parent_session_id"] for session in listed] == [None]
    listed = json.loads(home.run("list", "--json", "--include-agents").stdout)
    assert [session["session_id"] for session in listed if session["parent_session_id"]] == ["agent-a1"]
    for options, found in ([], 0), (["--include-agents"], 1):
        shown = json.loads(home.run("show", "0f6a", "--json", *options).stdout)
        assert [chunk["session_id"] for chunk in shown][1:] == ["agent-a1"] * found
        hits = json.loads(home.run("search", "Explored", "--json", *options).stdout)
        assert len([hit for hit in hits if hit["session_id"] == "agent-a1"]) == found


@posix
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_what_takes_long_is_finished_by_a_process_that_outlives_the_hook(home, detached, event):
    path = make_large(home.write_transcript(QUESTION))
    assert detached("save", fields_of(home, path, event)) == ""
    assert chunks(home)[0] == exchange(*QUESTION)
    assert len(chunks(home)) == 6
    assert not home.error_log.exists()
    assert os.listdir(home.database.parent / "locks") == []


@posix
def test_a_hook_does_not_wait_for_the_process_that_finishes(home):
    """The process can't begin before the hook has returned: both need the lock that is held here."""
    path = make_large(home.write_transcript(QUESTION))
    home.save(MORE, session_id="first")
    reader, writer = os.pipe()
    with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        done = subprocess.run(
            [sys.executable, "-m", "kizami_cli", "save", "--stdin"],
            input=json.dumps(fields_of(home, path, "SessionEnd")).encode(),
            capture_output=True,
            env=home.env,
            pass_fds=(writer,),
            check=False,
            timeout=60,
        )
        os.close(writer)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
        connection.execute("ROLLBACK")
    with closing(os.fdopen(reader, "rb")) as pipe:
        assert pipe.read() == b""
    assert len(chunks(home)) == 7


@posix
def test_of_several_processes_for_one_session_one_does_the_work(home, detached):
    path = make_large(home.write_transcript(QUESTION))
    home.save(MORE, session_id="first")
    with ProcessLock(str(home.database.parent / "locks" / f"save-{crc32(path.encode()):08x}")) as lock:
        assert lock.is_held
        detached("save", fields_of(home, path, "SessionEnd"))
        assert len(chunks(home)) == 1
    detached("save", fields_of(home, path, "SessionEnd"))
    assert len(chunks(home)) == 7


@posix
def test_a_session_that_is_taken_up_again_is_completed(home, detached):
    path = home.write_transcript(QUESTION)
    home.hook("save", fields_of(home, path, "Stop"))
    home.write_transcript(QUESTION, MORE)
    assert detached("inject", fields_of(home, path, "SessionStart", source="resume")) == ""
    assert chunks(home) == [exchange(*QUESTION), exchange(*MORE)]


@posix
def test_sessions_that_reached_no_hook_are_caught_up_at_most_every_few_minutes(home, detached):
    home.save(QUESTION, session_id="first")
    start = fields_of(home, str(home.path / "new.jsonl"), "SessionStart", source="startup")
    detached("inject", start)
    stamp = home.database.parent / "caught-up"
    home.write_transcript(MORE, session_id="missed")
    detached("inject", start)
    assert chunks(home) == [exchange(*QUESTION)]
    os.utime(stamp, (time.time() - 301, time.time() - 301))
    assert QUESTION[0] in detached("inject", start)
    assert chunks(home) == [exchange(*QUESTION), exchange(*MORE)]
    assert abs(stamp.stat().st_mtime - time.time()) < 200


@posix
def test_a_clock_that_was_wrong_does_not_stop_catching_up(home, detached):
    home.save(QUESTION, session_id="first")
    home.write_transcript(MORE, session_id="missed")
    stamp = home.database.parent / "caught-up"
    stamp.touch()
    os.utime(stamp, (time.time() + 1e8, time.time() + 1e8))
    detached("inject", fields_of(home, str(home.path / "new.jsonl"), "SessionStart", source="startup"))
    assert len(chunks(home)) == 2


@posix
def test_saving_goes_on_where_recall_is_switched_off(home, detached):
    home.write_config(hooks={"autoRecall": False})
    path = home.save(QUESTION)
    home.write_transcript(QUESTION, MORE)
    assert detached("inject", fields_of(home, path, "SessionStart", source="resume")) == ""
    assert len(chunks(home)) == 2


@posix
def test_what_a_detached_process_cant_do_stands_in_the_error_log(home, detached):
    path = make_large(home.write_transcript(QUESTION))
    home.save(MORE, session_id="first")
    (home.database.parent / "locks").write_text("a file where a directory should be", encoding="utf-8")
    assert detached("save", fields_of(home, path, "SessionEnd")) == ""
    (line,) = home.error_log.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"\S+ save: .*locks.*", line)


@posix
def test_where_a_process_cant_begin_a_session_in_one_step_it_is_started_otherwise(home, detached):
    path = make_large(home.write_transcript(QUESTION))
    (home.path / "old").mkdir()
    (home.path / "old" / "sitecustomize.py").write_text(
        "import os\ndef refuse(*args, **kwargs):\n    raise NotImplementedError\nos.posix_spawn = refuse\n",
        encoding="utf-8",
    )
    paths = os.pathsep.join([str(home.path / "old"), home.env.get("PYTHONPATH", "")])
    detached("save", fields_of(home, path, "SessionEnd"), PYTHONPATH=paths)
    assert len(chunks(home)) == 6
