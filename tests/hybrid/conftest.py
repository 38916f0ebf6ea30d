"""Fixtures of the hybrid tests."""

import pytest

from resident_home import ResidentHome


@pytest.fixture
def home(tmp_path):
    """A home with an installed model and an empty database; its processes end with the test."""
    made = ResidentHome(tmp_path)
    yield made
    made.close()
