"""A model of every kind of file on a loopback Hub, and what is kept when it is opened."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import kept, network_of, serve
from tests.loopback.hub import LoopbackHub

N, D, D_VOCAB = 512, 64, 1000
KINDS = ("safetensors", "bin", "shards")
NAME = "someone/model"


@dataclass(frozen=True)
class Served:
    """One model on a Hub, and what is kept of it when nothing goes wrong."""

    hub: LoopbackHub
    table: np.ndarray
    sound: Mapping[str, bytes]
    fingerprint: str

    def opens(self, root: Path) -> None:
        """An ordinary opening works, gives the right numbers, and keeps what it should."""
        self.hub.clear_faults()
        model = open_model(NAME, network=network_of(self.hub, root))
        np.testing.assert_array_equal(model.W_pos, self.table)
        assert (model.fingerprint, model.n_heads) == (self.fingerprint, 4)
        assert kept(root) == self.sound
        with self.hub.unasked():
            open_model(NAME, network=network_of(self.hub, root))


def write_model(folder: Path, kind: str) -> np.ndarray:
    """Write a GPT-2 whose positions are not among the first bytes; its table."""
    random = np.random.default_rng(0)
    shapes = {"h.0.attn.c_attn.weight": (D, 3 * D), "h.0.mlp.c_fc.weight": (D, 4 * D),
              "h.0.mlp.c_proj.weight": (4 * D, D), "wpe.weight": (N, D),
              "wte.weight": (D_VOCAB, D)}  # fmt: skip
    tensors = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    config = {"model_type": "gpt2", "n_embd": D, "n_positions": N, "n_layer": 1, "n_head": 4}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    stem, write = ("model", save_file) if "bin" not in kind else ("pytorch_model", save_torch)
    suffix = "safetensors" if "bin" not in kind else "bin"
    if "shards" not in kind:
        write(tensors, folder / f"{stem}.{suffix}")
        return tensors["wpe.weight"]
    names = list(tensors)
    places = {}
    for number, part in enumerate((names[:1], names[1:4], names[4:])):
        shard = f"{stem}-{number}-of-3.{suffix}"
        write({name: tensors[name] for name in part}, folder / shard)
        places |= dict.fromkeys(part, shard)
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"weight_map": places}), "utf-8")
    return tensors["wpe.weight"]


def save_torch(tensors: Mapping[str, np.ndarray], path: Path) -> None:
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, path)


def serve_kind_of(hub: LoopbackHub, folder: Path, kind: str) -> Served:
    """Serve a model of some kind, from a second host."""
    table = write_model(folder / "files", kind)
    serve(hub, folder / "files", NAME)
    hub.redirect = True
    model = open_model(NAME, network=network_of(hub, folder / "reference"))
    return Served(hub, table, kept(folder / "reference"), model.fingerprint)


def attempt(served: Served, root: Path, **options: object) -> HelixscopeError | None:
    """Open with whatever is in the way; the error, of which nothing is kept, or None."""
    before, error = kept(root), None
    try:
        model = open_model(NAME, network=network_of(served.hub, root, **options))
    except HelixscopeError as raised:
        error = raised
    if error is None:
        np.testing.assert_array_equal(model.W_pos, served.table)
        assert kept(root) == served.sound
        return None
    assert str(error).endswith(".")
    assert "\n" not in str(error)
    assert error.advice.endswith(".")
    assert kept(root) == before
    return error


def cancelled_at(number: int) -> tuple[Transfer, list[TransferProgress]]:
    """A transfer that is cancelled when it tells of something for the n-th time."""
    told: list[TransferProgress] = []

    def on_progress(progress: TransferProgress) -> None:
        told.append(progress)
        if len(told) == number:
            transfer.cancel()

    transfer = Transfer(on_progress, interval_s=0)
    return transfer, told
