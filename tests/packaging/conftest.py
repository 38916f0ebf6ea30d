"""What is published, and the source tree it comes from."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The workspace root."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def uv() -> list[str]:
    """The command that builds distributions."""
    if find_spec("uv"):
        return [sys.executable, "-m", "uv"]
    if program := shutil.which("uv"):
        return [program]
    pytest.skip("uv is not here to build the distributions (nox brings it)")


@pytest.fixture(scope="session")
def dist(root, uv, tmp_path_factory) -> Path:
    """The folder of wheels and sdists: those that nox built for all its sessions, or built here."""
    if given := os.environ.get("KIZAMI_DIST"):
        return Path(given)
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([*uv, "build", "--quiet", "--all-packages", "--out-dir", folder], cwd=root, check=True)
    return folder
