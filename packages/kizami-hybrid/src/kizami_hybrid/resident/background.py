"""Embedding what `save` left, in the background: newest chunks first, and while nobody needs the machine.

One thread, at a lower priority where threads have one of their own. The first few chunks, which the next
prompt is likeliest to be about, it embeds at once. Before each further batch it looks at the load of the
machine and waits while it is busy, but for a quarter of a minute at most: where a machine is always busy the
vectors come late, not never.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

# At the lowest (19) nothing at all is embedded while others fill the cores, and answers come no sooner: p95
# is 44 ms there, 42 at 5, 53 at 0, and 52 without any work in the background.
_NICENESS = 5
_BUSY_LOAD = 0.9  # of each core, this thread's own work left out
_PAUSE_SECONDS = 3.0
_MOST_PAUSES = 5
# Other programs write to the database without telling.
_LOOK_AGAIN_SECONDS = 60.0


class Background:
    """Works off databases that were noticed; use as a context manager.

    Args:
        embed_some: embeds a few chunks of a database and returns how many; 0 when none is left.
        report: told of what went wrong, once for each database and message.
        is_machine_busy: whether others need the machine.
    """

    def __init__(
        self,
        embed_some: Callable[[str], int],
        report: Callable[[str], None],
        is_machine_busy: Callable[[], bool],
    ) -> None:
        self._embed_some = embed_some
        self._report = report
        self._is_machine_busy = is_machine_busy
        self._waiting: dict[str, None] = {}  # in order, each once
        self._current = ""
        self._looked_at: dict[str, float] = {}
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self.problem = ""

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let the thread end after the batch that it is at."""
        self._is_over.set()
        with self._changed:
            self._changed.notify()
        self._thread.join()

    def notice(self, database: str) -> None:
        """Work off a database, soon."""
        with self._changed:
            self._waiting[database] = None
            self._looked_at[database] = time.monotonic()
            self._changed.notify()

    def look_at(self, database: str) -> None:
        """Work off a database that was asked about, unless it was looked at a moment ago."""
        if time.monotonic() - self._looked_at.get(database, float("-inf")) >= _LOOK_AGAIN_SECONDS:
            self.notice(database)

    def is_at_work(self) -> bool:
        """Tell whether a database is being worked off, or waits for it."""
        return bool(self._waiting or self._current)

    def databases(self) -> list[str]:
        """Return every database that was noticed."""
        return list(self._looked_at)

    def _run(self) -> None:
        _be_nice()
        while True:
            with self._changed:
                self._current = ""
                while not self._waiting and not self._is_over.is_set():
                    self._changed.wait()
                if self._is_over.is_set():
                    return
                # Taken out first: what is noticed from here on is looked at again.
                self._current = next(iter(self._waiting))
                del self._waiting[self._current]
            self._work_off(self._current)

    def _work_off(self, database: str) -> None:
        try:
            while self._embed_some(database) and self._is_calm():
                pass
        except Exception as error:  # noqa: BLE001 - the process goes on answering
            problem = f"{database}: {type(error).__name__}: {error}"
            if problem != self.problem:
                self._report(problem)
            self.problem = problem
        else:
            self.problem = ""

    def _is_calm(self) -> bool:
        """Wait while the machine is busy; False when the process is to end."""
        for _ in range(_MOST_PAUSES):
            if not self._is_machine_busy() or self._is_over.wait(_PAUSE_SECONDS):
                break
        return not self._is_over.is_set()


def is_machine_busy() -> bool:
    """Tell whether others keep the cores busy, by the load of the last minute; False where it is unknown."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none
        return False
    return is_busy(load, os.cpu_count() or 1)


def is_busy(load: float, cores: int) -> bool:
    """Tell whether a load (of which 1 may be our own) is more than the cores do in passing."""
    return load - 1 > _BUSY_LOAD * cores


def _be_nice() -> None:
    # On Linux a priority belongs to a thread; elsewhere it would slow down the answers, too.
    with suppress(AttributeError, OSError):
        if os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
