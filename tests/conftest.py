"""Fixtures that every test folder uses."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measured data beside the project; tests that need it are skipped elsewhere."""
    folder = Path(os.environ.get("KIZAMI_SHARED", _ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the measured data (../shared) is not here")
    return folder
