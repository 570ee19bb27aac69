"""Fixtures for tests that open models from a Hub."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folder of a cache that does not exist yet."""
    return tmp_path / "our cache"
