"""The pickles in torch's files: their tensors and plain values.

It is read without torch and without running any of its code; see
:mod:`geometry.checkpoints.formats.pickled_values`. The names that torch writes for tensors create
:class:`StoredTensor`; a few others create plain values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.pickled_values import (
    Named,
    Place,
    Read,
    StandIn,
    is_whole,
    read_pickle,
    read_pickles,
)

MAX_PICKLE = 16_000_000
"""Maximum bytes of the pickle: with the additional data of training scripts, such as lists of
losses, it takes a few MB."""

MAX_ENTRIES = 1_000_000
"""Maximum entries of all nested dictionaries: vocabularies have about 100,000. Dictionaries can be
shared, so that their number grows exponentially with depth."""

MAX_LIST = 1_000
"""Maximum items of a searched list or tuple: dictionaries of tensors, not losses."""

MAX_DEPTH = 20
"""Maximum depth of dictionaries: "model", "state_dict" and the like. They can be recursive."""

MAX_NAME = 1_000
"""Maximum characters of a tensor's dotted name. Keys can be shared too."""


class Storage(NamedTuple):
    """A block of numbers: its type, the ``key`` of its record, and its size."""

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


def load_pickle(data: bytes | Read, at: int = 0) -> Any:
    """Return the content of a ``data.pkl``: plain values, stand-ins and :class:`StoredTensor`.

    Parameters
    ----------
    data
        The pickle, or what reads its file.
    at
        Where it begins.

    Raises
    ------
    Exception
        Any: it is damaged.
    """
    return read_pickle(data if callable(data) else _reading(data), _CALLS, _storage, at)


def _reading(data: bytes) -> Read:
    return lambda at, nbytes: data[at : at + nbytes]


def load_legacy(data: bytes) -> tuple[Any, Any, Any, dict[str, Storage], int]:
    """Return what precedes the numbers in a file of PyTorch's legacy format.

    Returns
    -------
    system
        What is known of the system that wrote it.
    content
        As of :func:`load_pickle`.
    keys
        The keys of the storages in the file's order.
    storages
        The storages by key.
    end
        Where the numbers begin.

    Raises
    ------
    Exception
        Any: it is damaged, or there is more of it.
    """
    storages: dict[str, Storage] = {}

    def kept(pid: Any) -> Any:
        if type(pid) is tuple and len(pid) == 4 and pid[0] == "module":
            return pid[1]  # a class, which precedes its file and its code
        storage = _storage(pid)
        return storage and storages.setdefault(storage.key, storage)

    (_, _, system, content, keys), end = read_pickles(_reading(data), 5, _CALLS, kept)
    return system, content, keys, storages, end


def tensors_in(name: str, content: Any) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors of nested dictionaries under their dotted names, in the file's order.

    Tensors in a list or tuple of dictionaries, such as of steps, or in dictionaries by step, have
    the item's number in their name. The states of optimizers, which are numbered too, are left out.

    Parameters
    ----------
    name
        Name of the file, for messages.
    content
        The content, from :func:`load_pickle`.

    Raises
    ------
    SourceError
        The dictionaries are nested too deeply, or have too many entries.
    """
    for key, value in walk_entries(name, content):
        if isinstance(value, StoredTensor):
            yield key or "tensor", value


def whole_module(name: str, content: Any) -> Named | None:
    """Return the class of the first torch module in nested dictionaries; None if there is none.

    Its tensors are attributes of objects, whose meaning only their code knows.

    Raises
    ------
    SourceError
        See :func:`tensors_in`.
    """
    for _, value in walk_entries(name, content):
        state: Any = value.state if isinstance(value, StandIn) else None
        if type(state) is dict and ("_parameters" in state or "_modules" in state):
            of: Named | None = value.of
            return of
    return None


def walk_entries(name: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and the containers in nested dictionaries under their dotted names.

    Raises SourceError: as :func:`tensors_in`.
    """
    entries = 0
    # Whether they are those of a step, by their identity: a dictionary can be in all others.
    of_steps: dict[int, bool] = {}

    def is_step(key: int, value: Any) -> bool:
        if not 0 <= key < 10**15 or not isinstance(value, dict):
            return False
        if id(value) not in of_steps:
            of_steps[id(value)] = _is_state(value)
        return of_steps[id(value)]

    def walk(value: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
        nonlocal entries
        inside, searched = _inside(value)
        entries += searched
        if entries > MAX_ENTRIES or depth > MAX_DEPTH or len(prefix) > MAX_NAME:
            raise SourceError(
                f"{name} has more entries than any model, or entries nested without end.",
                "Check that this is the weights file.",
            )
        yield prefix.removesuffix("."), value
        for key, inner in inside.items():
            named = type(key) is str or (type(key) is int and is_step(key, inner))
            if named and isinstance(inner, (dict, list, tuple)):
                yield from walk(inner, f"{prefix}{key}.", depth + 1)

    return walk(content, "", 0)


def _inside(value: Any) -> tuple[Mapping[Any, Any], int]:
    """Return the entries of a dictionary or a compiled module, or the dictionaries in a sequence.

    The second result is how many were looked at.
    """
    if isinstance(value, StandIn) and type(value.state) is dict and _is_compiled(value.of):
        state: dict[Any, Any] = value.state
        return state, len(state)
    if isinstance(value, dict):
        return value, len(value)
    if type(value) in (list, tuple) and len(value) <= MAX_LIST:
        return {str(n): one for n, one in enumerate(value) if isinstance(one, dict)}, len(value)
    return {}, 0


def _is_state(value: dict[Any, Any]) -> bool:
    """Return whether a dictionary is a state dict: of an optimizer, names have no dots."""
    return any(
        isinstance(inner, dict) or "." in str(name)[:MAX_NAME] for name, inner in value.items()
    )


def _is_compiled(of: Named | None) -> bool:
    """Return whether a class is a module of TorchScript, whose attributes are its parameters."""
    return of is not None and of.module.startswith("__torch__")


def _storage(pid: Any) -> Storage | None:
    if type(pid) is not tuple or len(pid) not in (5, 6) or pid[0] != "storage":
        return None
    _, kind, key, _, size, *view = pid
    if any(view):  # of versions before 0.4
        return None
    if not isinstance(kind, Named) or type(key) is not str or not is_whole(size) or size < 0:
        return None
    kind_name = kind.name.removesuffix("Storage")
    return Storage(_STORAGES.get(kind_name, kind_name), key, size)


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *more: Any) -> StoredTensor | None:
    if not isinstance(storage, Storage) or type(shape) is not tuple or type(stride) is not tuple:
        return None
    kind, metadata = storage.kind, more[2:]
    if metadata and isinstance(metadata[0], Named):  # _rebuild_tensor_v3: of any dtype
        kind, metadata = metadata[0].name, metadata[1:]
    if any(metadata):
        kind = f"{kind}, conjugated or negated"
    return StoredTensor(storage, kind, offset, shape, stride)


def _quantised(storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> StoredTensor | None:
    return _tensor(storage, offset, shape, stride)


def _of_type(
    function: Any, kind: Any, args: Any, state: Any
) -> StoredTensor | dict[Any, Any] | None:
    """Return a tensor of a subclass; one of torchao's, as its own tensors by class and name."""
    if function == _WRAPPER:
        of = isinstance(kind, Named) and kind.module.partition(".")[0] == "torchao"
        return {kind.name: state} if of and type(state) is dict else None
    is_tensor = function in _TENSORS and type(args) is tuple and 4 <= len(args) <= 10
    return _tensor(*args) if is_tensor else None


def _encode(text: Any = None, encoding: Any = None) -> bytes | str | Place | None:
    """Return the bytes of a number, which protocol 2 writes as a text, or the text of an array's.

    That can be in many arrays, so it is not encoded here.
    """
    if encoding != "latin1" or not isinstance(text, str | Place):
        return None
    return text.encode("latin-1") if isinstance(text, str) and len(text) <= 8 else text


def _number(dtype: Any, raw: Any = None) -> float | None:
    """Return the value of a NumPy scalar, if it is a number."""
    if not isinstance(dtype, _Dtype) or type(raw) is not bytes:
        return None
    form = _FORMS.get(dtype.code)
    if form is None or len(raw) != struct.calcsize(form):
        return None
    value: float = struct.unpack(dtype.order + form, raw)[0]
    return value


class StoredArray(StandIn):
    """An array of NumPy: its state is (version, shape, dtype, Fortran order, bytes)."""

    __slots__ = ()

    def __init__(self, state: Any = None) -> None:
        super().__init__(Named("numpy", "ndarray"))
        self.state = state

    def parts(self) -> tuple[bytes | str | Place, str, tuple[Any, ...], bool] | None:
        """Return the bytes, dtype, shape and whether the order is Fortran's; None if invalid.

        Bytes can be a text: of characters below 256, or of Python 2, where they had the same type.
        """
        state = self.state
        if type(state) is not tuple or len(state) != 5 or not isinstance(state[2], _Dtype):
            return None
        _, shape, dtype, fortran, raw = state
        known = isinstance(raw, bytes | str | Place) and dtype.code in (*_FORMS, _BFLOAT)
        if not known or type(shape) is not tuple:
            return None
        return raw, dtype.order + dtype.code, shape, fortran is True


def _array_of_buffer(raw: Any = None, dtype: Any = None, shape: Any = None, *order: Any) -> Any:
    """Return an array as protocol 5 writes it."""
    return StoredArray((1, shape, dtype, order == ("F",), raw))


def _new_array(*_: Any) -> StoredArray:
    return StoredArray()


def _array_of_jax(_call: Any = None, _args: Any = None, state: Any = None, *_: Any) -> StoredArray:
    return StoredArray(state)


def without_array(content: Any) -> Any:
    """Return what is in an array of objects: the only one, or a list; other content unchanged."""
    state = content.state if isinstance(content, StoredArray) else None
    if type(state) is not tuple or len(state) != 5 or type(state[4]) is not list:
        return content
    objects: list[Any] = state[4]
    return objects[0] if len(objects) == 1 else objects


class _Dtype(StandIn):
    """A NumPy dtype; its state has the byte order."""

    __slots__ = ("code",)

    def __init__(self, code: Any = None, *_: Any) -> None:
        super().__init__(Named("numpy", "dtype"))
        code = _BFLOAT if code == Named("ml_dtypes", "bfloat16") else code
        self.code = code if type(code) is str else ""

    @property
    def order(self) -> str:
        """The byte order."""
        state = self.state  # (version, order, …)
        return ">" if type(state) is tuple and len(state) > 1 and state[1] == ">" else "<"


_TENSORS = (
    Named("torch._utils", "_rebuild_tensor"),
    Named("torch._utils", "_rebuild_tensor_v2"),
    Named("torch._utils", "_rebuild_tensor_v3"),
)

_BFLOAT = "V2"
"""The dtype of bfloat16 in NumPy, which has no such type."""

_WRAPPER = Named("torch._utils", "_rebuild_wrapper_subclass")


def _empty(*_: Any) -> dict[Any, Any]:
    return {}


def _reconstructed(of: Any = None, *_: Any) -> StandIn:
    return StandIn(of if isinstance(of, Named) else None)


def _first(value: Any = None, *_: Any) -> Any:
    return value


_CALLS: Mapping[tuple[str, str], Callable[..., Any]] = {
    **dict.fromkeys(_TENSORS, _tensor),
    ("torch._utils", "_rebuild_qtensor"): _quantised,
    ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"): _first,
    ("torch._utils", "_rebuild_parameter"): _first,
    ("torch._utils", "_rebuild_parameter_with_state"): _first,
    ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
    ("torch", "Size"): _first,
    ("collections", "OrderedDict"): _empty,
    ("collections", "defaultdict"): _empty,
    ("copyreg", "_reconstructor"): _reconstructed,  # of protocols 0 and 1
    ("copy_reg", "_reconstructor"): _reconstructed,
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): _Dtype,
    ("jax._src.array", "_reconstruct_array"): _array_of_jax,
    **{
        (f"numpy.{core}.{module}", name): call
        for core in ("core", "_core")
        for module, name, call in (
            ("multiarray", "scalar", _number),
            ("multiarray", "_reconstruct", _new_array),
            ("numeric", "_frombuffer", _array_of_buffer),
        )
    },
}
"""Other names become stand-ins, such as those of tensors that are not a single block of numbers
(sparse, quantised)."""

_STORAGES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Untyped": "uint8",
}
"""The dtype of each storage class."""

_FORMS = {
    "f8": "d",
    "f4": "f",
    "f2": "e",
    "i8": "q",
    "i4": "i",
    "i2": "h",
    "i1": "b",
    "u8": "Q",
    "u4": "I",
    "u2": "H",
    "u1": "B",
    "b1": "?",
}
"""The format of each NumPy dtype in the module ``struct``."""
