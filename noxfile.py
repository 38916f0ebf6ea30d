"""What CI runs, and what a contributor runs: `nox` does all of it, `nox --list` shows the parts.

Tests run against wheels, installed into empty environments in the shapes that users have: core alone, and
core with the command line. An editable install would hide a file that the wheel lacks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox

OLDEST = "3.11"
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = sorted({OLDEST, "3.12", "3.13", RUNNING})

DIST = Path("dist").resolve()
LOCKED = DIST / "locked.txt"
LOWEST = DIST / "lowest.txt"
CORE_TESTS = ("tests/core", "tests/properties", "tests/golden")
CLI_TESTS = ("tests/cli", "tests/journeys", "tests/packaging")
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


def _install_wheels(session: nox.Session, *packages: str, versions: Path = LOCKED) -> None:
    wheels = [str(wheel) for package in packages for wheel in DIST.glob(f"{package}-*.whl")]
    session.install(*wheels, f"--constraint={versions}")


def _pytest(session: nox.Session, *args: str) -> None:
    session.install("--group=test", f"--constraint={LOCKED}")
    environment = {
        # A test that forgets to set its own home must not meet the person's.
        "HOME": session.create_tmp(),
        "KIZAMI_DIST": str(DIST),
        "PYTHONWARNDEFAULTENCODING": "1",
    }
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
        f"--output-file={LOWEST}",
        *(str(file) for file in Path("packages").glob("*/pyproject.toml")),
    )


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
    """Test core where nothing else is installed; on the oldest Python, measure its coverage."""
    _install_wheels(session, "kizami_core")
    if session.python != OLDEST or session.posargs:
        _pytest(session, *(session.posargs or CORE_TESTS))
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
    """Test the command line, the hooks and the journeys where core and the command line are installed."""
    _install_wheels(session, "kizami_core", "kizami_cli")
    _pytest(session, *(session.posargs or CLI_TESTS))


@nox.session(python=OLDEST, requires=["dist"])
def lowest(session: nox.Session) -> None:
    """Test the command line with the oldest click and rich that its metadata allows."""
    _install_wheels(session, "kizami_core", "kizami_cli", versions=LOWEST)
    _pytest(session, *(session.posargs or ["tests/cli"]))


@nox.session(python=OLDEST, requires=["dist"])
@nox.parametrize("files", [nox.param("*.whl", id="wheels"), nox.param("*.tar.gz", id="sdists")])
def build(session: nox.Session, files: str) -> None:
    """Install what would be published into an empty environment and run it away from the source tree."""
    session.install(*(str(file) for file in DIST.glob(files)))
    with session.chdir(session.create_tmp()):
        for command in ("--version", "demo"):
            session.run("kizami", command, env={"HOME": session.create_tmp()})


@nox.session(python=OLDEST, default=False, requires=["dist"])
def bench(session: nox.Session) -> None:
    """Measure the table of times and sizes; nothing else should be running."""
    _install_wheels(session, "kizami_core", "kizami_cli")
    session.run("python", "benchmarks/run.py", *session.posargs)
