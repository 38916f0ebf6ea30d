"""Fixtures that every test folder uses."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memories import MemoryBook

# How fast a busy machine makes examples says nothing about the code.
settings.register_profile("kizami", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kizami")

# Tests read English, whatever the locale of the person who runs them; those of Japanese choose it.
os.environ["KIZAMI_LANG"] = "en"

_ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measured data beside the project; tests that need it are skipped elsewhere."""
    folder = Path(os.environ.get("KIZAMI_SHARED", _ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the measured data (../shared) is not here")
    return folder


@pytest.fixture(scope="session")
def noise(tmp_path_factory) -> Path:
    """A database of 300 exchanges about other things, made once."""
    path = tmp_path_factory.mktemp("noise") / "memory.db"
    made = MemoryBook(path)
    made.add_noise()
    made.connection.close()
    return path


@pytest.fixture
def noisy_book(noise, tmp_path):
    """A database of the test's own, with 300 exchanges about other things."""
    shutil.copy(noise, tmp_path / "memory.db")
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()
