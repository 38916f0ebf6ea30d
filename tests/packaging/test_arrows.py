"""Imports point downward only (ARCHITECTURE.md, "Packages")."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
CORE = PACKAGES / "kizami-core/src/kizami_core"
CLI = PACKAGES / "kizami-cli/src/kizami_cli"
HYBRID = PACKAGES / "kizami-hybrid/src/kizami_hybrid"
IMPORT = PACKAGES / "kizami-import/src/kizami_import"

# Lowest first. A module imports from the layers before its own and from its own folder.
LAYERS = (
    {"errors", "messages", "records", "json_text", "paths", "path_patterns"},
    {"config", "locks", "processes", "timestamps", "privacy", "recall_report"},
    {"transcript"},
    {"storage"},
    {"retrieval"},
    {"archive"},
    {"maintenance"},
    {"candidates", "fixing", "exclusion", "left_out"},
    {"preparation", "question", "ranking"},
    {"foreign_turns", "segments", "turn_writer"},
    {"reading_ahead", "recording", "project_renaming", "recall", "searching", "overview"}
    | {"editing", "export", "resolutions"},
    {"backfill", "calibration", "recall_log"},
    {"capture", "memory", "recall_statistics"},
    {"forgetting"},
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


def test_the_map_of_core_is_true_to_the_tree():
    text = (PACKAGES.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lines = text.partition("Arrows point downward only")[2].split("```")[1].strip("\n")
    # What is indented goes on with the folder above it.
    drawn = [line.split() for line in re.sub(r"\n +", " ", lines).splitlines()]
    folders = {row[0].removesuffix("/"): set(row[1:]) for row in drawn if row[0].endswith("/")}
    assert folders == {
        folder.name: {path.stem for path in folder.glob("*.py")} - {"__init__"}
        for folder in CORE.iterdir()
        if (folder / "__init__.py").exists()
    }
    rows = [{row[0].removesuffix("/")} if row[0].endswith("/") else set(row) for row in drawn]
    # Privacy has a row of its own beside those of its layer.
    (beside,) = (number for number, row in enumerate(rows) if row == {"privacy"})
    rows[beside : beside + 2] = [rows[beside] | rows[beside + 1]]
    assert tuple(reversed(rows)) == LAYERS


def test_the_map_of_the_command_line_names_every_module_once():
    text = (PACKAGES.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lines = text.partition("The command line, by what its modules are about")[2].split("```")[1].splitlines()
    drawn = [name for line in lines if not line.startswith("commands/") for name in line[13:].split()]
    assert sorted(drawn) == sorted({path.stem for path in CLI.glob("*.py")} - {"__init__"})


def test_core_imports_the_standard_library_alone():
    assert roots(CORE) - sys.stdlib_module_names == {"kizami_core"}


def test_command_line_imports_core_and_what_it_declares():
    assert roots(CLI) - sys.stdlib_module_names == {"kizami_core", "kizami_cli", "click", "rich"}


def test_vectors_import_core_and_what_they_declare():
    declared = {"click", "huggingface_hub", "numpy", "onnxruntime", "rich", "tokenizers", "tqdm"}
    assert roots(HYBRID) - sys.stdlib_module_names == {"kizami_core", "kizami_hybrid"} | declared


def test_importers_import_core_and_their_commands_the_command_line():
    library = {name.partition(".")[0] for path in IMPORT.glob("*.py") for name in imported(path)}
    assert library - sys.stdlib_module_names == {"kizami_core", "kizami_import"}
    commands = roots(IMPORT / "commands") - sys.stdlib_module_names
    assert commands == {"kizami_core", "kizami_import", "kizami_cli", "click"}


def test_core_names_no_package_above_it():
    texts = {path: path.read_text(encoding="utf-8") for path in CORE.rglob("*.py")}
    named = re.compile(r"kizami[-_](?:hybrid|import)\b")
    assert [path for path, text in texts.items() if named.search(text)] == []


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
    assert (roots(CORE) | roots(CLI) | roots(IMPORT)) & network == set()
    files = [path for folder in (CORE, CLI, IMPORT) for path in folder.rglob("*.py")]
    assert "urllib.request" not in {name for path in files for name in imported(path)}
