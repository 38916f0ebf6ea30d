import subprocess
import sys


def run(code):
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout.split()


def test_sqlite_is_loaded_without_functools_which_stays_whole_for_others():
    assert run(
        "before = 'functools' in sys.modules\n"
        "from kizami_core.storage.sqlite_module import sqlite3\n"
        "print(before, 'functools' in sys.modules, 'datetime' in sys.modules)\n"
        "print(*sqlite3.connect(':memory:').execute('SELECT 40 + 2').fetchone())\n"
        "import functools\n"
        "print(functools.wraps is not None, functools.__name__)\n"
    ) == ["False", "False", "False", "42", "True", "functools"]


def test_errors_are_those_of_the_package():
    assert run(
        "from kizami_core.storage.sqlite_module import sqlite3\n"
        "import sqlite3 as package\n"
        "print(sqlite3.OperationalError is package.OperationalError, sqlite3.Error.__module__)\n"
    ) == ["True", "sqlite3"]
