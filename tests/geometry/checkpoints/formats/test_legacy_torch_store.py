"""Files of PyTorch's legacy format, as torch.save still writes them on request."""

import argparse

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store

TABLE = torch.arange(48.0).reshape(8, 6)


def written(path, content, **options):
    torch.save(content, path, _use_new_zipfile_serialization=False, **options)
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "uint8"])
def test_tensors(dtype, protocol, tmp_path):
    tensor = TABLE.to(getattr(torch, dtype))
    content = {"a": tensor, "b": tensor[2:5].clone(), "scalar": torch.tensor(3.0)}
    store = open_store(written(tmp_path / "a.bin", content, pickle_protocol=protocol))
    read = store.read if tensor.is_floating_point() else store.read_stored
    for name in "ab":
        np.testing.assert_array_equal(read(name), content[name].to(torch.float64))


def test_tensors_that_share_their_numbers(tmp_path):
    content = {"whole": TABLE, "rows": TABLE[3:5], "turned": TABLE.T, "column": TABLE[:, 2]}
    store = open_store(written(tmp_path / "a.pt", content))
    for name, tensor in content.items():
        np.testing.assert_array_equal(store.read(name), tensor)


def test_what_training_scripts_store_beside_tensors(tmp_path):
    model = torch.nn.Linear(3, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    content = {
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "args": argparse.Namespace(n_head=2),
        "losses": [0.5] * 100_000,  # more than is read at first
    }
    store = open_store(written(tmp_path / "checkpoint.pth.tar", content))
    np.testing.assert_array_equal(store.read("state_dict.weight"), model.weight.detach())
    assert store.settings["n_head"] == 2


def test_a_module_is_not_run(tmp_path):
    with pytest.raises(SourceError, match="not run"):
        open_store(written(tmp_path / "a.pt", torch.nn.Linear(3, 4)))


def test_a_truncated_file(tmp_path):
    path = written(tmp_path / "a.bin", {"a": TABLE, "b": TABLE + 1})
    whole = path.read_bytes()
    for size in (20, 100, 300, len(whole) - 200, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match="truncated"):
            open_store(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(SourceError, match="damaged"):
        open_store(path)
