"""Imports point downward only (ARCHITECTURE.md, "Packages")."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
CORE = PACKAGES / "kizami-core/src/kizami_core"
CLI = PACKAGES / "kizami-cli/src/kizami_cli"

# Lowest first. A module imports from the layers before its own and from its own folder.
LAYERS = (
    {"errors", "records", "json_text", "paths"},
    {"config", "locks", "timestamps", "privacy", "recall_report"},
    {"transcript"},
    {"storage"},
    {"retrieval"},
    {"archive"},
    {"maintenance"},
    {"preparation", "ranking"},
    {"foreign_turns", "segments", "turn_writer"},
    {"reading_ahead", "recording", "project_renaming", "recall", "searching", "overview"}
    | {"editing", "export", "resolutions"},
    {"backfill", "recall_log"},
    {"capture", "memory"},
)


def imported(path: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, at any depth and for types alone too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute, so that a reader can follow them"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def roots(folder: Path) -> set[str]:
    return {name.partition(".")[0] for path in folder.rglob("*.py") for name in imported(path)}


def layer(name: str) -> int:
    (found,) = (number for number, names in enumerate(LAYERS) if name in names)
    return found


def core_modules() -> list[str]:
    return sorted({path.relative_to(CORE).parts[0].removesuffix(".py") for path in CORE.rglob("*.py")})


def test_core_imports_the_standard_library_alone():
    assert roots(CORE) - sys.stdlib_module_names == {"kizami_core"}


def test_command_line_imports_core_and_what_it_declares():
    assert roots(CLI) - sys.stdlib_module_names == {"kizami_core", "kizami_cli", "click", "rich"}


def test_every_module_of_core_has_a_layer():
    assert set(core_modules()) - {"__init__"} == set().union(*LAYERS)


@pytest.mark.parametrize("module", [name for name in core_modules() if name != "__init__"])
def test_core_module_imports_from_lower_layers_only(module):
    files = (CORE / module).rglob("*.py") if (CORE / module).is_dir() else [CORE / f"{module}.py"]
    used = {
        name.split(".")[1] for path in files for name in imported(path) if name.startswith("kizami_core.")
    } - {module}
    assert {name for name in used if layer(name) >= layer(module)} == set()


@pytest.mark.parametrize("folder", ["core", "golden", "properties"])
def test_tests_of_the_shape_core_do_not_need_the_command_line(folder):
    assert "kizami_cli" not in roots(Path(__file__).resolve().parents[1] / folder)


def test_no_module_reaches_for_the_network():
    network = {"asyncio", "ftplib", "http", "imaplib", "poplib", "smtplib", "socket", "socketserver", "ssl"}
    assert (roots(CORE) | roots(CLI)) & network == set()
    imports = {name for folder in (CORE, CLI) for path in folder.rglob("*.py") for name in imported(path)}
    assert "urllib.request" not in imports
