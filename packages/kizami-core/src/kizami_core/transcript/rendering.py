"""A turn as text: what is searched, shown and handed back to the model.

::

    [User]
    …

    [Assistant]
    …

    [Tool: Edit] src/Form.tsx
    [Tool: Bash] npm test → Tests: 3 passed

A line of the conversation that looks like one of these marks is moved one column to the right, so that a mark
at the beginning of a line is always a mark.
"""

from __future__ import annotations

from kizami_core.records import ToolCall
from kizami_core.transcript.excerpts import cut_line, cut_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kizami_core.records import Turn

USER_MARK = "[User]"
ASSISTANT_MARK = "[Assistant]"
TOOL_MARK = "[Tool: "
MARKS = (USER_MARK, ASSISTANT_MARK, TOOL_MARK)

# What says most about a call, by tool, most important first; other tools show every key.
_SALIENT_KEYS: Mapping[str, tuple[str, ...]] = {
    "Read": ("file_path",),
    "Edit": ("file_path",),
    "MultiEdit": ("file_path",),
    "Write": ("file_path",),
    "NotebookEdit": ("notebook_path",),
    "NotebookRead": ("notebook_path",),
    "LS": ("path",),
    "Bash": ("command",),
    "PowerShell": ("command",),
    "Glob": ("pattern", "path"),
    "Grep": ("pattern", "path", "glob"),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query",),
    "ToolSearch": ("query",),
    "Task": ("description", "prompt"),
    "Agent": ("description", "prompt"),
    "Skill": ("skill", "args"),
    "ExitPlanMode": ("plan",),
    "exit_plan_mode": ("plan",),
    "TaskCreate": ("subject", "description"),
}
# Tools whose input is a list: the key of the list, and what to show of each item.
_ITEM_KEYS: Mapping[str, tuple[str, str]] = {
    "MultiEdit": ("edits", "new_string"),
    "TodoWrite": ("todos", "content"),
    "AskUserQuestion": ("questions", "question"),
}
# The new text says what was done; the output of a call that worked only repeats it.
_NEW_TEXT_KEYS: Mapping[str, str] = {"Write": "content", "Edit": "new_string", "NotebookEdit": "new_source"}
_WITHOUT_OUTPUT = frozenset({"MultiEdit", "TodoWrite", "TaskCreate", "TaskUpdate", *_NEW_TEXT_KEYS})
_MAX_NAME_CHARS = 100
_MAX_DEPTH = 5


def render_turn(turn: Turn, *, head_lines: int, tail_lines: int) -> str:
    """Return the text of a turn.

    Of a tool's input and of its output at most the first ``head_lines`` and the last ``tail_lines`` lines are
    kept, and of a line at most ``excerpts.LINE_CHARS`` characters.
    """
    blocks = [f"{USER_MARK}\n{_shield(turn.prompt.strip())}"] if turn.prompt.strip() else []
    before: object = None
    shown: set[str] = set()
    for part in turn.parts:
        if isinstance(part, ToolCall):
            line = _render_call(part, head_lines=head_lines, tail_lines=tail_lines)
            if part.name == "TodoWrite" and line in shown:
                continue  # the same list with another item ticked
            shown.add(line)
            if isinstance(before, ToolCall):
                blocks[-1] += f"\n{line}"
            else:
                blocks.append(line)
        elif isinstance(before, str):
            blocks.append(_shield(part.strip()))
        else:
            blocks.append(f"{ASSISTANT_MARK}\n{_shield(part.strip())}")
        before = part
    return "\n\n".join(blocks)


def _render_call(call: ToolCall, *, head_lines: int, tail_lines: int) -> str:
    def cut(text: str) -> str:
        return _shield(cut_lines(text.strip("\n").rstrip(), head_lines=head_lines, tail_lines=tail_lines))

    line = f"{TOOL_MARK}{_name(call.name)}] {cut(_salient_input(call))}".rstrip()
    output = (call.output or "").strip()
    if call.is_error:
        is_marked = output.startswith(("Error", "error"))
        return f"{line} → {cut(output if is_marked else f'Error: {output}')}"
    new_text = call.input.get(_NEW_TEXT_KEYS.get(call.name, ""))
    if isinstance(new_text, str) and new_text.strip():
        line = f"{line}\n{cut(new_text)}"
    return line if call.name in _WITHOUT_OUTPUT or not output else f"{line} → {cut(output)}"


def _name(name: str) -> str:
    return cut_line(" ".join(name.split()).replace("]", ")"), _MAX_NAME_CHARS)


def _salient_input(call: ToolCall) -> str:
    """Return what a person would want to know of a call's input."""
    texts = [call.input.get(key) for key in _SALIENT_KEYS.get(call.name, ())]
    list_key, item_key = _ITEM_KEYS.get(call.name, ("", ""))
    items = call.input.get(list_key)
    if isinstance(items, list):
        texts += [item.get(item_key) for item in items if isinstance(item, dict)]
    shown = [text.strip("\n") for text in texts if isinstance(text, str) and text.strip()]
    if not shown:
        return " ".join(f"{key}: {_compact(value, _MAX_DEPTH)}" for key, value in call.input.items())
    return ("\n" if isinstance(items, list) or "\n" in shown[-1] else " ").join(shown)


def _compact(value: object, depth: int) -> str:
    """Return a value in one line, without the quotes and braces that only a parser needs."""
    if isinstance(value, str):
        return value
    if depth == 0 and isinstance(value, (dict, list)):
        return "…"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_compact(item, depth - 1)}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(_compact(item, depth - 1) for item in value)
    return "" if value is None else str(value)


def _shield(text: str) -> str:
    """Indent lines that would read as a mark."""
    if "[" not in text:
        return text
    return "\n".join(f" {line}" if line.startswith(MARKS) else line for line in text.split("\n"))
