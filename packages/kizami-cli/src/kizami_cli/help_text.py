"""The help of commands and options in the chosen language, laid out by the width that characters take.

Commands are written in English, those of other packages too, and translated when the command line loads
them. click wraps at spaces and counts characters; Japanese has none, and its characters take two columns.
"""

from __future__ import annotations

import copy
import inspect

import click

from kizami_cli.language import JAPANESE, _, current_language
from kizami_cli.text_width import columns_of, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeVar

    Command = TypeVar("Command", bound=click.Command)

_VERBATIM = "\b"  # alone on a paragraph's first line, as click has it
_LONGEST_TERM = 30
_GAP = 2


def in_chosen_language(command: Command) -> Command:
    """Return a command whose ``--help``, and that of all below it, is in the chosen language."""
    if current_language() != JAPANESE:
        return command
    translated = copy.copy(command)
    translated.help = _(inspect.cleandoc(command.help or ""))
    # click's own would be the beginning of the help up to an English full stop.
    translated.short_help = _(command.short_help or "") or "".join(translated.help.partition("。")[:2])
    translated.context_class = _WideContext
    translated.params = [_translated(parameter) for parameter in command.params]
    if isinstance(translated, click.Group):
        translated.commands = {name: in_chosen_language(below) for name, below in translated.commands.items()}
    return translated


def _translated(parameter: click.Parameter) -> click.Parameter:
    parameter = copy.copy(parameter)
    if isinstance(parameter, click.Option) and parameter.help:
        parameter.help = _(inspect.cleandoc(parameter.help))
    if isinstance(parameter.type, click.Path):
        parameter.type = copy.copy(parameter.type)
        parameter.type.name = _(parameter.type.name)  # errors name it: "File … is a directory"
    return parameter


class WideHelpFormatter(click.HelpFormatter):
    """Lays help out for text without spaces and with characters of two columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called, the arguments under each other."""
        lead = f"{_('Usage:') if prefix is None else prefix.rstrip()} {prog} "
        self._write_lines(lead, wrapped(args, self.width - columns_of(lead)) or [""])

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        indent = " " * self.current_indent
        paragraphs = text.split("\n\n")
        for number, paragraph in enumerate(paragraphs):
            if number:
                self.write("\n")
            first, _newline, rest = paragraph.partition("\n")
            if first.strip() == _VERBATIM:
                lines = rest.split("\n")
            else:
                lines = wrapped(paragraph, self.width - self.current_indent)
            self.write("".join(f"{indent}{line}\n" for line in lines))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _LONGEST_TERM, col_spacing: int = _GAP
    ) -> None:
        """Write terms and what they mean, in two columns."""
        rows = list(rows)
        term_width = min(max((columns_of(term) for term, _meaning in rows), default=0), col_max) + col_spacing
        text_width = self.width - self.current_indent - term_width
        indent = " " * self.current_indent
        for term, meaning in rows:
            lines = wrapped(meaning, text_width)
            if columns_of(term) > term_width - col_spacing:
                self.write(f"{indent}{term}\n")
                term = ""  # noqa: PLW2901 - it has its line
            if lines or term:
                self._write_lines(f"{indent}{term}{' ' * (term_width - columns_of(term))}", lines or [""])

    def _write_lines(self, lead: str, lines: Sequence[str]) -> None:
        """Write lines, the first after ``lead``, the others below where it ended."""
        under = " " * columns_of(lead)
        for number, line in enumerate(lines):
            self.write(f"{under if number else lead}{line}".rstrip() + "\n")


class _WideContext(click.Context):
    formatter_class = WideHelpFormatter
