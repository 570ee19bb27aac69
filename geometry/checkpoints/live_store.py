"""Tensors in memory: of modules and state dicts of torch, and arrays.

Nothing of a module is called: its parameters, buffers and modules are read from the dictionaries in
which torch keeps them. Tensors are copied when they are read, or just before an optimiser of torch
changes them; one that changed in another way is refused.
"""

from __future__ import annotations

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
"""Maximum bytes that are copied before an optimiser changes them."""
SAMPLED = 64
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


class Changed(SourceError):
    """A tensor in memory has changed since it was opened."""


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor of torch, or has NumPy's interface, as JAX's arrays do."""
    return is_tensor(value) or isinstance(value, np.ndarray) or hasattr(value, "__array__")


def is_module(value: Any) -> bool:
    """Return whether a value is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def tensors_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a module that are saved with it, by name, without calling it."""
    unsaved = getattr(type(module), "_keys_to_ignore_on_save", None) or ()
    for prefix, one in modules_of(module):
        parts = vars(one)
        left_out = parts.get("_non_persistent_buffers_set", ())
        for group in ("_parameters", "_buffers"):
            for name, value in parts.get(group, {}).items():
                if value is None or (group == "_buffers" and name in left_out):
                    continue
                if not any(re.search(str(key), prefix + name) for key in unsaved):
                    yield prefix + name, value


def modules_of(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a module and those in it, each with the beginning of its tensors' names."""
    stack: list[tuple[str, Any, tuple[int, ...]]] = [(prefix, module, ())]
    while stack:
        name, one, above = stack.pop()
        if one is None or id(one) in above:
            continue
        yield name, one
        inside = vars(one).get("_modules", {}).items()
        stack += [(f"{name}{key}.", part, (*above, id(one))) for key, part in reversed(inside)]


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
        self._live = dict(tensors)
        self._copies: dict[str, npt.NDArray[Any]] = {}
        self.tensors = MappingProxyType({name: _info(name, t) for name, t in tensors.items()})
        self._states = {name: _state(tensor) for name, tensor in tensors.items()}
        if any(map(is_tensor, tensors.values())):
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

    def copy_all(self) -> None:
        """Copy all tensors that have not been read."""
        for name in list(self._live):
            self._copy(name)

    def _copy(self, name: str) -> npt.NDArray[Any]:
        if name not in self._copies:
            live = self._live[name]
            if _state(live) != self._states[name]:
                raise Changed(
                    f"{name} has changed since the model was opened.", "Open the model again."
                )
            copied = _numbers(live)
            copied.setflags(write=False)
            self._copies[name] = copied
            del self._live[name]
        return self._copies[name]

    def before_step(self) -> None:
        """Copy what an optimiser is about to change, unless it is too large."""
        if sum(self.tensors[name].nbytes for name in self._live) <= MAX_COPIED:
            self.copy_all()


def _info(name: str, value: Any) -> TensorInfo:
    if is_tensor(value):
        if value.device.type == "meta" or value.is_nested or hasattr(value, "to_local"):
            raise SourceError(
                f"{name} has no numbers in this process: it is a {type(value).__name__} on "
                f"{value.device}.",
                "Gather the model on one device, or save it and open the file.",
            )
        dtype = str(value.dtype).removeprefix("torch.")
        nbytes = value.numel() * value.element_size()
        return TensorInfo(name, tuple(value.shape), _DTYPES.get(dtype, dtype), nbytes)
    array = np.asarray(value)
    dtype = array.dtype.name
    stored = _DTYPES.get(dtype, dtype) if array.dtype.kind in "iu" else dtype_name(array.dtype)
    return TensorInfo(name, array.shape, _DTYPES.get(stored, stored), array.nbytes)


def _state(value: Any) -> tuple[Any, ...]:
    """Return what differs once a tensor was changed: its version, its place, and some entries."""
    if not is_tensor(value):
        array = np.asarray(value)
        return (array.reshape(-1)[:: max(1, array.size // SAMPLED)].tobytes(),)
    plain = value.detach()
    if plain.layout is not sys.modules["torch"].strided:
        return value._version, plain.layout
    if str(plain.dtype).removeprefix("torch.") not in _DTYPES:
        return value._version, value.data_ptr()
    some = plain.as_strided((_reach(plain),), (1,), plain.storage_offset())
    some = some[:: max(1, len(some) // SAMPLED)]
    return value._version, value.data_ptr(), _numbers(some).tobytes()


def _reach(tensor: Any) -> int:
    """Return the number of entries from the first to the last one in memory."""
    if not tensor.numel():
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return int(1 + sum((size - 1) * step for size, step in steps))


def _numbers(value: Any) -> npt.NDArray[Any]:
    """Return a copy of the stored numbers, in C order; of bfloat16 and 8 bits, their bits."""
    if not is_tensor(value):
        array = np.array(value, order="C")
        if array.dtype.name == "bfloat16":
            return array.view(np.uint16)
        return array.view(np.uint8) if array.dtype.name.startswith("float8") else array
    torch = sys.modules["torch"]
    plain = value.detach()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    plain = plain.resolve_conj().resolve_neg().contiguous()
    name = str(plain.dtype).removeprefix("torch.")
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
                self._stores.pop().before_step()


_WATCH = _Watch()
