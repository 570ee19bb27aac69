"""Pickles read as data: nothing that they name is imported, and nothing is called.

A pickle is a program for a small machine with a stack; the standard library's machine imports the
classes and functions that it names, and calls them. This machine has no operation that could: a
name stays a :class:`Named`, and what would be made with it is a :class:`StandIn`, except for the
few names that its caller gives functions of its own for. What is left are dictionaries, lists,
tuples, texts, numbers and stand-ins. The operations are those of the module ``pickletools``,
protocols 0 to 5.
"""

from __future__ import annotations

import codecs
import pickle
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAX_OPERATIONS = 1_500_000
"""Operations of a pickle: a list of a million numbers has as many. Each makes at most some
hundred bytes, and this many take at most two seconds, whatever they are."""

MAX_ARGUMENTS = 16
"""Arguments of what is made. Calls with more become stand-ins: one long tuple can be the
arguments of all calls."""

MAX_WHOLE = 32
"""Bytes of a whole number: those of random generators have 16."""


class Named(NamedTuple):
    """A class or a function that a pickle names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class StandIn(dict[Any, Any]):
    """Stands for an object of a class that is not known, and does nothing.

    As a dictionary, it has the entries that such an object would have been given: classes derived
    from dict are pickled so.

    Attributes
    ----------
    of
        Its class, or the function that would have made it; None if even that is not known.
    args
        The arguments that it would have been made with.
    state
        What its attributes would have been set from: in most cases a dictionary.
    """

    __slots__ = ("args", "of", "state")

    def __init__(self, of: Named | None, args: Any = ()) -> None:
        self.of = of
        self.args = args
        self.state: Any = None


Calls = Mapping[tuple[str, str], Callable[..., Any]]


def read_pickle(data: bytes, calls: Calls, persistent: Callable[[Any], Any]) -> Any:
    """Return the value in a pickle.

    Parameters
    ----------
    data
        The pickle.
    calls
        What to make with a name (module, name): called with at most :data:`MAX_ARGUMENTS`
        arguments. They can be anything, also the same large lists again and again; what is made
        must be small.
    persistent
        Returns what a persistent id stands for.

    Raises
    ------
    Exception
        Any: it is damaged, has more than :data:`MAX_OPERATIONS`, or nests something too deep.
    """
    machine = _Machine(data, calls, persistent)
    for _ in range(MAX_OPERATIONS):
        code = machine.byte()
        if code == _STOP:
            return machine.stack[-1]
        _OPERATIONS[code](machine)
    raise pickle.UnpicklingError(f"more than {MAX_OPERATIONS} operations")


class _Machine:
    """The stack, the memo, and what is left to read."""

    def __init__(self, data: bytes, calls: Calls, persistent: Callable[[Any], Any]) -> None:
        self._data, self._at = data, 0
        self._calls, self._persistent = calls, persistent
        self.stack: list[Any] = []
        self._outer: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}

    # ---- reading -----------------------------------------------------------------------

    def byte(self) -> int:
        """Return the next byte; IndexError if there is none."""
        byte = self._data[self._at]
        self._at += 1
        return byte

    def take(self, nbytes: int) -> bytes:
        """Return the next bytes; EOFError if there are fewer."""
        taken = self._data[self._at : self._at + nbytes]
        self._at += nbytes
        if len(taken) < nbytes:
            raise EOFError
        return taken

    def size(self, nbytes: int) -> int:
        """Return a whole number of so many bytes, 0 or above."""
        return int.from_bytes(self.take(nbytes), "little")

    def line(self) -> bytes:
        """Return the rest of the line."""
        end = self._data.index(b"\n", self._at)
        line = self._data[self._at : end]
        self._at = end + 1
        return line

    def name(self) -> Named:
        """Return the name in the next two lines."""
        return Named(self.line().decode(), self.line().decode())

    # ---- the stack ---------------------------------------------------------------------

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def mark(self) -> None:
        """Begin a list of values."""
        self._outer.append(self.stack)
        self.stack = []

    def marked(self) -> list[Any]:
        """Return the values since the last mark, and remove both."""
        values = self.stack
        self.stack = self._outer.pop()
        return values

    def pop(self) -> None:
        """Remove the last value, or the mark if there is none since."""
        if self.stack:
            self.stack.pop()
        else:
            self.marked()

    def last(self, n: int) -> tuple[Any, ...]:
        """Return the last ``n`` values, and remove them."""
        values = tuple(self.stack[-n:])
        if len(values) < n:
            raise pickle.UnpicklingError("too few values")
        del self.stack[-n:]
        return values

    def put(self, key: int) -> None:
        """Remember the last value."""
        if not 0 <= key < 2**32:  # numbers without bound can be chosen to have equal hashes
            raise pickle.UnpicklingError("no number of a value")
        self._memo[key] = self.stack[-1]

    def memoize(self) -> None:
        """Remember the last value under the next number."""
        self._memo[len(self._memo)] = self.stack[-1]

    def get(self, key: int) -> None:
        """Put a remembered value on the stack."""
        self.stack.append(self._memo[key])

    # ---- containers --------------------------------------------------------------------

    def extend(self, values: list[Any]) -> None:
        """Add values to the list on the stack; to anything else, they are dropped."""
        if type(self.stack[-1]) is list:
            self.stack[-1].extend(values)

    def update(self, values: list[Any]) -> None:
        """Add keys and values to the dictionary on the stack, if the keys are names or numbers."""
        entries = self.stack[-1]
        if not isinstance(entries, dict):
            return
        for key, value in zip(values[::2], values[1::2], strict=True):
            # The hash of a tuple of tuples of … takes 2 to the depth; for whole numbers see put.
            if key is None or type(key) in (str, float, bool, bytes) or is_whole(key):
                entries[key] = value

    # ---- objects -----------------------------------------------------------------------

    def make(self, what: Any, args: Any) -> None:
        """Put on the stack what stands for a call."""
        of = what if isinstance(what, Named) else None
        call = None if of is None else self._calls.get(of)
        if call is None or type(args) is not tuple or len(args) > MAX_ARGUMENTS:
            self.push(StandIn(of, args))
        else:
            self.push(call(*args))

    def build(self) -> None:
        """Keep the state of a stand-in; that of a dictionary or a tensor is dropped."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], StandIn):
            self.stack[-1].state = state

    def find(self, key: Any) -> None:
        """Put on the stack what a persistent id stands for."""
        self.push(self._persistent(key))


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number of 64 bits."""
    return type(value) is int and -(2**63) <= value < 2**63


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _old_text(raw: bytes) -> str:
    """Decode a text of Python 2, in which bytes had the same type."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _whole(raw: bytes) -> int | None:
    return int.from_bytes(raw, "little", signed=True) if len(raw) <= MAX_WHOLE else None


def _line_number(line: bytes) -> int | bool | None:
    if line in (b"00", b"01"):
        return line == b"01"
    line = line.removesuffix(b"L")
    return int(line) if len(line) <= MAX_WHOLE else None


def _global(machine: _Machine) -> None:
    module, name = machine.last(2)
    machine.push(Named(str(module), str(name)) if type(module) is type(name) is str else None)


def _dict(machine: _Machine) -> None:
    values = machine.marked()
    machine.push({})
    machine.update(values)


def _inst(machine: _Machine) -> None:
    of = machine.name()
    machine.make(of, tuple(machine.marked()))


def _obj(machine: _Machine) -> None:
    of, *args = machine.marked()
    machine.make(of, tuple(args))


_Operation = Callable[[_Machine], Any]


def _sized(length: int, convert: Callable[[bytes], Any]) -> _Operation:
    """Return the operation that puts a value with its length before it on the stack."""
    return lambda m: m.push(convert(m.take(m.size(length))))


def _fixed(form: str) -> _Operation:
    unpack, nbytes = struct.Struct(form).unpack, struct.calcsize(form)
    return lambda m: m.push(unpack(m.take(nbytes))[0])


_STOP = pickle.STOP[0]

_CODES: Mapping[bytes, _Operation] = {
    pickle.PROTO: _Machine.byte,
    pickle.FRAME: lambda m: m.take(8),
    # Constants, numbers, texts and bytes.
    pickle.NONE: lambda m: m.push(None),
    pickle.NEWTRUE: lambda m: m.push(True),
    pickle.NEWFALSE: lambda m: m.push(False),
    pickle.INT: lambda m: m.push(_line_number(m.line())),
    pickle.LONG: lambda m: m.push(_line_number(m.line())),
    pickle.FLOAT: lambda m: m.push(float(m.line())),
    pickle.BININT: _fixed("<i"),
    pickle.BININT1: lambda m: m.push(m.byte()),
    pickle.BININT2: _fixed("<H"),
    pickle.BINFLOAT: _fixed(">d"),
    pickle.LONG1: _sized(1, _whole),
    pickle.LONG4: _sized(4, _whole),
    pickle.STRING: lambda m: m.push(_old_text(codecs.escape_decode(m.line()[1:-1])[0])),
    pickle.BINSTRING: _sized(4, _old_text),
    pickle.SHORT_BINSTRING: _sized(1, _old_text),
    pickle.UNICODE: lambda m: m.push(m.line().decode("raw-unicode-escape")),
    pickle.SHORT_BINUNICODE: _sized(1, _text),
    pickle.BINUNICODE: _sized(4, _text),
    pickle.BINUNICODE8: _sized(8, _text),
    pickle.SHORT_BINBYTES: _sized(1, bytes),
    pickle.BINBYTES: _sized(4, bytes),
    pickle.BINBYTES8: _sized(8, bytes),
    pickle.BYTEARRAY8: _sized(8, bytes),
    # Containers; a set is a list.
    pickle.MARK: _Machine.mark,
    pickle.POP: _Machine.pop,
    pickle.POP_MARK: _Machine.marked,
    pickle.DUP: lambda m: m.push(m.stack[-1]),
    pickle.EMPTY_TUPLE: lambda m: m.push(()),
    pickle.TUPLE1: lambda m: m.push(m.last(1)),
    pickle.TUPLE2: lambda m: m.push(m.last(2)),
    pickle.TUPLE3: lambda m: m.push(m.last(3)),
    pickle.TUPLE: lambda m: m.push(tuple(m.marked())),
    pickle.EMPTY_LIST: lambda m: m.push([]),
    pickle.EMPTY_SET: lambda m: m.push([]),
    pickle.LIST: lambda m: m.push(m.marked()),
    pickle.FROZENSET: lambda m: m.push(m.marked()),
    pickle.APPEND: lambda m: m.extend([m.stack.pop()]),
    pickle.APPENDS: lambda m: m.extend(m.marked()),
    pickle.ADDITEMS: lambda m: m.extend(m.marked()),
    pickle.EMPTY_DICT: lambda m: m.push({}),
    pickle.DICT: _dict,
    pickle.SETITEM: lambda m: m.update(list(m.last(2))),
    pickle.SETITEMS: lambda m: m.update(m.marked()),
    pickle.PUT: lambda m: m.put(int(m.line())),
    pickle.BINPUT: lambda m: m.put(m.byte()),
    pickle.LONG_BINPUT: lambda m: m.put(m.size(4)),
    pickle.MEMOIZE: _Machine.memoize,
    pickle.GET: lambda m: m.get(int(m.line())),
    pickle.BINGET: lambda m: m.get(m.byte()),
    pickle.LONG_BINGET: lambda m: m.get(m.size(4)),
    # Objects. Extension codes and buffers outside the pickle are in no file, and refused.
    pickle.GLOBAL: lambda m: m.push(m.name()),
    pickle.STACK_GLOBAL: _global,
    pickle.REDUCE: lambda m: m.make(*m.last(2)),
    pickle.NEWOBJ: lambda m: m.make(*m.last(2)),
    pickle.NEWOBJ_EX: lambda m: m.make(*m.last(3)[:2]),
    pickle.OBJ: _obj,
    pickle.INST: _inst,
    pickle.BUILD: _Machine.build,
    pickle.PERSID: lambda m: m.find(m.line()),
    pickle.BINPERSID: lambda m: m.find(m.stack.pop()),
}

_OPERATIONS = {code[0]: operation for code, operation in _CODES.items()}
