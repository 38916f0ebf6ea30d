import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

DECISION = (
    "フォームの状態管理はどうする？",
    "小規模な画面は useState、検証が複雑な画面は React Hook Form を採用します。",
)
# What the hooks may load besides Kizami's own modules: built in, or worth it. What reads only does without
# ``functools`` and all that it loads (storage/sqlite_module.py).
READING = set(
    "__future__ _collections_abc _datetime _functools _json _operator _sqlite3 _stat datetime gc genericpath "
    "itertools math nt ntpath operator os posix posixpath stat time unicodedata".split()
)
PATTERNS = set(
    "_collections _sre array collections copyreg enum functools keyword re reprlib types zlib".split()
)
ALLOWED = {
    "recall": READING,
    "inject": READING | PATTERNS,
    "save": READING | PATTERNS | {"_bisect", "binascii", "bisect", "signal"},
}


def log_lines(home):
    return home.error_log.read_text(encoding="utf-8").splitlines()


def test_a_prompt_brings_back_what_was_decided(home):
    home.save(DECISION)
    done = home.hook(
        "recall", home.prompt("フォームの状態管理、React Hook Form と useState のどちらだった？")
    )
    assert "検証が複雑な画面は React Hook Form を採用します。" in done.out
    assert done.out.endswith("\n")
    assert not done.out.startswith("{")
    assert done.err == ""
    assert not home.error_log.exists()


def test_a_session_start_tells_what_the_last_sessions_were_about(home):
    home.save(DECISION)
    fields = {"session_id": "another", "cwd": str(home.project), "source": "startup"}
    assert DECISION[0] in home.hook("inject", fields).out
    # A session that is taken up again holds it already.
    assert home.hook("inject", {**fields, "source": "resume"}).out == ""
    assert home.hook("inject", {**fields, "session_id": "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"}).out == ""


@pytest.mark.parametrize("hook", ["recall", "inject"])
def test_before_anything_is_saved_there_is_silence(home, hook):
    done = home.hook(hook, home.prompt("フォームの状態管理はどうする？"))
    assert (done.out, done.err) == ("", "")
    assert not home.database.exists()


@pytest.mark.parametrize("hook", ["recall", "inject"])
def test_a_database_file_that_is_still_empty_is_no_error(home, hook):
    home.database.parent.mkdir(parents=True)
    home.database.touch()
    done = home.hook(hook, home.prompt("フォームの状態管理はどうする？"))
    assert (done.out, done.err) == ("", "")


@pytest.mark.parametrize("hook", ["recall", "save", "inject"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"prompt": ',
        b"{" * 100_000,
        b'{"prompt": 3, "session_id": null, "cwd": [], "transcript_path": {"a": 1}}',
        b'{"prompt": "\\ud83d form", "cwd": "/\\u0000/\\udc00", "transcript_path": "/\\udc00.jsonl"}',
        '{"prompt": "フォーム", "cwd": "/", "transcript_path": "/gone.jsonl"}'.encode("cp932"),
        ('{"prompt": "' + "状態" * 300_000 + '", "cwd": "/", "transcript_path": "/"}').encode(),
        b'{"prompt": "a\nb", "cwd": "relative", "transcript_path": "relative.jsonl"}',
    ],
    ids=range(12),
)
def test_no_input_makes_a_hook_fail(home, hook, data):
    home.save(DECISION)
    done = home.hook(hook, data)
    assert done.out == ""
    # At most one line, and the error log holds the same.
    assert done.err.count("\n") <= 1
    assert (log_lines(home) if home.error_log.exists() else []) == done.err.splitlines()


def test_an_error_is_one_line_with_its_time_and_its_remedy(home):
    done = home.hook("save", b"not json")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ save: no JSON object on stdin\. .*kizami setup\n", done.err
    )
    assert log_lines(home) == [done.err.rstrip("\n")]
    assert home.error_log.stat().st_mode & 0o077 == 0


def test_what_a_shell_profile_prints_before_the_json_is_skipped(home):
    home.save(DECISION)
    prompt = json.dumps(home.prompt("フォームの状態管理は React Hook Form だった？"), ensure_ascii=False)
    noise = "\ufeffWelcome {dev}!\n{}\n$ "
    assert "React Hook Form を採用" in home.hook("recall", (noise + prompt).encode()).out


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "cp932"}])
def test_input_and_output_are_utf8_whatever_the_locale(home, locale):
    home.save(("絵文字 🍣 の状態管理", "寿司 🍣 と 𠮷野 は UTF-8 の 4 バイト文字です"))
    done = home.hook("recall", home.prompt("寿司の 4 バイト文字 UTF-8 の状態管理"), env=locale)
    assert "寿司 🍣 と 𠮷野" in done.out


@pytest.mark.parametrize("hook", ["recall", "save", "inject"])
def test_one_variable_silences_everything(home, hook):
    home.save(DECISION)
    path = home.write_transcript(DECISION, session_id="second")
    fields = {**home.prompt("フォームの状態管理"), "transcript_path": path, "source": "startup"}
    done = home.hook(hook, fields, env={"KIZAMI_DISABLE": "1"})
    assert (done.out, done.err) == ("", "")
    with sqlite3.connect(home.database) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    connection.close()


def test_automatic_recall_can_be_switched_off_while_saving_goes_on(home):
    home.write_config(hooks={"autoRecall": False})
    home.save(DECISION)
    assert home.hook("recall", home.prompt("フォームの状態管理、React Hook Form だった？")).out == ""
    assert home.hook("inject", {"cwd": str(home.project), "source": "startup"}).out == ""


def test_options_of_the_command_line_work_in_hooks_too(home, tmp_path):
    config = tmp_path / "other.json"
    config.write_text('{"database": {"path": "%s"}}' % (tmp_path / "other.db"), encoding="utf-8")
    path = home.write_transcript(DECISION)
    fields = {"session_id": "x", "transcript_path": path, "cwd": "/"}
    done = home.run("--config", str(config), "save", "--stdin", stdin=json.dumps(fields).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert not home.database.exists()
    question = home.prompt("フォームの状態管理、React Hook Form だった？", cwd="/")
    arguments = (f"--config={config}",)
    assert home.hook("recall", question, arguments=arguments).out == ""
    assert "React Hook Form" in home.hook("recall", question, arguments=(*arguments, "--all-projects")).out
    question["session_id"] = "third"
    arguments = (*arguments, "--project", home.project)
    assert "React Hook Form" in home.hook("recall", question, arguments=arguments).out


def test_a_faulty_configuration_is_one_line_and_costs_nothing_else(home):
    home.save(DECISION)
    home.write_config(search={"projectScope": "tierd", "mode": "hybird"})
    done = home.hook("recall", home.prompt("フォームの状態管理、React Hook Form だった？"))
    assert "React Hook Form" in done.out
    assert done.err.count("\n") == 1
    assert 'recall: configuration: search.projectScope must be true, false or "tiered"' in done.err
    assert "`kizami config list` shows where it stands." in done.err
    assert 'not "hybird"' in done.err
    assert done.err.endswith("Correct it: kizami config set search.mode core\n")


@pytest.mark.parametrize("hook", ["recall", "save", "inject"])
def test_a_damaged_database_is_said_with_the_way_out(home, hook):
    path = home.save(DECISION)
    home.database.write_bytes(b"this is no database" * 500)
    done = home.hook(
        hook, {**home.prompt("フォームの状態管理"), "transcript_path": path, "source": "startup"}
    )
    assert done.out == ""
    assert f"{hook}: {home.database} is damaged" in done.err
    assert "kizami export" in done.err
    assert home.database.read_bytes() == b"this is no database" * 500


def test_a_later_typescript_database_is_left_and_said(home):
    home.database.parent.mkdir(parents=True)
    with sqlite3.connect(home.database) as connection:
        connection.execute("CREATE TABLE schema_version(version INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO schema_version VALUES (5)")
    connection.close()
    before = home.database.read_bytes()
    path = home.write_transcript(DECISION)
    done = home.hook("save", {"session_id": "x", "transcript_path": path, "cwd": str(home.project)})
    assert "database.path" in done.err
    assert home.database.read_bytes() == before


def test_a_home_that_cant_be_written_costs_nothing(home):
    (home.path / ".local").write_text("a file where a directory should be", encoding="utf-8")
    path = home.write_transcript(DECISION)
    done = home.hook("save", {"session_id": "x", "transcript_path": path, "cwd": str(home.project)})
    assert done.out == ""
    assert "save: " in done.err


@pytest.mark.skipif(os.name == "nt", reason="closes descriptors with a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| true"])
@pytest.mark.parametrize("hook", ["recall", "save", "inject"])
def test_closed_streams_end_with_zero(home, hook, closed):
    path = home.save(DECISION)
    fields = json.dumps(
        {**home.prompt("フォームの状態管理、React Hook Form だった？"), "transcript_path": path}
    )
    before = home.database.read_bytes()
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f'"$1" -m kizami_cli {hook} --stdin {closed}', "-", sys.executable],
        input=fields.encode(),
        env=home.env,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    # What would have gone to stdout must not end up in a file that was opened in its place.
    assert hook == "save" or home.database.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_save_outlives_the_signals_of_a_client_that_exits(home, number):
    path = home.write_transcript(DECISION)
    fields = json.dumps({"session_id": "x", "transcript_path": path, "cwd": str(home.project)})
    code = (
        "import os, sys\n"
        "from kizami_core import recording\n"
        "real = recording.save_transcript\n"
        "def interrupted(*args, **kwargs):\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    return real(*args, **kwargs)\n"
        "recording.save_transcript = interrupted\n"
        "sys.argv = ['kizami', 'save', '--stdin']\n"
        "from kizami_cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=fields.encode(), env=home.env, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with sqlite3.connect(home.database) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
    connection.close()


@pytest.mark.skipif(os.name == "nt", reason="waits for a detached process by an inherited descriptor")
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize(
    ("hook", "event"),
    [("recall", "UserPromptSubmit"), ("inject", "SessionStart"), ("save", "Stop"), ("save", "SessionEnd")],
)
def test_hooks_import_only_what_they_need(home, hook, event, is_behind):
    path = home.save(DECISION)
    if is_behind:
        # SessionStart leaves it to a detached process, and so do the others when it is this much.
        home.write_transcript(DECISION, ("続きは？", "続き。" * (900_000 if hook == "save" else 1)))
    fields = {
        **home.prompt("フォームの状態管理、React Hook Form だった？"),
        "transcript_path": path,
        "source": "startup",
        "hook_event_name": event,
    }
    reader, writer = os.pipe()
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import os\n"
        f"sys.argv = ['kizami', {hook!r}, '--stdin']\n"
        "real_exit = os._exit\n"
        "def report(code):\n"
        "    sys.stderr.write(','.join(sorted(set(sys.modules) - before)))\n"
        "    sys.stderr.flush()\n"
        "    real_exit(code)\n"
        "os._exit = report\n"
        "from kizami_cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        input=json.dumps(fields).encode(),
        env=home.env,
        capture_output=True,
        pass_fds=(writer,),
        check=False,
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        pipe.read()
    assert done.returncode == 0
    assert bool(done.stdout) is (hook != "save")
    loaded = set(done.stderr.decode().split(","))
    assert "kizami_cli.hooks" in loaded
    assert {name.partition(".")[0] for name in loaded} - {"kizami_cli", "kizami_core"} - ALLOWED[
        hook
    ] == set()
    assert "kizami_cli.app" not in loaded
    assert ("kizami_core.recording" in loaded) is (hook == "save")
    assert ("kizami_cli.detach" in loaded) is (hook == "save" or (hook == "inject" and is_behind))
    with closing(sqlite3.connect(home.database)) as connection:
        (count,) = connection.execute("SELECT count(DISTINCT turn_id) FROM chunks").fetchone()
    assert count == (2 if is_behind and hook != "recall" else 1)
