"""How far a long task is, on stderr: a bar on a terminal, a line for every tenth elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from kizami_cli.console import say
from kizami_cli.language import _

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LINES = 10


@contextmanager
def progress(task: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """Show a task's progress for a block; what it gets is to be called with the bytes that were done."""
    task = _(task)
    if sys.stderr.isatty() and total_bytes:
        with _bar(task, total_bytes) as advance:
            yield advance
    else:
        yield _Lines(task, total_bytes).advance


@contextmanager
def _bar(task: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
        number = bar.add_task(task, total=total_bytes)

        def advance(done_bytes: int) -> None:
            bar.advance(number, done_bytes)

        yield advance


class _Lines:
    def __init__(self, task: str, total_bytes: int) -> None:
        self._task = task
        self._total = total_bytes
        self._done = 0
        self._shown = 0

    def advance(self, done_bytes: int) -> None:
        self._done += done_bytes
        tenths = min(_LINES, _LINES * self._done // max(1, self._total))
        if tenths > self._shown:
            self._shown = tenths
            say(f"{self._task}: {100 // _LINES * tenths} %")
