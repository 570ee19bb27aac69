"""The loopback Hub answers the Hub's own client as the real one does, and plays every fault."""

from pathlib import Path

import numpy as np
from huggingface_hub import HfApi, hf_hub_download

from geometry.sources import open_source
from tests.loopback_hub import LoopbackHub
from tests.stand_ins import NINE, add_nine, positions_of


def test_the_nine_are_downloaded_and_opened(loopback_hub: LoopbackHub, tmp_path: Path):
    commits = add_nine(loopback_hub, tmp_path / "made")
    assert len(commits) == 9
    for name in NINE:
        weights = "pytorch_model.bin" if "stanford" in name else "model.safetensors"
        hf_hub_download(name, "config.json")
        hf_hub_download(name, weights)
        model = open_source(name)
        np.testing.assert_array_equal(model.W_pos, positions_of(name))


def test_models_are_described(loopback_hub: LoopbackHub, tmp_path: Path):
    commits = add_nine(loopback_hub, tmp_path)
    info = HfApi().model_info("gpt2", files_metadata=True)
    assert info.id == "openai-community/gpt2"
    assert info.sha == commits[info.id]
