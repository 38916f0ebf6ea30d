"""What errors tell a person is a ``Message``: a sentence with named fields that can be translated."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
CHECKED = ("kizami-core", "kizami-hybrid", "kizami-import")
SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGES.glob("*/src/*/**/*.py"))
}


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def kizami_errors() -> set[str]:
    """Return the names of KizamiError and of every class below it."""
    bases = {
        node.name: {name_of(base) for base in node.bases}
        for tree in SOURCES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found: set[str] = {"KizamiError"}
    while below := {name for name, of in bases.items() if of & found} - found:
        found |= below
    return found


def calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node.func) in names)


def untranslatable(error: ast.Call) -> bool:
    """Tell whether the message is text written on the spot: a literal, an f-string, or made of such."""
    text = (ast.Constant, ast.JoinedStr, ast.BinOp)
    said = error.args[0] if error.args else None
    choices = said.values if isinstance(said, ast.BoolOp) else [said]
    return any(
        isinstance(choice, text) or name_of(getattr(choice, "func", said)) == "format" for choice in choices
    )


def mismatch(message: ast.Call) -> bool:
    """Tell whether the fields of a template differ from the keywords that are given for them."""
    template = message.args[0]
    given = {keyword.arg for keyword in message.keywords}
    if not isinstance(template, ast.Constant) or None in given:  # ``**fields``
        return False
    if not given:  # then braces stand for themselves
        return re.search(r"\{[a-z_]+(?:![rs])?(?::[^}]*)?\}", template.value) is not None
    return {name for _, name, _, _ in Formatter().parse(template.value) if name is not None} != given


def test_the_tree_of_errors_is_found():
    assert {"KizamiError", "DatabaseBusyError", "ModelMissingError"} <= kizami_errors()


@pytest.mark.parametrize("package", CHECKED)
def test_no_error_is_raised_with_a_text_that_cannot_be_translated(package):
    assert [
        f"{path.relative_to(PACKAGES)}:{call.lineno}"
        for path, tree in SOURCES.items()
        if path.is_relative_to(PACKAGES / package)
        for call in calls(tree, kizami_errors())
        if untranslatable(call)
    ] == []


def test_fields_of_each_template_are_those_that_are_given():
    assert [
        f"{path.relative_to(PACKAGES)}:{call.lineno}"
        for path, tree in SOURCES.items()
        for call in calls(tree, {"Message", "_"})
        if call.args and mismatch(call)
    ] == []


def test_no_message_is_made_from_an_f_string_with_values_in_it():
    """Only the ending of a plural may be chosen in place, in ``count`` and ``counted``."""
    assert [
        f"{path.relative_to(PACKAGES)}:{call.lineno}"
        for path, tree in SOURCES.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name not in {"count", "counted"}
        for call in calls(function, {"Message"})
        if call.args and isinstance(call.args[0], ast.JoinedStr)
    ] == []


@pytest.mark.parametrize(
    ("source", "is_faulty"),
    [
        ('ConfigError(f"There is no {x}.")', True),
        ('ConfigError("There is none.")', True),
        ('ConfigError("no " + x)', True),
        ('ConfigError("no %s" % x)', True),
        ('ConfigError("no {}".format(x))', True),
        ('ConfigError(failure or f"no {x}")', True),
        ('ConfigError(Message("There is no {x}.", x=x))', False),
        ('ConfigError(failure or Message("There is none."))', False),
        ("ConfigError(error.args[0])", False),
    ],
)
def test_rule_tells_what_breaks_it(source, is_faulty):
    (call,) = calls(ast.parse(source), {"ConfigError"})
    assert untranslatable(call) is is_faulty


@pytest.mark.parametrize(
    ("source", "is_faulty"),
    [
        ('Message("There is no {x!r}.", x=1)', False),
        ('Message("{\\"hooks\\": {}}")', False),
        ('Message("There is no {x}.", **fields)', False),
        ('Message("There is no {x:,}.")', True),
        ('Message("There is no {x}.", y=1)', True),
        ('Message("There is no {x}.", x=1, y=1)', True),
    ],
)
def test_mismatch_of_template_and_fields_is_found(source, is_faulty):
    (call,) = calls(ast.parse(source), {"Message"})
    assert mismatch(call) is is_faulty
