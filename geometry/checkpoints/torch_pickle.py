"""The pickle of torch's zip-format files, read without torch and without running anything of it.

A pickle is a program: it names functions and has them called. Here every name that torch writes
stands for a small recorder, any other one is refused, and what is left are dictionaries, lists and
:class:`StoredTensor`. The interpreter is the standard library's in Python, with the operations left
out that small files can make endless.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from geometry.checkpoints.errors import SourceError

#: Bytes of the pickle: enough for 9,000 tensors, ten times those of any model with a table of
#: positions. One of this size takes at most two seconds, whatever is in it.
MAX_PICKLE = 1_000_000

#: Entries of the dictionaries, those in others included. Dictionaries can be shared, so that their
#: number grows as 2 to the depth.
MAX_ENTRIES = 100_000

#: Dictionaries in dictionaries: "model", "state_dict" and the like. One can hold itself.
MAX_DEPTH = 20

#: Characters of a tensor's dotted name. Keys can be shared too.
MAX_NAME = 1_000

#: What torch writes of tensors that are not one block of numbers (sparse, quantised, on no device)
#: and of other values; None stands for them.
_IGNORED_MODULES = ("torch", "torch._utils", "torch.serialization")
_IGNORED = (
    ("_codecs", "encode"), ("__builtin__", "set"), ("builtins", "set"), ("builtins", "bytearray"),
    ("builtins", "complex"), ("__builtin__", "bytearray"), ("__builtin__", "complex"),
    ("collections", "Counter"), ("torch._tensor", "Tensor"), ("torch.nn.parameter", "Parameter"),
)  # fmt: skip


class Storage(NamedTuple):
    """A block of numbers: the ``key`` of its record, its type, and how many there are."""

    kind: str
    key: str
    size: int


class StoredTensor(NamedTuple):
    """A tensor's place in its storage, ``offset`` and ``stride`` in numbers."""

    storage: Storage
    kind: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def load_pickle(data: bytes) -> Any:
    """Return the content of a ``data.pkl``: dictionaries, lists and :class:`StoredTensor`.

    Raises
    ------
    Exception
        Any: it is damaged, or no pickle of tensors.
    """
    return _Unpickler(io.BytesIO(data)).load()


def tensors_in(name: str, content: Any) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors of nested dictionaries under their dotted names.

    Parameters
    ----------
    name
        Of the file, for messages.
    content
        From :func:`load_pickle`.

    Raises
    ------
    SourceError
        The dictionaries are nested too deep, or hold too many entries.
    """
    entries = 0

    def walk(value: Any, prefix: str, depth: int) -> Iterator[tuple[str, StoredTensor]]:
        nonlocal entries
        entries += 1
        if entries > MAX_ENTRIES or depth > MAX_DEPTH or len(prefix) > MAX_NAME:
            raise SourceError(
                f"{name} has more entries than any model, or entries nested without end.",
                "Check that this is the weights file.",
            )
        if isinstance(value, StoredTensor):
            yield prefix.removesuffix(".") or "tensor", value
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(key, str):
                    yield from walk(inner, f"{prefix}{key}.", depth + 1)

    return walk(content, "", 0)


class _Recorder:
    """Stands for a function or a type that a pickle names; a pickle cannot change it."""

    __slots__ = ("_call", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name = name
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("a function has no state")


class _Dict(dict[Any, Any]):
    """An OrderedDict; its state, such as a module's ``_metadata``, is dropped."""

    def __setstate__(self, state: Any) -> None:
        pass


def _tensor(storage: Storage, offset: int, shape: Any, stride: Any, *more: Any) -> Any:
    kind, metadata = storage.kind, more[2:]
    if metadata and isinstance(metadata[0], _Recorder):  # _rebuild_tensor_v3: of any dtype
        kind, metadata = metadata[0].name, metadata[1:]
    if any(metadata):  # a conjugated or negated view
        return None
    return StoredTensor(storage, kind, offset, tuple(shape), tuple(stride))


def _of_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    return function(*args) if isinstance(function, _Recorder) else None


_CALLS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): lambda: _Dict(),
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    ("torch._utils", "_rebuild_parameter_with_state"): lambda data, *_: data,
    ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
}


class _Unpickler(pickle._Unpickler):
    stack: list[Any]
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        call = _CALLS.get((module, name))
        if call is not None:
            return _Recorder(name, call)
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            return _Recorder(name.removesuffix("Storage"), _ignore)
        if module in _IGNORED_MODULES or (module, name) in _IGNORED:
            return _Recorder(name, _ignore)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a tensor")

    def persistent_load(self, pid: Any) -> Storage:
        what, kind, key, _, size = pid
        if what != "storage" or not isinstance(kind, _Recorder) or type(key) is not str:
            raise pickle.UnpicklingError("no storage")
        return Storage(_STORAGES.get(kind.name, kind.name), key, _whole(size))


def _bounded(load: Callable[[Any], None]) -> Callable[[_Unpickler], None]:
    """Return the operation that puts a number on the stack, for those of 64 bits alone."""

    def bounded(reader: _Unpickler) -> None:
        load(reader)
        # Whole numbers without bound can be chosen to have equal hashes.
        if type(reader.stack[-1]) is int:
            _whole(abs(reader.stack[-1]))

    return bounded


def _named(load: Callable[[Any], None]) -> Callable[[_Unpickler], None]:
    """Return the operation that fills a dictionary, for keys that are names and numbers."""

    def named(reader: _Unpickler) -> None:
        keys = reader.stack[-2:-1] if load is _SETITEM else reader.stack[::2]
        # The hash of a tuple of tuples of … takes 2 to the depth.
        if not all(key is None or type(key) in (str, int, float, bool, bytes) for key in keys):
            raise pickle.UnpicklingError("a key is no name")
        load(reader)

    return named


def _ignore(*_: Any) -> None: ...


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise pickle.UnpicklingError("no size")
    return value


_SETITEM = _Unpickler.dispatch[pickle.SETITEM[0]]

for _code in (pickle.INT, pickle.LONG, pickle.LONG1, pickle.LONG4):
    _Unpickler.dispatch[_code[0]] = _bounded(_Unpickler.dispatch[_code[0]])
for _code in (pickle.SETITEM, pickle.SETITEMS):
    _Unpickler.dispatch[_code[0]] = _named(_Unpickler.dispatch[_code[0]])
# Sets take hashes of anything; bytearrays and buffers allocate what they only announce. torch
# writes none of them.
for _code in (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.BYTEARRAY8,
              pickle.NEXT_BUFFER, pickle.READONLY_BUFFER):  # fmt: skip
    del _Unpickler.dispatch[_code[0]]

#: The dtype of each class of storages.
_STORAGES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128", "Untyped": "uint8",
}  # fmt: skip
