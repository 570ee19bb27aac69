"""GPT-2 checkpoints of their true sizes and layouts, as sparse files: only P's bytes are there.

They take no room on the disk, and what is asked of a Hub that serves them is what would be asked of
the real one.
"""

import json
import math
import pickle
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

#: Layers and width; a head has 64 of that.
SHAPES = {
    "openai-community/gpt2": (12, 768),
    "openai-community/gpt2-medium": (24, 1024),
    "openai-community/gpt2-large": (36, 1280),
    "openai-community/gpt2-xl": (48, 1600),
    "stanford-crfm/alias-gpt2-small-x21": (12, 768),
}
N_POSITIONS, D_VOCAB = 1024, 50257


def true_positions(name: str) -> np.ndarray:
    """P of a model: (1024, width) float32."""
    width = SHAPES[name][1]
    return np.random.default_rng(width).standard_normal((N_POSITIONS, width), dtype=np.float32)


def write_true_size(folder: Path, name: str) -> dict[str, Path]:
    """Write a checkpoint of the kind that its organisation publishes; its files by name."""
    if name.startswith("openai"):
        write_gpt2(folder, *SHAPES[name], true_positions(name))
    else:
        write_config(folder, *SHAPES[name])
        _write_bin(folder / "pytorch_model.bin", name)
    return {path.name: path for path in sorted(folder.iterdir())}


def write_config(folder: Path, layers: int, width: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_positions": N_POSITIONS,
        "n_ctx": N_POSITIONS, "n_embd": width, "n_layer": layers, "n_head": width // 64,
        "vocab_size": D_VOCAB,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")


def write_gpt2(
    folder: Path, layers: int, width: int, positions: np.ndarray, *, noise: np.ndarray | None = None
) -> None:
    """Write a GPT-2 with these positions; everything else is a hole, or filled with noise."""
    write_config(folder, layers, width)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end, sizes = 0, {name: 4 * math.prod(shape) for name, shape in _tensors(layers, width)}
    for name, shape in _tensors(layers, width):
        begin, end = end, end + sizes[name]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, size in sizes.items():
            if name == "wpe.weight":
                file.write(positions.tobytes())
            elif noise is None:
                file.seek(size, 1)
            else:
                for start in range(0, size, noise.nbytes):
                    file.write(noise.data.cast("B")[: size - start])
        file.truncate(8 + len(text) + end)


def _tensors(layers: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes in the order of OpenAI's files: by name."""
    block: dict[str, tuple[int, ...]] = {
        "attn.bias": (1, 1, N_POSITIONS, N_POSITIONS),
        "attn.c_attn.bias": (3 * width,), "attn.c_attn.weight": (width, 3 * width),
        "attn.c_proj.bias": (width,), "attn.c_proj.weight": (width, width),
        "ln_1.bias": (width,), "ln_1.weight": (width,),
        "ln_2.bias": (width,), "ln_2.weight": (width,),
        "mlp.c_fc.bias": (4 * width,), "mlp.c_fc.weight": (width, 4 * width),
        "mlp.c_proj.bias": (width,), "mlp.c_proj.weight": (4 * width, width),
    }  # fmt: skip
    for layer in sorted(range(layers), key=str):
        for part, shape in block.items():
            yield f"h.{layer}.{part}", shape
    yield "ln_f.bias", (width,)
    yield "ln_f.weight", (width,)
    yield "wpe.weight", (N_POSITIONS, width)
    yield "wte.weight", (D_VOCAB, width)


def _write_bin(path: Path, name: str) -> None:
    """Write what torch.save of version 1 wrote: no byte order, no format version, padded to 64."""
    tensors = [(f"transformer.{tensor}", shape) for tensor, shape in _tensors(*SHAPES[name])]
    directory = []
    with path.open("wb") as file:
        directory.append(_record(file, "data.pkl", _pickle(tensors)))
        for number, (tensor, shape) in enumerate(tensors):
            wanted = tensor.endswith("wpe.weight")
            data = true_positions(name).tobytes() if wanted else 4 * math.prod(shape)
            directory.append(_record(file, f"data/{number}", data))
        directory.append(_record(file, "version", b"3\n"))
        start, entries = file.tell(), b"".join(directory)
        count = len(directory)
        file.write(entries)
        file.write(
            struct.pack(
                "<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0
            )
        )  # fmt: skip


def _record(file: BinaryIO, name: str, data: bytes | int) -> bytes:
    """Write an entry, of zeros if only its length is given; its line of the directory."""
    label, start = f"pytorch_model/{name}".encode(), file.tell()
    length = data if isinstance(data, int) else len(data)
    # The sum of zeros is not worked out: 0 stands for "not computed", as in torch's own files.
    checksum = 0 if isinstance(data, int) else zlib.crc32(data)
    padding = -(start + 30 + len(label) + 4) % 64
    extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    about = struct.pack("<5H3I2H", 0, 0, 0, 0, 0, checksum, length, length, len(label), len(extra))
    file.write(b"PK\x03\x04" + about + label + extra)
    if isinstance(data, int):
        file.seek(data, 1)
    else:
        file.write(data)
    about = struct.pack(
        "<6H3I5H2I", 0, 0, 0, 0, 0, 0, checksum, length, length, len(label), 0, 0, 0, 0, 0, start
    )
    return b"PK\x01\x02" + about + label


class _Storage:
    """What torch's pickles say of a storage instead of its bytes."""

    def __init__(self, number: int, length: int) -> None:
        self.number, self.length = number, length


class _Tensor:
    """A tensor that pickles as torch's do."""

    def __init__(self, storage: _Storage, shape: tuple[int, ...]) -> None:
        self.storage, self.shape = storage, shape

    def __reduce__(self) -> tuple[Any, ...]:
        import collections

        import torch._utils

        strides = tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
        about = (self.storage, 0, self.shape, strides, False, collections.OrderedDict())
        return torch._utils._rebuild_tensor_v2, about


def _pickle(tensors: list[tuple[str, tuple[int, ...]]]) -> bytes:
    import io

    import torch

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: object) -> tuple[Any, ...] | None:
            if isinstance(value, _Storage):
                return "storage", torch.FloatStorage, str(value.number), "cpu", value.length
            return None

    buffer = io.BytesIO()
    Pickler(buffer, protocol=2).dump(
        {
            name: _Tensor(_Storage(number, math.prod(shape)), shape)
            for number, (name, shape) in enumerate(tensors)
        }
    )
    return buffer.getvalue()
