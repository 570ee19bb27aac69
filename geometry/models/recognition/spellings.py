"""Tensors of other libraries with the names and layouts of PyTorch's.

Names of TensorFlow's and Flax's variables become those of transformers; matrices of attention with
an axis of heads, or one for each head, become one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from geometry.checkpoints.derived_store import Derived, DerivedStore
from geometry.checkpoints.stores import FloatArray, TensorInfo, TensorStore

_VARIABLE = ":0"
"""The end of the names of TensorFlow's variables."""
_LAST = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
"""The last part of the names of variables, and that of transformers' tensors."""

_OF_FLAX = re.compile(r".*[/.]\d+[/.].*[/.]kernel", re.DOTALL)
"""A matrix of transformers' Flax models, whose layers are numbers between others' names."""
_LAST_OF_FLAX = {"kernel": "weight", "embedding": "weight", "scale": "weight"}

_OF_GOOGLE = re.compile(r".*/layer_\d+/.*/kernel", re.DOTALL)
"""A matrix of BERT as Google released it."""
_OF_VIT = re.compile(
    r"(?P<root>(?:.*\.)?)(?:layers\.|(?P<saved>encoder\.layer\.))(?P<layer>\d{1,4})\."
    r"(?P<part>attention\.[qkvo]_proj|mlp\.fc[12]|layernorm_(?:before|after))"
    r"(?P<last>\.(?:weight|bias))",
    re.DOTALL,
)
"""transformers' ViT and its kin in memory since its version 5, as ``torch.save`` writes them; its
own files have earlier names."""
_PARTS_OF_VIT = {
    "attention.q_proj": "attention.attention.query",
    "attention.k_proj": "attention.attention.key",
    "attention.v_proj": "attention.attention.value",
    "attention.o_proj": "attention.output.dense",
    "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
}
"""Modules in memory, and those in transformers' files."""

_OF_ALTCLIP = re.compile(
    r"(?P<root>(?:.*\.)?roberta\.encoder\.layer)s(?P<rest>\.\d{1,4}\..+)", re.DOTALL
)
"""transformers' AltCLIP in memory since its version 5."""

_MOMENT = re.compile(r"adam_?[mv]?(_1)?|lamb_[mv]", re.IGNORECASE)
"""The last part of the names of averages of gradients beside variables."""

MAX_HEADS = 1_000
"""Maximum number of heads with a matrix each."""

_OF_A_HEAD = re.compile(r"(?P<before>(?:.*\.)?heads)\.(?P<head>\d{1,4})\.(?P<after>.+)", re.DOTALL)
"""Karpathy's lecture: ``sa.heads.0.key.weight``, (d_head, d_model), which become
``sa.heads.key.weight``."""

_CHUNK = re.compile(r"(?P<before>(?:.*\.)?blocks)\.\d{1,4}(?P<after>\.\d{1,4}\..+)", re.DOTALL)
"""DINOv2's training: ``blocks.CHUNK.LAYER.``, where a layer's number is that of the whole model."""

_AXIS = re.compile(
    r"(?:.*\.)?attn\.(?P<lens>[Wb]_[QKVO])"
    r"|(?:.*/)?(?P<flax>query|key|value|out)/(?:kernel|bias)"
    r"|(?P<convolution>.*/w)",
    re.DOTALL,
)
"""TransformerLens: W_Q, W_K, W_V of (n_heads, d_model, d_head), W_O of (n_heads, d_head, d_model),
biases of (n_heads, d_head). Flax: kernels of (d_model, n_heads, d_head), that of the output of
(n_heads, d_head, d_model), biases of (n_heads, d_head). OpenAI's GPT-2: convolutions of (1, n_in,
n_out)."""


_PARTS = ("/", _VARIABLE, ".kernel", "attn.W_", "attn.b_", "heads.", "blocks.", "layers.", "layer.")
"""Parts of names, of which those of any of these layouts have one, and GPT-2's have none."""


def as_in_torch(store: TensorStore) -> TensorStore:
    """Return a store with further tensors, named and laid out as PyTorch's."""
    if not _may_differ(store):
        return store
    derived = dict(_by_axis(store)) | dict(_of_tensorflow(store))
    derived |= _without_chunks(store)
    derived |= _by_head(store, [_OF_A_HEAD.fullmatch(name) for name in store.tensors])
    derived |= dict(_of_flax(store)) | dict(_of_google(store)) | dict(_of_vit(store))
    return DerivedStore(store, derived) if derived else store


def _may_differ(store: TensorStore) -> bool:
    """Return whether any name has one of :data:`_PARTS`, in a fraction of the time of a search."""
    names = "\n".join(store.tensors)
    return any(part in names for part in _PARTS)


def _of_flax(store: TensorStore) -> Iterator[tuple[str, Derived]]:
    """Yield the variables of transformers' Flax models, as its own conversion names them."""
    if not any(map(_OF_FLAX.fullmatch, store.tensors)):
        return
    for name in store.tensors:
        yield _renamed(store.tensors[name], re.split("[/.]", name), _LAST_OF_FLAX)


def _of_google(store: TensorStore) -> Iterator[tuple[str, Derived]]:
    """Yield the variables of Google's BERT, as transformers' conversion names them."""
    if not any(map(_OF_GOOGLE.fullmatch, store.tensors)):
        return
    for name in store.tensors:
        parts = re.sub(r"/layer_(\d+)/", r"/layer/\1/", name).split("/")
        if parts[-1].endswith("_embeddings"):
            parts.append("embeddings")
        if not _MOMENT.fullmatch(parts[-1]):
            yield _renamed(store.tensors[name], parts, _LAST)


def _of_vit(store: TensorStore) -> Iterator[tuple[str, Derived]]:
    """Yield the tensors of ViT and its kin, and of AltCLIP, as transformers' files name them."""
    for name in store.tensors:
        if other := _OF_ALTCLIP.fullmatch(name):
            own = other["root"] + other["rest"]
            yield own, Derived(store.tensors[name]._replace(name=own), (name,), np.asarray)
        if (found := _OF_VIT.fullmatch(name)) is None:
            continue
        root, part, layer = found["root"], found["part"], found["layer"]
        if found["saved"]:  # of DINOv2, in whose files only attention has other names
            known = part.startswith("attention")
        else:
            known = f"{root}layers.{layer}.layernorm_before.weight" in store.tensors
        if known:
            own = f"{root}encoder.layer.{layer}.{_PARTS_OF_VIT.get(part, part)}{found['last']}"
            yield own, Derived(store.tensors[name]._replace(name=own), (name,), np.asarray)


def _renamed(info: TensorInfo, parts: list[str], last: dict[str, str]) -> tuple[str, Derived]:
    """Return a variable by its new name; a kernel has the axes of PyTorch, outputs first."""
    axes = {2: (1, 0), 4: (3, 2, 0, 1)}.get(len(info.shape), ())
    turned = axes if parts[-1] == "kernel" else ()
    shape = tuple(info.shape[axis] for axis in turned) or info.shape
    name = ".".join([*parts[:-1], last.get(parts[-1], parts[-1])])

    def make(stored: FloatArray) -> FloatArray:
        return stored.transpose(turned) if turned else stored

    return name, Derived(info._replace(name=name, shape=shape), (info.name,), make)


def _of_tensorflow(store: TensorStore) -> Iterator[tuple[str, Derived]]:
    """Yield the variables of transformers' TensorFlow models, as its own conversion names them."""
    for name in store.tensors:
        if not name.endswith(_VARIABLE):
            continue
        # The first two are the layer in the file, and the model.
        _, _, *parts = name.removesuffix(_VARIABLE).replace("_._", "/").split("/")
        if parts:
            yield _renamed(store.tensors[name], parts, _LAST)


def heads_by_shape(store: TensorStore) -> int | None:
    """Return the number of heads by the axes of the stored queries, or by their number; or None."""
    stored = store.stored if isinstance(store, DerivedStore) else store
    if not _may_differ(stored):
        return None
    found: set[int] = set()
    matrices: Counter[str] = Counter()
    for name in stored.tensors:
        if match := _AXIS.fullmatch(name):
            shape = stored.tensors[name].shape
            if len(shape) == 3 and match["lens"] == "W_Q":
                found.add(shape[0])
            elif len(shape) == 3 and match["flax"] == "query":
                found.add(shape[1])
        elif (match := _OF_A_HEAD.fullmatch(name)) and match["after"] == "query.weight":
            matrices[match["before"]] += 1
    found.update(matrices.values())
    return found.pop() if len(found) == 1 else None


def _without_chunks(store: TensorStore) -> Mapping[str, Derived]:
    """Return the tensors of layers in chunks by the numbers of layers, if these are unique."""
    matches = [match for match in map(_CHUNK.fullmatch, store.tensors) if match]
    found = {match["before"] + match["after"]: match[0] for match in matches}
    if len(found) < len(matches):  # numbers within stages
        return {}
    infos = {whole: store.tensors[name]._replace(name=whole) for whole, name in found.items()}
    return {whole: Derived(infos[whole], (name,), np.asarray) for whole, name in found.items()}


def _by_axis(store: TensorStore) -> Iterator[tuple[str, Derived]]:
    for name in store.tensors:
        if (found := _AXIS.fullmatch(name)) is None:
            continue
        info = store.tensors[name]
        shape = info.shape
        if found["convolution"] and len(shape) == 3 and shape[0] == 1:
            yield name, _reshaped(info, shape[1:])
        lens = found["lens"] or ""
        if len(shape) == 2 and (lens.startswith("b") or name.endswith("bias")):
            yield name, _reshaped(info, (math.prod(shape),))
        elif len(shape) == 3 and (lens == "W_O" or found["flax"] == "out"):
            yield name, _reshaped(info, (shape[0] * shape[1], shape[2]))
        elif len(shape) == 3 and lens.startswith("W"):
            yield name, _reshaped(info, (shape[1], shape[0] * shape[2]), heads_first=True)
        elif len(shape) == 3 and found["flax"]:
            yield name, _reshaped(info, (shape[0], shape[1] * shape[2]))


def _reshaped(info: TensorInfo, shape: tuple[int, ...], *, heads_first: bool = False) -> Derived:
    def make(stored: FloatArray) -> FloatArray:
        by_head = stored.transpose(1, 0, 2) if heads_first else stored
        return np.ascontiguousarray(by_head).reshape(shape)

    return Derived(info._replace(shape=shape), (info.name,), make)


def _by_head(
    store: TensorStore, found: Iterable[re.Match[str] | None]
) -> Iterator[tuple[str, Derived]]:
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for match in filter(None, found):
        group = groups.setdefault((match["before"], match["after"]), {})
        group[int(match["head"])] = match[0]
    for (before, after), names in groups.items():
        if len(names) > MAX_HEADS or sorted(names) != list(range(len(names))):
            continue
        sources = tuple(names[head] for head in range(len(names)))
        infos = [store.tensors[name] for name in sources]
        first = infos[0]
        if len({(info.shape, info.dtype) for info in infos}) > 1 or len(first.shape) not in (1, 2):
            continue
        shape = (len(sources) * first.shape[0], *first.shape[1:])
        name = f"{before}.{after}"
        info = TensorInfo(name, shape, first.dtype, len(sources) * first.nbytes)
        yield name, Derived(info, sources, _joined)


def _joined(*parts: FloatArray) -> FloatArray:
    return np.concatenate(parts)
