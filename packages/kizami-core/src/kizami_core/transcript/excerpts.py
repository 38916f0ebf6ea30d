"""Cutting long text: some lines of its head, some of its tail, and no line without an end."""

from __future__ import annotations

from kizami_core.transcript.graphemes import boundary_before

# A line of a tool's input or output keeps this many characters (minified code, base64, one-line files).
LINE_CHARS = 400
LINE_MARK = " ...(truncated)... "
CUT_MARK = "...(truncated)"
# Of a long line the head says more than the tail.
_HEAD_SHARE = 0.7


def cut_line(line: str, limit: int = LINE_CHARS) -> str:
    """Cut one line to at most ``limit`` characters; head and tail are kept."""
    if len(line) <= limit:
        return line
    room = limit - len(LINE_MARK)
    head = boundary_before(line, int(room * _HEAD_SHARE))
    tail = len(line) - (room - int(room * _HEAD_SHARE))
    # A boundary at or after `tail` keeps the limit; one before it would not.
    while boundary_before(line, tail) != tail:
        tail += 1
    return f"{line[:head]}{LINE_MARK}{line[tail:]}"


def cut_lines(text: str, *, head_lines: int, tail_lines: int) -> str:
    """Keep the first ``head_lines`` and the last ``tail_lines`` lines, each cut to ``LINE_CHARS`` characters.

    Where lines are left out, the line ``...(truncated)`` stands for them.
    """
    if text.count("\n") < head_lines + tail_lines:
        lines = text.split("\n")
    else:
        head, tail = text.split("\n", head_lines)[:head_lines], text.rsplit("\n", tail_lines)[1:]
        lines = [*head, CUT_MARK, *tail]
    return "\n".join(map(cut_line, lines))


def hold(text: str, *, head_chars: int, tail_chars: int, line_chars: int) -> str:
    """Bound a text before it waits in memory: whole lines of its head and tail, lines cut to ``line_chars``.

    ``cut_lines`` makes of the result what it would make of the text, as long as the lines that it keeps fit
    and ``line_chars`` is not below ``LINE_CHARS``.
    """
    if len(text) <= head_chars + tail_chars:
        return text
    text = "\n".join(cut_line(line, line_chars) for line in text.split("\n"))
    if len(text) <= head_chars + tail_chars:
        return text
    head = text.rfind("\n", 0, head_chars)
    tail = text.find("\n", len(text) - tail_chars)
    return f"{text[:head]}\n{CUT_MARK}{text[tail:]}"
