"""A project that moved to another folder: its memories follow, and so do its transcripts."""

import pytest

from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.project_renaming import Renaming, rename_project
from kizami_core.recording import save_transcript
from kizami_core.searching import search
from kizami_core.storage.project_aliases import add_alias, is_within, project_of
from kizami_core.storage.project_rows import ProjectRow, list_projects
from kizami_core.timestamps import parse_date
from memories import MemoryBook, config
from transcripts import BEGIN, Transcript, rows

NOW = BEGIN.timestamp() + 86_400
QUESTION, ANSWER = "Which queue do we use?", "PostgreSQL with SKIP LOCKED."


@pytest.fixture
def book(tmp_path):
    book = MemoryBook(tmp_path / "memory.db")
    yield book
    book.connection.close()


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A home with the folder ``code/shop`` in it; ``jobs/shop`` is where that stood before."""
    home = tmp_path.resolve() / "home"
    (home / "code" / "shop").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def _found_in(book, project):
    hits = search(
        book.connection, "queue", project_path=str(project), scope=True, limit=9, config=config(), now=NOW
    )
    return [hit.chunk.project_path for hit in hits]


def _is_consistent(connection):
    return check(connection) == IntegrityReport((), ())


def test_memories_follow_a_moved_folder(book, places):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    book.add(QUESTION, ANSWER, project=old)
    book.add_noise(20)
    tokens = book.connection.execute("SELECT id FROM projects WHERE path = ?", (old,)).fetchall()
    done = rename_project(book.connection, old, new, now=NOW)
    assert done == Renaming(old, new, ((old, new),), sessions=1, chunks=1, joined=0)
    assert (_found_in(book, new), _found_in(book, old)) == ([new], [])
    # The index was not written anew: the token changed its path.
    assert book.connection.execute("SELECT id FROM projects WHERE path = ?", (new,)).fetchall() == tokens
    assert _is_consistent(book.connection)
    assert book.connection.execute(
        "SELECT action, detail FROM maintenance_log WHERE action = 'rename'"
    ).fetchall() == [("rename", f"{old} → {new}")]


def test_a_dry_run_only_counts(book, places):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    book.add(QUESTION, ANSWER, project=old)
    before = rows(book.connection)
    done = rename_project(book.connection, old, new, now=NOW, dry_run=True)
    assert (done.sessions, done.chunks) == (1, 1)
    assert rows(book.connection) == before
    assert book.connection.execute("SELECT count(*) FROM project_aliases").fetchone()[0] == 0


def test_two_projects_can_become_one(book, places):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    book.add(QUESTION, ANSWER, project=old, session="before")
    book.add(QUESTION, ANSWER, project=new, session="after")
    book.add_noise(20)
    done = rename_project(book.connection, old, new, now=NOW)
    assert (done.sessions, done.joined) == (1, 1)
    assert _found_in(book, new) == [new, new]
    assert _is_consistent(book.connection)


def test_projects_below_the_folder_move_with_it(book, places):
    shop = str(places / "jobs" / "shop")
    for project in (shop, f"{shop}/api", f"{shop}-2"):
        book.add(QUESTION, ANSWER, project=project, session=project)
    done = rename_project(book.connection, shop, str(places / "code" / "shop"), now=NOW)
    new = str(places / "code" / "shop")
    assert done.moves == ((shop, new), (f"{shop}/api", f"{new}/api"))
    assert {row.project_path for row in list_projects(book.connection)} == {new, f"{new}/api", f"{shop}-2"}
    assert _is_consistent(book.connection)


def test_a_folder_that_went_one_level_down_takes_only_itself(book, places):
    old, new = places / "code", places / "code" / "shop"
    for project in (old, old / "blog"):
        book.add(QUESTION, ANSWER, project=str(project), session=str(project))
    done = rename_project(book.connection, str(old), str(new), now=NOW)
    assert done.moves == ((str(old), str(new)),)
    # What lies below the new place is there already, and not at a place below that.
    assert project_of(book.connection, str(new), started_at="") == str(new)


def test_a_folder_moved_into_a_repository_belongs_to_it(book, places):
    (places / "code" / ".git").mkdir()
    old = str(places / "jobs" / "shop")
    book.add(QUESTION, ANSWER, project=old)
    done = rename_project(book.connection, old, str(places / "code" / "shop"), now=NOW)
    assert done.moves == ((old, str(places / "code")),)


def test_the_last_part_of_a_path_names_a_project_when_it_is_clear(book, places):
    old = str(places / "jobs" / "shop")
    book.add(QUESTION, ANSWER, project=old)
    done = rename_project(book.connection, "shop", str(places / "code" / "shop"), now=NOW, dry_run=True)
    assert done.old == old


def test_two_folders_of_the_same_name_stay_two(book, places):
    first, second = str(places / "jobs" / "shop"), str(places / "play" / "shop")
    for project in (first, second):
        book.add(QUESTION, ANSWER, project=project, session=project)
    assert (_found_in(book, first), _found_in(book, second)) == ([first], [second])
    with pytest.raises(NotFoundError, match=r"can be each of 2 projects: .*/jobs/shop, .*/play/shop"):
        rename_project(book.connection, "shop", str(places / "code" / "shop"), now=NOW)
    rename_project(book.connection, first, str(places / "code" / "shop"), now=NOW)
    assert _found_in(book, second) == [second]


@pytest.mark.parametrize("name", ["", "elsewhere", "/", "hop"])
def test_a_name_that_nothing_is_stored_of_is_refused(book, places, name):
    book.add(QUESTION, ANSWER, project="C:\\work\\shop")
    with pytest.raises(NotFoundError, match="kizami project list"):
        rename_project(book.connection, name, str(places / "code" / "shop"), now=NOW)


def test_a_place_that_is_no_folder_is_refused(book, places):
    book.add(QUESTION, ANSWER, project=str(places / "jobs" / "shop"))
    with pytest.raises(ConfigError, match="Move the project there first"):
        rename_project(book.connection, "shop", str(places / "gone"), now=NOW)


def test_a_project_can_not_move_to_where_it_is(book, places):
    book.add(QUESTION, ANSWER, project=str(places / "code" / "shop"))
    with pytest.raises(ConfigError, match="are one project"):
        rename_project(book.connection, "shop", str(places / "code" / "shop"), now=NOW)


def test_old_transcripts_are_saved_at_the_new_place(book, places, tmp_path):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    saved, unsaved, below = (
        Transcript(name, cwd=cwd).ask(QUESTION).answer(ANSWER)
        for name, cwd in (("saved", old), ("unsaved", old), ("below", f"{old}/api"))
    )
    save_transcript(book.connection, saved.write(tmp_path), config=config(), now=NOW)
    rename_project(book.connection, old, new, now=NOW)
    saved.ask("And for mails?").answer(ANSWER)
    for transcript in (saved, unsaved, below):
        save_transcript(book.connection, transcript.write(tmp_path), config=config(), now=NOW)
    assert list_projects(book.connection) == [
        ProjectRow(new, 2, 3, "2026-03-04 05:09:07"),
        ProjectRow(f"{new}/api", 1, 1, "2026-03-04 05:07:07"),
    ]


def test_a_folder_made_anew_at_the_old_place_is_another_project(book, places, tmp_path):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    before = Transcript("before", cwd=old).ask(QUESTION).answer(ANSWER)
    save_transcript(book.connection, before.write(tmp_path), config=config(), now=NOW)
    rename_project(book.connection, old, new, now=NOW)
    (places / "jobs" / "shop").mkdir(parents=True)
    after = Transcript("after", cwd=old, begin=BEGIN.replace(year=2027)).ask(QUESTION).answer(ANSWER)
    before.ask("And for mails?").answer(ANSWER)
    for transcript in (before, after):
        save_transcript(book.connection, transcript.write(tmp_path), config=config(), now=NOW)
    assert {row.project_path: row.chunks for row in list_projects(book.connection)} == {old: 1, new: 2}


def test_moves_lead_on_to_the_last_place(book, places):
    first, second, third = (str(places / name / "shop") for name in ("a", "b", "c"))
    add_alias(book.connection, first, second, now=NOW)
    add_alias(book.connection, second, third, now=NOW)
    assert {project_of(book.connection, path, started_at="") for path in (first, second, third)} == {third}
    add_alias(book.connection, third, first, now=NOW)
    assert {project_of(book.connection, path, started_at="") for path in (first, second, third)} == {first}


def test_the_innermost_moved_folder_counts(book, places):
    outer, inner = str(places / "a"), str(places / "a" / "inner")
    add_alias(book.connection, outer, str(places / "b"), now=NOW)
    add_alias(book.connection, inner, str(places / "c"), now=NOW)
    assert project_of(book.connection, f"{inner}/x", started_at="") == str(places / "c" / "x")
    assert project_of(book.connection, f"{outer}/x", started_at="") == str(places / "b" / "x")


def test_what_began_after_the_move_follows_while_the_old_place_is_empty(book, places):
    old, new = str(places / "jobs" / "shop"), str(places / "code" / "shop")
    add_alias(book.connection, old, new, now=NOW)
    later = parse_date("2099-01-01T00:00Z")
    assert project_of(book.connection, old, started_at=later) == new
    (places / "jobs" / "shop").mkdir(parents=True)
    assert project_of(book.connection, old, started_at=later) == old


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b", True), ("/a/b/c", True), ("/a/bc", False), ("/a", False), ("/a/b\\c", True)],
)
def test_a_path_is_within_a_folder_by_whole_names(path, expected):
    assert is_within(path, "/a/b") == expected
