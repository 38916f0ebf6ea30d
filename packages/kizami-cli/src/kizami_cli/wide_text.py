"""Text for rich that is broken where Japanese may be: rich breaks at spaces, and within a word anywhere."""

from __future__ import annotations

from rich.text import Text

from kizami_cli.text_width import columns_of, line_breaks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, OverflowMethod
    from rich.containers import Lines


class WideText(Text):
    """Text of which no line begins with 、 or 。 or ends with an opening bracket."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Break the lines that hold full-width characters; the others are rich's to break."""
        text: Text = self
        if not (no_wrap or self.no_wrap):
            text = Text("\n").join(_broken(line, width) for line in self.split("\n", allow_blank=True))
            text.justify, text.overflow = self.justify, self.overflow
        return Text.wrap(
            text, console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap
        )


def _broken(line: Text, width: int) -> Text:
    plain = line.plain
    if columns_of(plain) == len(plain) or columns_of(plain) <= width:
        return line
    pieces = line.divide(line_breaks(plain, width))
    for piece in pieces:
        piece.rstrip()
    return Text("\n").join(pieces)
