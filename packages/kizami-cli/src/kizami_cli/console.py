"""What a person sees: tables and text on stdout, remarks and questions on stderr.

On a terminal rich draws the tables (it knows that Japanese characters take two columns, and NO_COLOR); in a
pipe the same rows are plain lines with tabs between the columns. JSON is always UTF-8.

Labels, headings and every ``Message`` are shown in the chosen language; a ``Message`` in JSON stays English.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime

import click

from kizami_cli.language import _
from kizami_cli.text_width import columns_of
from kizami_core.errors import ConfigError
from kizami_core.maintenance.findings import counted
from kizami_core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from rich.console import Console

# Everything below a space except tab and line feed, DEL, and the C1 codes: a saved tool output may hold
# escape sequences that would drive the terminal.
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
_UNIT_BYTES = 1024
_SHORT_ID = 8
_LABEL_WIDTH = 15
_SPAN_STYLE = "bold red"  # readable on dark and on light, and without colours

count = counted


def prepare_streams() -> None:
    """Make stdout and stderr take any text: UTF-8 on Windows, "?" elsewhere for what can't be shown.

    What was closed when the program started (``>&-``) is an empty stream from here on.
    """
    # In the order of their numbers, of which each takes the one that is its own.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8" if os.name == "nt" else None, errors="replace")  # type: ignore[union-attr]  # both are text files


def say(text: str) -> None:
    """Write a remark to stderr."""
    click.echo(visible(text), err=True)


def show(text: str = "", *, indent: int = 0, style: str = "", spans: Sequence[tuple[int, int]] = ()) -> None:
    """Write text of a result to stdout; on a terminal lines are wrapped within the indent and styled.

    ``spans`` are (begin, end) of parts of a ``visible`` text that stand out there.
    """
    if not sys.stdout.isatty():
        for line in visible(text).split("\n"):
            click.echo(f"{' ' * indent}{line}".rstrip())
        return
    from rich.padding import Padding

    from kizami_cli.wide_text import WideText

    styled = WideText(visible(text), style=style)
    for begin, end in spans:
        styled.stylize(_SPAN_STYLE, begin, end)
    block = Padding(styled, (0, 0, 0, indent), expand=False)
    rich_console().print(block if text else "")


def show_field(label: str, text: str) -> None:
    """Write a line with a label before it (none: the line goes on with what the last label began)."""
    name = _(label.lstrip())
    label = f"{label[: -len(label.lstrip())] if name else label}{name}"
    if not sys.stdout.isatty():
        click.echo(f"{label}{' ' * (_LABEL_WIDTH - columns_of(label))}{visible(text)}")
        return
    from rich.table import Table

    from kizami_cli.wide_text import WideText

    grid = Table.grid()
    grid.add_column(width=_LABEL_WIDTH, style="bold")
    grid.add_column(overflow="fold")
    grid.add_row(label, WideText(visible(text)))
    rich_console().print(grid)


def show_json(value: object) -> None:
    """Write a result as JSON to stdout, in UTF-8 whatever the locale."""
    write_utf8(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_utf8(text: str) -> None:
    """Write text to stdout as UTF-8 whatever the locale, so that a file made of it can be read again."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    whole: Sequence[str] = (),
    right: Sequence[str] = (),
    brief: Sequence[str] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """Write rows as a table.

    Args:
        columns: their headings.
        rows: the texts of each row.
        whole: the columns that are never wrapped (ids, times); others make room for them.
        right: the columns of numbers, which are whole too.
        brief: the columns that keep to one line on a terminal; elsewhere long texts wrap, and nothing is cut.
        styles: how a cell with exactly this text looks on a terminal.
    """
    if not sys.stdout.isatty():
        for row in rows:
            show("\t".join(" ".join(visible(cell).split()) for cell in row))
        return
    from rich.table import Table

    from kizami_cli.wide_text import WideText

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in right else "left"
        table.add_column(_(column), justify=justify, overflow="fold", no_wrap=column in (*whole, *right))
    for row in rows:
        cells = [
            WideText(" ".join(visible(cell).split()), style=(styles or {}).get(cell, "")) for cell in row
        ]
        for column, cell in zip(columns, cells, strict=True):
            if column in brief:
                cell.no_wrap, cell.overflow = True, "ellipsis"
        table.add_row(*cells)
    rich_console().print(table)


def confirm(question: str, *, yes: bool, dry_run_hint: bool = True) -> None:
    """Ask before something is deleted; return only if it may be.

    Raises:
        ConfigError: nobody can be asked (stdin is not a terminal) and ``--yes`` was not given.
        click.Abort: the answer was no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        if dry_run_hint:
            raise ConfigError(
                Message(
                    "Nothing was changed: stdin is no terminal to ask on. Give --yes to go on "
                    "(--dry-run only shows what would be deleted)."
                )
            )
        raise ConfigError(
            Message("Nothing was changed: stdin is no terminal to ask on. Give --yes to go on.")
        )
    click.confirm(_(question), abort=True, err=True)


def can_show(characters: str) -> bool:
    """Tell whether the encoding of stdout has these characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def visible(text: str) -> str:
    """Return text in the chosen language, without the control characters that a terminal would obey."""
    return (_(text) if isinstance(text, Message) else text).translate(_CONTROLS)


def size(number: float) -> str:
    """Return a number of bytes in the largest unit that it fills."""
    for unit in ("B", "KB", "MB"):
        if number < _UNIT_BYTES:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= _UNIT_BYTES
    return f"{number:,.1f} GB"


def local_time(utc_text: str | None) -> str:
    """Return a stored UTC time as local ``YYYY-MM-DD HH:MM``; what is no time stays as it is."""
    try:
        moment = datetime.fromisoformat(utc_text or "").replace(tzinfo=UTC)
    except ValueError:
        return utc_text or ""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def short_ids(ids: Iterable[str]) -> Callable[[str], str]:
    """Return a function that shortens an id of ``ids`` to a beginning that no other one has."""
    ordered = sorted(ids)
    lengths = {}
    for before, name, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        length = _SHORT_ID
        while length < len(name) and name[:length] in (before[:length], after[:length]):
            length += 1
        lengths[name] = length
    return lambda name: name[: lengths.get(name, len(name))]


def rich_console() -> Console:
    """Return a console of rich's on stdout, for what is drawn on a terminal only."""
    from rich.console import Console

    return Console(highlight=False)
