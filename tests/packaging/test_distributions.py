"""The wheels and sdists hold what they promise, and nothing else."""

import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))


def source_files(root: Path, package: str) -> set[str]:
    source = root / "packages" / package / "src"
    names = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    # What Python and its tools leave behind is ignored by git, and so by the build.
    return {name for name in names if "__pycache__/" not in name and "_cache/" not in name}


@pytest.fixture(params=PACKAGES)
def package(request) -> str:
    return request.param


@pytest.fixture
def wheel(dist, package):
    (path,) = dist.glob(f"{package.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode("utf-8"))


@pytest.fixture
def declared(root, package) -> dict:
    return tomllib.loads((root / "packages" / package / "pyproject.toml").read_text(encoding="utf-8"))


def test_wheel_holds_the_source_files_and_no_others(root, package, wheel):
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == source_files(root, package)


def test_wheel_is_marked_as_typed(package, wheel):
    assert f"{package.replace('-', '_')}/py.typed" in wheel.namelist()


def test_wheel_carries_the_licence_of_the_project(root, wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
    assert wheel.read(name).decode("utf-8") == (root / "LICENSE").read_text(encoding="utf-8")


def test_sdist_holds_the_source_files_and_what_building_needs(root, package, dist):
    (path,) = dist.glob(f"{package.replace('-', '_')}-*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}
    assert held == needed | {f"src/{name}" for name in source_files(root, package)}


def test_metadata_says_what_an_index_shows(package, metadata, root):
    readme = (root / "packages" / package / "README.md").read_text(encoding="utf-8")
    assert metadata["Name"] == package
    assert metadata["Summary"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().strip() == readme.strip()
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Author"]
    assert metadata["Keywords"]


def test_classifiers_name_the_tested_pythons(metadata):
    classifiers = metadata.get_all("Classifier")
    pythons = [name.rpartition(" ")[2] for name in classifiers if name.startswith("Programming Language")]
    assert pythons == ["3", "3.11", "3.12", "3.13"]
    assert "Typing :: Typed" in classifiers


def test_all_packages_and_the_library_have_one_version(root):
    import kizami_core

    declared = {
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"]
        for path in root.glob("packages/*/pyproject.toml")
    }
    assert declared == {kizami_core.__version__}


def test_siblings_are_pinned_to_their_minor_version(declared):
    project = declared["project"]
    minor = project["version"].rpartition(".")[0]
    extras = [item for items in project.get("optional-dependencies", {}).values() for item in items]
    siblings = [item for item in (*project["dependencies"], *extras) if item.startswith("kizami")]
    assert siblings == [f"{item.partition('~=')[0]}~={minor}.0" for item in siblings]


def test_command_line_has_an_extra_for_each_package_that_goes_beside_it(root):
    cli = tomllib.loads((root / "packages/kizami-cli/pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: item.partition("~=")[0] for name, (item,) in cli["optional-dependencies"].items()}
    assert extras == {"hybrid": "kizami-hybrid", "import": "kizami-import"}
    assert set(extras.values()) == set(PACKAGES) - {"kizami-core", "kizami-cli"}


def test_core_depends_on_nothing(root):
    core = tomllib.loads((root / "packages/kizami-core/pyproject.toml").read_text(encoding="utf-8"))
    assert core["project"]["dependencies"] == []
    assert "optional-dependencies" not in core["project"]


def test_the_command_is_named_kizami(root):
    cli = tomllib.loads((root / "packages/kizami-cli/pyproject.toml").read_text(encoding="utf-8"))
    assert list(cli["project"]["scripts"]) == ["kizami"]
