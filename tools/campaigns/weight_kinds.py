"""Kinds of weights files that other libraries write, as sound ones."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Files = dict[str, bytes]
Tensors = Mapping[str, np.ndarray]


def distributed(tensors: Tensors) -> Files:
    """Write a folder of torch.distributed.checkpoint."""
    import torch
    import torch.distributed.checkpoint as dcp

    content = {"model": {name: torch.from_numpy(array) for name, array in tensors.items()},
               "config": {"n_head": 2, "block_size": 16}}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is a single process
        dcp.save(content, checkpoint_id=folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def torchscript(tensors: Tensors) -> Files:
    """Write a scripted module with the tensors as the parameters of its parts."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wpe = torch.nn.Embedding.from_pretrained(torch.tensor(tensors["wpe.weight"]))
            self.wte = torch.nn.Embedding.from_pretrained(torch.tensor(tensors["wte.weight"]))

        def forward(self, ids: Any) -> Any:
            return self.wte(ids) + self.wpe(ids)

    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is no longer developed
        torch.jit.save(torch.jit.trace(Net(), torch.arange(3)), packed)
    return {"a.pt": packed.getvalue()}


def llmc() -> Files:
    """Write a checkpoint of llm.c, of one layer."""
    d, n, vocab = 4, 6, 10
    sizes = [(vocab + 6) * d, n * d, d, d, 3 * d * d, 3 * d, d * d, d, d, d, 4 * d * d, 4 * d,
             4 * d * d, d, d, d]  # fmt: skip
    header = struct.pack("<256i", 20240326, 3, n, vocab, 1, 2, d, vocab + 6, *[0] * 248)
    return {"a.bin": header + np.ones(sum(sizes), "<f4").tobytes()}


def varint(number: int) -> bytes:
    """Return a number of Protocol Buffers, of seven bits in each byte."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number))


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Return a message of Protocol Buffers: of numbers, texts and messages."""
    return b"".join(
        varint(number << 3) + varint(value)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )


def block(rows: bytes) -> bytes:
    """Return a block of a table of LevelDB with its trailer."""
    return rows + struct.pack("<II", 0, 1) + bytes(5)


def _rows(*entries: tuple[bytes, bytes]) -> bytes:
    """Return the rows of a block, whose keys share nothing."""
    return b"".join(
        b"".join(map(varint, (0, len(key), len(value)))) + key + value for key, value in entries
    )


def tensorflow(tensors: Tensors) -> Files:
    """Write a checkpoint of TensorFlow (tensor_bundle.proto) in one part."""
    entries, data = [(b"", message((1, 1)))], b""
    for name, array in sorted(tensors.items()):
        shape = message(*((2, message((1, size))) for size in array.shape))
        place = message((1, 1), (2, shape), (4, len(data)), (5, array.nbytes))
        entries.append((name.encode(), place))
        data += array.tobytes()
    rows, metaindex = block(_rows(*entries)), block(b"")
    at = len(rows) + len(metaindex)
    index = block(_rows((b"z", varint(0) + varint(len(rows) - 5))))
    handles = b"".join(map(varint, (len(rows), len(metaindex) - 5, at, len(index) - 5)))
    footer = handles.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")
    return {"model.ckpt.index": rows + metaindex + index + footer,
            "model.ckpt.data-00000-of-00001": data}  # fmt: skip


def onnx(tensors: Tensors) -> Files:
    """Write a graph with the tensors as its weights (onnx.proto)."""
    weights = [
        (5, message(*((1, n) for n in array.shape), (2, 1), (8, name.encode()),
                     (9, array.tobytes())))
        for name, array in tensors.items()
    ]  # fmt: skip
    node = (1, message((1, b"x"), (4, b"Gather")))
    return {"a.onnx": message((1, 8), (2, b"campaign"), (7, message(node, *weights)))}


def openvino(tensors: Tensors) -> Files:
    """Write a graph for OpenVINO with the tensors as its constants, as PyTorch's are converted."""
    layers, numbers = "", b""
    for name, array in tensors.items():
        place = f'shape="{", ".join(map(str, array.shape))}" offset="{len(numbers)}"'
        layers += (
            f'<layer id="0" name="self.{name}" type="Const" version="opset1"><data '
            f'element_type="f32" {place} size="{array.nbytes}" /></layer>'
            f'<layer id="1" name="x" type="MatMul"><data transpose_b="true" /></layer>'
        )
        numbers += array.astype("<f4").tobytes()
    graph = f'<?xml version="1.0"?><net name="m" version="11"><layers>{layers}</layers></net>'
    return {"openvino_model.xml": graph.encode(), "openvino_model.bin": numbers}


def spacy(tensors: Tensors) -> Files:
    """Write the folder of a pipeline of spaCy, whose transformer is of PyTorch."""
    import torch
    from msgspec import msgpack

    state = io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, state)
    config = {"model_type": "gpt2", "n_head": 2, "vocab_size": len(tensors["wte.weight"])}
    network = {"config": config, "state": state.getvalue(), "tokenizer": {"vocab.json": b"{}"}}
    nodes = [{"index": 0, "name": "transformer", "dims": {"nO": None}, "refs": {}}]
    model = {"nodes": nodes, "attrs": [{}], "params": [{"W": None}],
             "shims": [[], [msgpack.encode(network)]]}  # fmt: skip
    return {"config.cfg": b"[nlp]", "transformer/cfg": b"{}",
            "transformer/model": msgpack.encode(model)}  # fmt: skip


def hdf5(tensors: Tensors) -> Files:
    """Write the arrays of an HDF5 file, one of them compressed."""
    import h5py

    packed = io.BytesIO()
    with h5py.File(packed, "w") as file:
        for name, array in tensors.items():
            small = array.ndim < 2
            file.create_dataset(name.replace(".", "/"), data=array, track_times=False,
                                compression=None if small else "gzip")  # fmt: skip
        file.attrs["keras_version"] = "3"
    return {"a.h5": packed.getvalue()}


def pickled(tensors: Tensors) -> Files:
    """Write arrays in a pickle, as picoGPT's and JAX's parameters are kept."""
    content = {"wpe": tensors["wpe.weight"], "wte": tensors["wte.weight"], "n": np.float64(1.5),
               "blocks": [{"ln_1": {"g": tensors["h.0.ln_1.weight"]}}]}  # fmt: skip
    return {"a.pkl": pickle.dumps(content)}


def tar(tensors: Tensors) -> Files:
    """Write a tar archive of NeMo with a pickle of torch's, one member with a long path."""
    import torch

    stream, content = io.BytesIO(), io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, content)
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (
            ("model_config.yaml", b"hidden_size: 8\nnum_attention_heads: 2\n"),
            (f"{'x' * 80}/{'y' * 80}", b""),
            ("model_weights.ckpt", content.getvalue()),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return {"a.nemo": stream.getvalue()}


def zipped(tensors: Tensors) -> Files:
    """Write a zip archive of a folder with a pickle of torch's."""
    import torch

    stream, content = io.BytesIO(), io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, content)
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run/config.json", json.dumps({"model_type": "gpt2", "n_head": 2}))
        archive.writestr("run/pytorch_model.bin", content.getvalue())
    return {"a.zip": stream.getvalue()}


def _table(tensors: Tensors) -> Any:
    import pyarrow

    rows = tensors["wpe.weight"]
    columns = {f"x{n}": rows[:, n] for n in range(rows.shape[1])}
    return pyarrow.table({"token": [f"w{n}" for n in range(len(rows))], **columns})


def parquet(tensors: Tensors) -> Files:
    """Write the rows of a table with a column for each dimension."""
    from pyarrow.parquet import write_table

    packed = io.BytesIO()
    write_table(_table(tensors), packed)
    return {"a.parquet": packed.getvalue()}


def feather(tensors: Tensors) -> Files:
    """Write the same as a Feather file."""
    from pyarrow.feather import write_feather

    packed = io.BytesIO()
    write_feather(_table(tensors), packed)
    return {"a.feather": packed.getvalue()}


def vectors(tensors: Tensors) -> Files:
    """Write the rows as word2vec's text."""
    rows = tensors["wpe.weight"].tolist()
    lines = [f"{len(rows)} {len(rows[0])}"]
    lines += [f"w{n} {' '.join(map(str, row))}" for n, row in enumerate(rows)]
    return {"a.txt": "\n".join(lines).encode()}


def projector(tensors: Tensors) -> Files:
    """Write the two files of TensorFlow's Embedding Projector."""
    rows = tensors["wpe.weight"].tolist()
    names = ["word\tcount", *(f"w{n}\t{n}" for n in range(len(rows)))]
    return {"tensors.tsv": "\n".join("\t".join(map(str, row)) for row in rows).encode(),
            "metadata.tsv": "\n".join(names).encode()}  # fmt: skip


#: The matrix that is quantised.
_MATRIX = "h.0.attn.c_proj.weight"


def quantised(tensors: Tensors) -> Iterator[tuple[Tensors, dict[str, Any]]]:
    """Yield the tensors with a matrix quantised, in each layout, and the settings for it."""
    made = np.random.default_rng(0)
    stem = _MATRIX.removesuffix(".weight")
    others = {name: array for name, array in tensors.items() if name != _MATRIX}

    def words(*shape: int) -> np.ndarray:
        return made.integers(1, 2**31 - 1, shape).astype(np.int32)

    half = np.float16
    state = json.dumps({"quant_type": "nf4", "blocksize": 16, "shape": [8, 8]}).encode()
    for settings, own in (
        ({"quant_method": "gptq", "bits": 4},
         {"qweight": words(1, 8), "qzeros": words(1, 1), "scales": np.ones((1, 8), half),
          "g_idx": np.zeros(8, np.int32)}),
        ({"quant_method": "awq", "bits": 4},
         {"qweight": words(8, 1), "qzeros": words(1, 1), "scales": np.ones((1, 8), half)}),
        ({"quant_method": "compressed-tensors"},
         {"weight_packed": words(8, 1), "weight_scale": np.ones((8, 1), half),
          "weight_shape": np.array([8, 8])}),
        ({},
         {"W_q": words(8, 4).astype(np.uint8), "scale": np.ones((16, 1), half),
          "zero": np.ones((16, 1), half), "shape": np.array([8, 8])}),
        ({"quant_method": "bitsandbytes"},
         {"weight": words(8, 8).astype(np.int8), "SCB": np.ones(8, np.float32)}),
        ({"quant_method": "bitsandbytes"},
         {"weight": words(32, 1).astype(np.uint8), "weight.absmax": np.ones(4, np.float32),
          "weight.quant_map": np.linspace(-1, 1, 16, dtype=np.float32),
          "weight.quant_state.bitsandbytes__nf4": np.frombuffer(state, np.uint8)}),
        ({"quant_method": "fp8"},
         {"weight": np.full((8, 8), b"\x38", "V1"), "weight_scale": np.ones((8, 1), np.float32)}),
        ({"bits": 4},
         {"weight": words(8, 1).view(np.uint32), "scales": np.ones((8, 1), half),
          "biases": np.ones((8, 1), half)}),
    ):  # fmt: skip
        yield {**others, **{f"{stem}.{name}": array for name, array in own.items()}}, settings
