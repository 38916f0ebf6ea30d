"""Long results on a terminal: through the person's pager, where they are more than the window holds."""

from __future__ import annotations

import shutil

import click

from kizami_cli.console import rich_console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


def show_paged(parts: Iterable[RenderableType], *, is_paged: bool) -> None:
    """Draw on the terminal; with ``is_paged`` through PAGER (by default less) what is longer than it."""
    console = rich_console()
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    text = captured.get()
    if is_paged and text.count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text)  # which keeps the colours where the pager shows them
    else:
        click.echo(text, nl=False, color=True)
