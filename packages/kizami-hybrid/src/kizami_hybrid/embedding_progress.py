"""How far the embedding is, on stderr: a bar on a terminal, a line for every tenth elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import click

from kizami_core.messages import Message
from kizami_hybrid.commands.telling import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LINES = 10


@contextmanager
def progress(task: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a task's progress for a block; what it gets is to be called with the number of chunks done."""
    if sys.stderr.isatty():
        with _bar(task, total) as advance:
            yield advance
    else:
        yield _Lines(task, total).advance


@contextmanager
def _bar(task: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
        number = bar.add_task(task, total=total)

        def advance(chunks: int) -> None:
            bar.advance(number, chunks)

        yield advance


class _Lines:
    def __init__(self, task: str, total: int) -> None:
        self._task = task
        self._total = total
        self._done = 0
        self._shown = 0

    def advance(self, chunks: int) -> None:
        self._done += chunks
        tenths = min(_LINES, _LINES * self._done // max(1, self._total))
        if tenths > self._shown:
            self._shown = tenths
            message = Message(
                "{task}: {percent} % ({done:,} of {total:,})",
                task=self._task,
                percent=100 // _LINES * tenths,
                done=self._done,
                total=self._total,
            )
            click.echo(told(message), err=True)
