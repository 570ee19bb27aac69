"""The stand-ins of real models have their layout, on the loopback Hub and on the disk."""

import re
from pathlib import Path

import numpy as np
from huggingface_hub import HfApi, hf_hub_download, model_info

from geometry.models.sources import open_source
from tests.stand_ins import (
    CHECKPOINTS,
    NINE,
    OPENAI,
    STANFORD,
    add_nine,
    positions_of,
    write_stand_in,
)


def test_the_nine_are_downloaded_and_opened(loopback_hub, tmp_path):
    commits = add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    assert len(commits) == len(NINE) == 9
    for name in NINE:
        weights = "model.safetensors" if name in OPENAI else "pytorch_model.bin"
        hf_hub_download(name, "config.json")
        assert Path(hf_hub_download(name, weights)).parent.name == commits[name]
        np.testing.assert_array_equal(open_source(name).W_pos, positions_of(name))
        files = {file.rfilename for file in model_info(name).siblings}
        assert ("tokenizer.json" in files) == (name in OPENAI)


def test_the_stand_ins_have_the_real_layout(tmp_path):
    body = r"wpe\.weight|wte\.weight|ln_f\.\w+|h\.\d\.(\w+\.)+\w+"
    for name in NINE:
        files = write_stand_in(tmp_path, name)
        weights = files["model.safetensors" if name in OPENAI else "pytorch_model.bin"]
        tensors = open_source(weights).store.tensors
        prefix = "" if name in OPENAI else "transformer."
        rest = [part.removeprefix(prefix) for part in tensors if part != "lm_head.weight"]
        assert all(re.fullmatch(body, part) for part in rest)
        assert all(part.startswith(prefix) for part in tensors if part != "lm_head.weight")
        assert ("lm_head.weight" in tensors) == (name in STANFORD)
        assert tensors[f"{prefix}h.1.attn.bias"].shape == (1, 1, 64, 64)
        assert (weights.read_bytes()[:2] == b"PK") == (name in STANFORD)
        dtype = tensors[f"{prefix}wpe.weight"].dtype
        assert dtype == ("F32" if name in OPENAI else "F16")


def test_stanfords_checkpoints_are_branches(loopback_hub, tmp_path):
    add_nine(loopback_hub, tmp_path / "made")
    name = STANFORD[2]
    branches = {ref.name for ref in HfApi().list_repo_refs(name).branches}
    assert branches == {"main", *CHECKPOINTS}
    for branch in CHECKPOINTS:
        hf_hub_download(name, "config.json", revision=branch)
        hf_hub_download(name, "pytorch_model.bin", revision=branch)
        model = open_source(f"{name}@{branch}")
        np.testing.assert_array_equal(model.W_pos, positions_of(name, branch))


def test_the_stand_ins_tokenizers_work(loopback_hub, tmp_path):
    add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    expected = ["hello", "Ġmy", "Ġname", "Ġis", "Ġadam"]
    from transformers import AutoTokenizer

    for name in (OPENAI[0], STANFORD[0]):
        tokenizer = AutoTokenizer.from_pretrained(name)
        assert tokenizer.tokenize("hello my name is adam") == expected
