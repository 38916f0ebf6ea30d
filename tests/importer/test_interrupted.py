"""An import that is killed and begun again ends with the same rows as one that was not."""

import os
import subprocess
import sys
from contextlib import closing

import pytest

from claude_mem_databases import START, ClaudeMem
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.storage.connection import open_database
from transcripts import rows
from typescript_kizami import database

# Ends as by `kill -9` before the n-th statement on Kizami's database; 0: never. Small batches, so that many
# transactions are met.
_DRIVER = """
import os, sys
from kizami_core.config import Config
from kizami_core.storage.connection import open_database
from kizami_import import Folders, claude_mem, import_claude_mem, import_typescript, typescript

claude_mem._BATCH_TURNS = typescript._BATCH_CHUNKS = 4
kind, source, database, last = sys.argv[1:]
connection = open_database(database)
count = 0
def step(statement):
    global count
    count += 1
    if count == int(last):
        os._exit(9)
connection.set_trace_callback(step)
run = import_typescript if kind == "typescript" else import_claude_mem
config = Config(database_path=database)
run(connection, source, folders=Folders(connection, "/nowhere"), config=config, now=1.8e9)
connection.close()
print(count)
"""


def _run(kind, source, path, last):
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, kind, str(source), str(path), str(last)],
        capture_output=True,
        check=False,
        env=os.environ | {"HOME": str(path.parent), "TMPDIR": str(path.parent)},
    )
    assert done.returncode == (9 if last else 0), done.stderr
    return int(done.stdout or 0)


@pytest.fixture(params=["claude-mem", "typescript"])
def large(request, tmp_path):
    """A source of several batches."""
    path = tmp_path / "theirs.db"
    if request.param == "typescript":
        chunks = [("s1", "/p", number, f"[User]\nquestion {number}", "2026-01-05") for number in range(14)]
        database(path, chunks)
    else:
        made = ClaudeMem(path)
        for session in ("s1", "s2"):
            made.session(session)
            made.prompt(session, f"Go on with {session}")
            for number in range(5):
                made.observation(
                    session, f"Finding {number} of {session}", at=START + number, prompt_number=1
                )
    return request.param, path


@pytest.mark.heavy
def test_a_killed_import_is_completed_by_the_next(large, tmp_path):
    kind, source = large
    total = _run(kind, source, tmp_path / "whole.db", 0)
    with closing(open_database(str(tmp_path / "whole.db"))) as connection:
        expected = rows(connection)
    assert len(expected["chunks"]) >= 12
    for number, last in enumerate(range(2, total, total // 9)):
        path = tmp_path / f"{number}.db"
        _run(kind, source, path, last)
        _run(kind, source, path, 0)
        with closing(open_database(str(path))) as connection:
            assert rows(connection) == expected
            assert check(connection) == IntegrityReport((), ())
