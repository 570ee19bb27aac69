"""The stand-ins of real models have their layout."""

import re

from geometry.models.sources import open_source
from tests.stand_ins import NINE, OPENAI, STANFORD, write_stand_in


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
