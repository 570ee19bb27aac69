"""Fixtures for tests that open models from a Hub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from geometry.hub.client import Hub
from tests.geometry.hub_asking import ADDRESS, DATA, QUICK, WEIGHTS
from tests.loopback_hub import LoopbackHub


@pytest.fixture
def cache(tmp_path) -> Path:
    """The folder of a cache that does not exist yet."""
    return tmp_path / "our cache"


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A client that tries again at once and is given up quickly."""
    hub = Hub(retries=QUICK, timeout_s=10)
    yield hub
    hub.close()


@pytest.fixture
def served(loopback_hub) -> LoopbackHub:
    """A Hub with one model."""
    loopback_hub.add(ADDRESS.repo, {WEIGHTS: DATA, "config.json": b'{"n": 1}', "sub/a b.bin": b""})
    return loopback_hub
