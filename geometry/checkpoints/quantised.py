"""Quantised matrices of PyTorch checkpoints, dequantised one by one.

Layouts: bitsandbytes (8 bit by rows; 4 bit by blocks, with a table of 16 values), GPTQ (as of
AutoGPTQ, GPTQModel and AutoRound), AWQ (AutoAWQ's GEMM), HQQ, compressed-tensors
("pack-quantized"), MLX, integers and floats of 8 bits with scales of tensors, rows or blocks (as of
vLLM, compressed-tensors, quanto and DeepSeek), and floats of 4 bits: MXFP4 (the Open Compute
Project's Microscaling Formats 1.0; of gpt-oss, compressed-tensors and MLX) and NVFP4 (of
compressed-tensors and NVIDIA's ModelOpt). Of torchao tensors with a number of 8 bits for each
entry.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.derived_store import Derived, DerivedStore
from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import (
    FLOATS,
    INTEGERS,
    UNQUANTISED,
    TensorInfo,
    TensorStore,
    unreadable,
)

Array = npt.NDArray[Any]
Finder = Callable[[TensorStore, str, Mapping[str, Any]], "Derived | None"]

SETTINGS_FILE = "quantize_config.json"
"""The file of AutoGPTQ and GPTQModel with what others write into the model's configuration."""
_AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
"""The place in a packed integer of each of eight numbers that follow each other, in AWQ."""
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_FP4 = np.concatenate([_FP4, -_FP4])
"""The values of the numbers of 4 bits, E2M1: a sign, two bits of exponent, one of mantissa."""
_E8M0 = np.append(np.ldexp(np.float32(1), np.arange(255) - 127), np.float32(np.nan))
"""The values of scales that are only an exponent, E8M0."""
_BITS = range(2, 9)
_BLOCK = 128
"""The usual rows and columns of a block with a scale, of DeepSeek and others."""
_STATE = ".weight.quant_state.bitsandbytes__"
_MAX_STATE = 10_000
_OF_QUANTO = ".weight._scale"
_LESS: Mapping[str | None, int] = {
    **dict.fromkeys((None, "gptq", "auto_round:auto_gptq"), 1),
    **dict.fromkeys(("gptq_v2", "auto_round", "auto_round:gptqmodel"), 0),
}
"""What is taken from the zeros of GPTQ before they are stored, by the format that is named."""
_UNNAMED = frozenset(
    {"qweight", "W_q", _OF_QUANTO, "weight_packed", "_blocks", "blocks", "qdata", "_qdata"}
)
"""Ends of names of the parts of matrices whose own name no stored tensor has."""
_CUT = "._weight"
"""What torchao writes before the parts of a weight in safetensors."""


def settings_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a model's quantisation in its configuration; {} if there are none."""
    groups = (config.get(key) for key in ("quantization_config", "quantization"))
    return next((group for group in groups if isinstance(group, dict)), {})


def dequantised(
    store: TensorStore, config: Mapping[str, Any], *, remote: bool = False
) -> tuple[TensorStore, str]:
    """Return a store in which quantised matrices are of float32, and a sentence about them.

    Those of unknown layouts, and those that do not fit, stay as they are: unreadable. The sentence
    is "" if nothing is quantised.

    Parameters
    ----------
    store
        The stored tensors.
    config
        The model's configuration, perhaps with "quantization_config" or "quantization".
    remote
        Whether to look at a matrix takes requests. It is then looked at when it is needed, if the
        configuration says that the model is quantised.
    """
    settings = settings_of(config)
    if remote and settings:
        if not (deferred := _Deferred(store, settings)):
            return store, ""
        note = "Matrices are quantised, and their numbers approximate."
        return DerivedStore(store, deferred, deferred.at_hand), note
    derived = dict(_found(store, settings))
    if not derived:
        method = settings.get("quant_method")
        codes = (info.dtype in INTEGERS and len(info.shape) > 1 for info in store.tensors.values())
        if not isinstance(method, str) or not any(codes):
            return store, ""
        return store, f"Matrices are quantised by {method}, in a layout that is not read."
    types = Counter(store.tensors[matrix.sources[0]].dtype for matrix in derived.values())
    return DerivedStore(store, derived), approximate(types)


def approximate(types: Counter[str]) -> str:
    """Return the sentence about quantised tensors, by their number of each type."""
    kinds = ", ".join(f"{count} as {dtype}" for dtype, count in types.most_common())
    return f"Tensors are quantised, and their numbers approximate: {kinds}."


def _found(store: TensorStore, settings: Mapping[str, Any]) -> Iterator[tuple[str, Derived]]:
    for find, stem, *_ in _candidates(store):
        if (derived := find(store, stem, settings)) is not None:
            yield derived.info.name, derived


def _candidates(store: TensorStore) -> Iterator[tuple[Finder, str, str, str]]:
    """Yield what may find a matrix, its stem, and the name of one of its parts with its end."""
    names = "\n".join(store.tensors)
    if not any(last in names for last in _LAYOUTS):  # of most models, which takes a tenth
        return
    for name in store.tensors:
        stem, _, last = name.rpartition(".")
        for end in (_STATE, _OF_QUANTO):
            if end in name:
                stem, last = name.partition(end)[0], end
        for end in ("_blocks", "_qdata"):
            if last.endswith(end):
                stem, last = name.removesuffix(end), end
        if (find := _LAYOUTS.get(last)) is not None:
            yield find, stem, name, last


class _Asking:
    """A store that is asked for the few bytes that a matrix has to be known by."""

    def __init__(self, store: TensorStore) -> None:
        self.tensors, self.read_stored = store.tensors, store.read_stored

    def bytes_to_fetch(self, *names: str) -> int:
        return 0


class _Deferred(Mapping[str, Derived]):
    """Quantised matrices by the names of their parts; whether these fit is seen on access."""

    def __init__(self, store: TensorStore, settings: Mapping[str, Any]) -> None:
        self._store, self._settings = store, settings
        self._found = dict[str, Derived | None]()
        self._parts = dict[str, list[tuple[Finder, str, str]]]()
        for find, stem, part, last in _candidates(store):
            name = _name_of(stem, last)
            if last in _UNNAMED or name in store.tensors:
                self._parts.setdefault(name, []).append((find, stem, part))

    def __getitem__(self, name: str) -> Derived:
        if name not in self._found:
            asking: Any = _Asking(self._store)
            self._found[name] = self._look(asking, name)
        if (derived := self._found[name]) is not None:
            return derived
        if name in self._store.tensors:
            raise KeyError(name)  # it is not quantised
        info = self._store.tensors[self._parts[name][0][2]]._replace(name=name)
        return Derived(info, (), partial(_unread, info))

    def _look(self, store: TensorStore, name: str) -> Derived | None:
        found = (find(store, stem, self._settings) for find, stem, _ in self._parts[name])
        return next((derived for derived in found if derived is not None), None)

    def at_hand(self, name: str) -> Derived | None:
        """Return a matrix if what it is known by was read."""
        parts = self._parts.get(name, ())
        if name not in self._found and any(self._store.known(part) for *_, part in parts):
            if (derived := self._look(self._store, name)) is None:
                return None
            self._found[name] = derived
        return self.get(name) if name in self._found else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _name_of(stem: str, last: str) -> str:
    """Return the name of a matrix, by that of one of its parts."""
    if last.endswith("blocks") or (last.endswith("qdata") and not stem.endswith(_CUT)):
        return stem if last.endswith("blocks") else stem.rpartition(".")[0]
    return f"{stem.removesuffix(_CUT)}.weight"


def _unread(info: TensorInfo) -> Array:
    raise TensorUnavailable(f"{unreadable(info)}.", UNQUANTISED)


def _matrix(
    stem: str, shape: tuple[int, ...], sources: list[str], make: Callable[..., Any]
) -> Derived:
    """Return the matrix of a layer, made of its stored numbers, the first of ``sources``."""
    return _derived(f"{stem}.weight", shape, [f"{stem}.{name}" for name in sources], make)


def _derived(
    name: str, shape: tuple[int, ...], sources: list[str], make: Callable[..., Any]
) -> Derived:
    info = TensorInfo(name, shape, "F32", 4 * math.prod(shape))

    def checked(packed: Array, *others: Array) -> Array:
        if not packed.any():
            raise TensorUnavailable(f"{info.name} is quantised, and all zeros.", UNQUANTISED)
        # Whatever does not fit only shows here, as an index of GPTQ beyond its groups.
        with reading(info.name, UNQUANTISED, error=TensorUnavailable):
            matrix: Array = make(packed, *others)
        return matrix

    return Derived(info, tuple(sources), checked)


def _shapes(store: TensorStore, stem: str, *names: str) -> list[tuple[int, ...]] | None:
    """Return the shapes of tensors, None if one is missing."""
    found = [store.tensors.get(f"{stem}.{name}") for name in names]
    return None if None in found else [info.shape for info in found if info is not None]


def _unpacked(packed: Array, bits: int, axis: int) -> Array:
    """Return the numbers in packed 32-bit integers along an axis, as uint8, the lowest bits first.

    Where ``bits`` does not divide 32, some numbers are in two integers.
    """
    words = np.moveaxis(packed.view(np.uint32), axis, -1)
    per = math.gcd(bits, 32)
    groups = np.pad(words, [(0, 0)] * (words.ndim - 1) + [(0, -words.shape[-1] % (bits // per))])
    groups = groups.reshape(*words.shape[:-1], -1, bits // per)
    numbers = np.empty((*groups.shape[:-1], 32 // per), np.uint8)
    for number in range(32 // per):
        word, first = divmod(number * bits, 32)
        own = groups[..., word] >> np.uint32(first)
        if first + bits > 32:
            own |= groups[..., word + 1] << np.uint32(32 - first)
        numbers[..., number] = own & np.uint32(2**bits - 1)
    return np.moveaxis(numbers.reshape(*words.shape[:-1], -1), -1, axis)


def _of_gptq(store: TensorStore, stem: str, settings: Mapping[str, Any]) -> Derived | None:
    shapes = _shapes(store, stem, "qweight", "scales", "qzeros")
    if shapes is None or any(len(s) != 2 for s in shapes):
        return None
    (rows, n_out), (n_groups, wide), (n_zeros, packed) = shapes
    if wide == 8 * n_out:
        return _of_awq(store, stem, shapes)
    form = settings.get("checkpoint_format", settings.get("packing_format"))
    less = _LESS.get(form) if form is None or isinstance(form, str) else None
    if store.tensors[f"{stem}.qweight"].dtype not in ("I32", "U32") or less is None:
        return None
    bits = next((bits for bits in _BITS if packed * 32 == n_out * bits), None)
    if bits is None or wide != n_out or n_zeros != n_groups or rows * 32 % bits:
        return None
    n_in, ordered = rows * 32 // bits, f"{stem}.g_idx" in store.tensors
    if not n_groups or (n_in % n_groups and not ordered):
        return None

    def make(q: Array, scales: Array, zeros: Array, *index: Array) -> Array:
        group = index[0] if index else np.arange(n_in) // (n_in // n_groups)
        zero = ((_unpacked(zeros, bits, 1) + less) & (2**bits - 1)).astype(np.float32)
        whole: Array = (_unpacked(q, bits, 0) - zero[group]) * scales[group]
        return whole.T

    sources = ["qweight", "scales", "qzeros", *(["g_idx"] if ordered else [])]
    return _matrix(stem, (n_out, n_in), sources, make)


def _of_awq(store: TensorStore, stem: str, shapes: list[tuple[int, ...]]) -> Derived | None:
    (n_in, packed), (n_groups, n_out), zeros = shapes
    if zeros != (n_groups, packed) or not n_groups or n_in % n_groups:
        return None
    if store.tensors[f"{stem}.qweight"].dtype not in ("I32", "U32"):
        return None

    def numbers(words: Array) -> Array:
        whole = _unpacked(words, 4, 1).reshape(len(words), -1, 8)
        return whole[..., _AWQ_ORDER].reshape(len(words), -1).astype(np.float32)

    def make(q: Array, scales: Array, zeros: Array) -> Array:
        group = np.arange(n_in) // (n_in // n_groups)
        return ((numbers(q) - numbers(zeros)[group]) * scales[group]).T

    return _matrix(stem, (n_out, n_in), ["qweight", "scales", "qzeros"], make)


def _of_hqq(store: TensorStore, stem: str, _: Mapping[str, Any]) -> Derived | None:
    """Return a matrix of HQQ: its rows, or columns, are groups, and stand in parts of bytes.

    Of 4, 2 and 1 bits, a byte has numbers of as many blocks of groups, the first in its highest
    bits; of 3 bits, an integer has ten.
    """
    shapes = _shapes(store, stem, "W_q", "scale", "zero")
    if shapes is None or _shapes(store, stem, "shape") != [(2,)] or shapes[1] != shapes[2]:
        return None
    (n_packed, n_columns), scale = shapes[0], shapes[1]
    name, kind = f"{stem}.shape", store.tensors[f"{stem}.W_q"].dtype
    if kind not in ("U8", "I32") or not n_columns or store.bytes_to_fetch(name):
        return None
    n_out, n_in = store.read_stored(name).tolist()
    n_rows, left = divmod(n_out * n_in, n_columns)
    if left or n_rows < 1 or scale not in ((n_rows, 1), (1, n_columns)):
        return None
    per = 10 if kind == "I32" else n_rows // max(n_packed, 1)
    if per not in (1, 2, 4, 8, 10) or -(-n_rows // per) != n_packed:
        return None
    bits = 3 if kind == "I32" else 8 // per

    def make(q: Array, scales: Array, zeros: Array) -> Array:
        firsts = range(bits * (per - 1), -1, -bits)
        parts = [(q >> first) & (2**bits - 1) for first in firsts]
        whole = np.concatenate(parts)[:n_rows].astype(np.float32)
        return ((whole - zeros) * scales).reshape(n_out, n_in)

    return _matrix(stem, (n_out, n_in), ["W_q", "scale", "zero"], make)


def _of_compressed(store: TensorStore, stem: str, settings: Mapping[str, Any]) -> Derived | None:
    shapes = _shapes(store, stem, "weight_packed", "weight_scale")
    if shapes is None or any(len(shape) != 2 for shape in shapes):
        return None
    if store.tensors[f"{stem}.weight_packed"].dtype == "U8":
        further = ["weight_global_scale"] if f"{stem}.weight_global_scale" in store.tensors else []
        return _of_rows_of_fp4(store, stem, ["weight_packed", "weight_scale", *further])
    (n_out, packed), (rows, n_groups) = shapes
    name = f"{stem}.weight_shape"
    if rows != n_out or not n_groups or _shapes(store, stem, "weight_shape") != [(2,)]:
        return None
    if store.bytes_to_fetch(name):
        return None  # not a request for each matrix, to know its shape
    first, n_in = store.read_stored(name).tolist()
    bits = next((b for b in _BITS if -(-n_in * b // 32) == packed), None)
    if first != n_out or bits is None or n_in < 1 or n_in % n_groups:
        return None
    further = [n for n in ("weight_zero_point", "weight_g_idx") if f"{stem}.{n}" in store.tensors]

    def make(q: Array, scales: Array, *others: Array) -> Array:
        more = dict(zip(further, others, strict=True))
        zero: Any = np.float32(2 ** (bits - 1))
        group = np.arange(n_in) // (n_in // n_groups)
        index = more.get("weight_g_idx", group)
        group = group if -1 in index else index  # which stands for no order
        if (zeros := more.get("weight_zero_point")) is not None:
            zero = _unpacked(zeros, bits, 0)[:n_out].astype(np.float32)[:, group]
        whole: Array = (_unpacked(q, bits, 1)[:, :n_in] - zero) * scales[:, group]
        return whole

    sources = ["weight_packed", "weight_scale", *further]
    return _matrix(stem, (n_out, n_in), sources, make)


def _of_4_bits(store: TensorStore, stem: str, _: Mapping[str, Any]) -> Derived | None:
    names = (f"{stem}{_STATE}{kind}" for kind in ("nf4", "fp4"))
    name = next((name for name in names if name in store.tensors), "")
    if not name or store.tensors[name].nbytes > _MAX_STATE or store.bytes_to_fetch(name):
        return None
    state = json.loads(store.read_stored(name).tobytes())
    shape, size = state.get("shape"), state.get("blocksize", 64)
    found = _shapes(store, stem, "weight", "weight.absmax", "weight.quant_map")
    if found is None or type(shape) is not list or type(size) is not int or size < 1:
        return None
    if len(shape) != 2 or any(type(n) is not int or n < 1 for n in shape):
        return None
    n = math.prod(shape)
    if n > 2 * math.prod(found[0]) or found[1] != (-(-n // size),) or found[2] != (16,):
        return None
    nested = f"{stem}.weight.nested_absmax" in store.tensors

    def make(q: Array, largest: Array, table: Array, *more: Array) -> Array:
        if more:
            blocks, inner = more
            each = min(state["nested_blocksize"], len(largest))
            of_block = blocks.repeat(each)[: len(largest)]
            largest = inner[largest] * of_block + state["nested_offset"]
        pairs = q.reshape(-1)
        numbers = table[np.column_stack([pairs >> 4, pairs & 15]).reshape(-1)[:n]]
        return (numbers * largest.repeat(min(size, n))[:n]).reshape(shape)

    sources = ["weight", "weight.absmax", "weight.quant_map"]
    sources += ["weight.nested_absmax", "weight.nested_quant_map"] if nested else []
    return _matrix(stem, tuple(shape), sources, make)


def _scales(stored: Array) -> Array:
    """Return scales as numbers: those that are integers are powers of 2 (E8M0)."""
    scales: Array = _E8M0[stored] if stored.dtype.kind == "u" else stored
    return scales


def _fp4(packed: Array, scales: Array) -> Array:
    """Return numbers of 4 bits, two in a byte, the lower half first, times the scales of groups."""
    halves = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*scales.shape, -1)
    numbers: Array = _FP4[halves]
    numbers *= _scales(scales)[..., None]
    return numbers.reshape(*scales.shape[:-1], -1)


def _of_rows_of_fp4(
    store: TensorStore, stem: str, sources: list[str], *, divided: bool = True
) -> Derived | None:
    """Return a matrix of numbers of 4 bits, with scales of groups and perhaps one of the whole."""
    shapes = _shapes(store, stem, *sources)
    if shapes is None or any(len(shape) != 2 for shape in shapes[:2]):
        return None
    (n_out, packed), (rows, n_groups), *whole = shapes
    kind = store.tensors[f"{stem}.{sources[0]}"].dtype
    n_in = packed * {"U8": 2, "U32": 8}.get(kind, 0)
    if rows != n_out or not n_in or not n_groups or n_in % (2 * n_groups):
        return None
    if any(math.prod(shape) != 1 for shape in whole):
        return None

    def make(q: Array, scales: Array, *whole: Array) -> Array:
        numbers = _fp4(q.view(np.uint8), scales)
        for scale in whole:
            numbers = numbers / scale.reshape(()) if divided else numbers * scale.reshape(())
        return numbers

    return _matrix(stem, (n_out, n_in), sources, make)


def _of_modelopt(store: TensorStore, stem: str, _: Mapping[str, Any]) -> Derived | None:
    sources = ["weight", "weight_scale", "weight_scale_2"]
    return _of_rows_of_fp4(store, stem, sources, divided=False)


def _of_mlx_fp4(store: TensorStore, stem: str, settings: Mapping[str, Any]) -> Derived | None:
    if settings.get("mode") != "mxfp4":
        return None
    return _of_rows_of_fp4(store, stem, ["weight", "scales"])


def _of_blocks(between: str) -> Finder:
    """Return what finds gpt-oss's matrices of all experts, of (experts, out, groups, 16) bytes.

    transformers writes them with "_" in their names and uses them as (experts, in, out), OpenAI
    with "." as (experts, out, in).
    """

    def find(store: TensorStore, stem: str, _: Mapping[str, Any]) -> Derived | None:
        names = [f"{stem}{between}blocks", f"{stem}{between}scales"]
        blocks, scales = (store.tensors.get(name) for name in names)
        if blocks is None or scales is None or len(blocks.shape) < 3:
            return None
        if blocks.dtype != "U8" or scales.dtype != "U8" or scales.shape != blocks.shape[:-1]:
            return None
        *first, n_out, n_groups, n_bytes = blocks.shape
        turned, n_in = between == "_", 2 * n_groups * n_bytes
        shape = (*first, n_in, n_out) if turned else (*first, n_out, n_in)

        def make(q: Array, exponents: Array) -> Array:
            numbers = _fp4(q, exponents)
            return numbers.swapaxes(-1, -2) if turned else numbers

        return _derived(stem, shape, names, make)

    return find


def _of_mlx(store: TensorStore, stem: str, settings: Mapping[str, Any]) -> Derived | None:
    own = settings.get(stem)  # of a module with settings of its own
    bits, size = (
        (own if isinstance(own, dict) else settings).get(key) for key in ("bits", "group_size")
    )
    shapes = _shapes(store, stem, "weight", "scales", "biases")
    if shapes is None or any(len(shape) != 2 for shape in shapes):
        return None
    if type(bits) is not int or bits not in _BITS or type(size) is not int:
        return None
    (n_out, packed), groups, biases = shapes
    n_in = packed * 32 // bits
    if store.tensors[f"{stem}.weight"].dtype != "U32" or groups != biases or groups[0] != n_out:
        return None
    if not n_in or packed * 32 % bits or n_in != groups[1] * size:
        return None

    def make(q: Array, scales: Array, biases: Array) -> Array:
        numbers = _unpacked(q, bits, 1) * scales.repeat(size, axis=1)
        numbers += biases.repeat(size, axis=1)
        return numbers

    return _matrix(stem, (n_out, n_in), ["weight", "scales", "biases"], make)


def _of_8_bits(scale_name: str, largest: int = 1, stored: str = "weight") -> Finder:
    """Return what finds numbers of 8 bits with scales of the whole, of rows, or of blocks.

    Scales of ``largest`` times the numbers are divided by it.
    """

    def find(store: TensorStore, stem: str, settings: Mapping[str, Any]) -> Derived | None:
        shapes = _shapes(store, stem, stored, scale_name)
        kind = "" if shapes is None else store.tensors[f"{stem}.{stored}"].dtype
        if shapes is None or len(shapes[0]) != 2 or kind not in ("I8", "F8_E4M3", "F8_E5M2"):
            return None
        shape, scale = shapes
        counts = scale if len(scale) == 2 else (math.prod(scale), 1)
        given = settings.get("weight_block_size")
        given = given if isinstance(given, list) and len(given) == 2 else (_BLOCK, _BLOCK)
        sizes = [*map(_size_of_block, shape, counts, given)]
        sources = [stored, scale_name]
        if not all(sizes):
            return None
        if (zero := store.tensors.get(f"{stem}.weight_zero_point")) is not None:
            sources.append("weight_zero_point")
            if zero.shape != scale:
                return None

        def whole(of_blocks: Array) -> Array:
            rows = of_blocks.reshape(counts).repeat(sizes[0], axis=0)[: shape[0]]
            return rows.repeat(sizes[1], axis=1)[:, : shape[1]]

        def make(q: Array, scales: Array, *zeros: Array) -> Array:
            numbers = q.astype(np.float32)
            for zero in zeros:
                numbers -= whole(zero)
            numbers *= whole(_scales(scales) / np.float32(largest))
            return numbers

        return _matrix(stem, shape, sources, make)

    return find


def _size_of_block(n: int, count: int, given: object) -> int:
    """Return the size of ``count`` blocks of an axis, of which the last can be shorter; or 0."""
    exact = 0 if not count or n % count else n // count
    sizes = (size for size in (given, _BLOCK, exact) if type(size) is int and size > 0)
    return next((min(size, n) for size in sizes if -(-n // size) == count), 0)


def _of_torchao(store: TensorStore, stem: str, _: Mapping[str, Any]) -> Derived | None:
    """Return a matrix of tensors below its name and class, or as it is cut for safetensors."""
    name, kind = stem.rpartition(".")[::2]
    begin = f"{stem}."
    if stem.endswith(_CUT):
        name, kind, begin = f"{stem.removesuffix(_CUT)}.weight", "", f"{stem}_"
    names = [f"{begin}{part}" for part in ("qdata", "scale")]
    stored, scale = map(store.tensors.get, names)
    kinds = {"I8": ("Int8Tensor", "IntxUnpackedToInt8Tensor", ""), "F8": ("Float8Tensor", "")}
    if stored is None or scale is None or kind not in kinds.get(stored.dtype[:2], ()):
        return None
    if len(stored.shape) != 2 or len(scale.shape) != 2 or 0 in scale.shape:
        return None
    (n_out, n_in), (rows, groups) = stored.shape, scale.shape
    zero = store.tensors.get(f"{begin}zero_point")
    if n_out % rows or n_in % groups or (zero is not None and zero.shape != scale.shape):
        return None
    if scale.dtype not in FLOATS:
        return None

    def make(q: Array, scales: Array, *zeros: Array) -> Array:
        blocks = q.reshape(rows, n_out // rows, groups, n_in // groups).astype(np.float32)
        for zero in zeros:
            blocks -= zero[:, None, :, None]
        blocks *= scales[:, None, :, None]
        return blocks.reshape(n_out, n_in)

    return _derived(name, stored.shape, names if zero is None else [*names, zero.name], make)


_LAYOUTS: Mapping[str, Finder] = {
    "qweight": _of_gptq,
    "W_q": _of_hqq,
    _OF_QUANTO: _of_8_bits("weight._scale", stored="weight._data"),
    "weight_packed": _of_compressed,
    "SCB": _of_8_bits("SCB", 127),
    _STATE: _of_4_bits,
    "biases": _of_mlx,
    "scales": _of_mlx_fp4,
    "_blocks": _of_blocks("_"),
    "blocks": _of_blocks("."),
    "qdata": _of_torchao,
    "_qdata": _of_torchao,
    "weight_scale_2": _of_modelopt,
    "weight_scale": _of_8_bits("weight_scale"),
    "weight_scale_inv": _of_8_bits("weight_scale_inv"),
    "scale_weight": _of_8_bits("scale_weight"),
    "scale": _of_8_bits("scale"),
}
"""What finds quantised matrices, by the last part of the name of one of their tensors."""
