"""`kizami forget`, killed at whatever moment: the database is sound, and the same command finishes it."""

import gzip
import json
import shutil
from contextlib import closing
from datetime import UTC, datetime

import pytest

from killed import Killed, sound_rows
from kizami_core.config import parse_config
from kizami_core.maintenance.retention import run_maintenance
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from transcripts import BEGIN, Transcript, rows

pytestmark = pytest.mark.heavy

_CONFIG = parse_config({}, {})[0]
_SECRET = "Zanthoxylum"


def files(folder):
    """Return the bytes of what lies in a folder, decompressed; what only says how far it came is left out."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]
    return {
        path.relative_to(folder): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in paths
    }


@pytest.fixture
def data(claude):
    """A database, an archive and a log that hold the text, and a transcript that is not saved yet."""
    home = claude.project.parent
    folder = home / ".local" / "share" / "kizami"
    projects = home / ".claude" / "projects" / "-shop"
    old = Transcript("old", begin=BEGIN.replace(year=2025)).ask(f"Is it {_SECRET}?").answer("Yes.")
    new = Transcript("new", begin=datetime(2099, 1, 1, tzinfo=UTC))
    for number in range(30):
        new.ask(f"問い {number}").answer(f"答え {number}: {_SECRET if number % 3 == 0 else '別の話'}")
    with closing(open_database(str(folder / "memory.db"))) as connection:
        for session in (old, new):
            save_transcript(connection, session.write(projects), config=_CONFIG, now=BEGIN.timestamp())
        run_maintenance(connection, config=_CONFIG, now=BEGIN.timestamp())
    Transcript("unsaved").ask(f"What of {_SECRET}?").answer("Nothing.").write(projects)
    line = json.dumps({"project_path": str(claude.project), "prompt": f"of {_SECRET}"})
    (folder / "recalls.jsonl").write_text(f"{line}\n", encoding="utf-8")
    return folder


def test_forgetting_killed_at_any_statement_is_completed_by_the_same_command(claude, data):
    before = data.parent / "before"
    shutil.copytree(data, before)
    killed = Killed(data / "memory.db", claude.env, ("forget", "--matching", _SECRET, "--yes"))
    places = killed.places(10)
    expected = sound_rows(data / "memory.db")
    assert len(expected["chunks"]) == 20
    for place in places:
        shutil.rmtree(data)
        shutil.copytree(before, data)
        killed.run(last=place)
        assert len(killed.rows_left()["chunks"]) in (20, 30)
        killed.run()
        with closing(open_database(str(data / "memory.db"))) as connection:
            assert rows(connection) | {"queued": 0} == expected, place
        assert [name for name, content in files(data).items() if _SECRET.encode() in content] == [], place
    claude("save", str(claude.project.parent / ".claude" / "projects" / "-shop" / "unsaved.jsonl"))
    assert sound_rows(data / "memory.db") == expected
