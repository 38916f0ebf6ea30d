"""What CI runs, and what a contributor runs: `nox` does all of it, `nox --list` shows the parts.

Tests run against wheels, installed into empty environments in the shapes that users have: core alone, core
with the command line, and with importers or vectors beside it. An editable install would hide a file that the
wheel lacks.

All of core is tested on the oldest Python; the others run what may differ there, so that the whole takes
minutes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox

OLDEST = "3.11"
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = sorted({OLDEST, "3.12", "3.13", "3.14", RUNNING})

DIST = Path("dist").resolve()
LOCKED = DIST / "locked.txt"
LOWEST = DIST / "lowest.txt"
CORE_TESTS = ("tests/core", "tests/properties", "tests/golden")
CLI_TESTS = ("tests/cli", "tests/journeys")
# What each package adds to the command.
BROUGHT = {"import": ("import-claude-mem", "import-typescript"), "hybrid": ("embed", "embedder")}
# On Pythons other than the oldest: no journeys, no search for counterexamples, no sizes.
CORE_TESTS_AGAIN = ("-m", "not heavy", "tests/core", "tests/golden")
CLI_TESTS_AGAIN = ("-m", "not heavy", "tests/cli")
MIN_BRANCHES = 0.95

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
# A machine with one Python runs what it can; the closing table names what was skipped.
nox.options.error_on_missing_interpreters = False


def _offer_pyenv_versions() -> None:
    """Name the interpreters that pyenv keeps: its shims answer only for versions in PYENV_VERSION."""
    if "PYENV_VERSION" in os.environ or not shutil.which("pyenv"):
        return
    listed = subprocess.run(
        ["pyenv", "versions", "--bare"], check=False, capture_output=True, encoding="utf-8"
    )
    wanted = [
        name
        for name in listed.stdout.split()
        if re.fullmatch(r"\d+\.\d+\.\d+", name) and name.rpartition(".")[0] in PYTHONS
    ]
    if wanted:
        os.environ["PYENV_VERSION"] = ":".join(wanted)


_offer_pyenv_versions()
os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")


def _find_python(*, loads_extensions: bool) -> str | None:
    """Find a Python whose own sqlite3 loads extensions (most), or can't (pyenv's, python.org's on macOS)."""
    ask = """if True:
        import sqlite3, sys
        loads_extensions = hasattr(sqlite3.Connection, "enable_load_extension")
        print(sys.version_info >= (3, 11), loads_extensions, sys.executable)
    """
    for name in ("python3.12", "/usr/bin/python3", "python3.13", "python3.11", sys.executable):
        if shutil.which(name):
            told = subprocess.run([name, "-c", ask], check=False, capture_output=True, encoding="utf-8")
            if told.stdout.startswith(f"True {loads_extensions} "):
                return told.stdout.split(maxsplit=2)[2].strip()
    return None


LOADING = _find_python(loads_extensions=True)
NOT_LOADING = _find_python(loads_extensions=False)
# Any Python but, if there is one, not the one that the most is tested on.
ANOTHER = NOT_LOADING or RUNNING


def _install_wheels(session: nox.Session, *packages: str, versions: Path = LOCKED) -> None:
    wheels = [str(wheel) for package in packages for wheel in DIST.glob(f"kizami_{package}-*.whl")]
    session.install(*wheels, f"--constraint={versions}")


def _pytest(session: nox.Session, *args: str, group: str = "test", versions: Path = LOCKED) -> None:
    session.install(f"--group={group}", f"--constraint={versions}")
    environment = {
        # A test that forgets to set its own home must not meet the person's.
        "HOME": session.create_tmp(),
        "KIZAMI_DIST": str(DIST),
        # nox's own is below the project, and the name of a socket may have no more than 107 bytes.
        "TMPDIR": tempfile.gettempdir(),
    }
    if group == "test":  # onnxruntime doesn't name every encoding
        environment["PYTHONWARNDEFAULTENCODING"] = "1"
    session.run("pytest", "--numprocesses=auto", "--maxprocesses=4", *args, env=environment)


@nox.session(default=False)
def dist(session: nox.Session) -> None:
    """Build every wheel and sdist, and write down the versions that the shapes install."""
    shutil.rmtree(DIST, ignore_errors=True)
    session.run("uv", "build", "--quiet", "--all-packages", f"--out-dir={DIST}")
    everything = ("--all-packages", "--all-groups", "--no-emit-workspace", "--no-hashes")
    session.run("uv", "export", "--quiet", "--locked", *everything, f"--output-file={LOCKED}")
    session.run(
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--resolution=lowest-direct",
        f"--python-version={OLDEST}",
        f"--find-links={DIST}",
        "--no-sources",
        "--group=models",
        f"--output-file={LOWEST}",
        *(str(file) for file in Path("packages").glob("*/pyproject.toml")),
    )
    _add_missing(LOWEST, LOCKED)


def _add_missing(versions: Path, others: Path) -> None:
    """Add the versions of what only others name: the tools that tests need."""
    lines, more = (path.read_text(encoding="utf-8").splitlines() for path in (versions, others))
    named = {line.partition("==")[0] for line in lines}
    lines += [line for line in more if line.partition("==")[0] not in named]
    versions.write_text("\n".join(lines) + "\n", encoding="utf-8")


@nox.session(python=OLDEST)
def lint(session: nox.Session) -> None:
    """Check style, formatting, types, and that uv.lock belongs to pyproject.toml."""
    session.run_install(
        "uv",
        "sync",
        "--quiet",
        "--locked",
        "--all-packages",
        "--no-default-groups",
        "--group=lint",
        f"--python={session.virtualenv.location}",
        env={"UV_PROJECT_ENVIRONMENT": session.virtualenv.location},
    )
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session(name="tests-core", python=PYTHONS, requires=["dist"])
def tests_core(session: nox.Session) -> None:
    """Test core where nothing else is installed; on the oldest Python, all of it and its coverage."""
    _install_wheels(session, "core")
    if session.python != OLDEST or session.posargs:
        _pytest(session, *(session.posargs or CORE_TESTS_AGAIN))
        return
    report = Path(session.create_tmp(), "coverage.json")
    _pytest(session, "--cov", "--cov-report=term", f"--cov-report=json:{report}", *CORE_TESTS)
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    share = totals["covered_branches"] / totals["num_branches"]
    session.log(f"{share:.1%} of kizami_core's branches are covered")
    if share < MIN_BRANCHES:
        session.error(f"fewer than {MIN_BRANCHES:.0%}: test the branches that `coverage report` lists")


@nox.session(name="tests-cli", python=PYTHONS, requires=["dist"])
def tests_cli(session: nox.Session) -> None:
    """Test the command line and the hooks where core and the command line are installed."""
    _install_wheels(session, "core", "cli")
    _pytest(session, *(session.posargs or (CLI_TESTS if session.python == OLDEST else CLI_TESTS_AGAIN)))


@nox.session(name="tests-import", python=ANOTHER, requires=["dist"])
def tests_import(session: nox.Session) -> None:
    """Test the importers beside the command line."""
    _install_wheels(session, "core", "cli", "import")
    _pytest(session, *(session.posargs or ["tests/importer"]))


@nox.session(name="tests-hybrid", requires=["dist"])
@nox.parametrize(
    "python",
    [nox.param(LOADING, id="own-sqlite"), nox.param(NOT_LOADING, id="other-sqlite")],
)
def tests_hybrid(session: nox.Session) -> None:
    """Test the vectors beside the command line: where Python's own SQLite loads sqlite-vec, and where not."""
    if session.python is None:
        session.skip("no Python of that kind is here: one whose sqlite3 can load extensions, or can't")
    _install_wheels(session, "core", "cli", "hybrid")
    _pytest(session, *(session.posargs or ["tests/hybrid"]), group="test-hybrid")


@nox.session(name="tests-all", python=ANOTHER, requires=["dist"])
def tests_all(session: nox.Session) -> None:
    """Test the journeys and what is published where all packages are installed."""
    _install_wheels(session, "core", "cli", "import", "hybrid")
    session.install("uv", f"--constraint={LOCKED}")  # builds the distributions once more, to compare them
    _pytest(session, *(session.posargs or ["-m", "not heavy", "tests/packaging", "tests/journeys"]))


@nox.session(python=OLDEST, requires=["dist"])
@nox.parametrize("package", ["cli", "import", "hybrid"])
def lowest(session: nox.Session, package: str) -> None:
    """Test a package with the oldest versions of others' packages that its metadata allows."""
    _install_wheels(session, *{"core", "cli", package}, versions=LOWEST)
    group = "test-hybrid" if package == "hybrid" else "test"
    folder = {"cli": "tests/cli", "import": "tests/importer", "hybrid": "tests/hybrid"}[package]
    _pytest(session, *(session.posargs or ["-m", "not heavy", folder]), group=group, versions=LOWEST)


@nox.session(python=OLDEST, requires=["dist"])
@nox.parametrize(
    ("files", "packages"),
    [
        nox.param("*.whl", ("core", "cli"), id="wheels-cli"),
        nox.param("*.whl", ("core", "cli", "import"), id="wheels-import"),
        nox.param("*.whl", ("core", "cli", "hybrid"), id="wheels-hybrid"),
        nox.param("*.whl", ("core", "cli", "import", "hybrid"), id="wheels-all"),
        nox.param("*.tar.gz", ("core", "cli", "import", "hybrid"), id="sdists-all"),
    ],
)
def build(session: nox.Session, files: str, packages: tuple[str, ...]) -> None:
    """Install what would be published into an empty environment and run it away from the source tree."""
    session.install(*(str(file) for name in packages for file in DIST.glob(f"kizami_{name}-{files}")))
    commands = [["--version"], ["setup", "--yes"], ["doctor"], ["demo"]]
    commands += [[name, "--help"] for package in packages for name in BROUGHT.get(package, ())]
    home = session.create_tmp()
    with session.chdir(home):
        for command in commands:
            session.run("kizami", *command, env={"HOME": home, "USERPROFILE": home})


@nox.session(python=OLDEST, requires=["dist"])
def docs(session: nox.Session) -> None:
    """Build the site of docs/: every page is in its navigation, every link leads to a page and a heading."""
    session.install("--group=docs", f"--constraint={LOCKED}")
    # MkDocs empties the folder of the site, and nox names create_tmp() to it for its temporary files.
    site = session.posargs[0] if session.posargs else str(Path(session.create_tmp(), "site"))
    session.run("mkdocs", "build", "--strict", f"--site-dir={site}", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session(python=OLDEST, default=False)
def links(session: nox.Session) -> None:
    """Ask for every page of others that ours link to; needs the network."""
    session.run("python", "tools/docs/links.py")


@nox.session(python=OLDEST, default=False)
def bump(session: nox.Session) -> None:
    """Give all packages one version: `nox -s bump -- 0.2.0`."""
    session.run("python", "tools/bump.py", *session.posargs)
    session.run_install("uv", "lock", "--quiet")


@nox.session(python=OLDEST, default=False, requires=["dist"])
def bench(session: nox.Session) -> None:
    """Measure the table of times and sizes; nothing else should be running."""
    _install_wheels(session, "kizami_core", "kizami_cli")
    session.run("python", "benchmarks/run.py", *session.posargs)
