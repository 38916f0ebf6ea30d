"""What Claude writes, as it stands, with its headings, code and emphasis told apart by style alone.

rich's own Markdown joins lines and drops what it takes for HTML, so a saved answer would not be seen as it
was given. The colours are of the terminal's sixteen, those that stand out on dark and on light.
"""

from __future__ import annotations

import re

from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

from kizami_cli.wide_text import WideText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.text import Text

_TAB = 4
_FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*).*$", re.MULTILINE)
_HEADING = r"^#{1,6} .*$"
_STRONG = r"\*\*\S(?:[^*\n]*\S)?\*\*"
_CODE = r"(?<!`)`[^`\n]+`(?!`)"
_STYLES = (
    ("bold", re.compile(_HEADING, re.MULTILINE)),
    ("bold", re.compile(_STRONG)),
    ("cyan", re.compile(_CODE)),
)


def styled_answer(text: str) -> WideText:
    """Return the text with styles; its characters stay the same, but tabs become spaces."""
    text = text.expandtabs(_TAB)  # as lexers do of themselves
    styled = WideText()
    position = 0
    while opening := _FENCE.search(text, position):
        begin = min(opening.end() + 1, len(text))
        closing = re.compile(rf"^[ \t]*{re.escape(opening['fence'])}[ \t]*$", re.MULTILINE).search(
            text, begin
        )
        end = closing.start() if closing else len(text)
        styled.append_text(_prose(text[position : opening.start()]))
        styled.append(text[opening.start() : begin], "dim")
        styled.append_text(_highlighted(text[begin:end], opening["language"]))
        position = closing.end() if closing else end
        styled.append(text[end:position], "dim")
    styled.append_text(_prose(text[position:]))
    return styled


def _prose(text: str) -> WideText:
    styled = WideText(text)
    for style, pattern in _STYLES:
        for found in pattern.finditer(text):
            styled.stylize(style, *found.span())
    return styled


def _highlighted(code: str, language: str) -> Text:
    """Return code in the colours of its language, plain where that is not known."""
    coloured = Syntax("", language or "text", theme=_theme(), background_color="default").highlight(code)
    return coloured[: len(code)]  # lexers end what they read with a line feed


def _theme() -> ANSISyntaxTheme:
    # pygments' own, by way of rich, which depends on it.
    from rich.syntax import Comment, Keyword, Name, Number, String  # type: ignore[attr-defined]

    return ANSISyntaxTheme(
        {
            Comment: Style(dim=True),
            Keyword: Style(color="magenta"),
            Name.Function: Style(bold=True),
            Name.Class: Style(bold=True),
            Number: Style(color="cyan"),
            String: Style(color="green"),
        }
    )
