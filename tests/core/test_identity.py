"""Identity: each turn once, under the session in which it first stood; sub-agents kept apart."""

import os
import shutil

import pytest

from kizami_core.capture import catch_up, save_session, unsaved_bytes
from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks
from kizami_core.errors import NotFoundError, TranscriptError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.overview import session_overview
from kizami_core.recall import recall
from kizami_core.recording import save_transcript
from kizami_core.records import Session
from kizami_core.searching import search
from kizami_core.storage.chunks import session_chunks
from kizami_core.storage.connection import open_database
from kizami_core.storage.sessions import agent_sessions, find_session, list_sessions, stored_session
from kizami_core.storage.transcripts import session_begun
from kizami_core.transcript.names import agent_transcripts, parent_of
from kizami_core.transcript.sidechains import find_sidechains
from transcripts import Transcript, rows

_NOW = 1_780_000_000.0
_CONFIG = parse_config({}, {})[0]


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _save(connection, path, **options):
    return save_transcript(connection, str(path), config=_CONFIG, now=_NOW, **options)


def _prompts(connection):
    """Return the first line of each turn by session, in order."""
    found = {}
    for session in list_sessions(connection, include_agents=True):
        chunks = list(session_chunks(connection, session.session_id))
        found[session.session_id] = [chunk.content.split("\n")[1] for chunk in chunks]
    return found


def _renamed(transcript, session_id):
    """Return a transcript's lines as a copy has them: the same uuids, another session's id."""
    return [
        line.replace(f'"sessionId": "{transcript.session_id}"', f'"sessionId": "{session_id}"')
        for line in transcript.lines
    ]


def _original_and_fork(folder):
    """Two turns that both have, and one that each has for itself; the fork begins with records of its own."""
    original = Transcript("original").ask("one").answer("1").ask("two").answer("2")
    fork = Transcript("fork")
    fork._time = original._time
    fork.record("queue-operation", uuid=None, operation="dequeue")
    fork.lines += _renamed(original, "fork")
    fork.ask("three in the fork").answer("3")
    original._time = fork._time
    original.ask("three").answer("3")
    return original.write(folder), fork.write(folder)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 0, 1, 0)])
def test_the_turns_of_a_fork_stand_where_they_first_stood_whichever_is_saved_first(
    connection, tmp_path, order
):
    paths = _original_and_fork(tmp_path)
    for number in order:
        _save(connection, paths[number])
    assert _prompts(connection) == {"original": ["one", "two", "three"], "fork": ["three in the fork"]}
    once = open_database(str(tmp_path / "once.db"))
    for path in paths:
        _save(once, path)
    assert rows(connection) == rows(once)
    once.close()


@pytest.mark.parametrize("mark", [{"forkedFrom": {"sessionId": "original"}}, {"sessionKind": "bg"}])
def test_copies_that_say_what_they_are_give_way_to_the_original(connection, tmp_path, mark):
    original = Transcript("original").ask("one", **mark).answer("1")
    copy = Transcript("copy")
    copy.lines = _renamed(original, "copy")
    _save(connection, copy.write(tmp_path))
    assert _prompts(connection) == {"copy": ["one"]}
    first = Transcript("original").ask("one").answer("1")
    _save(connection, first.write(tmp_path))
    assert _prompts(connection) == {"original": ["one"]}
    _save(connection, copy.write(tmp_path), from_start=True)
    assert _prompts(connection) == {"original": ["one"]}


def test_a_copied_file_gives_way_to_the_original_and_adds_nothing(connection, tmp_path):
    original = Transcript("original").ask("one").answer("1").ask("two").answer("2")
    path = original.write(tmp_path)
    shutil.copy(path, tmp_path / "a copy.jsonl")
    _save(connection, tmp_path / "a copy.jsonl")
    _save(connection, path)
    _save(connection, tmp_path / "a copy.jsonl", from_start=True)
    assert _prompts(connection) == {"original": ["one", "two"]}


def test_a_turn_that_moves_takes_what_a_person_changed_along(connection, tmp_path):
    original, fork = _original_and_fork(tmp_path)
    _save(connection, fork)
    connection.execute("UPDATE turns SET is_locked = 1 WHERE uuid = 'original-0'")
    connection.execute("UPDATE chunks SET content = '[User]\nedited' WHERE content LIKE '%one%'")
    delete_chunks(connection, ["2"], now=_NOW)
    _save(connection, original)
    _save(connection, fork, from_start=True)
    assert _prompts(connection) == {"original": ["edited", "three"], "fork": ["three in the fork"]}


def test_a_resumed_session_goes_on_in_its_file_and_each_turn_counts_once(connection, tmp_path):
    session = Transcript("session").ask("one").answer("1")
    path = session.write(tmp_path)
    _save(connection, path)
    session.record("mode", uuid=None, timestamp=None).ask("two").answer("2").write(tmp_path)
    _save(connection, path)
    assert _prompts(connection) == {"session": ["one", "two"]}


def test_a_session_resumed_into_another_file_leaves_its_turns_where_they_stood(connection, tmp_path):
    """Versions before 2.1 copied the history, the ids of the old session in it."""
    first = Transcript("first").ask("one").answer("1").ask("two").answer("2")
    second = Transcript("second")
    second._time = first._time
    second.lines = list(first.lines)
    second.ask("three").answer("3")
    _save(connection, second.write(tmp_path))
    _save(connection, first.write(tmp_path))
    assert _prompts(connection) == {"first": ["one", "two"], "second": ["three"]}
    assert session_begun(connection, "second") > session_begun(connection, "first") > ""


def test_a_compacted_session_gives_each_turn_once(connection, tmp_path):
    session = Transcript("session").ask("one").answer("1").ask("two").answer("2")
    path = session.write(tmp_path)
    _save(connection, path)
    kept = session.lines[2:4]
    session.record("system", subtype="compact_boundary", compactMetadata={"preservedMessages": {"uuids": []}})
    session.ask("This session is being continued from a previous conversation", isCompactSummary=True)
    session.lines += kept
    session.ask("three").answer("3").write(tmp_path)
    _save(connection, path)
    assert _prompts(connection) == {"session": ["one", "two", "three"]}


def _with_agent(folder):
    """A session, and the transcript of a sub-agent in its folder; both paths."""
    session = Transcript("session").ask("フォームの状態管理を調べて").answer("調べます。")
    agent = Transcript("a1").ask("Find where the xylophone form lives", isSidechain=True, agentId="a1")
    agent.answer("The xylophone form lives in src/Form.tsx.")
    agent.lines = _renamed(agent, "session")
    return session.write(folder), agent.write(folder / "session" / "subagents", name="agent-a1.jsonl")


def test_a_sub_agent_is_a_session_of_its_own_with_its_parent(connection, tmp_path):
    path, agent = _with_agent(tmp_path)
    assert unsaved_bytes(connection, path, with_agents=True) == sum(map(os.path.getsize, (path, agent)))
    assert unsaved_bytes(connection, path, with_agents=False) == os.path.getsize(path)
    save_session(connection, path, config=_CONFIG, now=_NOW)
    assert unsaved_bytes(connection, path, with_agents=True) == 0
    assert [session.session_id for session in list_sessions(connection)] == ["session"]
    assert agent_sessions(connection, "session") == ["agent-a1"]
    assert stored_session(connection, "agent-a1") == Session(
        "agent-a1",
        "/home/dev/my-app",
        "2026-03-04 05:07:07",
        "2026-03-04 05:07:07",
        1,
        "Find where the xylophone form lives",
        "Find where the xylophone form lives",
        "session",
    )


def test_a_sub_agent_is_found_only_on_demand_and_never_recalled(connection, tmp_path):
    path, _ = _with_agent(tmp_path)
    save_session(connection, path, config=_CONFIG, now=_NOW)

    def found(query, **options):
        hits = search(
            connection,
            query,
            project_path="/home/dev/my-app",
            scope=True,
            limit=5,
            config=_CONFIG,
            now=_NOW,
            **options,
        )
        return [hit.chunk.session_id for hit in hits]

    # By the word index, by trigrams (a part of a word) and by LIKE (two letters).
    for query in ("xylophone lives", "ylophon", "xy"):
        assert found(query) == [], query
        assert found(query, include_agents=True) == ["agent-a1"], query
    # "Form" stands in both: the glossary knows it for フォーム.
    assert found("フォームの状態管理", include_agents=True) == ["session", "agent-a1"]
    assert found("フォームの状態管理") == ["session"]
    for threshold in (0.0, 0.3):
        config = _CONFIG.replace(min_relevance_score=threshold)
        options = {"session_id": "now", "project_path": "/home/dev/my-app", "config": config, "now": _NOW}
        assert recall(connection, "where does the xylophone live?", **options).block == ""
    overview = session_overview(connection, project_path="/home/dev/my-app", session_id="now")
    assert "フォーム" in overview
    assert "xylophone" not in overview


def test_the_beginning_of_an_id_means_a_persons_session_first(connection, tmp_path):
    _save(connection, Transcript("a1b2").ask("one").write(tmp_path))
    for name in ("agent-a1", "agent-a2"):
        _save(connection, Transcript(name).ask("two").write(tmp_path))
    assert find_session(connection, "a").session_id == "a1b2"
    assert find_session(connection, "agent-a2").session_id == "agent-a2"
    with pytest.raises(NotFoundError, match="begins the ids of 2 sessions"):
        find_session(connection, "agent")


def test_a_sub_agent_beside_its_parent_is_told_from_its_records(connection, tmp_path):
    agent = Transcript("the-parent").ask("Explore", agentId="b2").answer("Explored.")
    _save(connection, agent.write(tmp_path, name="agent-b2.jsonl"))
    lost = Transcript("x", cwd=None).ask("Explore more", sessionId=None).answer("Explored more.")
    lost.lines = [line.replace('"sessionId": "x", ', "") for line in lost.lines]
    _save(connection, lost.write(tmp_path, name="agent-b3.jsonl"))
    assert stored_session(connection, "agent-b2").parent_session_id == "the-parent"
    assert stored_session(connection, "agent-b3").parent_session_id == ""


def test_warming_up_and_summing_up_are_no_work_of_a_sub_agent(connection, tmp_path):
    warming = Transcript("session").ask("Warmup", isSidechain=True).answer("I'm ready.")
    _save(connection, warming.write(tmp_path, name="agent-w.jsonl"))
    helper = Transcript("session").ask("Your task is to create a detailed summary").answer("Summary.")
    report = _save(connection, helper.write(tmp_path, name="agent-acompact-1.jsonl"))
    assert report.read.skipped_types == {"compaction helper": 1}
    assert rows(connection)["turns"] == []


def _with_sidechains():
    """A session of version 1.0 with two sub-agents that worked at once, and a third that has an id."""
    session = Transcript("session").ask("調べて")
    session.call("t1", "Task", prompt="Find the form").call("t2", "Task", prompt="Find the test")
    session.ask("Find the form", isSidechain=True, uuid="form", parentUuid=None)
    session.ask("Find the test", isSidechain=True, uuid="test", parentUuid=None)
    session.record("assistant", message={"content": "in src"}, isSidechain=True, uuid="f2", parentUuid="form")
    session.record(
        "assistant", message={"content": "in tests"}, isSidechain=True, uuid="t2", parentUuid="test"
    )
    session.record("assistant", message={"content": "Form.tsx"}, isSidechain=True, uuid="f3", parentUuid="f2")
    session.ask("Run it", isSidechain=True, uuid="run", agentId="r9")
    session.record("assistant", message={"content": "It runs."}, isSidechain=True, uuid="r2", agentId="r9")
    session.result("t1", "src/Form.tsx").result("t2", "tests").answer("見つけました。")
    return session


_SIDECHAINS = {
    "agent-form": ["Find the form"],
    "agent-test": ["Find the test"],
    "agent-r9": ["Run it"],
    "session": ["調べて"],
}


def test_sub_agents_in_their_parents_transcript_are_kept_apart(connection, tmp_path):
    _save(connection, _with_sidechains().write(tmp_path))
    assert _prompts(connection) == _SIDECHAINS
    (form,) = session_chunks(connection, "agent-form")
    assert form.content == "[User]\nFind the form\n\n[Assistant]\nin src\n\nForm.tsx"
    assert stored_session(connection, "agent-form").parent_session_id == "session"


def test_what_sub_agents_wrote_waits_for_a_save_that_reads_all(connection, tmp_path):
    session = _with_sidechains()
    path = session.write(tmp_path)
    _save(connection, path, sidechains=False)
    assert _prompts(connection) == {"session": ["調べて"]}
    assert unsaved_bytes(connection, path, with_agents=False) == 0
    assert unsaved_bytes(connection, path, with_agents=True) == os.path.getsize(path)
    session.ask("次").write(tmp_path)
    _save(connection, path)
    assert _prompts(connection) == {**_SIDECHAINS, "session": ["調べて", "次"]}
    assert unsaved_bytes(connection, path, with_agents=True) == 0


def test_growing_sub_agents_equal_whole_ones(connection, tmp_path):
    session = _with_sidechains()
    once = open_database(str(tmp_path / "once.db"))
    _save(once, session.write(tmp_path))
    for lines in range(len(session.lines) + 1):
        _save(connection, session.write(tmp_path, lines=lines))
    assert rows(connection) == rows(once)
    once.close()


@pytest.mark.parametrize(
    ("path", "parent"),
    [
        ("/p/-x/6ab6/subagents/agent-1.jsonl", "6ab6"),
        ("/p/-x/6ab6/subagents/workflows/wf_1/agent-1.jsonl", "6ab6"),
        ("/p/-x/agent-1.jsonl", ""),
        ("subagents/agent-1.jsonl", ""),
    ],
)
def test_the_folder_names_the_parent(path, parent):
    assert parent_of(path) == parent


def test_only_transcripts_of_sub_agents_in_the_sessions_folder_are_its_own(tmp_path):
    folder = tmp_path / "s1" / "subagents"
    names = ["agent-1.jsonl", "workflows/wf/agent-2.jsonl", "workflows/wf/journal.jsonl", "agent-3.meta.json"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    found = agent_transcripts(str(tmp_path / "s1.jsonl"))
    assert found == [str(folder / name) for name in names[:2]]
    assert agent_transcripts(str(tmp_path / "s2.jsonl")) == []


def test_sub_agents_outlive_the_transcript_of_their_parent(connection, tmp_path):
    path, agent = _with_agent(tmp_path)
    os.remove(path)
    assert unsaved_bytes(connection, path, with_agents=True) == os.path.getsize(agent)
    with pytest.raises(TranscriptError):
        find_sidechains(path)


def test_catching_up_saves_what_changed_since_kizami_was_installed(connection, tmp_path):
    folder = tmp_path / "claude" / "projects" / "-home-dev-my-app"
    missed = Transcript("missed").ask("no hook was told of this").write(folder)
    old = Transcript("old").ask("before Kizami").write(folder)
    broken = Transcript("broken").ask("x").write(folder)
    os.chmod(broken, 0)
    os.utime(old, (1_000_000_000, 1_000_000_000))
    catch_up(connection, config=_CONFIG, now=_NOW, env={"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    assert {"missed", "old"} & _prompts(connection).keys() == {"missed"}
    assert unsaved_bytes(connection, missed, with_agents=True) == 0


@pytest.mark.shared
def test_each_prompt_of_the_real_client_stands_once_where_it_was_typed(shared, connection):
    """Resumed, compacted, forked and killed sessions, and one with a sub-agent, in every order of saving."""
    folder = shared / "data" / "transcripts" / "client-2.1.332"
    for path in sorted(folder.rglob("*.jsonl"), reverse=True):
        _save(connection, path)
    stems = {"59e43d1c", "fde5269c", "60aa6802", "6ab6c41b", "be5c5985", "b04a2d8a", "agent-aa"}
    prompts = {session_id[:8]: found for session_id, found in _prompts(connection).items()}
    assert set(prompts) == stems
    assert prompts["59e43d1c"] == ["認証方式はJWTにする。理由を記録して", "有効期限は? [[bash echo exp=15m]]"]
    assert prompts["fde5269c"] == ["分岐: Cookieにした場合は?", "分岐の続き"]
    assert prompts["agent-aa"] == ["Find where the form lives"]
    everything = [prompt for found in prompts.values() for prompt in found]
    assert len(everything) == len(set(everything))
