"""The overlaps panel with real checkpoints."""

import pytest

SIZE = (1000, 420)


@pytest.fixture
def gpt2(stage_of, gpt2_folder):
    return stage_of("overlaps", gpt2_folder, size=SIZE).panel


@pytest.fixture
def minilm(stage_of, minilm_folder):
    return stage_of("overlaps", minilm_folder, size=SIZE).panel


@pytest.fixture
def small(stage_of, small_gpt2):
    """The panel with a small GPT-2 of random numbers: 40 dimensions, two layers of three."""
    return stage_of("overlaps", small_gpt2(d_model=40), size=SIZE).panel
