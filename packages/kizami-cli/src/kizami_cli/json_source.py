"""JSON text that is edited in place: only the characters of an edit change.

Claude Code's settings.json belongs to the person who wrote it. Parsing and writing it back would change
number forms, escapes and the layout of lists that have nothing to do with Kizami; so items are inserted into
and cut out of the text itself, at positions that this module's strict parser (RFC 8259) gives.
"""

from __future__ import annotations

import json
import re

from kizami_core.messages import Message
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Kind = Literal["object", "array", "scalar"]

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_SCALAR = re.compile(rf"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|{_STRING}")
_KEY = re.compile(_STRING)
_MAX_DEPTH = 200


class Node(Record):
    """A JSON value and where it stands: ``text[start:end]``.

    ``children`` are the items of an array or the values of an object in their order; ``keys`` are an object's
    keys, and ``starts`` where each child begins in the text, its key included.
    """

    kind: Kind
    start: int
    end: int
    value: object
    children: tuple[Node, ...] = ()
    keys: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def member(self, key: str) -> Node | None:
        """Return the value of an object's key, None where there is none."""
        return self.children[self.keys.index(key)] if key in self.keys else None


def parse(text: str) -> Node:
    """Parse a JSON text.

    Raises:
        ValueError: it is not one JSON value, or a key stands twice in one object; the message says where.
    """
    start = _skip_space(text, 0)
    node = _parse_value(text, start, 0)
    end = _skip_space(text, node.end)
    if end != len(text):
        raise _error(text, end, Message("the end of the file"))
    return node


def append(text: str, container: Node, value: object, *, key: str | None = None) -> str:
    """Return the text with a value added at the end of an array, or with its key at the end of an object.

    The layout follows the container's other items, or for an empty one the layout of the file.
    """
    newline = _newline(text)
    unit = _indent_unit(text)
    if container.children:
        before = text[: container.starts[-1]]
        gap = before[len(before.rstrip(" \t\r\n")) :]
        is_multiline = "\n" in gap
        indent = gap[gap.rfind("\n") + 1 :]
        position, prefix, suffix = container.children[-1].end, ",", ""
        if not is_multiline:
            # Before the first of them there may be no space though the others would have one.
            prefix += gap if len(container.children) > 1 else gap or " "
    else:
        is_multiline = "\n" in text.strip() or text.strip() == text[container.start : container.end]
        outer = _line_indent(text, container.start)
        indent = outer + unit
        position, prefix, suffix = container.start + 1, "", newline + outer if is_multiline else ""
    rendered = json.dumps(value, ensure_ascii=False, indent=unit if is_multiline else None)
    if key is not None:
        rendered = f"{json.dumps(key, ensure_ascii=False)}: {rendered}"
    if is_multiline:
        rendered = newline + indent + rendered.replace("\n", newline + indent)
    rest = text[position:] if container.children else text[container.end - 1 :]
    return text[:position] + prefix + rendered + suffix + rest


def replace(text: str, node: Node, value: object) -> str:
    """Return the text with one value replaced by another, laid out like the old one."""
    is_multiline = "\n" in text[node.start : node.end]
    rendered = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text) if is_multiline else None)
    rendered = rendered.replace("\n", _newline(text) + _line_indent(text, node.start))
    return text[: node.start] + rendered + text[node.end :]


def remove(text: str, container: Node, index: int) -> str:
    """Return the text without one item of an array or one member of an object."""
    if len(container.children) == 1:
        return text[: container.start + 1] + text[container.end - 1 :]
    if index == 0:
        return text[: container.starts[0]] + text[container.starts[1] :]
    return text[: container.children[index - 1].end] + text[container.children[index].end :]


def _parse_value(text: str, start: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise ValueError(Message("it is nested more than {levels} levels deep", levels=_MAX_DEPTH))
    opening = text[start : start + 1]
    if opening == "{":
        return _parse_container(text, start, depth, is_object=True)
    if opening == "[":
        return _parse_container(text, start, depth, is_object=False)
    match = _SCALAR.match(text, start)
    if match is None:
        raise _error(text, start, Message("a value"))
    return Node("scalar", start, match.end(), json.loads(match.group()))


def _parse_container(text: str, start: int, depth: int, *, is_object: bool) -> Node:
    closing = "}" if is_object else "]"
    keys: list[str] = []
    children: list[Node] = []
    starts: list[int] = []
    position = _skip_space(text, start + 1)
    while text[position : position + 1] != closing or children:
        starts.append(position)
        if is_object:
            position = _parse_key(text, position, keys)
        children.append(_parse_value(text, position, depth + 1))
        position = _skip_space(text, children[-1].end)
        if text[position : position + 1] == closing:
            break
        if text[position : position + 1] != ",":
            raise _error(text, position, Message('"," or "{closing}"', closing=closing))
        position = _skip_space(text, position + 1)
    value = _value(keys if is_object else None, children)
    kind: Kind = "object" if is_object else "array"
    return Node(kind, start, position + 1, value, tuple(children), tuple(keys), tuple(starts))


def _parse_key(text: str, position: int, keys: list[str]) -> int:
    """Add the key that begins at ``position`` to ``keys``; return where its value begins."""
    match = _KEY.match(text, position)
    if match is None:
        raise _error(text, position, Message("a key in double quotes"))
    key = json.loads(match.group())
    if key in keys:
        raise ValueError(
            Message(
                'line {line}: the key "{key}" stands twice in one object', line=_line(text, position), key=key
            )
        )
    keys.append(key)
    position = _skip_space(text, match.end())
    if text[position : position + 1] != ":":
        raise _error(text, position, '":"')
    return _skip_space(text, position + 1)


def _value(keys: Sequence[str] | None, children: Sequence[Node]) -> object:
    values = [child.value for child in children]
    return values if keys is None else dict(zip(keys, values, strict=True))


def _indent_unit(text: str) -> str:
    """Return the white space of the first indented line: one level, as settings files are written."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match.group(1) if match else "  "


def _line_indent(text: str, position: int) -> str:
    """Return the white space at the front of the line that holds ``position``."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _error(text: str, position: int, wanted: str) -> ValueError:
    found = text[position : position + 12].split("\n", maxsplit=1)[0]
    line = _line(text, position)
    if not found:
        return ValueError(
            Message("line {line}: {wanted} is expected where the line ends", line=line, wanted=wanted)
        )
    return ValueError(
        Message(
            "line {line}: {wanted} is expected where {found!r} stands", line=line, wanted=wanted, found=found
        )
    )
