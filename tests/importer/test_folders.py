"""Which folder the memories of another program belong to."""

import pytest

from kizami_core.errors import ConfigError
from kizami_core.project_renaming import rename_project
from kizami_import import read_names

NOW = 1_798_761_600.0


@pytest.fixture
def note(source):
    """One observation of the project `shop`."""
    source.observation("s1", "A note")
    return source.path


def _folder(tmp_path, *names):
    path = tmp_path.joinpath(*names)
    path.mkdir(parents=True)
    return path


def test_a_name_stays_a_name_where_no_folder_is_known(target, note):
    report = target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", "claude-mem:shop")]
    assert [place.as_dict() for place in report.projects] == [
        {"name": "shop", "project_path": "claude-mem:shop", "rows": 1}
    ]


def test_a_name_is_the_one_folder_of_a_transcript_that_is_called_so(target, note, tmp_path):
    target.transcript("other", _folder(tmp_path, "src", "shop"))
    target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", str(tmp_path / "src" / "shop"))]


def test_a_name_that_two_folders_have_is_not_certain(target, note, tmp_path):
    target.transcript("one", _folder(tmp_path, "a", "shop"))
    target.transcript("two", _folder(tmp_path, "b", "shop"))
    target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", "claude-mem:shop")]


def test_the_own_transcript_of_a_session_decides(target, note, tmp_path):
    target.transcript("s1", _folder(tmp_path, "a", "shop"))
    target.transcript("two", _folder(tmp_path, "b", "shop"))
    target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", str(tmp_path / "a" / "shop"))]


def test_a_folder_inside_a_repository_is_the_repository(target, note, tmp_path):
    _folder(tmp_path, "repo", ".git")
    target.transcript("other", _folder(tmp_path, "repo", "shop"))
    target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", str(tmp_path / "repo"))]


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("/Users/hana/dev/shop", "/Users/hana/dev/shop"),
        (r"C:\src\shop", r"C:\src\shop"),
        ("", "claude-mem:unknown"),
        ("日本 語", "claude-mem:日本 語"),
    ],
)
def test_paths_are_paths_and_odd_names_are_kept(target, source, name, project):
    source.session("s2", name)
    source.observation("s2", "A note", project=name)
    target.import_claude_mem(source.path)
    assert target.projects() == [("claude-mem:s2", project)]


def test_a_worktree_belongs_to_its_repository(target, source, tmp_path):
    folder = _folder(tmp_path, "shop")
    source.session("s2", "shop/night-parsnip")
    source.observation("s2", "A note", project="shop/night-parsnip")
    target.import_claude_mem(source.path, named={"shop": str(folder)})
    assert target.projects() == [("claude-mem:s2", str(folder))]


def test_rows_of_another_project_than_their_session_keep_theirs(target, source, tmp_path):
    target.transcript("s1", _folder(tmp_path, "shop"))
    source.observation("s1", "Elsewhere", project="blog")
    target.import_claude_mem(source.path)
    assert target.projects() == [("claude-mem:s1", "claude-mem:blog")]


def test_memories_move_when_their_folder_becomes_known(target, note, tmp_path):
    target.import_claude_mem(note)
    report = target.import_claude_mem(note, named={"shop": str(tmp_path)})
    assert (report.moved, report.imported) == (1, {})
    assert target.projects() == [("claude-mem:s1", str(tmp_path))]
    sessions = target.connection.execute("SELECT session_id, project_path FROM sessions").fetchall()
    assert sessions == [("claude-mem:s1", str(tmp_path))]
    assert target.connection.execute("SELECT count(*) FROM word_queue").fetchone() == (0,)


def test_where_a_person_moved_a_name_later_rows_follow(target, source, tmp_path):
    chosen = _folder(tmp_path, "chosen")
    target.transcript("one", _folder(tmp_path, "a", "shop"))
    target.transcript("two", _folder(tmp_path, "b", "shop"))
    source.observation("s1", "A note")
    target.import_claude_mem(source.path)
    rename_project(target.connection, "claude-mem:shop", str(chosen), now=NOW, dry_run=False)
    (target.claude_dir / "projects" / "-lossy-name" / "two.jsonl").unlink()  # now the name would be certain
    source.observation("s1", "Another note")
    target.import_claude_mem(source.path)
    assert target.projects() == [("claude-mem:s1", str(chosen))]


def test_transcripts_that_name_no_folder_say_nothing(target, note, tmp_path):
    path = target.transcript("one", tmp_path / "shop")
    path.write_text('{"cwd": \n{"cwd": 3}\n[]\n', encoding="utf-8")
    target.import_claude_mem(note)
    assert target.projects() == [("claude-mem:s1", "claude-mem:shop")]


def test_names_are_read_as_a_person_writes_them(tmp_path):
    env = {"HOME": str(tmp_path)}
    _folder(tmp_path, "src")
    assert read_names(["shop=~/src", f"a=b={tmp_path}"], env) == {
        "shop": str(tmp_path / "src"),
        "a=b": str(tmp_path),
    }
    for wrong in ("shop", "shop=", "shop=/no/such/folder"):
        with pytest.raises(ConfigError, match="--map NAME=PATH"):
            read_names([wrong], env)
