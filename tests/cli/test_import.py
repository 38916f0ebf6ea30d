"""`kizami import`, the archives of `kizami export`, and both texts of `kizami merge` beside each other."""

import gzip
import json
import re

import pytest
from rich.cells import cell_len

FORMS = ("フォームの状態管理はどうする？", "検証が複雑な画面は React Hook Form を採用します。")
QUEUE = ("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED.")
SECOND = "0f6a2c41-aaaa-4f0a-9d53-8a9c1e2b7d10"


@pytest.fixture
def archive(home, tmp_path):
    """An archive of one session, made on a machine whose database is gone."""
    home.save(FORMS)
    path = tmp_path / "all.jsonl.gz"
    done = home.run("export", "--output", str(path))
    assert (done.returncode, done.stdout) == (0, b"")
    assert re.fullmatch(rf"Wrote {re.escape(str(path))} \([\d.,]+ \w+\)\.\n", done.stderr.decode())
    for file in home.database.parent.glob("memory.db*"):
        file.unlink()
    return path


def test_an_archive_comes_into_a_new_home_once(kizami, archive):
    assert (
        kizami("import", str(archive)).output
        == "Imported 1 new turn, 0 changed turns (1 chunk added, 0 chunks removed).\n"
    )
    assert FORMS[0] in kizami("list").output
    assert kizami("import", str(archive)).output == "There is nothing new in it.\n"
    copy = archive.with_name("again.jsonl.gz")
    assert kizami("export", "--output", str(copy)).exit_code == 0
    assert copy.read_bytes() == archive.read_bytes()


def test_a_dry_run_needs_no_database_and_makes_none(kizami, home, archive):
    assert kizami("import", "--dry-run", str(archive)).output.startswith("Would import 1 new turn")
    assert not home.database.exists()


def test_a_dry_run_says_what_would_come(kizami, home, archive):
    home.save(QUEUE, session_id=SECOND)
    planned = json.loads(kizami("import", "--dry-run", "--json", str(archive)).output)
    assert planned == {
        "imported": False,
        "sessions": 1,
        "turns_added": 1,
        "turns_changed": 0,
        "turns_unchanged": 0,
        "chunks_added": 1,
        "chunks_removed": 0,
    }
    assert kizami("import", "--dry-run", str(archive)).output.startswith("Would import 1 new turn")
    assert FORMS[0] not in kizami("list").output


def test_what_was_deleted_here_stays_deleted(kizami, home, archive):
    kizami("import", str(archive))
    kizami("delete", "--chunk", "1", "--yes")
    assert kizami("import", str(archive)).output == "There is nothing new in it.\n"
    assert FORMS[0] not in kizami("list").output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["import"], 2, "Missing argument"),
        (["import", "/gone.jsonl"], 1, "There is no file /gone.jsonl. Check the path."),
        (["import", "--project", ".", "/gone.jsonl"], 2, "kizami export --project"),
        (["export", "--output", "all.tar"], 1, "Add --format jsonl, json or markdown."),
    ],
)
def test_mistakes_are_answered_with_what_to_do(kizami, home, arguments, code, message):
    home.save(FORMS)
    done = kizami(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr


def test_a_damaged_archive_is_named_with_its_line(kizami, archive, tmp_path):
    whole = gzip.decompress(archive.read_bytes()).split(b"\n")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"\n".join([*whole[:3], b"{", *whole[4:]]))
    done = kizami("import", str(broken))
    assert done.exit_code == 1
    assert f"{broken}, line 4 can't be used: it is no JSON. Get a whole copy" in done.stderr
    assert kizami("import", str(archive)).output == "There is nothing new in it.\n"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.jsonl", '{"kizami":"archive"'),
        ("a.json", '{"sessions": ['),
        ("a.md", "# Kizami memory"),
        ("b", "# Kizami"),
    ],
)
def test_the_ending_of_the_file_tells_the_format(kizami, home, tmp_path, name, begins):
    home.save(FORMS)
    form = ["--format", "markdown"] if name == "b" else []
    assert kizami("export", *form, "--output", str(tmp_path / name)).exit_code == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


def test_an_export_can_begin_at_a_date(kizami, home):
    home.save(FORMS, QUEUE)
    text = kizami("export", "--format", "jsonl", "--since", "2099-01-02").stdout
    assert (FORMS[1] in text, QUEUE[1] in text) == (False, True)


def test_what_merging_deletes_comes_back_from_the_archive_folder(kizami, home):
    home.save(FORMS, ("フォームの状態管理はどうする？", FORMS[1] + "以上です。"))
    before = kizami("export", "--format", "jsonl").stdout
    assert kizami("merge", "--yes").output.endswith("Deleted 1 chunk.\n")
    folder = home.database.parent / "archive"
    assert kizami("import", str(folder)).output.startswith(
        "Imported 0 new turns, 1 changed turn (1 chunk added"
    )
    assert kizami("export", "--format", "jsonl").stdout == before


def test_both_texts_stand_beside_each_other_on_80_columns(home, on_terminal):
    same = "検証が複雑な画面は React Hook Form を採用し、単純な画面は useState のままにします。" * 3
    home.save(("フォームは？", same), ("フォームは？", same + "理由は再描画の少なさです。"))
    code, seen = on_terminal("merge", "--dry-run")
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert "what is deleted" in plain.splitlines()[0]
    assert "what is kept" in plain.splitlines()[0]
    assert "理由は" in plain
    assert max(map(cell_len, plain.splitlines())) <= 80


def test_a_full_database_says_that_maintenance_will_take_it_out_again(kizami, home, archive):
    home.write_config(maintenance={"maxDbSizeMB": 1})
    home.save(
        (QUEUE[0], " ".join(f"word{number * 7919 % 99991}" for number in range(30_000))), session_id=SECOND
    )
    done = kizami("import", str(archive))
    assert "more than maintenance.maxDbSizeMB (1): the next maintenance takes the oldest" in done.stderr
