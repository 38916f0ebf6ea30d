"""What is kept out of the memory, seen from the hooks and the commands."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

SESSION_ID = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"  # of Home.write_transcript
DECISION = (
    "フォームの状態管理はどうする？",
    "小規模な画面は useState、検証が複雑な画面は React Hook Form を採用します。",
)
QUESTION = "フォームの状態管理、React Hook Form と useState のどちらだった？"


@pytest.fixture(params=["pattern", "marker"])
def acme(request, home):
    """A project that is kept out, in one way or the other."""
    folder = home.path / "clients" / "acme"
    folder.mkdir(parents=True)
    if request.param == "pattern":
        home.write_config(privacy={"excludeProjects": ["~/clients/*"]}, search={"projectScope": "tiered"})
    else:
        home.write_config(search={"projectScope": "tiered"})
        (folder.parent / ".kizamiignore").touch()
    return folder


def fields(home, path, cwd, event, **others):
    return {
        "session_id": SESSION_ID,
        "transcript_path": path,
        "cwd": str(cwd),
        "hook_event_name": event,
        **others,
    }


def sessions(home):
    if not home.database.exists():
        return []
    with closing(sqlite3.connect(home.database)) as connection:
        return [row[0] for row in connection.execute("SELECT session_id FROM sessions ORDER BY 1")]


def checks(home, name, **options):
    report = json.loads(home.run("doctor", "--json", **options).stdout)
    return [check for check in report["checks"] if check["check"] == name]


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "SessionEnd", "SessionStart"])
def test_no_hook_saves_a_project_that_is_kept_out(home, acme, event):
    path = home.write_transcript(DECISION, cwd=acme)
    hook = "inject" if event == "SessionStart" else "save"
    done = home.hook(hook, fields(home, path, acme, event, source="startup"))
    assert (done.out, done.err, home.database.exists()) == ("", "", False)


def test_a_large_session_that_is_kept_out_starts_no_process(home, acme):
    path = home.write_transcript((DECISION[0], "長い返答。" * 200_000), cwd=acme)
    home.hook("save", fields(home, path, acme, "Stop"))
    assert not home.database.exists()


def test_a_project_that_is_kept_out_gets_no_memory_and_leaves_no_trace_of_its_prompts(home, acme):
    home.save(DECISION)
    assert home.hook("recall", home.prompt(QUESTION, cwd=home.path / "other")).out
    before = (home.database.parent / "recalls.jsonl").read_bytes()
    assert home.hook("recall", home.prompt(QUESTION, cwd=acme)).out == ""
    assert (home.database.parent / "recalls.jsonl").read_bytes() == before
    start = {"session_id": "x", "cwd": str(acme), "source": "startup", "hook_event_name": "SessionStart"}
    assert home.hook("inject", start).out == ""


def test_the_last_turn_before_a_session_enters_such_a_project_is_saved(home, acme):
    path = home.write_transcript(DECISION)
    home.hook("save", fields(home, path, acme, "Stop"))
    assert sessions(home) == [SESSION_ID]


def test_saving_by_hand_says_why_not(home, acme, kizami):
    path = home.write_transcript(DECISION, cwd=acme)
    done = kizami("save", path)
    assert done.exit_code == 1
    marker, pattern = acme.parent / ".kizamiignore", f"{home.path}/clients/*"
    reason = marker if marker.exists() else pattern
    assert f"Nothing was saved: {reason} keeps the project of this session out. Take that away" in done.stderr
    assert sessions(home) == []


def test_saving_a_session_that_was_elsewhere_too_counts_what_is_left_out(home, acme, kizami):
    path = home.write_transcript(DECISION)
    with open(path, encoding="utf-8") as file:
        turn = file.read()
    with open(path, "a", encoding="utf-8") as file:
        file.write(turn.replace(str(home.project), str(acme)).replace("-0-", "-1-"))
    done = kizami("save", path)
    assert "1 turn written (1 chunk)" in done.stdout
    assert "1 turn left out: privacy.excludeProjects or a .kizamiignore keeps their folder out" in done.stdout


def test_backfill_counts_what_is_left_out_and_doctor_names_it(home, acme, kizami):
    home.write_transcript(DECISION, session_id="acme", cwd=acme)
    home.write_transcript(DECISION, session_id="silent")
    home.hook("save", {"session_id": "silent"}, env={"KIZAMI_DISABLE": "1"})
    home.write_transcript(DECISION, session_id="plain")
    told = "Left out: 1 transcript of excluded projects, 1 transcript with KIZAMI_DISABLE.\n"
    done = kizami("backfill", "--dry-run")
    assert done.stdout.splitlines()[0].startswith("Would save 1 transcript (")
    assert done.stdout.endswith(told)
    assert json.loads(kizami("backfill", "--dry-run", "--json").stdout)["left_out"] == 2
    assert kizami("backfill", "--dry-run", "--project", str(acme)).stdout.endswith(
        "Left out: 1 transcript of excluded projects.\n"
    )
    assert kizami("backfill").stderr.endswith(told)
    assert sessions(home) == ["plain"]
    assert kizami("backfill").stdout == "Nothing to do: 3 transcripts on disk, the others are saved.\n"
    marker, pattern = acme.parent / ".kizamiignore", f"{home.path}/clients/*"
    found = [(check["found"], check["state"]) for check in checks(home, "kept out")]
    assert found == [
        (f"{acme} is kept out by {marker if marker.exists() else pattern}: 1 transcript not saved", "ok"),
        ("1 transcript left out: KIZAMI_DISABLE was set", "ok"),
    ]
    (coverage,) = checks(home, "transcripts")
    assert (coverage["state"], coverage["found"]) == ("ok", "1 on disk, 1 saved to their end")


def test_setup_offers_no_history_of_what_is_kept_out(home, acme):
    home.write_transcript(DECISION, session_id="acme", cwd=acme)
    home.write_transcript(DECISION, session_id="silent")
    home.hook("save", {"session_id": "silent"}, env={"KIZAMI_DISABLE": "1"})
    home.write_transcript(DECISION, session_id="plain")
    home.run("setup", "--yes")
    assert sessions(home) == ["plain"]


def test_what_was_stored_before_is_shown_to_no_prompt_but_found_by_a_search(home, kizami):
    acme = home.path / "clients" / "acme"
    acme.mkdir(parents=True)
    home.write_config(search={"projectScope": "tiered"}, hooks={"minRelevanceScore": 0.1})
    home.save(DECISION, cwd=acme)
    assert "React Hook Form" in home.hook("recall", home.prompt(QUESTION)).out
    (acme / ".kizamiignore").touch()
    assert home.hook("recall", home.prompt(QUESTION, session_id="later")).out == ""
    assert "belongs to an excluded project" in kizami("why").stdout
    assert "React Hook Form" in kizami("search", "React Hook Form", "--all-projects").stdout
    assert kizami("recall", QUESTION, "--project", str(acme)).stdout == ""
    assert "this project is kept out" in kizami("why", "--prompt", QUESTION, "--project", str(acme)).stdout
    (check,) = checks(home, "kept out")
    assert check["found"].endswith(
        "; 1 chunk from before shown to no prompt (`kizami search` still finds them)"
    )
    assert f"Kept out       {acme}, by {acme / '.kizamiignore'}\n" in kizami("config", "list").stdout
    assert json.loads(kizami("config", "list", "--json").stdout)["kept_out"] == [
        {"project": str(acme), "by": str(acme / ".kizamiignore")}
    ]


# --- KIZAMI_DISABLE ---


@pytest.mark.parametrize(
    ("hook", "event"), [("inject", "SessionStart"), ("recall", "UserPromptSubmit"), ("save", "Stop")]
)
def test_a_session_that_was_disabled_is_never_saved_by_itself(home, kizami, hook, event):
    path = home.write_transcript(DECISION)
    disabled = fields(home, path, home.project, event, source="startup", prompt=QUESTION)
    done = home.hook(hook, disabled, env={"KIZAMI_DISABLE": "1"})
    assert (done.out, done.err, home.database.exists()) == ("", "", False)
    assert not home.error_log.exists()
    # Taken up again without the variable, and swept by a backfill.
    home.hook("save", fields(home, path, home.project, "Stop"))
    home.hook("save", fields(home, path, home.project, "SessionEnd"))
    kizami("backfill")
    assert sessions(home) == []
    assert checks(home, "transcripts")[0]["found"] == "0 on disk, 0 saved to their end"


def test_of_a_session_that_was_disabled_later_prompts_are_not_logged(home):
    home.save(DECISION, session_id="plain")
    prompt = home.prompt(QUESTION, session_id=SESSION_ID)
    home.hook("recall", prompt, env={"KIZAMI_DISABLE": "1"})
    assert "React Hook Form" in home.hook("recall", prompt).out
    assert not (home.database.parent / "recalls.jsonl").exists()
    home.hook("recall", {**prompt, "session_id": "other"})
    assert (home.database.parent / "recalls.jsonl").exists()


def test_saving_by_hand_takes_such_a_session_in(home, kizami):
    path = home.write_transcript(DECISION)
    home.hook("save", fields(home, path, home.project, "Stop"), env={"KIZAMI_DISABLE": "1"})
    assert kizami("save", path).exit_code == 0
    assert sessions(home) == [SESSION_ID]
    home.write_transcript(DECISION, ("続きは？", "続きです。"))
    home.hook("save", fields(home, path, home.project, "Stop"))
    with closing(sqlite3.connect(home.database)) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (2,)


def test_a_mark_that_cant_be_written_is_logged_and_nothing_else(home):
    home.database.parent.mkdir(parents=True)
    (home.database.parent / "left-out").write_text("", encoding="utf-8")
    done = home.hook("save", {"session_id": "x"}, env={"KIZAMI_DISABLE": "1"})
    assert (done.out, done.err) == ("", "")
    assert "save: the session can't be marked as left out" in home.error_log.read_text(encoding="utf-8")


# --- paths in the environment ---


def kept(folder):
    """Return the names in a folder, but for those that SQLite makes while it works."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(("-shm", "-wal")))


def test_hooks_keep_everything_where_the_environment_says(home, tmp_path):
    env = {"KIZAMI_DATA_DIR": str(tmp_path / "data"), "KIZAMI_CONFIG": str(tmp_path / "named.json")}
    (tmp_path / "named.json").write_text('{"hooks": {"minRelevanceScore": 0.1}}', encoding="utf-8")
    path = home.write_transcript(DECISION)
    home.hook("save", fields(home, path, home.project, "Stop"), env=env)
    assert "React Hook Form" in home.hook("recall", home.prompt(QUESTION), env=env).out
    assert kept(tmp_path / "data") == ["memory.db", "recalls.jsonl", "runs", "shown"]
    assert not home.database.parent.exists()
    # What is named on the command line wins.
    (tmp_path / "silent.json").write_text('{"hooks": {"autoRecall": false}}', encoding="utf-8")
    arguments = ("--config", str(tmp_path / "silent.json"))
    assert home.hook("recall", home.prompt(QUESTION), env=env, arguments=arguments).out == ""


def test_the_probe_of_doctor_and_the_demo_stay_in_their_thrown_away_homes(home, tmp_path):
    env = {"KIZAMI_DATA_DIR": str(tmp_path / "data"), "KIZAMI_CONFIG": str(tmp_path / "faulty.json")}
    (tmp_path / "faulty.json").write_text('{"hooks": {"recallLimit": "three"}}', encoding="utf-8")
    home.run("setup", "--yes", env=env)
    before = kept(tmp_path / "data")
    assert [check["state"] for check in checks(home, "hooks", env=env)] == ["ok"]
    assert "configuration" not in (tmp_path / "data" / "error.log").read_text(encoding="utf-8")
    assert b"SKIP LOCKED" in home.run("demo", env=env).stdout
    assert kept(tmp_path / "data") == before
