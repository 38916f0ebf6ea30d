import json
import os
import re
from importlib.metadata import entry_points

import pytest

from kizami_cli.app import BUILT_IN
from kizami_core import __version__

FORMS = ("フォームの状態管理はどうする？", "検証が複雑な画面は React Hook Form を採用します。")
QUEUE = (
    "Which queue do we use for mails?",
    "PostgreSQL with SKIP LOCKED, so that Redis is one service less to run.",
)
_INSTALLED = entry_points(group="kizami.commands").names
FIRST, SECOND = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10", "0f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"


@pytest.fixture
def two_projects(home):
    """Two sessions whose ids begin alike: one of this project, one of another."""
    other = home.path / "work" / "blog"
    other.mkdir()
    home.save(FORMS, session_id=FIRST)
    home.save(QUEUE, session_id=SECOND, cwd=other)
    return other


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_command_explains_itself(kizami, name):
    done = kizami(name, "--help")
    assert done.exit_code == 0
    assert done.output.startswith(f"Usage: kizami {name} ")
    assert all(
        option in done.output for option in ("--project PATH", "--all-projects", "--config PATH", "--help")
    )


def test_help_names_every_command_within_80_columns(kizami):
    done = kizami("--help")
    assert done.exit_code == 0
    assert all(re.search(rf"^  {name}  ", done.output, re.MULTILINE) for name in BUILT_IN)
    assert max(map(len, done.output.splitlines())) <= 80


def test_version(kizami):
    assert kizami("--version").output == f"kizami, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["serach", "x"], 2, "Did you mean `kizami search`?"),
        (["zzz"], 2, "`kizami --help` lists the commands."),
        (["search"], 2, "Missing argument 'QUERY': words to look for, or an option such as --file."),
        (["search", "x", "--since", "soon"], 1, "Write 12h, 90d, 6w or 2024-01-31."),
        (["list", "--limit", "0"], 2, "--limit"),
        (["--config", "/gone.json", "list"], 2, "/gone.json does not exist"),
        (["list", "--project", "x", "--all-projects"], 2, "exclude each other"),
        (["list"], 1, "kizami setup"),
        (["delete"], 2, "Give one of --session, --chunk and --before"),
        (["delete", "--chunk", "1", "--session", "x"], 2, "Give one of"),
        (["delete", "--before", "yesterday", "--yes"], 1, "2024-01-31"),
        (["prune", "--older-than", "1m"], 1, "12h, 90d, 6w"),
        (["merge", "--threshold", "abc"], 2, "--threshold"),
        (["export", "--format", "xml"], 2, "json"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(kizami, arguments, code, message):
    done = kizami(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_list_shows_this_project_and_with_a_flag_all(kizami, two_projects):
    # Ids are cut where they differ from every other, also from those that are not shown.
    assert kizami("list").output == f"0f6a2c41-7\t2099-01-01 09:00\t1\t{FORMS[0]}\n"
    everything = kizami("list", "--all-projects").output.splitlines()
    assert sorted(everything) == [
        f"0f6a2c41-7\t2099-01-01 09:00\t1\tshop\t{FORMS[0]}",
        f"0f6a2c41-a\t2099-01-01 09:00\t1\tblog\t{QUEUE[0]}",
    ]
    assert kizami("list", "--project", str(two_projects)).output.startswith("0f6a2c41-a\t")
    assert kizami("--project", str(two_projects), "list").output.startswith("0f6a2c41-a\t")


def test_sub_directories_and_links_are_their_project(kizami, home, two_projects):
    (home.project / ".git").mkdir()
    (home.project / "src" / "ui").mkdir(parents=True)
    (home.path / "link").symlink_to(home.project, target_is_directory=True)
    shown = [
        kizami("list", "--project", str(path)).output
        for path in (home.project / "src" / "ui", home.path / "link")
    ]
    assert shown == [kizami("list").output] * 2


def test_list_says_what_it_leaves_out(kizami, home, two_projects):
    done = kizami("list", "--all-projects", "--limit", "1")
    assert (done.stdout.count("\n"), done.stderr) == (1, "1 more session: --limit 2\n")
    done = kizami("list", "--project", str(home.path))
    assert done.stdout == ""
    assert done.stderr.endswith("--all-projects shows those of others.\n")


def test_list_as_json_has_the_columns_of_sessions(kizami, home, two_projects):
    assert json.loads(kizami("list", "--json").output) == [
        {
            "session_id": FIRST,
            "project_path": os.path.realpath(home.project),
            "started_at": "2099-01-01 09:00:00",
            "ended_at": "2099-01-01 09:00:00",
            "chunk_count": 1,
            "first_message": FORMS[0],
            "last_message": FORMS[0],
            "parent_session_id": None,
            "marks": {},
        }
    ]


def test_search_finds_and_names_what_other_commands_take(kizami, two_projects):
    done = kizami("search", "React Hook Form の検証")
    title, *body = done.output.splitlines()
    assert re.fullmatch(r"#1  2099-01-01 09:00  session 0f6a2c41-7  relevance [01]\.\d\d", title)
    assert FORMS[1] in "\n".join(body)
    assert kizami("show", "#1").output == kizami("show", "0f6a2c41-7").output == kizami("show", FIRST).output


def test_search_looks_where_it_is_told(kizami, home, two_projects):
    assert kizami("search", "SKIP LOCKED").stderr.endswith("--all-projects searches those of all projects.\n")
    assert "  blog  " in kizami("search", "SKIP LOCKED", "--all-projects").output
    assert "  blog  " not in kizami("search", "SKIP LOCKED", "--project", str(two_projects)).output
    home.write_config(search={"projectScope": "tiered"})
    assert "  blog  " in kizami("search", "SKIP LOCKED").output


def test_search_as_json_has_chunks_with_their_relevance(kizami, two_projects):
    (hit,) = json.loads(kizami("search", "--json", "--limit", "1", "検証が複雑な画面").output)
    assert (hit["id"], hit["session_id"], hit["metadata"]) == (
        1,
        FIRST,
        {"file_paths": [], "tool_names": [], "error_messages": []},
    )
    assert 0 < hit["relevance"] <= 1
    assert hit["content"] == f"[User]\n{FORMS[0]}\n\n[Assistant]\n{FORMS[1]}"


@pytest.mark.parametrize("query", ["%", "_", '"', "NOT AND", "foo-bar", "型", "a" * 50_000])
def test_any_query_is_answered(kizami, two_projects, query):
    assert kizami("search", query).exit_code == 0


def test_recall_prints_what_the_hook_would(kizami, home, two_projects):
    question = "フォームの状態管理、React Hook Form だった？"
    assert kizami("recall", question).output == home.hook("recall", home.prompt(question)).out
    done = kizami("recall", "はい")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("Nothing: ")


def test_inject_prints_what_a_new_session_is_told(kizami, home, two_projects):
    fields = {"session_id": "new", "cwd": str(home.project), "source": "startup"}
    assert kizami("inject").output == home.hook("inject", fields).out
    assert FORMS[0] in kizami("inject").output


def test_save_reports_what_it_did_and_the_second_time_that_nothing_was_new(kizami, home):
    path = home.write_transcript(FORMS, QUEUE)
    first, second = kizami("save", path).output, kizami("save", path).output
    assert first.splitlines()[1] == "2 turns written (2 chunks), 0 known already"
    assert second.splitlines()[1] == "0 turns written (0 chunks), 2 known already"
    assert json.loads(kizami("save", path, "--json").output)["turns_unchanged"] == 2


def test_save_of_a_file_that_is_not_there(kizami):
    done = kizami("save", "/gone.jsonl")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "/gone.jsonl" in done.stderr


def test_stats_count_what_is_stored(kizami, home, two_projects):
    out = kizami("stats").output
    assert "2 sessions of 2 projects: 2 chunks" in out
    assert f"{os.path.realpath(home.project)}\t1\t1\n" in out
    figures = json.loads(kizami("stats", "--json").output)
    assert (figures["sessions"], figures["chunks"], figures["database_path"]) == (2, 2, str(home.database))


def test_an_edited_chunk_is_found_by_its_new_words_and_stays(kizami, home):
    path = home.save(FORMS)
    shown = kizami(
        "edit", "1", "--content", "[User]\nフォーム\n\n[Assistant]\nFormik に変更しました。"
    ).output
    assert "Formik に変更しました。" in shown
    home.hook("save", {"session_id": FIRST, "transcript_path": path, "cwd": str(home.project)})
    assert kizami("show", "1").output == shown
    assert "#1" in kizami("search", "Formik").output
    assert "#1" not in kizami("search", "検証が複雑な画面").output
    assert kizami("edit", "99", "--content", "x").exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["delete", "--chunk", "1"],
        ["delete", "--session", "0f6a2c41-7"],
        ["delete", "--before", "2099-01-02"],
    ],
)
def test_nothing_is_deleted_unasked(kizami, home, arguments):
    home.save(FORMS)
    refused = kizami(*arguments)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Nothing was changed" in refused.stderr
    assert "--yes" in refused.stderr
    planned = kizami(*arguments, "--dry-run")
    assert planned.output == "Would delete 1 chunk, and with them 1 whole session.\n"
    assert kizami("show", "1").exit_code == 0
    done = kizami(*arguments, "--yes")
    assert done.output == "Deleted 1 chunk, and with them 1 whole session.\n"
    assert kizami("show", "1").exit_code == 1
    assert kizami("list").stdout == ""


@pytest.mark.parametrize(("answer", "expected"), [(b"y\n", (0, 0)), (b"n\n", (1, 1)), (b"\n", (1, 1))])
def test_on_a_terminal_deleting_waits_for_a_yes(kizami, home, on_terminal, answer, expected):
    home.save(FORMS)
    code, seen = on_terminal("delete", "--session", "0f6a", answer=answer)
    assert "Delete 1 chunk, and with them 1 whole session? [y/N]" in seen
    assert "Traceback" not in seen
    assert (code, len(json.loads(kizami("list", "--json").output))) == expected


def test_what_was_deleted_stays_deleted(kizami, home):
    path = home.save(FORMS)
    kizami("delete", "--session", "0f6a", "--yes")
    home.hook("save", {"session_id": FIRST, "transcript_path": path, "cwd": str(home.project)})
    assert json.loads(kizami("list", "--json").output) == []


def test_deleting_keeps_to_the_project_that_is_named(kizami, two_projects):
    assert kizami("delete", "--before", "2099-02-01", "--dry-run").output.startswith("Would delete 2 chunks")
    assert kizami(
        "delete", "--before", "2099-02-01", "--project", str(two_projects), "--yes", "--json"
    ).output == ('{\n  "deleted": true,\n  "chunks": 1,\n  "sessions": 1\n}\n')
    assert len(json.loads(kizami("list", "--all-projects", "--json").output)) == 1


def test_unknown_and_ambiguous_ids_are_refused(kizami, two_projects):
    for arguments in (["show", "0f6a2c41"], ["delete", "--session", "0f6a2c41", "--yes"]):
        done = kizami(*arguments)
        assert done.exit_code == 1
        assert FIRST in done.stderr
        assert SECOND in done.stderr
    assert kizami("delete", "--chunk", "1", "--chunk", "99", "--yes").exit_code == 1
    assert kizami("show", "1").exit_code == 0


def test_prune_deletes_by_age(kizami, home):
    home.write_config(maintenance={"enabled": False})
    path = home.write_transcript(FORMS)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("2099-", "2020-"))
    home.hook("save", {"session_id": FIRST, "transcript_path": path, "cwd": str(home.project)})
    assert kizami("prune", "--older-than", "50000d", "--yes").output == "There is nothing to delete.\n"
    other = kizami("prune", "--older-than", "90d", "--project", str(home.path), "--yes")
    assert other.output == "There is nothing to delete.\n"
    assert kizami("prune", "--older-than", "90d", "--yes").output.startswith("Deleted 1 chunk")


def test_merge_shows_pairs_and_deletes_the_poorer_one(kizami, home):
    home.save(FORMS, ("フォームの状態管理はどうする？", FORMS[1] + "以上です。"))
    planned = kizami("merge", "--dry-run").output
    cells = planned.splitlines()[0].split("\t")
    assert (cells[:2], "以上です" in cells[3], "以上です" in cells[4]) == (["#1", "#2"], False, True)
    assert planned.endswith("Would delete 1 chunk.\n")
    assert kizami("merge").exit_code == 1
    assert json.loads(kizami("merge", "--yes", "--json").output)["pairs"][0]["removed"] == 1
    assert kizami("merge", "--yes").output == "No two chunks are that much alike.\n"


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_export_holds_the_content_of_all_projects_in_utf8(home, two_projects, form):
    done = home.run("export", "--format", form, env={"PYTHONIOENCODING": "cp932"})
    text = done.stdout.decode("utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
    assert FORMS[1] in text
    assert QUEUE[1] in text
    if form == "json":
        assert {session["session_id"] for session in json.loads(text)["sessions"]} == {FIRST, SECOND}
    named = home.run("export", "--format", form, "--project", str(two_projects)).stdout.decode()
    assert (FORMS[1] in named, QUEUE[1] in named) == (False, True)


def test_a_reader_that_goes_away_is_no_error(home, two_projects):
    import subprocess
    import sys

    done = subprocess.run(
        ["bash", "-c", '"$1" -m kizami_cli export | head -c 10', "-", sys.executable],
        env=home.env,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, len(done.stdout)) == (0, 10)
    assert b"Traceback" not in done.stderr


def test_a_fault_of_kizami_is_one_line_and_its_details_are_logged(kizami, home, two_projects, monkeypatch):
    from kizami_cli.commands import stats

    monkeypatch.setattr(stats, "read_statistics", lambda connection: 1 / 0)
    done = kizami("stats")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: ZeroDivisionError: division by zero. This is a fault of Kizami; "
        f"its details are in {home.error_log}.\n"
    )
    assert "test_commands.py" in home.error_log.read_text(encoding="utf-8")


def test_an_interrupted_command_exits_with_130(kizami, two_projects, monkeypatch):
    from kizami_cli.commands import stats

    def interrupt(connection):
        raise KeyboardInterrupt

    monkeypatch.setattr(stats, "read_statistics", interrupt)
    assert kizami("stats").exit_code == 130


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("embed", "kizami-hybrid"),
        ("embedder", "kizami-hybrid"),
        ("import-claude-mem", "kizami-import"),
        ("import-typescript", "kizami-import"),
    ],
)
def test_a_command_that_is_not_installed_names_its_package(kizami, command, package):
    if command in _INSTALLED:
        pytest.skip(f"{package} is installed here")
    done = kizami(command, "--anything")
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"pip install {package}" in done.stderr


@pytest.mark.skipif("embed" in _INSTALLED, reason="kizami-hybrid is installed here")
def test_the_command_of_a_known_package_is_found_by_its_entry_point(home, tmp_path):
    site = tmp_path / "site"
    info = site / "kizami_greeting-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: kizami-greeting\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[kizami.commands]\nembed = kizami_greeting:command\n", encoding="utf-8"
    )
    (site / "kizami_greeting.py").write_text(
        "import click\n\n@click.command()\ndef command():\n    '''Say hello.'''\n    click.echo('hello')\n",
        encoding="utf-8",
    )
    env = {"PYTHONPATH": os.pathsep.join([str(site), home.env.get("PYTHONPATH", "")])}
    assert home.run("embed", env=env).stdout == b"hello\n"
    assert re.search(rb"embed +Say hello\.", home.run("--help", env=env).stdout)
