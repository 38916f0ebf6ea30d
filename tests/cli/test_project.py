"""`kizami project list` and `kizami project rename`."""

import json

import pytest

QUEUE = ("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED, so that Redis is not needed.")
FORMS = ("フォームの状態管理はどうする？", "React Hook Form を採用します。")
FIRST, SECOND = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10", "5f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"


@pytest.fixture
def moved(home):
    """A project that was moved after a session was saved; returns its old and its new place."""
    home.save(QUEUE, session_id=FIRST)
    new = home.path / "code" / "shop"
    new.parent.mkdir()
    home.project.rename(new)
    home.project.mkdir()
    return home.project, new


def _projects(kizami):
    rows = json.loads(kizami("project", "list", "--json").stdout)
    return {row["project_path"]: (row["sessions"], row["chunks"], row["folder_exists"]) for row in rows}


def test_projects_are_listed_the_last_one_first(kizami, home):
    blog = home.path / "work" / "blog"
    blog.mkdir()
    home.save(QUEUE, session_id=FIRST)
    home.save(QUEUE, FORMS, session_id=SECOND, cwd=blog)
    blog.rmdir()
    assert kizami("project", "list").stdout.splitlines() == [
        f"2099-01-02 09:00\t1\t2\t{blog} (no such folder)",
        f"2099-01-01 09:00\t1\t1\t{home.project}",
    ]
    assert _projects(kizami) == {str(blog): (1, 2, False), str(home.project): (1, 1, True)}


def test_without_memories_there_is_no_project(kizami, home):
    home.run("setup")
    done = kizami("project", "list")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "No session is saved.\n")


def test_memories_of_a_moved_project_are_recalled_at_its_new_place(kizami, home, moved):
    old, new = moved
    done = kizami("project", "rename", str(old), str(new), "--yes")
    assert done.exit_code == 0
    assert done.stdout == (
        f"Moved 1 session (1 chunk) of {old} to {new}.\n"
        f"{old} still stands: what is saved there from now on is a project of its own.\n"
    )
    prompt = home.prompt("Which queue did we choose for mails?", cwd=new)
    assert "SKIP LOCKED" in home.hook("recall", prompt, cwd=new).out
    old.rmdir()
    assert _projects(kizami) == {str(new): (1, 1, True)}
    # The transcript goes on naming the old place.
    home.write_transcript(QUEUE, FORMS, session_id=FIRST, cwd=old)
    home.write_transcript(FORMS, session_id=SECOND, cwd=old)
    assert home.run("backfill", cwd=new).returncode == 0
    assert _projects(kizami) == {str(new): (2, 3, True)}


def test_the_counts_come_before_the_question(kizami, home, moved, on_terminal):
    old, new = moved
    home.save(FORMS, session_id=SECOND, cwd=new)
    code, seen = on_terminal("project", "rename", str(old), str(new), answer=b"n\n")
    asked = " ".join(seen.split())
    assert code == 1
    assert f"Move 1 session (1 chunk) of {old} to {new}, which holds 1 session already?" in asked
    assert _projects(kizami) == {str(old): (1, 1, True), str(new): (1, 1, True)}
    code, _ = on_terminal("project", "rename", str(old), str(new), answer=b"y\n")
    assert (code, _projects(kizami)) == (0, {str(new): (2, 2, True)})


def test_nothing_is_moved_when_nobody_can_be_asked_or_on_a_dry_run(kizami, moved):
    old, new = moved
    refused = kizami("project", "rename", str(old), str(new))
    assert (refused.exit_code, "Give --yes" in refused.stderr) == (1, True)
    assert kizami("project", "rename", "shop", str(new), "--dry-run").stdout.startswith(
        f"Would move 1 session (1 chunk) of {old} to {new}."
    )
    report = json.loads(kizami("project", "rename", "shop", str(new), "--dry-run", "--json").stdout)
    counts = {"sessions": 1, "chunks": 1, "joined": 0}
    paths = {"old": str(old), "new": str(new), "moves": [[str(old), str(new)]]}
    assert report == {"renamed": False, **paths, **counts}
    assert _projects(kizami) == {str(old): (1, 1, True)}


def test_projects_below_a_moved_folder_are_counted(kizami, home):
    for name in ("work/a", "work/b", "code"):
        (home.path / name).mkdir(parents=True)
    home.save(QUEUE, session_id=FIRST, cwd=home.path / "work" / "a")
    home.save(QUEUE, FORMS, session_id=SECOND, cwd=home.path / "work" / "b")
    done = kizami("project", "rename", str(home.path / "work"), str(home.path / "code"), "--yes")
    assert f"of {home.path / 'work'} and 1 project below it to {home.path / 'code'}" in done.stdout
    assert set(_projects(kizami)) == {str(home.path / "code" / name) for name in ("a", "b")}


def test_a_name_of_two_projects_is_refused(kizami, home, moved):
    home.save(FORMS, session_id=SECOND, cwd=moved[1])
    done = kizami("project", "rename", "shop", str(home.path), "--yes")
    assert (done.exit_code, "can be each of 2 projects" in done.stderr) == (1, True)
