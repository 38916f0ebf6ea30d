"""`kizami forget`: shows, asks, erases, and says what it leaves alone."""

import json
import sqlite3
from contextlib import closing

import pytest

KEPT = ("Which port does the relay use?", "It uses 2525, and 587 elsewhere.")
TOLD = ("青葉歯科の予約画面を直したい", "青葉歯科 (Aoba Dental) の予約は15分刻みです。")
SESSION, OTHER = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10", "1f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"
TEXT = "ａｏｂａ dental"


@pytest.fixture
def transcript(home):
    home.save(KEPT, session_id=OTHER)
    return home.save(TOLD, session_id=SESSION)


def chunk_ids(home):
    with closing(sqlite3.connect(home.database)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]


SHOWN = (
    "#2  2099-01-01 09:00  shop  session 0f6a2c41\n"
    "  [User]\n  青葉歯科の予約画面を直したい\n\n"
    "  [Assistant]\n  青葉歯科 (Aoba Dental) の予約は15分刻みです。\n\n"
)
LEFT = "Files of Claude Code that hold it. Kizami never changes them, and saves nothing of it:\n"


def test_a_dry_run_shows_the_passage_and_changes_nothing(kizami, home, transcript):
    done = kizami("forget", "--matching", TEXT, "--dry-run")
    would = "Would erase 1 chunk.\n"
    assert (done.exit_code, done.output) == (0, f"{SHOWN}{would}{LEFT}  {transcript}\n")
    assert chunk_ids(home) == [1, 2]


def test_without_a_terminal_nothing_is_erased_unasked(kizami, home, transcript):
    done = kizami("forget", "--matching", TEXT)
    assert done.exit_code == 1
    assert "Nothing was changed" in done.stderr
    assert chunk_ids(home) == [1, 2]


def test_with_yes_it_is_erased_and_does_not_come_back(kizami, home, transcript):
    home.hook("recall", home.prompt("Aoba Dental の予約は？"))
    would = kizami("forget", "--matching", TEXT, "--dry-run")
    assert "Would erase 1 chunk, and the text from 1 file beside the database.\n" in would.output
    done = kizami("forget", "--matching", TEXT, "--yes")
    erased = "Erased 1 chunk, and the text from 1 file beside the database.\n"
    log = f"{home.database.parent / 'recalls.jsonl'}: 1 line\n"
    assert (done.exit_code, done.output) == (0, f"{SHOWN}{log}{erased}{LEFT}  {transcript}\n")
    kizami("backfill", "--yes")
    kizami("save", transcript)
    assert chunk_ids(home) == [1]
    again = kizami("forget", "--matching", TEXT)
    nothing = "Nothing holds this text. The free pages of the database were cleared all the same.\n"
    assert (again.exit_code, again.output) == (0, f"{nothing}{LEFT}  {transcript}\n")


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", [1]), (b"n\n", [1, 2]), (b"\n", [1, 2])])
def test_on_a_terminal_it_waits_for_a_yes(home, transcript, on_terminal, answer, left):
    code, seen = on_terminal("forget", "--matching", TEXT, answer=answer)
    assert "Erase 1 chunk? [y/N]" in seen.replace("\n", " ")
    assert "\x1b[1;31mAoba Dental\x1b[0m" in seen
    assert (code, chunk_ids(home)) == (int(left != [1]), left)


def backup(home, number=""):
    path = home.database.parent / f"memory.db.schema1.backup{number}"
    with closing(sqlite3.connect(home.database)) as connection, closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
    return path


def test_the_question_counts_the_files(home, transcript, on_terminal):
    home.hook("recall", home.prompt("Aoba Dental の予約は？"))
    code, seen = on_terminal("forget", "--matching", TEXT, answer=b"y\n")
    question = "Erase 1 chunk, and the text from 1 file beside the database? [y/N]"
    assert question in seen.replace("\n", " ")
    assert "Erased 1 chunk, and the text from 1 file beside the database." in seen.replace("\n", " ")
    assert (code, chunk_ids(home)) == (0, [1])


@pytest.mark.parametrize(("answer", "is_left"), [(b"y\ny\n", False), (b"y\nn\n", True)])
def test_on_a_terminal_a_backup_is_offered_to_be_deleted(home, transcript, on_terminal, answer, is_left):
    path = backup(home)
    _, seen = on_terminal("forget", "--matching", TEXT, answer=answer)
    assert "Delete it? [y/N]" in seen.replace("\n", " ")
    assert chunk_ids(home) == [1]
    assert path.exists() == is_left


def test_on_a_terminal_several_backups_are_asked_about_once(home, transcript, on_terminal):
    paths = [backup(home), backup(home, "2")]
    _, seen = on_terminal("forget", "--matching", TEXT, answer=b"y\ny\n")
    assert "Delete them? [y/N]" in seen.replace("\n", " ")
    assert [path.exists() for path in paths] == [False, False]


def test_backups_are_named_and_deleted_on_a_flag(kizami, home, transcript):
    path = backup(home)
    done = kizami("forget", "--matching", TEXT, "--yes")
    assert f"Backups of the database that hold it (--with-backups deletes them):\n  {path}\n" in done.output
    assert path.exists()
    done = kizami("forget", "--matching", TEXT, "--yes", "--with-backups")
    assert "Deleted 1 backup of the database.\n" in done.output
    assert not path.exists()


def test_what_stays_is_named(kizami, home):
    folder = home.path / "work" / "acme"
    folder.mkdir()
    home.save(KEPT, cwd=folder)
    archive = home.database.parent / "archive" / "mine.jsonl"
    archive.parent.mkdir()
    archive.write_text("no archive", encoding="utf-8")
    done = kizami("forget", "--matching", "Acme", "--dry-run")
    assert f"Archives that can't be read. Delete them if they may hold it:\n  {archive}\n" in done.output
    assert f"Projects whose path holds it, which stays:\n  {folder}\n" in done.output


def test_a_passage_begins_with_a_whole_word(kizami, home):
    answer = "The relay of the old office, which nobody has looked at for years, uses 2525."
    home.save(("Which port?", answer))
    found = json.loads(kizami("forget", "--matching", "2525", "--dry-run", "--json").output)
    (mark, *passage) = found["chunks"][0]["passage"]
    assert mark == "…"
    assert answer.endswith(f" {''.join(passage)}")


def test_many_chunks_and_files_are_counted(kizami, home):
    for number in range(23):
        home.write_transcript(KEPT, session_id=f"{number:08}-7b1e-4f0a-9d53-8a9c1e2b7d10")
    kizami("backfill")
    done = kizami("forget", "--matching", "2525", "--dry-run")
    assert "and 3 more chunks\n" in done.output
    assert "  and 13 more files\n" in done.output


def test_json_says_where_it_was(kizami, home, transcript):
    expected = {
        "erased": False,
        "chunks": [
            {
                "id": 2,
                "session_id": SESSION,
                "project_path": str(home.project),
                "created_at": "2099-01-01 09:00:00",
                "passage": f"[User]\n{TOLD[0]}\n\n[Assistant]\n{TOLD[1]}",
            }
        ],
        "archives": [],
        "logs": [],
        "backups": [],
        "claude_files": [transcript],
        "projects": [],
    }
    found = kizami("forget", "--matching", TEXT, "--dry-run", "--json")
    assert json.loads(found.output) == expected
    done = kizami("forget", "--matching", TEXT, "--yes", "--json")
    assert json.loads(done.output) == expected | {"erased": True}


def test_one_project_alone_is_searched_where_it_is_named(kizami, home, transcript):
    other = home.path / "work" / "blog"
    other.mkdir()
    home.save(TOLD, session_id=SESSION.replace("0f", "2f"), cwd=other)
    done = kizami("forget", "--matching", TEXT, "--project", str(other), "--yes")
    assert done.exit_code == 0
    assert chunk_ids(home) == [1, 2]


def test_a_blank_text_is_answered_with_what_to_do(kizami, home, transcript):
    done = kizami("forget", "--matching", " ")
    assert (done.exit_code, done.output) == (
        1,
        "Error: There is no text to forget. Give some: --matching TEXT\n",
    )
