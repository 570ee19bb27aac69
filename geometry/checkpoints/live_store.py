"""Tensors in memory: of modules and state dicts of torch, and arrays.

Nothing of a module is called: its parameters, buffers and modules are read from the dictionaries in
which torch keeps them. Tensors are copied when they are read, or just before an optimiser of torch
changes them; one that changed in another way is refused.
"""

from __future__ import annotations

import math
import re
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.stores import (
    INTEGERS,
    NO_SETTINGS,
    FloatArray,
    OnThisMachine,
    TensorInfo,
    dtype_name,
    stored_dtype,
    widen,
)

MAX_COPIED = 2**32
"""Maximum bytes of all stores that are copied before an optimiser changes them."""
SAMPLED = 16
"""Entries of a tensor, evenly spaced, that are compared before it is read."""
_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "int64": "I64",
    "int32": "I32",
    "uint32": "U32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
}
"""The safetensors name of each dtype of torch."""
_GATHER = "Gather the model on one device, or save it and open the file."
_OF_NUMPY = ("float64", "float32", "float16")
"""Those that are read in place."""


_NONE: Mapping[str, Any] = MappingProxyType({})


class Changed(SourceError):
    """A tensor in memory has changed since it was opened."""


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor of torch, or has NumPy's interface, as JAX's arrays do."""
    return hasattr(type(value), "__array__")  # as tensors of torch have


def is_module(value: Any) -> bool:
    """Return whether a value is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def tensors_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a module that are saved with it, by name, without calling it."""
    unsaved = getattr(type(module), "_keys_to_ignore_on_save", None)
    unsaved = unsaved if isinstance(unsaved, list | tuple | set) else ()  # or a property
    left_out = re.compile("|".join(f"(?:{key})" for key in unsaved) or r"(?!)")
    for prefix, one in modules_of(module):
        parts = vars(one)
        temporary = parts.get("_non_persistent_buffers_set", ())
        for group, without in (("_parameters", ()), ("_buffers", temporary)):
            for name, value in parts.get(group, _NONE).items():
                whole = prefix + name
                if value is not None and name not in without and not left_out.search(whole):
                    yield whole, value


def modules_of(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a module and those in it, each with the beginning of its tensors' names."""
    stack: list[tuple[str, Any, tuple[int, ...]]] = [(prefix, module, ())]
    while stack:
        name, one, above = stack.pop()
        if one is None or id(one) in above:
            continue
        yield name, one
        if inside := vars(one).get("_modules"):
            path = (*above, id(one))
            stack += [(f"{name}{key}.", part, path) for key, part in reversed(inside.items())]


class LiveStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` of arrays and tensors in memory.

    Parameters
    ----------
    tensors
        By name.
    settings
        Of the model, as plain values.

    Raises
    ------
    SourceError
        A tensor has no numbers on this machine, such as on the device "meta".
    """

    def __init__(
        self, tensors: Mapping[str, Any], settings: Mapping[str, Any] = NO_SETTINGS
    ) -> None:
        self.settings = settings
        self.tensors = MappingProxyType({name: _info(name, t) for name, t in tensors.items()})
        first: dict[int, str] = {}
        self._own = {name: first.setdefault(id(tensor), name) for name, tensor in tensors.items()}
        # A detached tensor has the same numbers and version, and holds no gradients.
        self._live = {own: _detached(tensors[own]) for own in first.values()}
        self._states = {own: _state(tensor) for own, tensor in self._live.items()}
        self._copies: dict[str, npt.NDArray[Any]] = {}
        if any(map(is_tensor, self._live.values())):
            _WATCH.add(self)

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32 or float64, C-contiguous."""
        info = self.tensors[name]
        stored_dtype(info)  # raises
        return widen(self._copy(name), info.dtype)

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Read a tensor of integers as stored."""
        if self.tensors[name].dtype not in INTEGERS:
            return super().read_stored(name)
        return self._copy(name)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors, each counted once."""
        return sum(self.tensors[own].nbytes for own in self._states)

    def copy_all(self) -> None:
        """Copy all tensors that have not been read."""
        for name in list(self._live):
            self._copy(name)

    @property
    def shared(self) -> dict[str, str]:
        """The names of tensors that are another one under a second name, and that one's."""
        return {name: own for name, own in self._own.items() if name != own}

    def bits(self, name: str) -> npt.NDArray[Any]:
        """Return a tensor as stored, C-contiguous; of bfloat16 and 8 bits, the bits.

        A copy that is made for it is not kept.

        Raises
        ------
        Changed
            It has changed since it was opened.
        """
        own = self._own[name]
        if own in self._copies:
            return self._copies[own]
        live = self._live[own]
        if _state(live) != self._states[own]:
            raise Changed(
                f"{name} has changed since the model was opened.", "Open the model again."
            )
        return _numbers(live)

    def _copy(self, name: str) -> npt.NDArray[Any]:
        own = self._own[name]
        if own not in self._copies:
            copied = self.bits(name)
            copied.setflags(write=False)
            self._copies[own] = copied
            del self._live[own]
        return self._copies[own]


def _info(name: str, value: Any) -> TensorInfo:
    if is_tensor(value):
        torch = sys.modules["torch"]
        if value.is_meta or (type(value) is not torch.nn.Parameter and _is_elsewhere(value)):
            raise SourceError(
                f"{name} has no numbers in this process: it is a {type(value).__name__} on "
                f"{value.device}.",
                _GATHER,
            )
        dtype, shape = _name_of_dtype(value), tuple(value.shape)
        nbytes = math.prod(shape) * value.itemsize
        return TensorInfo(name, shape, _DTYPES.get(dtype, dtype), nbytes)
    array = np.asarray(value)
    dtype = array.dtype.name
    stored = _DTYPES.get(dtype, dtype) if array.dtype.kind in "iu" else dtype_name(array.dtype)
    return TensorInfo(name, array.shape, _DTYPES.get(stored, stored), array.nbytes)


def _is_elsewhere(tensor: Any) -> bool:
    """Return whether the numbers of a tensor are those of others, or not there yet."""
    lazy = sys.modules["torch"].nn.parameter.is_lazy(tensor)
    return lazy or tensor.is_nested or hasattr(tensor, "to_local")


def _name_of_dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _detached(value: Any) -> Any:
    return value.detach() if is_tensor(value) else value


def _state(value: Any) -> tuple[Any, ...]:
    """Return what differs once a tensor was changed: its version, its place, and some entries."""
    if not is_tensor(value):
        array = np.asarray(value)
        return (array.reshape(-1)[:: max(1, array.size // SAMPLED)].tobytes(),)
    version = None if value.is_inference() else value._version
    if value.layout is not sys.modules["torch"].strided:
        return version, value.layout
    if (dtype := _name_of_dtype(value)) not in _DTYPES:
        return version, value.data_ptr()
    whole, reach = value.is_contiguous(), value.numel()
    if not whole and reach:  # from the first to the last entry in memory
        steps = zip(value.shape, value.stride(), strict=True)
        reach = 1 + sum((size - 1) * step for size, step in steps)
    end = (value.storage_offset() + reach) * value.itemsize
    if reach and end > value.untyped_storage().nbytes():
        raise SourceError("The memory of a tensor was freed.", _GATHER)
    step = reach // SAMPLED + 1
    if whole and value.is_cpu and dtype in _OF_NUMPY and not value.is_neg():
        some = value.numpy().reshape(-1)[::step]
    else:
        some = _numbers(value.as_strided((-(-reach // step),), (step,), value.storage_offset()))
    return version, value.data_ptr(), some.tobytes()


def _numbers(value: Any) -> npt.NDArray[Any]:
    """Return a copy of the stored numbers, in C order; of bfloat16 and 8 bits, their bits."""
    if not is_tensor(value):
        array = np.array(value, order="C")
        if array.dtype.name == "bfloat16":
            return array.view(np.uint16)
        return array.view(np.uint8) if array.dtype.name.startswith("float8") else array
    torch = sys.modules["torch"]
    plain = value.to_dense() if value.layout is not torch.strided else value
    plain = plain.resolve_conj().resolve_neg()
    name = _name_of_dtype(plain)
    if name == "bfloat16":
        plain = plain.view(torch.uint16)
    elif name.startswith("float8"):
        plain = plain.view(torch.uint8)
    elif name not in _DTYPES:
        raise TensorUnavailable(f"Tensors of type {name} cannot be read.", "Convert it to float32.")
    copied: npt.NDArray[Any] = np.array(plain.cpu().numpy(), order="C")
    return copied


class _Watch:
    """Has stores copied before the next step of any optimiser of torch in this process."""

    def __init__(self) -> None:
        self._stores: weakref.WeakSet[LiveStore] = weakref.WeakSet()
        self._copied: weakref.WeakSet[LiveStore] = weakref.WeakSet()
        self._hooked = False

    def add(self, store: LiveStore) -> None:
        """Copy a store before the next step."""
        if not self._hooked:
            from torch.optim.optimizer import register_optimizer_step_pre_hook

            register_optimizer_step_pre_hook(self._before_step)
            self._hooked = True
        self._stores.add(store)

    def _before_step(self, *_: Any) -> None:
        while self._stores:
            # Nothing may end a training: what could not be copied raises when it is read.
            with suppress(Exception):
                store = self._stores.pop()
                if store.nbytes + sum(copied.nbytes for copied in self._copied) <= MAX_COPIED:
                    self._copied.add(store)
                    store.copy_all()


_WATCH = _Watch()
