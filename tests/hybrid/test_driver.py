"""Which SQLite library the vectors are read and written with."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from kizami_core.errors import DatabaseBusyError, StorageError
from kizami_core.storage.connection import open_database, transaction
from kizami_hybrid import driver
from kizami_hybrid.driver import Driver
from memories import MemoryBook

OWN_LOADS = hasattr(sqlite3.Connection, "enable_load_extension")


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "memory.db"
    MemoryBook(path).connection.close()
    return str(path)


def test_this_python_has_a_library_that_loads_sqlite_vec():
    chosen = driver.choose()
    assert chosen.can_load_vec
    assert "loads sqlite-vec v" in chosen.why


@pytest.mark.skipif(not OWN_LOADS, reason="this Python's sqlite3 was built without extensions")
def test_pythons_own_library_is_preferred():
    assert driver.choose().name == "sqlite3"


@pytest.mark.skipif(OWN_LOADS, reason="this Python's sqlite3 loads extensions")
def test_another_library_takes_the_place_of_one_built_without_extensions():
    chosen = driver.choose()
    assert chosen.name in ("pysqlite3", "sqlean")
    assert chosen.why.startswith("sqlite3 was built without extensions; ")


def test_without_any_library_numpy_searches_and_the_reason_is_told():
    assert driver.choose(("no_such_library",)) == Driver(
        "sqlite3",
        sqlite3.sqlite_version,
        "no_such_library is not installed; vectors are searched with NumPy",
        can_load_vec=False,
    )


def test_without_sqlite_vec_numpy_searches(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)  # as if it was not installed
    chosen = driver.choose()
    assert (chosen.name, chosen.can_load_vec) == ("sqlite3", False)
    assert chosen.why == "sqlite-vec is not installed; vectors are searched with NumPy"


def test_a_damaged_sqlite_vec_is_told_and_numpy_searches(monkeypatch, tmp_path):
    package = tmp_path / "sqlite_vec"
    package.mkdir()
    (package / "__init__.py").touch()
    for suffix in ("so", "dylib", "dll"):
        (package / f"vec0.{suffix}").write_bytes(b"no library")
    monkeypatch.syspath_prepend(tmp_path)
    chosen = driver.choose()
    assert (chosen.name, chosen.can_load_vec) == ("sqlite3", False)
    assert " says: " in chosen.why


def test_neither_numpy_nor_the_python_side_of_sqlite_vec_is_imported():
    code = (
        "import sys; from kizami_hybrid import driver; assert driver.choose().can_load_vec;"
        "print(sorted({'numpy', 'sqlite_vec'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], encoding="utf-8") == "[]\n"


def test_a_connection_has_sqlite_vec_and_cores_settings(database):
    with closing(driver.open_database(database, driver.choose())) as connection:
        assert driver.has_vec(connection)
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert settings == ["wal", 1, 1]


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        driver.open_database(str(tmp_path / "memory.db"), driver.choose())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "remedy"), [(1, "Run: kizami setup"), (99, "pip install --upgrade kizami-cli kizami-hybrid")]
)
def test_a_database_of_another_schema_is_refused_with_the_remedy(database, version, remedy):
    with closing(open_database(database)) as connection:
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version(version) VALUES (?)", (version,))
    with pytest.raises(StorageError) as refused:
        driver.open_database(database, driver.choose())
    assert str(refused.value).endswith(remedy)


def test_a_file_that_is_no_database_is_told_as_damaged(tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageError, match="kizami doctor"):
        driver.open_database(str(path), driver.choose())


def test_cores_transaction_tells_errors_of_any_library_as_its_own(database):
    chosen = driver.choose()
    with (
        closing(driver.open_database(database, chosen)) as one,
        closing(driver.open_database(database, chosen, busy_timeout_ms=0)) as other,
    ):
        with transaction(one), pytest.raises(DatabaseBusyError), transaction(other):
            pass
        with pytest.raises(StorageError), transaction(one):
            one.execute("DELETE FROM turns")
            one.execute("no such statement")
        assert not one.in_transaction
