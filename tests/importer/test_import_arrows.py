"""The library of kizami-import stands beside kizami-cli; only its commands know that."""

import ast
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2] / "packages/kizami-import/src/kizami_import"


def _roots(paths):
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names


def test_the_library_needs_core_alone():
    assert _roots(_PACKAGE.glob("*.py")) == {"kizami_core", "kizami_import"}


def test_the_commands_need_what_is_declared():
    assert _roots((_PACKAGE / "commands").glob("*.py")) == {
        "click",
        "kizami_cli",
        "kizami_core",
        "kizami_import",
    }
