"""Give all packages of the workspace one version: ``python tools/bump.py 0.2.0``.

Written are the version of each packages/*/pyproject.toml, the pins of their siblings (``~=X.Y.0``: a patch of
one package works with the others of the same minor version), ``kizami_core.__version__`` and the version of
the Claude Code plugin. CHANGELOG.md must have a heading for the version first: what changed is for a person
to say.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_VERSION = re.compile(r"(\d+\.\d+)\.\d+")
_OWN_VERSION = re.compile(r'^version = "[^"]*"$', re.MULTILINE)
_LIBRARY_VERSION = re.compile(r'^__version__ = "[^"]*"$', re.MULTILINE)
_PLUGIN_VERSION = re.compile(r'^  "version": "[^"]*",$', re.MULTILINE)
_SIBLING = re.compile(r'"(kizami-[a-z]+(?:\[[a-z,]+\])?)~=[^";]*"')


def bump(root: Path, version: str) -> list[Path]:
    """Write the version everywhere below ``root``; return the files that changed.

    Raises:
        ValueError: it is no version X.Y.Z, or CHANGELOG.md doesn't speak of it. Nothing is written then.
    """
    parts = _VERSION.fullmatch(version)
    if parts is None:
        raise ValueError(f"{version!r} is not a version. Give three numbers, such as 0.2.0")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}(?: |$)", changelog, re.MULTILINE):
        raise ValueError(f"CHANGELOG.md has no heading for {version}. Write what changed under: ## {version}")
    written = {}
    for path in sorted(root.glob("packages/*/pyproject.toml")):
        text = path.read_text(encoding="utf-8")
        text = _replace_once(_OWN_VERSION, f'version = "{version}"', text, path)
        written[path] = _SIBLING.sub(rf'"\g<1>~={parts[1]}.0"', text)
        assert tomllib.loads(written[path])["project"]["version"] == version
    library = root / "packages/kizami-core/src/kizami_core/__init__.py"
    text = library.read_text(encoding="utf-8")
    written[library] = _replace_once(_LIBRARY_VERSION, f'__version__ = "{version}"', text, library)
    plugin = root / "plugin/.claude-plugin/plugin.json"
    text = plugin.read_text(encoding="utf-8")
    written[plugin] = _replace_once(_PLUGIN_VERSION, f'  "version": "{version}",', text, plugin)
    changed = [path for path, text in written.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(written[path], encoding="utf-8", newline="\n")
    return changed


def _replace_once(pattern: re.Pattern[str], line: str, text: str, path: Path) -> str:
    text, count = pattern.subn(line, text)
    if count != 1:
        raise ValueError(f"{path} has {count} lines that match {pattern.pattern}. Leave just one")
    return text


def main() -> None:
    """Run from the command line."""
    match sys.argv[1:]:
        case [version]:
            pass
        case _:
            sys.exit("Give the version: nox -s bump -- 0.2.0")
    try:
        changed = bump(Path(__file__).resolve().parents[1], version)
    except ValueError as error:
        sys.exit(str(error))
    for path in changed:
        print(path)


if __name__ == "__main__":
    main()
