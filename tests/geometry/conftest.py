"""Fixtures for tests that open models from a Hub."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from geometry.hub.client import Hub
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT
from tests.geometry.hub_asking import ADDRESS, DATA, QUICK, WEIGHTS
from tests.geometry.hub_opening import add_files, network_of
from tests.loopback.hub import LoopbackHub
from tests.stand_ins import write_stand_in


@pytest.fixture
def cache(tmp_path) -> Path:
    """The folder of a cache that does not exist yet."""
    return tmp_path / "our cache"


@pytest.fixture(scope="session")
def gpt2_table(gpt2_folder) -> np.ndarray:
    """GPT-2's positions, (1024, 768)."""
    return open_model(gpt2_folder).W_pos


@pytest.fixture(scope="session")
def minilm_table(minilm_folder) -> np.ndarray:
    """MiniLM's positions, (512, 384)."""
    return open_model(minilm_folder).W_pos


@pytest.fixture
def open_array(tmp_path) -> Callable[[np.ndarray], PositionalModel]:
    """Open an array as a bare table in a file."""

    def opened(table: np.ndarray) -> PositionalModel:
        np.save(tmp_path / "table.npy", table)
        return open_model(tmp_path / "table.npy")

    return opened


@pytest.fixture
def stand_in(loopback_hub, tmp_path) -> Callable[..., tuple[str, Path]]:
    """Serve the stand-in of a model; its commit, and the folder of its files."""

    def serve(name: str, revision: str = "main") -> tuple[str, Path]:
        files = write_stand_in(tmp_path / "files", name, revision)
        return loopback_hub.add(name, files, revision=revision), files["config.json"].parent

    return serve


@pytest.fixture
def opened(loopback_hub, cache) -> Callable[..., PositionalModel]:
    """Open a model of the Hub as another start of the program does, over the same cache."""

    def open_it(source: str = "someone/model", table: str | None = None, **options: object):
        return open_model(source, table=table, network=network_of(loopback_hub, cache, **options))

    return open_it


@pytest.fixture
def offer(loopback_hub, tmp_path) -> Callable[[dict[str, object]], str]:
    """Serve files as "someone/model": JSON, bytes, and dicts of arrays (as safetensors)."""
    return lambda files: add_files(loopback_hub, tmp_path / "files", files)


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


@pytest.fixture(scope="session")
def guide() -> Path:
    """A folder of real texts: the guide."""
    return ROOT / "resources" / "guide"
