"""Projects that are kept out: by ``privacy.excludeProjects`` and by files named ``.kizamiignore``."""

import os
import unicodedata

import pytest

from kizami_core.backfill import backfill, split_left_out
from kizami_core.capture import catch_up
from kizami_core.config import ConfigProblem, load_config, parse_config
from kizami_core.exclusion import Exclusion
from kizami_core.left_out import is_left_out, leave_out, prune, take_in
from kizami_core.memory import Memory
from kizami_core.paths import left_out_dir
from kizami_core.recall import recall
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from kizami_core.storage.transcripts import read_states
from kizami_core.transcript.folders import working_folders
from kizami_core.transcript.history import find_transcripts
from memories import NOW, MemoryBook, config
from transcripts import Transcript

QUESTION = "フォームの状態管理はどう決めましたか？"
ANSWER = "検証が複雑な画面は React Hook Form を採用します。"


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    for name in ("shop", "clients/acme/src"):
        (folder / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def env(home):
    return {"HOME": str(home), "USERPROFILE": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}


@pytest.fixture
def connection(home):
    connection = open_database(str(home / "memory.db"))
    yield connection
    connection.close()


def session(home, session_id, *folders):
    """Write a session of one turn in each of these folders; return its path."""
    transcript = Transcript(session_id)
    for number, folder in enumerate(folders):
        transcript.cwd = str(folder)
        transcript.ask(f"{session_id} question {number}").answer(f"answer {number}")
    return transcript.write(home / ".claude" / "projects" / "-home")


def stored(connection):
    """Return the session, the project's name and the first line of each chunk."""
    rows = connection.execute("SELECT session_id, project_path, content FROM chunks ORDER BY id")
    return [(name, os.path.basename(path), content.split("\n")[1]) for name, path, content in rows]


# --- which folders ---


def test_a_pattern_keeps_out_what_it_matches_and_all_below(home):
    chosen, problems = parse_config({"privacy": {"excludeProjects": ["~/clients/*"]}}, {"HOME": str(home)})
    assert (problems, chosen.exclude_projects) == ([], (f"{home}/clients/*",))
    exclusion = Exclusion(chosen.exclude_projects)
    folders = [home / "clients" / "acme" / "src", home / "clients", home / "shop", ""]
    assert [exclusion.reason(str(folder)) for folder in folders] == [f"{home}/clients/*", "", "", ""]


@pytest.mark.parametrize("value", ["~/clients", [""], ["a", 3], {"a": 1}, None])
def test_what_is_no_list_of_patterns_is_a_problem(value):
    chosen, problems = parse_config({"privacy": {"excludeProjects": value}}, {"HOME": "/home/dev"})
    message = 'must be a list of folders or patterns such as ["~/clients/**"]; the default is used.'
    assert (chosen.exclude_projects, problems) == ((), [ConfigProblem("privacy.excludeProjects", message)])


@pytest.mark.parametrize("place", [".", "clients", "clients/acme", "clients/acme/src"])
def test_a_marker_counts_for_its_folder_and_all_below_up_to_the_home(home, place):
    marker = home / place / ".kizamiignore"
    marker.touch()
    assert Exclusion(()).reason(str(home / "clients" / "acme" / "src")) == str(marker)
    assert bool(Exclusion(()).reason(str(home / "shop"))) is (place == ".")


def test_a_marker_above_the_home_counts_for_nothing_in_it(home):
    (home.parent / ".kizamiignore").touch()
    assert Exclusion(()).reason(str(home / "shop")) == ""
    elsewhere = home.parent / "srv" / "app"
    elsewhere.mkdir(parents=True)
    assert Exclusion(()).reason(str(elsewhere)) == str(home.parent / ".kizamiignore")


def test_a_worktree_is_kept_out_with_its_repository(home):
    repository, worktree = home / "clients" / "acme", home / "shop"
    git = repository / ".git" / "worktrees" / "shop"
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..", encoding="utf-8")
    (worktree / ".git").write_text(f"gitdir: {git}", encoding="utf-8")
    assert Exclusion(("acme",)).reason(str(worktree)) == "acme"
    (repository / ".kizamiignore").touch()
    assert Exclusion(()).reason(str(worktree)) == str(repository / ".kizamiignore")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_lead_out_of_nothing(home):
    (home / "link").symlink_to(home / "clients")
    pattern = f"{home}/link/acme"
    assert Exclusion((pattern,)).reason(str(home / "clients" / "acme")) == pattern
    pattern = f"{home}/clients/acme"
    assert Exclusion((pattern,)).reason(str(home / "link" / "acme" / "src")) == pattern
    (home / "clients" / ".kizamiignore").touch()
    assert Exclusion(()).reason(str(home / "link" / "acme")) == str(home / "clients" / ".kizamiignore")


def test_names_that_no_file_can_have_are_harmless(home):
    exclusion = Exclusion(("/a\0/*", "/\udc00", "[", "~"))
    assert [exclusion.reason(name) for name in ("/b\0", "/\udc01", "relative", "C:\\src")] == ["", "", "", ""]
    assert exclusion.reason("/a\0/x") == "/a\0/*"


def test_a_letter_composed_in_another_way_is_the_same(home):
    name = "デモ"
    assert Exclusion((unicodedata.normalize("NFC", name),)).reason(
        f"/srv/{unicodedata.normalize('NFD', name)}"
    )


# --- which transcripts ---


def test_the_folders_of_a_transcript_are_found_without_parsing_it(tmp_path):
    lines = [
        '{"type":"summary","summary":"\\"cwd\\":\\"/quoted\\""}',
        '{"cwd":"/home/dev/a","type":"user"}',
        '{"cwd":"/home/dev/a","message":{"input":{"cwd" : "/inner"}}}',
        '{"cwd": 3} {"cwd"} {"cwd":"/torn',
        '{"cwd":"/home/\\u958b\\u767a/\\"b\\"","x":1}',
        '{"cwd":"/home/開発/c"}',
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert list(working_folders(str(path))) == ["/home/dev/a", "/inner", '/home/開発/"b"', "/home/開発/c"]
    assert list(working_folders(str(tmp_path / "gone.jsonl"))) == []


def test_a_transcript_is_kept_out_when_each_of_its_folders_is(home):
    acme, shop = home / "clients" / "acme", home / "shop"
    exclusion = Exclusion(("clients",))
    assert exclusion.transcript_reason(session(home, "all", acme, acme / "src")) == "clients"
    assert exclusion.transcript_reason(session(home, "some", acme, shop)) == ""
    nowhere = home / "nowhere.jsonl"
    nowhere.write_text('{"type":"user"}\n', encoding="utf-8")
    assert exclusion.transcript_reason(str(nowhere), str(acme)) == "clients"
    assert exclusion.transcript_reason(str(nowhere), str(shop)) == ""
    assert exclusion.transcript_reason(str(nowhere)) == ""


# --- saving ---


def save(connection, path, **options):
    chosen = config(exclude_projects=("clients",))
    return save_transcript(connection, path, config=chosen, now=NOW, **options)


@pytest.mark.parametrize("from_start", [False, True])
def test_of_a_session_that_is_kept_out_nothing_is_stored(home, connection, from_start):
    path = session(home, "acme", home / "clients" / "acme", home / "clients" / "acme" / "src")
    assert save(connection, path, from_start=from_start).turns_written == 0
    assert (stored(connection), read_states(connection)) == ([], {})
    assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


def test_a_session_that_changes_folders_loses_only_the_turns_that_are_kept_out(home, connection):
    acme, shop = home / "clients" / "acme", home / "shop"
    report = save(connection, session(home, "mixed", shop, acme, shop, acme))
    assert (report.turns_written, report.turns_kept_out) == (2, 2)
    assert stored(connection) == [("mixed", "shop", f"mixed question {number}") for number in (0, 2)]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_session_that_began_where_all_is_kept_out_belongs_to_where_it_went(home, connection, at_once):
    acme, shop = home / "clients" / "acme", home / "shop"
    (home / "blog").mkdir()
    folders = (acme, shop, acme, home / "blog")
    for length in [4] if at_once else [1, 2, 3, 4]:
        save(connection, session(home, "mixed", *folders[:length]))
    assert stored(connection) == [("mixed", "shop", f"mixed question {number}") for number in (1, 3)]


def test_what_was_stored_before_stays(home, connection):
    path = session(home, "acme", home / "clients" / "acme")
    save_transcript(connection, path, config=config(), now=NOW)
    save(connection, session(home, "acme", home / "clients" / "acme", home / "clients" / "acme"))
    save(connection, path, from_start=True)
    assert stored(connection) == [("acme", "acme", "acme question 0")]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_backfill_leaves_out_what_is_kept_out_with_its_agents(home, env, connection, workers):
    acme, shop = home / "clients" / "acme", home / "shop"
    session(home, "acme", acme)
    folder = home / ".claude" / "projects" / "-home" / "acme" / "subagents"
    Transcript("acme", cwd=str(acme)).ask("task", agentId="x").answer("done").write(
        folder, name="agent-x.jsonl"
    )
    session(home, "mixed", acme, shop)
    chosen = config(exclude_projects=("clients",))
    files = find_transcripts(str(home / ".claude"))
    wanted, left_out = split_left_out(files, config=chosen, env=env)
    assert {os.path.basename(file.path) for file in wanted} == {"mixed.jsonl"}
    assert {(os.path.basename(item.file.path), item.reason) for item in left_out} == {
        ("acme.jsonl", "clients"),
        ("agent-x.jsonl", "clients"),
    }
    assert all(
        not step.error for step in backfill(connection, wanted, config=chosen, now=NOW, workers=workers)
    )
    assert stored(connection) == [("mixed", "shop", "mixed question 1")]


def test_when_the_rule_goes_a_backfill_saves_the_rest(home, env, connection):
    session(home, "acme", home / "clients" / "acme")
    marker = home / "clients" / ".kizamiignore"
    marker.touch()
    with Memory(home / "memory.db", config_path=home / "none.json", env=env) as memory:
        assert list(memory.backfill()) == []
        marker.unlink()
        assert [step.turns_written for step in memory.backfill()] == [1]


# --- sessions with KIZAMI_DISABLE ---


def test_a_marked_session_and_its_agents_are_left_out_until_it_is_taken_in(home, env, connection):
    marks = left_out_dir(env)
    path = session(home, "silent", home / "shop")
    folder = home / ".claude" / "projects" / "-home" / "silent" / "subagents"
    agent = Transcript("silent").ask("task", agentId="x").answer("done").write(folder, name="agent-x.jsonl")
    leave_out(marks, "silent", path)
    assert os.listdir(marks) == ["silent"]
    assert os.stat(os.path.join(marks, "silent")).st_mode & 0o077 == 0
    assert (is_left_out(marks, path), is_left_out(marks, agent)) == (True, True)
    files = find_transcripts(str(home / ".claude"))
    wanted, left_out = split_left_out(files, config=config(), env=env)
    assert (wanted, {item.reason for item in left_out}, len(left_out)) == ([], {""}, 2)
    leave_out(marks, "old", "")
    os.utime(os.path.join(marks, "old"), (0, 0))
    catch_up(connection, config=config(), now=NOW, env=env)
    assert (stored(connection), os.listdir(marks)) == ([], ["silent"])
    take_in(marks, path)
    take_in(marks, path)
    assert split_left_out(files, config=config(), env=env) == (files, [])


def test_a_mark_bears_the_names_of_session_and_transcript(tmp_path):
    marks = str(tmp_path / "left-out")
    leave_out(marks, "old", "/x/new.jsonl")
    leave_out(marks, "", "")
    leave_out(marks, "../../escape", "")
    assert sorted(os.listdir(marks)) == ["new", "old", "x-2e2e2f2e2e2f657363617065"]


def test_old_marks_go_when_their_transcripts_are_gone(tmp_path):
    marks = str(tmp_path / "left-out")
    prune(marks, set(), NOW)
    for name in ("kept", "gone", "fresh"):
        leave_out(marks, name, "")
        old = NOW - 401 * 86_400
        if name != "fresh":
            os.utime(os.path.join(marks, name), (old, old))
        else:
            os.utime(os.path.join(marks, name), (NOW, NOW))
    prune(marks, {"kept"}, NOW)
    assert sorted(os.listdir(marks)) == ["fresh", "kept"]


# --- recall ---


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "book.db")
    yield made
    made.connection.close()


def recalled(book, **settings):
    chosen = config(project_scope="tiered", min_relevance_score=0.1, recall_limit=3).replace(**settings)
    place = {"session_id": "now", "project_path": "/home/dev/app"}
    return recall(book.connection, f"{QUESTION} React Hook Form", config=chosen, now=NOW, **place)


def test_memories_of_a_project_that_is_kept_out_come_before_no_prompt_elsewhere(noisy_book):
    kept_out = noisy_book.add(QUESTION, ANSWER, project="/home/dev/clients/acme")
    assert ANSWER in recalled(noisy_book).block
    done = recalled(noisy_book, exclude_projects=("clients",))
    assert done.block == ""
    verdicts = {candidate.chunk_id: candidate.verdict for candidate in done.report.candidates}
    assert verdicts[kept_out] == "excluded"
    # The same, from a project that is not kept out, is no copy of something that was shown.
    other = noisy_book.add(QUESTION, ANSWER, project="/home/dev/blog", session="other")
    assert recalled(noisy_book, exclude_projects=("clients",)).report.shown_ids() == [other]


@pytest.mark.parametrize("scope", [False, "tiered"])
def test_what_is_kept_out_takes_nobodys_place(book, scope):
    """Forty newer memories that are kept out would fill the candidates."""
    other = book.add(QUESTION, ANSWER, project="/home/dev/blog", session="other", at="2025-12-01 00:00:00")
    for number in range(40):
        book.add(QUESTION, f"{ANSWER} {number}", project="/home/dev/clients/acme", session=f"s{number}")
    book.add_noise(60)
    assert other in recalled(book, exclude_projects=("clients",), project_scope=scope).report.shown_ids()


def test_a_project_that_is_kept_out_is_told_nothing(noisy_book):
    noisy_book.add(QUESTION, ANSWER)
    done = recalled(noisy_book, exclude_projects=("/home/dev/app",))
    assert (done.block, done.report.outcome, done.report.candidates) == ("", "excluded", ())


# --- paths in the environment ---


def test_the_environment_names_the_database_and_wins_over_the_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"database": {"path": "/elsewhere.db"}}', encoding="utf-8")
    env = {"HOME": "/home/dev", "KIZAMI_DATA_DIR": str(tmp_path / "data")}
    assert load_config(str(path), env)[0].database_path == os.path.abspath("/elsewhere.db")
    assert parse_config({}, env)[0].database_path == str(tmp_path / "data" / "memory.db")
    env["KIZAMI_DATABASE"] = str(tmp_path / "named.db")
    assert load_config(str(path), env) == (config(database_path=str(tmp_path / "named.db")), [])


@pytest.mark.parametrize("variable", ["KIZAMI_CONFIG", "KIZAMI_DATA_DIR", "KIZAMI_DATABASE"])
@pytest.mark.parametrize("value", ["relative/x", "~/x"])
def test_a_path_that_is_not_absolute_is_ignored_and_said(variable, value):
    chosen, problems = parse_config({}, {"HOME": "/home/dev", variable: value})
    assert chosen == parse_config({}, {"HOME": "/home/dev"})[0]
    assert problems == [ConfigProblem(variable, "must be an absolute path; it is ignored.")]
