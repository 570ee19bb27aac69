"""Opening models from a loopback Hub in tests: a network of one's own, and what came of it."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub, Retries
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.matrices import WEIGHTS
from geometry.models.model import PositionalModel
from tests.loopback.hub import LoopbackHub

#: More than a tensor: what opening a safetensors model may cost.
ALLOWANCE = 128 * 1024

#: No test waits for a server.
QUICK = Retries(attempts=2, first_wait_s=0.001, longest_wait_s=0.002)


def network_of(
    hub: LoopbackHub, root: Path, *, fresh: bool = False, whole: bool = False,
    transfer: Transfer | None = None, timeout_s: float = 10.0,
) -> Network:  # fmt: skip
    """A network of this Hub and a cache of this folder."""
    asked = Hub(endpoint=hub.url, retries=QUICK, timeout_s=timeout_s)
    return Network(asked, TensorCache(root), transfer or Transfer(), whole=whole, fresh=fresh)


def assert_same(model: PositionalModel, local: PositionalModel) -> None:
    """All that is asked of a model from the Hub is what its files on this machine say."""
    np.testing.assert_array_equal(model.W_pos, local.W_pos)
    assert model.fingerprint == local.fingerprint
    assert model.table == local.table
    assert (model.family, model.d_vocab, model.n_layers, model.n_heads, model.sides) == (
        local.family, local.d_vocab, local.n_layers, local.n_heads, local.sides,
    )  # fmt: skip
    assert dict(model.missing) == dict(local.missing)
    assert list(model.store.tensors) == list(local.store.tensors)
    assert dict(model.store.tensors) == dict(local.store.tensors)
    if "W_E" not in local.missing:
        np.testing.assert_array_equal(model.W_E, local.W_E)
    for layer in range(local.n_layers or 0):
        for name in WEIGHTS:
            if name not in local.missing:
                expected = local.weight(name, layer)
                np.testing.assert_array_equal(model.weight(name, layer), expected)


def kept(root: Path) -> dict[str, bytes]:
    """All entries of a cache, by the file they are in; the time of use aside."""
    wait_until_kept(root)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def serve(hub: LoopbackHub, folder: Path, name: str = "someone/model", **options: str) -> str:
    """Serve a folder's files, also those in folders in it, as a model."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return hub.add(name, {path.relative_to(folder).as_posix(): path for path in files}, **options)


def asked(hub: LoopbackHub) -> list[str]:
    """The names of what was asked for, in order."""
    return [request.path.rsplit("/", 1)[-1] for request in hub.requests]


def add_two_shards(hub: LoopbackHub, folder: Path) -> dict[str, np.ndarray]:
    """Serve "someone/model", a GPT-2 with P in one file and all else in another; its tensors."""
    random = np.random.default_rng(3)
    shapes = {"wpe.weight": (12, 4), "wte.weight": (9, 4), "h.0.mlp.c_fc.weight": (4, 16)}
    tensors = {name: random.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    places = {name: f"{'a' if name == 'wpe.weight' else 'b'}.safetensors" for name in tensors}
    add_files(hub, folder, {
        **{shard: {name: tensors[name] for name in tensors if places[name] == shard}
           for shard in set(places.values())},
        "model.safetensors.index.json": {"weight_map": places},
        "config.json": {"model_type": "gpt2", "n_embd": 4, "n_layer": 1, "n_head": 2,
                        "vocab_size": 9},
    })  # fmt: skip
    return tensors


def add_files(hub: LoopbackHub, folder: Path, files: dict[str, object]) -> str:
    """Serve a model of JSON, bytes, and dicts of arrays (as safetensors)."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        if name.endswith(".safetensors") and isinstance(content, dict):
            save_file(content, folder / name)
        elif isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(json.dumps(content), "utf-8")
    return serve(hub, folder)
