"""Files of other libraries, written as their layouts are published: TensorFlow, Flax, ONNX, HDF5.

A GPT-2 of true size is written sparse, as in true_sizes.py: only its positions take room, but for
a pickle, which is written as a whole.
"""

import json
import math
import pickle
import re
import struct
import zipfile
from pathlib import Path

import msgpack
import numpy as np

from tests.true_sizes import tensors, write_config

DTYPES = {"uint8": 4, "float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}
MAGIC = bytes.fromhex("57fb808b247547db")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a message of Protocol Buffers: a number, or a text or message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def block(entries, restart=16):
    """A block of sorted keys: each without what it shares with the one before, with restarts."""
    out, restarts, before = b"", [], b""
    for n, (key, value) in enumerate(entries):
        shared = 0
        if n % restart:
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
        else:
            restarts.append(len(out))
        own = key[shared:]
        out += varint(shared) + varint(len(own)) + varint(len(value)) + own + value
        before = key
    restarts = restarts or [0]
    return out + struct.pack(f"<{len(restarts)}I", *restarts) + struct.pack("<I", len(restarts))


def table(entries, per_block=3, compression=b"\0"):
    """A table: blocks with the kind of compression and a checksum, an index of them, a footer."""
    out, handles = b"", []
    items = sorted(entries.items())
    for first in range(0, len(items), per_block):
        some = items[first : first + per_block]
        content = block(some)
        handles.append((some[-1][0], varint(len(out)) + varint(len(content))))
        out += content + compression + bytes(4)
    places = []
    for content in (block([]), block(handles, restart=1)):
        places.append(varint(len(out)) + varint(len(content)))
        out += content + compression + bytes(4)
    return out + b"".join(places).ljust(40, b"\0") + MAGIC


def shape_of(shape):
    return b"".join(field(2, field(1, size)) for size in shape)


def entry(array, place, **changed):
    values = {"dtype": DTYPES[array.dtype.name], "shape": array.shape, "nbytes": array.nbytes}
    values |= dict(zip(("shard", "offset"), place, strict=True)) | changed
    return (
        field(1, values["dtype"])
        + field(2, shape_of(values["shape"]))
        + field(3, values["shard"])
        + field(4, values["offset"])
        + field(5, values["nbytes"])
        + bytes([6 << 3 | 5])
        + bytes(4)  # the checksum
    )


# ---- a GPT-2 of true size ----------------------------------------------------------------


def write_gpt2(folder: Path, layers: int, positions: np.ndarray) -> dict[str, Path]:
    """Write a GPT-2 with these positions in each kind of container; folders by kind."""
    width = positions.shape[1]
    shapes = {name.removeprefix("transformer."): tuple(s) for name, s in tensors(layers, width)}
    writers = {
        "HDF5": _hdf5, "Keras": _keras, "Flax": _flax, "ONNX": _onnx, "TensorFlow": _tensorflow,
        "pickle": _pickle,
    }  # fmt: skip
    for kind, write in writers.items():
        write_config(folder / kind, layers, width)
        write(folder / kind, shapes, positions)
    return {kind: folder / kind for kind in writers}


def _fill(file, shape, positions):
    if positions is None:
        file.seek(4 * math.prod(shape), 1)
    else:
        file.write(positions.tobytes())


def _hdf5(folder, shapes, positions, name="tf_model.h5", begin="transformer/tfgpt2/transformer/"):
    import h5py

    with h5py.File(folder / name, "w") as file:
        for own, shape in shapes.items():
            how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            path = re.sub(r"^h\.", "h_._", own).replace(".", "/").replace("_/_", "_._") + ":0"
            space = h5py.h5s.create_simple(shape)
            kind = h5py.h5t.IEEE_F32LE
            made = h5py.h5d.create(
                file.id, (begin + path).encode(), kind, space, dcpl=how, lcpl=links
            )
            if own == "wpe.weight":
                h5py.Dataset(made)[...] = positions


def _keras(folder, shapes, positions):
    kinds = {"wpe.weight": "position_embedding/vars/0", "wte.weight": "embedding/vars/0"}
    import h5py

    inside = folder / "model.weights.h5"
    with h5py.File(inside, "w") as file:
        for own in shapes:
            if own in kinds:
                table = positions if own == "wpe.weight" else np.zeros(shapes[own], np.float32)
                file[kinds[own]] = table
    with zipfile.ZipFile(folder / "model.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({}))
        archive.write(inside, inside.name)
    inside.unlink()
    (folder / "config.json").unlink()


def _flax(folder, shapes, positions):
    tree = {}
    last = {"wpe": "embedding", "wte": "embedding"}
    for own, shape in shapes.items():
        *path, end = own.split(".")
        if end == "weight":
            norm = path[-1].startswith("ln")
            end = last.get(path[-1], "scale" if norm else "kernel")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[end] = (
            (shape[::-1] if end == "kernel" else shape),
            positions if own == "wpe.weight" else None,
        )
    with (folder / "flax_model.msgpack").open("wb") as file:
        _flax_tree(file, tree)
        file.truncate(file.tell())


def _flax_tree(file, tree):
    if isinstance(tree, dict):
        file.write(msgpack.Packer().pack_map_header(len(tree)))
        for name, value in tree.items():
            file.write(msgpack.packb(name))
            _flax_tree(file, value)
        return
    shape, positions = tree
    nbytes = 4 * math.prod(shape)
    head = b"\x93" + msgpack.packb(shape) + msgpack.packb("float32")
    head += b"\xc6" + struct.pack(">I", nbytes)
    file.write(b"\xc9" + struct.pack(">I", len(head) + nbytes) + b"\x01" + head)
    _fill(file, shape, positions)


def _onnx(folder, shapes, positions):
    heads = {}
    for own, shape in shapes.items():
        nbytes = 4 * math.prod(shape)
        head = b"".join(field(1, size) for size in shape) + field(2, 1)
        head += field(8, own.encode()) + varint(9 << 3 | 2) + varint(nbytes)
        heads[own] = varint(5 << 3 | 2) + varint(len(head) + nbytes) + head
    total = sum(len(head) + 4 * math.prod(shapes[own]) for own, head in heads.items())
    with (folder / "model.onnx").open("wb") as file:
        file.write(field(1, 8) + varint(7 << 3 | 2) + varint(total))
        for own, head in heads.items():
            file.write(head)
            _fill(file, shapes[own], positions if own == "wpe.weight" else None)
        file.truncate(file.tell())


def _tensorflow(folder, shapes, positions):
    entries = {b"": field(1, 1)}
    with (folder / "model.ckpt.data-00000-of-00001").open("wb") as file:
        for own, shape in shapes.items():
            end = "/g" if "ln_" in own else "/w" if own.startswith("h.") else ""
            name = f"model/{own}".replace(".weight", end).replace(".bias", "/b")
            name = name.replace("/h.", "/h").replace(".", "/")
            values = {"shape": shape, "nbytes": 4 * math.prod(shape)}
            entries[name.encode()] = entry(np.zeros(1, np.float32), (0, file.tell()), **values)
            _fill(file, shape, positions if own == "wpe.weight" else None)
        file.truncate(file.tell())
    (folder / "model.ckpt.index").write_bytes(table(entries))
    (folder / "config.json").unlink()


def _pickle(folder, shapes, positions):
    """Protocol 2 stores the bytes of arrays as texts."""
    arrays = {own: np.zeros(shape, np.float32) for own, shape in shapes.items()}
    with (folder / "weights.pkl").open("wb") as file:
        pickle.dump(arrays | {"wpe.weight": positions}, file, protocol=2)
