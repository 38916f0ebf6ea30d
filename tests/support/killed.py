"""Processes of Kizami that end as by `kill -9`, before the n-th statement of their SQL."""

import json
import shutil
import subprocess
import sys
from contextlib import closing

from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.storage.connection import open_database
from transcripts import rows

# Neither Python nor SQLite gets to clean up. The statements of triggers count too.
_DRIVER = """
import _sqlite3, os, runpy, sqlite3, sys
log, last = open(sys.argv[1], "w", encoding="utf-8", buffering=1), int(sys.argv[2])
del sys.argv[1:3]
count = 0
def step(statement):
    global count
    count += 1
    if count == last:
        os._exit(9)
    log.write(statement.split(maxsplit=1)[0] + "\\n")
def connect(*arguments, connect=sqlite3.connect, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(step)
    return connection
# Kizami uses the one (storage/sqlite_module.py) or the other.
_sqlite3.connect = sqlite3.connect = connect
runpy.run_module("kizami_cli", run_name="__main__")
"""


class Killed:
    """A command of Kizami that can be killed, in a home with a database.

    Args:
        database: where the database is, or will be.
        env: the environment.
        arguments: the command.
        fields: its input, for a hook.
    """

    def __init__(self, database, env, arguments, fields=None):
        self._database = database
        self._env = env
        self._arguments = arguments
        self._input = json.dumps(fields or {}).encode()
        self._log = database.parent / "statements.log"

    def run(self, *, last=0):
        """Run the command; it is killed before its ``last`` statement, 0 for never."""
        done = subprocess.run(
            [sys.executable, "-c", _DRIVER, self._log, str(last), *self._arguments],
            input=self._input,
            env=self._env,
            capture_output=True,
            check=False,
        )
        assert done.returncode == (9 if last else 0), done
        assert b"Traceback" not in done.stderr
        assert "--stdin" not in self._arguments or done.stderr == b"", done

    def places(self, count):
        """Run the command to its end and return where to kill it: ``count`` places over all of its SQL.

        After each commit there is one more.
        """
        self.run()
        words = self._log.read_text(encoding="utf-8").upper().split()
        found = {1 + number * (len(words) - 1) // (count - 1) for number in range(count)}
        found |= {number + 1 for number, word in enumerate(words, start=1) if word == "COMMIT"}
        return sorted(place for place in found if place <= len(words))

    def rows_left(self):
        """Return the rows after a kill, from a sound copy: the next process meets what was left as it is."""
        folder = self._database.parent / "copy"
        folder.mkdir()
        for path in self._database.parent.glob("memory.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder)
        found = sound_rows(folder / self._database.name)
        shutil.rmtree(folder)
        return found


def sound_rows(database):
    """Return the rows of a database in which everything agrees, and how many chunks wait for the word index.

    One that is not there yet is created.
    """
    with closing(open_database(str(database))) as connection:
        report = check(connection)
        assert report.replace(queued=0) == IntegrityReport((), ())
        return rows(connection) | {"queued": report.queued}
