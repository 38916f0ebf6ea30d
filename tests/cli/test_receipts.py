"""What a session is shown once it is not shown again, marks are kept to, and `kizami why` says why."""

import json
import os
import re
import sqlite3
from contextlib import closing

import pytest

from kizami_core.json_text import dump
from kizami_core.recall_log import LoggedRecall, read_log
from kizami_core.recall_report import CandidateReport, RecallReport, TermReport

FORMS = ("フォームの状態管理はどうする？", "検証が複雑な画面は React Hook Form を採用します。")
QUEUE = ("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED, one service less than Redis.")
ASKED = "フォームの状態管理、React Hook Form だった？"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def saved(home):
    home.save(FORMS, QUEUE)
    home.write_config(hooks={"minRelevanceScore": 0.25})
    return home


@pytest.fixture
def ask(saved):
    """Send a prompt by the hook; returns the block."""

    def send(prompt=ASKED, **options):
        done = saved.hook("recall", saved.prompt(prompt, **options))
        assert done.err == ""
        return done.out

    return send


def log(home):
    return read_log(str(home.database.parent / "recalls.jsonl"))


def begin(home, source, session_id="another"):
    home.hook("inject", {"session_id": session_id, "cwd": str(home.project), "source": source})


def test_a_session_is_shown_a_memory_once(saved, ask):
    assert FORMS[1] in ask()
    assert ask() == ""
    assert QUEUE[1] in ask("Which queue for mails, PostgreSQL or Redis?")
    assert FORMS[1] in ask(session_id="third")
    assert [entry.report.outcome for entry in log(saved)] == ["shown", "all_hidden", "shown", "shown"]


def test_a_session_that_is_taken_up_again_still_holds_it(saved, ask):
    ask()
    begin(saved, "resume")
    assert ask() == ""


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_a_session_whose_context_is_gone_is_shown_it_again(saved, ask, source):
    ask()
    ask(session_id="third")
    begin(saved, source)
    assert FORMS[1] in ask()
    assert ask(session_id="third") == ""


def test_the_end_of_a_session_clears_what_is_older_than_a_month(saved, ask):
    ask()
    shown = saved.database.parent / "shown"
    os.utime(shown / "another", (0, 0))
    ask(session_id="third")
    saved.save(QUEUE, session_id="fourth")
    assert [path.name for path in shown.iterdir()] == ["third"]


def test_a_data_folder_that_cant_be_written_costs_no_memory(saved, ask):
    (saved.database.parent / "shown").write_text("a file", encoding="utf-8")
    (saved.database.parent / "recalls.jsonl").mkdir()
    assert FORMS[1] in ask()
    assert FORMS[1] in ask()
    assert not saved.error_log.exists()


def test_where_recall_is_off_nothing_is_logged(saved, ask):
    saved.write_config(hooks={"autoRecall": False})
    assert ask() == ""
    assert log(saved) == []


def test_each_recall_leaves_a_receipt(saved, ask):
    ask()
    (entry,) = log(saved)
    assert (entry.session_id, entry.project_path, entry.prompt) == (
        "another",
        os.path.realpath(saved.project),
        ASKED,
    )
    report = entry.report
    assert (report.outcome, report.gate, report.shown_ids()) == ("shown", 0.25, [1])
    assert report.tokens > 50
    stages = ["input", "open", "load", "lookup", "candidates", "rerank", "format", "total"]
    assert list(report.milliseconds) == stages
    assert all(spent >= 0 for spent in report.milliseconds.values())


def test_a_muted_memory_is_never_shown_until_it_is_unmuted(saved, ask, kizami):
    assert kizami("mute", "#1").output == f"#1\t2099-01-01 09:00\tmuted\t{FORMS[0]}\n"
    assert ask() == ""
    assert log(saved)[-1].report.candidates[-1] == CandidateReport(1, "muted")
    saved.save(FORMS, QUEUE, ("続きは？", "続きます。"))
    assert ask() == ""
    assert kizami("mute", "--undo", "1").output == f"#1\t2099-01-01 09:00\tnot muted\t{FORMS[0]}\n"
    assert FORMS[1] in ask()


def test_a_pinned_memory_outlives_a_prune(saved, kizami):
    assert kizami("pin", "1").output == f"#1\t2099-01-01 09:00\tpinned\t{FORMS[0]}\n"
    with closing(sqlite3.connect(saved.database)) as connection:
        connection.execute("UPDATE chunks SET created_at = '2020-01-01 00:00:00'")
        connection.commit()
    done = kizami("prune", "--older-than", "30d", "--yes", "--json")
    assert json.loads(done.stdout)["chunks"] == 1
    with closing(sqlite3.connect(saved.database)) as connection:
        assert connection.execute("SELECT id FROM chunks").fetchall() == [(1,)]


def test_marks_are_shown_wherever_the_memory_is(saved, kizami):
    session = "0f6a2c41\t2099-01-02 09:00\t2"
    assert kizami("list").output == f"{session}\t{FORMS[0]}\n"
    kizami("mute", "1")
    kizami("pin", "1", "2")
    assert kizami("list").output == f"{session}\t1 muted, 2 pinned\t{FORMS[0]}\n"
    assert json.loads(kizami("list", "--json").output)[0]["marks"] == {"muted": 1, "pinned": 2}
    assert "Marked         1 muted, 2 pinned\n" in kizami("stats").output
    assert kizami("show", "1").output.splitlines()[0].endswith("  muted  pinned")
    assert [chunk["marks"] for chunk in json.loads(kizami("show", "0f6a", "--json").output)] == [
        ["muted", "pinned"],
        ["pinned"],
    ]
    found = kizami("search", "React Hook Form").output
    assert found.splitlines()[0].endswith("  muted  pinned")
    assert json.loads(kizami("search", "React", "--json").output)[0]["marks"] == ["muted", "pinned"]


def test_without_an_id_the_marked_ones_are_listed(saved, kizami):
    assert kizami("mute").stderr == "Nothing is muted here. --all-projects shows what is in other projects.\n"
    kizami("mute", "2")
    assert kizami("mute").output == f"#2\t2099-01-02 09:00\tmuted\t{QUEUE[0]}\n"
    assert kizami("mute", "--project", str(saved.path)).stdout == ""
    assert [chunk["id"] for chunk in json.loads(kizami("mute", "--all-projects", "--json").output)] == [2]


def test_one_unknown_id_changes_nothing(saved, kizami):
    done = kizami("mute", "1", "99")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "There is no chunk '99'" in done.stderr
    assert kizami("mute").stdout == ""


@pytest.mark.parametrize("name", ["mute", "pin"])
def test_undoing_needs_an_id(saved, kizami, name):
    done = kizami(name, "--undo")
    assert done.exit_code == 2
    assert f"kizami {name} --undo ID" in done.stderr


def test_why_explains_the_last_prompt_of_this_project_or_of_a_session(saved, ask, kizami):
    done = kizami("why")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "kizami why --prompt TEXT" in done.stderr
    ask("はい", session_id="second")
    ask(session_id="first")
    ask("zzyzx quuux", cwd=saved.path, session_id="third")
    assert "Result         1 memory was shown, " in kizami("why").output
    assert kizami("why", "--last").output == kizami("why").output
    assert "Prompt         はい\n" in kizami("why", "--session", "sec").output
    assert "no memory holds any word of the prompt" in kizami("why", "--all-projects").output
    assert "No prompt of a session 'x'" in kizami("why", "--session", "x").stderr


def test_why_asks_now(saved, ask, kizami):
    known = kizami("why", "--prompt", ASKED).output
    assert "Result         1 memory was shown, " in known
    assert log(saved) == []
    ask()
    within = json.loads(kizami("why", "--prompt", ASKED, "--session", "another", "--json").output)
    assert within["reason"] == "Nothing was shown: what was found was shown in this session before."
    assert within["report"]["candidates"][0]["memory"] == FORMS[0]
    assert kizami("why", "--prompt", ASKED, "--last").exit_code == 2
    elsewhere = ("why", "--prompt", ASKED, "--project", str(saved.path))
    assert "no memory holds any word" in kizami(*elsewhere).output
    assert "1 memory was shown" in kizami("why", "--prompt", ASKED, "--all-projects").output


def test_why_says_that_recall_is_off(saved, kizami):
    saved.write_config(hooks={"autoRecall": False})
    assert "hooks.autoRecall is false" in kizami("why", "--prompt", ASKED).stderr


BELOW = CandidateReport(2, "below_gate", 1.2, 0.9, 0.1, 0.1834, 0.2)


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (
            RecallReport("shown", 0.25, 9, (), (CandidateReport(1, "shown"),), 1),
            "1 memory was shown, 1 token.",
        ),
        (
            RecallReport(
                "shown", 0.25, 9, (), (CandidateReport(1, "shown"), CandidateReport(2, "shown"), BELOW), 1_204
            ),
            "2 memories were shown, 1,204 tokens.",
        ),
        (
            RecallReport("below_gate", 0.25, 9, (), (BELOW, BELOW.replace(chunk_id=3, relevance=0.02))),
            "Nothing was shown: the best candidate, #2, has relevance 0.18, the gate is 0.25.",
        ),
        (
            RecallReport(
                "below_gate",
                0.25,
                9,
                (),
                (BELOW, CandidateReport(4, "already_shown"), CandidateReport(5, "own_session")),
            ),
            (
                "Nothing was shown: the best candidate, #2, has relevance 0.18, the gate is 0.25; "
                "#4 was shown in this session before."
            ),
        ),
        (
            RecallReport(
                "all_hidden",
                0.25,
                9,
                (),
                (
                    CandidateReport(3, "repeats"),
                    CandidateReport(2, "own_session"),
                    CandidateReport(1, "muted"),
                ),
            ),
            (
                "Nothing was shown: what was found is muted or belongs to this session itself "
                "or says the same as such a memory."
            ),
        ),
        (
            RecallReport("no_question", 0.25),
            "Nothing was shown: it is a notification or a slash command, which asks nothing.",
        ),
        (RecallReport("limit_zero", 0.25), "Nothing was shown: hooks.recallLimit is 0."),
        (
            RecallReport("steering", 0.25),
            "Nothing was shown: the prompt only steers the conversation.",
        ),
        (
            RecallReport("unknown_words", 0.25),
            "Nothing was shown: no memory holds any word of the prompt.",
        ),
        (
            RecallReport("no_candidates", 0.25),
            "Nothing was shown: too many memories hold the words of the prompt to choose by them.",
        ),
    ],
)
def test_the_reason_is_one_sentence(saved, kizami, report, sentence):
    write(saved, report)
    assert f"\nResult         {sentence}\n" in kizami("why").output


def write(home, report, prompt="認証の方式は？"):
    entry = LoggedRecall(1_767_225_600.0, "5d1c0a77", os.path.realpath(home.project), prompt, report)
    path = home.database.parent / "recalls.jsonl"
    path.write_text(dump(entry.as_dict()) + "\n", encoding="utf-8")


RECEIPT = RecallReport(
    "shown",
    0.25,
    1_204,
    (
        TermReport("認証", 3, 0.8123),
        TermReport("フォーム", 12, 0.7),
        TermReport("react", 131, 0.409),
        TermReport("zzyzx", 0, 1.0),
    ),
    (
        CandidateReport(1, "shown", 13.78, 0.7531, 0.84, 0.994, 0.893),
        CandidateReport(2, "below_gate", 1.5, 0.9712, 0.1, 0.0512, 0.041),
        CandidateReport(99, "muted"),
    ),
    118,
    {"input": 0.19, "open": 3.1, "load": 8.8, "lookup": 0.46, "format": 0.38, "total": 14.24},
)
ON_A_TERMINAL = """\
Prompt         フォームの認証、React だった？ zzyzx
Asked          2026-01-01 00:00, session 5d1c0a77
In             {project}
Result         1 memory was shown, 118 tokens.
Gate           0.25
Took           14.2 ms: input 0.2, open 3.1, load 8.8, lookup 0.5, format 0.4

term      of 1,204 memories  weight
認証                      3    0.81
フォーム                 12    0.70
react                   131    0.41

Unknown terms  zzyzx

id    bm25  decay  coverage  relevance  verdict         memory
#1   13.78   0.75      0.84       0.99  shown           フォームの状態管理はど …
#2    1.50   0.97      0.10       0.05  below the gate  Which queue do we use f…
#99                                     muted           (deleted since)
"""


def test_why_fits_on_a_terminal_of_80_columns(saved, on_terminal):
    write(saved, RECEIPT, "フォームの認証、React だった？\n zzyzx")
    code, seen = on_terminal("why")
    assert code == 0
    seen = "".join(f"{line.rstrip()}\n" for line in _STYLE.sub("", seen).splitlines())
    folded = re.sub(r"(?<=\n)In .*?(?=\nResult)", "In             {project}", seen, flags=re.DOTALL)
    assert folded == ON_A_TERMINAL


def test_why_in_a_pipe_is_plain(saved, kizami):
    write(saved, RECEIPT)
    lines = kizami("why").output.splitlines()
    assert lines[7:] == [
        "認証\t3\t0.81",
        "フォーム\t12\t0.70",
        "react\t131\t0.41",
        "",
        "Unknown terms  zzyzx",
        "",
        f"#1\t13.78\t0.75\t0.84\t0.99\tshown\t{FORMS[0]}",
        f"#2\t1.50\t0.97\t0.10\t0.05\tbelow the gate\t{QUEUE[0]}",
        "#99\t\t\t\t\tmuted\t(deleted since)",
    ]


def test_why_shows_the_first_of_many_terms(saved, kizami):
    known = tuple(TermReport(f"語{number}", 1, 0.9) for number in range(20))
    unknown = tuple(TermReport(f"x{number}", 0, 1.0) for number in range(20))
    write(saved, RecallReport("no_candidates", 0.25, 9, known + unknown))
    output = kizami("why").output
    assert output.count("\t1\t0.90\n") == 15
    assert "and 5 more terms\n" in output
    assert f"Unknown terms  {', '.join(f'x{number}' for number in range(15))} and 5 more\n" in output


def test_why_names_the_project_of_a_memory_from_elsewhere(saved, ask, kizami):
    saved.write_config(hooks={"minRelevanceScore": 0.25}, search={"projectScope": False})
    ask(cwd=saved.path)
    shown = kizami("why", "--project", str(saved.path)).output.splitlines()[-1]
    assert shown.endswith(f"\tshown\t[shop] {FORMS[0]}")
