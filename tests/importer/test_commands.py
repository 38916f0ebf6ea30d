"""`kizami import-claude-mem` and `kizami import-typescript`, as a person uses them."""

import json
import sqlite3
from contextlib import closing
from importlib.metadata import entry_points

import pytest
from click.testing import CliRunner

from claude_mem_databases import ClaudeMem
from kizami_cli.app import app
from kizami_cli.invocation import Invocation
from kizami_core.errors import NotFoundError
from kizami_import.commands.claude_mem import command as import_claude_mem
from kizami_import.commands.typescript import command as import_typescript
from typescript_kizami import chunk, write_store


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in (
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_MEM_DATA_DIR",
        "KIZAMI_JSONL_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def theirs(home):
    (home / ".claude-mem").mkdir()
    made = ClaudeMem(home / ".claude-mem" / "claude-mem.db")
    made.session("s1")
    made.observation("s1", "ログインの競合を直した")
    made.observation("s1")
    return made


def _run(command, *arguments):
    return CliRunner().invoke(command, arguments, obj=Invocation(), catch_exceptions=False)


def _chunks(home):
    path = home / ".local" / "share" / "kizami" / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT project_path, content FROM chunks").fetchall()


def test_an_import_says_what_was_imported_and_what_was_skipped(home, theirs):
    result = _run(import_claude_mem)
    assert result.stdout == (
        "imported\tobservation\t1\n"
        "skipped: empty\tobservation\t1\n"
        "\n"
        "shop\tclaude-mem:shop\t1\n"
        f"Imported 1 row of {theirs.path}: 1 chunk.\n"
    )
    assert _chunks(home) == [("claude-mem:shop", "[Assistant]\nログインの競合を直した")]
    assert "known from before\tobservation\t1\n" in _run(import_claude_mem).stdout


def test_a_dry_run_makes_no_database(home, theirs):
    result = _run(import_claude_mem, "--dry-run")
    assert "would import\tobservation\t1\n" in result.stdout
    assert f"Would import 1 row of {theirs.path}.\n" in result.stdout
    assert not (home / ".local").exists()


def test_the_report_as_json(home, theirs):
    report = json.loads(_run(import_claude_mem, "--json", "--map", f"shop={home}").stdout)
    assert report == {
        "source": str(theirs.path),
        "is_dry_run": False,
        "sessions": 1,
        "imported": {"observation": 1},
        "known": {},
        "updated": {},
        "skipped": {"empty": {"observation": 1}},
        "chunks_written": 1,
        "moved": 0,
        "projects": [{"name": "shop", "project_path": str(home), "rows": 1}],
    }


def test_what_grew_and_what_moved_is_said(home, theirs):
    theirs.prompt("s1", "Why is it slow?")
    _run(import_claude_mem, "--source", str(theirs.path), "--project", "shop")
    theirs.observation("s1", "No index", prompt_number=1)
    result = _run(import_claude_mem, "--map", f"shop={home}")
    assert result.stdout.endswith(
        ": 2 chunks; 1 prompt known from before had grown; 2 chunks moved to folders known now.\n"
    )


def test_a_source_that_is_not_there_is_an_error_with_its_remedy(home):
    with pytest.raises(NotFoundError, match="--source"):
        _run(import_claude_mem)


def test_the_store_of_the_typescript_kizami_is_found(home):
    (home / ".local" / "share" / "kizami").mkdir(parents=True)
    write_store(home / ".local" / "share" / "kizami" / "jsonl", chunk("[User]\nHow is it built?"))
    assert "Would import 1 row of " in _run(import_typescript, "--dry-run").stdout
    assert "imported\tchunk\t1\n" in _run(import_typescript).stdout
    assert _chunks(home) == [("/p", "[User]\nHow is it built?")]


def test_kizami_offers_both_commands(home):
    if "import-claude-mem" not in {found.name for found in entry_points(group="kizami.commands")}:
        pytest.skip("kizami-import is not installed, only on the path")
    result = CliRunner().invoke(app, ["--help"], prog_name="kizami")
    assert "import-claude-mem  Import the memories of claude-mem" in result.output
    assert CliRunner().invoke(app, ["import-typescript", "--help"], prog_name="kizami").exit_code == 0
