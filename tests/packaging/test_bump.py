"""`nox -s bump` gives all packages one version."""

import json
import shutil
import subprocess
import sys
import tomllib

import pytest

LIBRARY = "packages/kizami-core/src/kizami_core/__init__.py"
PLUGIN = "plugin/.claude-plugin/plugin.json"


@pytest.fixture
def copy(root, tmp_path):
    """The files that carry the version, in a workspace whose changelog speaks of 3.14.1."""
    files = [path.relative_to(root) for path in root.glob("packages/*/pyproject.toml")]
    for name in (*files, LIBRARY, PLUGIN, "tools/bump.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 3.14.1 (unreleased)\n", encoding="utf-8")
    return tmp_path


def bump(folder, *arguments):
    command = [sys.executable, folder / "tools/bump.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_version_stands_in_every_package_and_siblings_are_pinned_to_its_minor_version(copy):
    done = bump(copy, "3.14.1")
    assert (done.returncode, done.stderr) == (0, "")
    assert '\n__version__ = "3.14.1"\n' in (copy / LIBRARY).read_text(encoding="utf-8")
    assert json.loads((copy / PLUGIN).read_text(encoding="utf-8"))["version"] == "3.14.1"
    projects = [
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for path in copy.glob("packages/*/pyproject.toml")
    ]
    assert {project["version"] for project in projects} == {"3.14.1"}
    extras = [list(project.get("optional-dependencies", {}).values()) for project in projects]
    needed = [item for project in projects for item in project["dependencies"]]
    needed += [item for lists in extras for items in lists for item in items]
    assert {item for item in needed if item.startswith("kizami")} == {
        "kizami-cli~=3.14.0",
        "kizami-core~=3.14.0",
        "kizami-hybrid~=3.14.0",
        "kizami-import~=3.14.0",
    }


def test_the_same_version_again_changes_nothing(copy):
    bump(copy, "3.14.1")
    before = contents(copy)
    done = bump(copy, "3.14.1")
    assert (done.returncode, done.stdout) == (0, "")
    assert contents(copy) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["3.14.2"], "CHANGELOG.md has no heading for 3.14.2. Write what changed under: ## 3.14.2\n"),
        (["3.14"], "'3.14' is not a version. Give three numbers, such as 0.2.0\n"),
        ([], "Give the version: nox -s bump -- 0.2.0\n"),
    ],
)
def test_what_cant_be_done_is_told_and_nothing_is_written(copy, arguments, told):
    before = contents(copy)
    done = bump(copy, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)
    assert contents(copy) == before
