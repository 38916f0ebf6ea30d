"""Which project a working directory belongs to."""

import os
import shutil
import subprocess
import sys

import pytest

from kizami_core.storage.projects import resolve_project


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path.resolve() / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def _folder(path):
    path.mkdir(parents=True)
    return path


def test_a_folder_without_a_repository_is_its_own_project(home):
    folder = _folder(home / "notes" / "2026")
    assert resolve_project(str(folder)) == str(folder)
    assert resolve_project(f"{folder}/") == str(folder)
    assert resolve_project(f"{folder}/../2026/.") == str(folder)


def test_a_sub_directory_belongs_to_its_repository(home):
    root = home / "my-app.v2_x"
    folder = _folder(root / "src" / "deep")
    _folder(root / ".git")
    assert [resolve_project(str(path)) for path in (root, root / "src", folder)] == [str(root)] * 3


def test_the_innermost_repository_counts(home):
    _folder(home / "outer" / ".git")
    _folder(home / "outer" / "inner" / ".git")
    assert resolve_project(str(home / "outer" / "inner")) == str(home / "outer" / "inner")


def test_symbolic_links_lead_to_one_project(home):
    _folder(home / "real" / ".git")
    (home / "link").symlink_to(home / "real")
    assert resolve_project(str(home / "link")) == str(home / "real")


def test_dotfiles_in_the_home_directory_do_not_make_one_project_of_all(home, tmp_path):
    _folder(home / ".git")
    folder = _folder(home / "work")
    assert resolve_project(str(folder)) == str(folder)
    assert resolve_project(str(home)) == str(home)


def test_a_repository_around_the_home_directory_is_not_looked_at(home, tmp_path):
    _folder(tmp_path / ".git")
    folder = _folder(home / "work")
    assert resolve_project(str(folder)) == str(folder)


def test_the_root_of_the_file_system_is_a_project_like_any_other(home):
    assert resolve_project("/") == "/"


def test_a_folder_that_is_gone_is_resolved_as_far_as_it_can_be(home):
    _folder(home / "repo" / ".git")
    (home / "link").symlink_to(home / "repo")
    assert resolve_project(str(home / "link" / "gone" / "deeper")) == str(home / "repo")
    assert resolve_project(str(home / "no" / ".." / "such")) == str(home / "such")


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the worktrees")
def test_worktrees_belong_to_the_repository_that_they_were_made_from(home):
    repository, worktree, bare = home / "repo", home / "elsewhere" / "wt", home / "hub" / ".bare"

    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True, env=environment)

    git("init", str(repository))
    git("-C", str(repository), "commit", "--allow-empty", "-m", "x")
    git("-C", str(repository), "worktree", "add", str(worktree))
    (worktree / "src").mkdir()
    assert resolve_project(str(worktree / "src")) == str(repository)
    git("clone", "--bare", str(repository), str(bare))
    git("-C", str(bare), "worktree", "add", str(home / "hub" / "main"), "HEAD")
    assert resolve_project(str(home / "hub" / "main")) == str(bare)
    (home / "hub" / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
    assert resolve_project(str(home / "hub" / "main")) == str(home / "hub")
    assert resolve_project(str(home / "hub")) == str(home / "hub")


def test_a_submodule_is_a_project_of_its_own(home):
    _folder(home / "repo" / ".git" / "modules" / "lib")
    module = _folder(home / "repo" / "lib")
    (module / ".git").write_text("gitdir: ../.git/modules/lib\n", encoding="utf-8")
    assert resolve_project(str(module)) == str(module)


@pytest.mark.parametrize("content", [b"", b"no pointer", b"gitdir: /nowhere\n", b"gitdir: \xff\xfe\n"])
def test_a_broken_pointer_still_marks_a_root(home, content):
    folder = _folder(home / "wt" / "src")
    (home / "wt" / ".git").write_bytes(content)
    assert resolve_project(str(folder)) == str(home / "wt")


@pytest.mark.parametrize(
    "path", ["", "C:\\Users\\me\\プロジェクト", "D:/src", "relative/path", "\\\\server\\share"]
)
def test_what_is_no_path_of_this_system_stays_as_it_is(home, path):
    assert resolve_project(path) == path


@pytest.mark.parametrize("path", ["/with\0nul", "/lone\ud83dsurrogate"])
def test_what_no_file_can_be_called_stays_as_it_is(home, path):
    assert resolve_project(path) == path


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the names of files are text")
def test_a_name_that_is_not_utf8_is_the_text_that_claude_code_makes_of_it(home):
    folder = os.path.join(os.fsencode(home), b"caf\xe9")
    os.mkdir(folder)
    assert resolve_project(os.fsdecode(folder)) == os.path.join(os.path.realpath(home), "caf\ufffd")
