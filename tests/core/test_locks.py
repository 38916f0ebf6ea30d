"""Locks between processes."""

import os
import subprocess
import sys

from kizami_core.locks import ProcessLock

_HOLDER = """
import sys
from kizami_core.locks import ProcessLock
with ProcessLock(sys.argv[1]) as lock:
    print(lock.is_held, flush=True)
    sys.stdin.read()
"""


def _hold(path):
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return holder, holder.stdout.readline().strip()


def test_one_process_holds_a_lock_until_it_ends_however_that_happens(tmp_path):
    path = str(tmp_path / "locks" / "one")
    holder, answer = _hold(path)
    assert answer == "True"
    with ProcessLock(path) as lock:
        assert not lock.is_held
    assert os.path.exists(path)
    holder.kill()
    holder.communicate()
    with ProcessLock(path) as lock:
        assert lock.is_held
        other, answer = _hold(path)
        assert answer == "False"
        other.communicate("")
    assert not os.path.exists(path)


def test_a_file_that_its_last_holder_took_away_is_no_lock(tmp_path):
    path = str(tmp_path / "one")
    with ProcessLock(path) as lock:
        assert lock.is_held
        os.rename(path, tmp_path / "another")  # as if it had ended between opening and locking
        with ProcessLock(path) as second:
            assert second.is_held
        (tmp_path / "another").unlink()
    slow = ProcessLock(path)
    with slow:
        os.unlink(path)
        assert not slow._is_in_place()


def test_the_folder_is_private(tmp_path):
    with ProcessLock(str(tmp_path / "locks" / "one")):
        if os.name == "posix":
            assert (tmp_path / "locks").stat().st_mode & 0o077 == 0
