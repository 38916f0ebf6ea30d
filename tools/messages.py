"""Bring the catalogue of translations up to date with the sources: ``python tools/messages.py [--check]``.

Writes the sentences of all packages and of click into ``messages.po`` (new ones with an empty translation,
those that are gone taken out) and compiles ``messages.mo`` beside it. With ``--check`` nothing is written;
what is missing is listed, and the exit code is 1 if anything is.

What counts as a sentence for people:

- the template in ``_("…")`` and ``Message("…")``;
- the noun in ``count(number, "chunk")`` and ``counted(…)``, in the singular and the plural with its number;
- the label of ``show_field``, the headings of ``show_table``, the task of ``progress``;
- the docstring of a command, ``help=`` and ``short_help=`` of its options, the lines of ``BUILT_IN``;
- what click hands to gettext in the modules that a command line can reach.
"""

from __future__ import annotations

import ast
import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

from babel.messages import pofile
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    MessageId = str | tuple[str, str]

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "packages/kizami-cli/src/kizami_cli/locale/ja/LC_MESSAGES/messages.po"

_TEMPLATES = ("_", "Message")
_NOUNS = ("count", "counted")
_LABELS = ("show_field", "show_table", "progress")
_HELP_KEYWORDS = ("help", "short_help")
_COMMAND_DECORATORS = ("command", "group")
_CLICK = "click"
_CLICK_MODULES = (
    *("core", "decorators", "exceptions", "formatting", "parser"),
    *("shell_completion", "termui", "types"),
)
_CLICK_INDIRECTLY = ("required",)  # what it translates by way of a variable


def source_messages(root: Path = ROOT) -> dict[MessageId, list[str]]:
    """Return the sentences of all packages' sources, each with the files that hold it."""
    trees = {
        str(path.relative_to(root)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.glob("packages/*/src/**/*.py"))
    }
    constants = dict(pair for tree in trees.values() for pair in _constants(tree))
    found: dict[MessageId, list[str]] = {}
    for name, tree in trees.items():
        for message in _messages_of(tree, constants):
            files = found.setdefault(message, [])
            if name not in files:
                files.append(name)
    return found


def click_messages() -> list[MessageId]:
    """Return what the installed click may say to the person at a command line."""
    spec = find_spec(_CLICK)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    found: dict[MessageId, None] = dict.fromkeys(_CLICK_INDIRECTLY)
    for module in _CLICK_MODULES:
        for node in ast.walk(ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) == "_":
                found.update(dict.fromkeys(_texts(node.args[0], {})))
            elif isinstance(node, ast.Call) and _name(node.func) == "ngettext":
                singular, plural = (_texts(argument, {})[0] for argument in node.args[:2])
                found[singular, plural] = None
    return list(found)


def read_catalogue(path: Path = CATALOGUE) -> Catalog:
    """Read the translations."""
    with path.open("rb") as file:
        return pofile.read_po(file, locale="ja", domain="messages")


def updated(old: Catalog) -> Catalog:
    """Return a catalogue of exactly what there is to say now, with the translations of ``old``.

    Of click it also keeps what another version than the installed one says.
    """
    new = Catalog(
        locale="ja",
        domain="messages",
        project="kizami",
        version="all",
        copyright_holder="The Kizami authors",
        msgid_bugs_address="the project's issues",
        last_translator="The Kizami authors",
        language_team="Japanese",
        fuzzy=False,
        creation_date=old.creation_date,
        revision_date=old.revision_date,
    )
    new.header_comment = old.header_comment
    places = source_messages()
    of_click = {message.id: None for message in old if _is_of_click(message.locations)}
    for message in [*of_click, *click_messages()]:
        places.setdefault(message, []).append(_CLICK)
    for message, files in sorted(places.items(), key=lambda item: (item[1][0], str(item[0]))):
        before = old.get(_key(message))
        locations = [(file, 1) for file in dict.fromkeys(files)]
        new.add(message, before.string if before else "", locations=locations)
    return new


def untranslated(catalogue: Catalog) -> list[MessageId]:
    """Return what has no translation, or one that a person has to look at."""
    return [
        message.id
        for message in catalogue
        if message.id and (not any(_strings(message.string)) or message.fuzzy)
    ]


def write(catalogue: Catalog, path: Path = CATALOGUE) -> None:
    """Write the catalogue and what it compiles to."""
    with path.open("wb") as file:
        pofile.write_po(file, catalogue, width=100, include_lineno=False, omit_header=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)


def _messages_of(tree: ast.Module, constants: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _messages_of_call(node, constants)
        elif isinstance(node, ast.FunctionDef) and any(map(_makes_command, node.decorator_list)):
            yield inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
        elif isinstance(node, ast.Assign) and _name(node.targets[0]) == "BUILT_IN":
            assert isinstance(node.value, ast.Dict)
            for line in node.value.values:
                yield from _texts(line, constants)


def _messages_of_call(call: ast.Call, constants: Mapping[str, str]) -> Iterator[str]:
    name, arguments = _name(call.func), call.args
    if name in _TEMPLATES and arguments:
        yield from _texts(arguments[0], constants)
    elif name in _NOUNS and len(arguments) > 1:
        for noun in _texts(arguments[1], constants):
            yield from (f"{{number}} {noun}", f"{{number}} {noun}s")
    elif name in _LABELS and arguments:
        yield from (label.lstrip() for label in _listed(arguments[0], constants) if label.strip())
    for keyword in call.keywords:
        if keyword.arg in _HELP_KEYWORDS:
            yield from map(inspect.cleandoc, _texts(keyword.value, constants))


def _makes_command(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and _name(decorator.func) in _COMMAND_DECORATORS


def _listed(node: ast.expr, constants: Mapping[str, str]) -> list[str]:
    """Return the texts of a label, or of a list of headings, as far as they stand there."""
    if isinstance(node, ast.List | ast.Tuple):
        return [text for item in node.elts for text in _listed(item, constants)]
    if isinstance(node, ast.Starred):
        return _listed(node.value, constants)
    if isinstance(node, ast.IfExp):
        return [*_listed(node.body, constants), *_listed(node.orelse, constants)]
    return _texts(node, constants)


def _texts(node: ast.expr, constants: Mapping[str, str]) -> list[str]:
    """Return the texts that an expression may stand for; none where that can't be told."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name):
        return [constants[node.id]] if node.id in constants else []
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, constants), *_texts(node.orelse, constants)]
    if isinstance(node, ast.FormattedValue):
        return _texts(node.value, constants)
    if isinstance(node, ast.JoinedStr):
        joined = [""]
        for part in node.values:
            joined = [before + text for before in joined for text in _texts(part, constants)]
        return joined
    return []


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield _name(node.targets[0]), str(node.value.value)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_of_click(locations: Iterable[tuple[str, int | None]]) -> bool:
    return any(file == _CLICK for file, _line in locations)


def _key(message: MessageId) -> str:
    return message if isinstance(message, str) else message[0]


def _strings(string: str | tuple[str, ...]) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)


def main() -> int:
    """Update and compile, or with ``--check`` tell what there is to do."""
    old = read_catalogue()
    new = updated(old)
    missing = untranslated(new)
    gone = [message.id for message in old if message.id and new.get(_key(message.id)) is None]
    if "--check" not in sys.argv[1:]:
        write(new)
    for message in missing:
        print(f"not translated: {message!r}")
    for message in gone:
        print(f"not said any more: {message!r}")
    print(f"{len(new)} messages, {len(missing)} not translated, {len(gone)} gone")
    return 1 if "--check" in sys.argv[1:] and (missing or gone) else 0


if __name__ == "__main__":
    sys.exit(main())
