"""Bars for the terminal: of eighths of a column where the encoding has them, elsewhere of ASCII."""

from __future__ import annotations

from kizami_cli.console import can_show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_FULL = "█"
_REST = "░"
_ASCII_FULL = "#"
_ASCII_REST = "-"


def bars(values: Sequence[float], width: int) -> list[str]:
    """Return a bar for each value of zero or more, the largest of them ``width`` columns long.

    What is not zero is seen.
    """
    largest = max(values, default=0)
    return [_bar(width * value / largest if largest else 0) for value in values]


def divided_bars(values: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Return a bar for each (part, whole): as long as the whole is beside the others, the part filled."""
    largest = max((whole for _part, whole in values), default=0)
    full, rest = (_FULL, _REST) if can_show(_FULL + _REST) else (_ASCII_FULL, _ASCII_REST)
    found = []
    for part, whole in values:
        filled = _columns(part, width, largest)
        found.append(full * filled + rest * max(_columns(whole, width, largest) - filled, part < whole))
    return found


def _columns(value: int, width: int, largest: int) -> int:
    return max(round(width * value / largest), 1) if value else 0


def _bar(columns: float) -> str:
    if not columns:
        return ""
    if not can_show(_FULL + "".join(_EIGHTHS)):
        return _ASCII_FULL * max(round(columns), 1)
    full, eighths = divmod(max(round(columns * len(_EIGHTHS)), 1), len(_EIGHTHS))
    return _FULL * full + _EIGHTHS[eighths]
