"""The library: what a program can do with ``Memory``, and that the package's README shows what works."""

import json
import os
import re
from pathlib import Path

import pytest

from kizami_core import Memory
from kizami_core.errors import ConfigError, DatabaseCorruptError, NotFoundError, TranscriptError
from kizami_core.storage.chunks import Deleted
from transcripts import Transcript

_README = Path(__file__).resolve().parents[2] / "packages" / "kizami-core" / "README.md"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, where nothing of the machine's Kizami is seen."""
    home = tmp_path.resolve() / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def config_path(home):
    """Maintenance would delete what the tests' transcripts say was long ago."""
    path = home / "config.json"
    path.write_text(json.dumps({"maintenance": {"enabled": False}}), encoding="utf-8")
    return path


@pytest.fixture
def memory(home, config_path):
    with Memory(home / "memory.db", config_path=config_path) as memory:
        yield memory


def _pool_transcript(session_id="0b1c2d3e", cwd="/home/me/app"):
    transcript = Transcript(session_id, cwd=cwd)
    transcript.ask("接続プールが枯渇した原因は？").answer("src/db/pool.ts が接続を閉じていませんでした。")
    return transcript.ask("Add a retry to the parser.").answer("Done in src/parser.py.")


def test_the_example_of_the_readme_works(home, config_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", _README.read_text(encoding="utf-8"), re.DOTALL)
    folder = home / ".config" / "kizami"
    folder.mkdir(parents=True)
    config_path.rename(folder / "config.json")
    _pool_transcript().write(home, name="session.jsonl")
    monkeypatch.chdir(home)
    exec(compile(code.replace("0b1c", "session"), str(_README), "exec"), {})
    first, *hits, last = capsys.readouterr().out.splitlines()
    assert first == "2 turns of session"
    assert re.fullmatch(r"[01]\.\d\d 2026-03-04 05:07:07 \('src/db/pool\.ts',\)", hits[0])
    assert last == "Deleted(chunks=2, sessions=1)"
    (session,) = json.loads((home / "backup.json").read_text(encoding="utf-8"))["sessions"]
    assert session["chunks"][0]["content"].endswith("We later moved to one pool per process.")


def test_what_was_recorded_is_found_in_its_project_or_everywhere(memory, home):
    memory.record(_pool_transcript().write(home))
    query = "接続プールの枯渇"
    (hit, *_) = memory.search(query, project="/home/me/app")
    assert "接続プール" in hit.chunk.content
    assert 0 < hit.relevance <= 1
    assert memory.search(query, project="/home/me/other") == []
    assert memory.search(query, project="/home/me/other", all_projects=True)[0].chunk == hit.chunk
    assert len(memory.search("プール parser", project="/home/me/app", limit=1)) == 1


def test_a_search_is_narrowed_by_time_role_tools_files_and_phrases(memory, home):
    memory.record(_pool_transcript().write(home))

    def found(query="", **wanted):
        return [hit.chunk.id for hit in memory.search(query, project="/home/me/app", **wanted)]

    first, second = 1, 2
    assert found(files="pool.ts") == found(files=["x.c", "*/pool.ts"]) == [first]
    assert found(tools=["Bash"]) == found(tools="Bash") == []
    assert found("parser", role="user") == [second]
    assert found('"接続プール"') == found("プール parser -retry") == [first]
    assert found(since="2026-03-04T05:08Z") == [second]
    assert found(since="2026-03-04T05:07Z", until="2026-03-04T05:07Z") == [first]
    with pytest.raises(ConfigError, match="neither an age nor a date"):
        found(since="soon")
    with pytest.raises(ConfigError, match='Give "user" or "assistant"'):
        found(role="human")


def test_the_current_folder_is_the_default_project(memory, home, monkeypatch):
    (home / "repo" / ".git").mkdir(parents=True)
    (home / "repo" / "src").mkdir()
    memory.record(_pool_transcript(cwd=str(home / "repo")).write(home))
    monkeypatch.chdir(home / "repo" / "src")
    assert memory.search("接続プールの枯渇") != []
    assert [session.session_id for session in memory.sessions(project=home / "repo" / "src")] == ["0b1c2d3e"]
    assert memory.sessions(project=home) == []


def test_sessions_and_chunks_are_found_by_their_ids(memory, home):
    memory.record(_pool_transcript().write(home))
    memory.record(_pool_transcript("ffff").write(home))
    session, chunks = memory.session("0b")
    assert (session.session_id, session.chunk_count) == ("0b1c2d3e", 2)
    assert [memory.chunk(chunk.id) for chunk in chunks] == chunks
    assert [session.session_id for session in memory.sessions()] == ["0b1c2d3e", "ffff"]
    assert [session.session_id for session in memory.sessions(limit=1)] == ["0b1c2d3e"]
    with pytest.raises(NotFoundError):
        memory.session("zz")
    with pytest.raises(NotFoundError):
        memory.chunk(99)


def test_edits_and_deletions_outlive_the_next_recording(memory, home):
    path = _pool_transcript().write(home)
    memory.record(path)
    assert memory.edit(1, "[User]\nwhat a person wrote").content == "[User]\nwhat a person wrote"
    assert memory.delete(chunk=2, dry_run=True) == Deleted(1, 0)
    assert memory.delete(chunk=2) == Deleted(1, 0)
    memory.record(path)
    assert [chunk.content for chunk in memory.session("0b1c")[1]] == ["[User]\nwhat a person wrote"]
    assert memory.delete(before="2026-03-04T05:07:08Z") == Deleted(1, 1)
    assert memory.stats().chunks == 0


@pytest.mark.parametrize(
    "names", [{}, {"chunk": 1, "session": "s"}, {"session": "s", "before": "2024-01-01"}]
)
def test_a_deletion_names_one_thing(memory, names):
    with pytest.raises(ConfigError, match="one of chunk, session and before"):
        memory.delete(**names)


def test_exports_are_json_or_markdown_of_one_project_or_all(memory, home):
    memory.record(_pool_transcript().write(home))
    assert len(json.loads("".join(memory.export()))["sessions"]) == 1
    assert json.loads("".join(memory.export("json", project="/elsewhere")))["sessions"] == []
    assert "".join(memory.export("markdown")).startswith(
        "# Kizami memory\n\n## /home/me/app\n\n### 接続プール"
    )


def test_an_archive_comes_back_into_another_memory(memory, home, config_path):
    memory.record(_pool_transcript().write(home))
    (home / "all.jsonl").write_text("".join(memory.export("jsonl")), encoding="utf-8")
    with Memory(home / "other.db", config_path=config_path) as other:
        assert other.import_archive(home / "all.jsonl", dry_run=True).turns_added == 2
        assert other.import_archive(home / "all.jsonl").turns_added == 2
        assert other.import_archive(home / "all.jsonl").turns_added == 0
        assert list(other.export("jsonl")) == list(memory.export("jsonl"))


def test_a_recording_runs_maintenance_when_it_is_due(home):
    config = home / "config.json"
    config.write_text(json.dumps({"maintenance": {"maxChunkAgeDays": 0.01}}), encoding="utf-8")
    with Memory(home / "memory.db", config_path=config) as memory:
        memory.record(_pool_transcript().write(home))
        assert [entry.action for entry in memory.stats().maintenance] == ["delete-old", "maintenance"]


def test_without_a_path_the_configuration_says_where_the_database_is(home):
    with Memory(env={"HOME": str(home)}):
        assert (home / ".local/share/kizami/memory.db").exists()
    config = home / "other.json"
    config.write_text(json.dumps({"database": {"path": "~/mine.db"}}), encoding="utf-8")
    with Memory(config_path=config, env={"HOME": str(home)}):
        assert (home / "mine.db").exists()
    with Memory("~/named.db", config_path=config, env={"HOME": str(home)}):
        assert (home / "named.db").exists()


def test_the_configuration_decides_scope_and_limit_of_a_search(home):
    config = home / "config.json"
    config.write_text(
        json.dumps({"search": {"projectScope": False, "defaultLimit": 1}, "maintenance": {"enabled": False}}),
        encoding="utf-8",
    )
    with Memory(home / "memory.db", config_path=config) as memory:
        memory.record(_pool_transcript().write(home))
        assert len(memory.search("プール parser", project="/elsewhere")) == 1


def test_errors_are_kizamis_own(home, config_path):
    path = home / "memory.db"
    with Memory(path, config_path=config_path) as memory:
        with pytest.raises(TranscriptError):
            memory.record(home / "gone.jsonl")
        memory.record(_pool_transcript().write(home))
    path.write_bytes(path.read_bytes()[: os.path.getsize(path) // 3])
    with pytest.raises(DatabaseCorruptError), Memory(path, config_path=config_path) as memory:
        list(memory.export())
        memory.stats()
    path.write_bytes(b"no database" * 500)
    with pytest.raises(DatabaseCorruptError):
        Memory(path, config_path=config_path)


def test_a_muted_chunk_and_a_pinned_one_carry_their_marks_until_they_are_taken_off(memory, home):
    memory.record(_pool_transcript().write(home))
    first, second = memory.session("0b1c2d3e")[1]
    assert memory.mute(first.id) == first
    assert memory.pin(first.id) == first
    assert memory.pin(second.id) == second
    stats = memory.stats()
    assert (stats.muted, stats.pinned) == (1, 2)
    assert first.id in [hit.chunk.id for hit in memory.search("接続プール", project="/home/me/app")]
    assert memory.mute(first.id, undo=True) == memory.pin(first.id, undo=True) == first
    stats = memory.stats()
    assert (stats.muted, stats.pinned) == (0, 1)
    for mark in (memory.mute, memory.pin):
        with pytest.raises(NotFoundError):
            mark(99)
