"""Embedding in the background: order, giving way, and what goes wrong."""

import threading

import pytest

from kizami_hybrid.resident import background
from kizami_hybrid.resident.background import Background, is_busy
from resident_home import wait_until


class Work:
    """Counts of chunks by database, worked off one at a time; each step is noted."""

    def __init__(self, **chunks):
        self.chunks = chunks
        self.steps = []
        self.reports = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def embed_some(self, database):
        self.may_go_on.wait()
        self.steps.append(database)
        if database == "broken":
            raise RuntimeError("no such table")
        left = self.chunks[database]
        self.chunks[database] = max(0, left - 1)
        return min(1, left)

    def background(self, is_machine_busy=lambda: False):
        return Background(self.embed_some, self.reports.append, is_machine_busy)


def test_databases_are_worked_off_in_the_order_they_were_noticed():
    work = Work(a=2, b=1)
    with work.background() as running:
        work.may_go_on.clear()
        for name in ("a", "b", "a"):
            running.notice(name)
        assert running.is_at_work()
        work.may_go_on.set()
        wait_until(lambda: not running.is_at_work())
        assert running.databases() == ["a", "b"]
    assert work.chunks == {"a": 0, "b": 0}
    assert [name for name in work.steps if name == "b"] == ["b", "b"]
    assert work.steps.index("b") > work.steps.index("a")


def test_database_that_is_noticed_at_the_last_moment_is_looked_at_again():
    work = Work(a=0)
    with work.background() as running:
        work.may_go_on.clear()
        running.notice("a")
        wait_until(lambda: running._current == "a")
        running.notice("a")
        work.may_go_on.set()
        wait_until(lambda: not running.is_at_work())
    assert work.steps == ["a", "a"]


def test_database_that_was_looked_at_a_moment_ago_is_left_alone():
    work = Work(a=0)
    with work.background() as running:
        running.look_at("a")
        wait_until(lambda: not running.is_at_work() and bool(work.steps))
        running.look_at("a")
        assert not running.is_at_work()
    assert work.steps == ["a"]


def test_failure_is_reported_once_and_other_databases_go_on():
    work = Work(a=1)
    with work.background() as running:
        running.notice("broken")
        wait_until(lambda: not running.is_at_work())
        running.notice("broken")
        wait_until(lambda: not running.is_at_work())
        assert running.problem == "broken: RuntimeError: no such table"
        running.notice("a")
        wait_until(lambda: not running.is_at_work())
        assert running.problem == ""
    assert work.reports == ["broken: RuntimeError: no such table"]
    assert work.chunks == {"a": 0}


def test_busy_machine_gets_the_first_vectors_and_then_waits(monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 1_000.0)
    asked = threading.Event()

    def is_machine_busy():
        asked.set()
        return True

    work = Work(a=5)
    with work.background(is_machine_busy) as running:
        running.notice("a")
        asked.wait()
        assert running.is_at_work()
    assert (work.steps, work.chunks) == (["a"], {"a": 4})  # and ending did not wait for the pause


def test_machine_that_is_always_busy_gets_its_vectors_late(monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 0.0)
    work = Work(a=3)
    with work.background(lambda: True) as running:
        running.notice("a")
        wait_until(lambda: not running.is_at_work())
    assert work.chunks == {"a": 0}


@pytest.mark.parametrize(
    ("load", "cores", "wanted"),
    [(1.0, 1, False), (2.0, 1, True), (2.5, 2, False), (3.0, 2, True), (8, 16, False)],
)
def test_own_work_does_not_count_as_load(load, cores, wanted):
    assert is_busy(load, cores) is wanted
