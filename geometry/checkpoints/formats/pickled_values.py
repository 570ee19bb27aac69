"""Reading of pickles as data, without importing or calling anything.

A pickle is a program for a small stack machine; that of the standard library imports and calls the
named classes and functions. This machine has no such operation: a name becomes a :class:`Named`,
and an object created with it a :class:`StandIn`, except for a few names for which the caller gives
functions. The results are dictionaries, lists, tuples, texts, numbers and stand-ins. The operations
are those of the module ``pickletools``, protocols 0 to 5.
"""

from __future__ import annotations

import codecs
import pickle
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard

from geometry.checkpoints.result import result

MAX_OPERATIONS = 1_500_000
"""Maximum operations of a pickle, as many as for a list of a million numbers. Each creates at most
a few hundred bytes, and all of them take at most two seconds."""

MAX_ARGUMENTS = 16
"""Maximum arguments of a call. Calls with more become stand-ins, since one long tuple can be the
arguments of all calls."""

LONG = 10_000
"""Bytes from which a text or a value of bytes, such as an array's numbers, is not read, but becomes
its :class:`Place`."""

_WINDOW = 1 << 16
"""Bytes of a pickle that are read at once."""

MAX_WHOLE = 32
"""Maximum bytes of an integer: those of random generators have 16."""


class Named(NamedTuple):
    """A class or a function that a pickle names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class StandIn(dict[Any, Any]):
    """Stands for an object of an unknown class, and does nothing.

    As a dictionary, it has the entries of such an object, since classes derived from dict are
    pickled with entries.

    Attributes
    ----------
    of
        Its class, or the function that would have created it; None if unknown.
    args
        The arguments of the call that would have created it.
    state
        The state from which its attributes would have been set, usually a dictionary.
    """

    __slots__ = ("args", "of", "state")

    def __init__(self, of: Named | None, args: Any = ()) -> None:
        self.of = of
        self.args = args
        self.state: Any = None


class Place(NamedTuple):
    """Where the bytes of a long text or value of bytes are in a pickle, and how to decode them.

    Attributes
    ----------
    start, nbytes
        The first of them, and their number.
    encoding
        "utf-8" or "raw_unicode_escape" of a text, "escape" of one of Python 2, "" of bytes.
    """

    start: int
    nbytes: int
    encoding: str


@result
class ObjectKey:
    """An object as a key of a dictionary, where only itself is equal to it."""

    of: StandIn


Calls = Mapping[tuple[str, str], Callable[..., Any]]

Read = Callable[[int, int], bytes]
"""Returns as many bytes of a file from a place on as it is asked for, fewer only at its end."""


def read_pickle(read: Read, calls: Calls, persistent: Callable[[Any], Any], at: int = 0) -> Any:
    """Return the value of a pickle.

    Parameters
    ----------
    read
        Reads the file with the pickle. It is called for windows of it, one after the other, but not
        for what is :data:`LONG`.
    calls
        Functions by name (module, name), called with at most :data:`MAX_ARGUMENTS` arguments.
        These can be anything, even the same large list many times; the results must be small.
    persistent
        Returns the value of a persistent id.
    at
        Where it begins.

    Raises
    ------
    Exception
        Any: it is damaged, has more than :data:`MAX_OPERATIONS`, or is nested too deeply.
    """
    return read_pickles(read, 1, calls, persistent, at)[0][0]


def read_pickles(
    read: Read, count: int, calls: Calls, persistent: Callable[[Any], Any], at: int = 0
) -> tuple[list[Any], int]:
    """Return the values of several pickles, one after the other, and where the last one ends.

    See :func:`read_pickle`; all together have at most :data:`MAX_OPERATIONS`.
    """
    values, machine = list[Any](), _Machine(read, calls, persistent, at)
    for _ in range(MAX_OPERATIONS):
        code = machine.byte()
        if code != _STOP:
            _OPERATIONS[code](machine)
            continue
        values.append(machine.stack[-1])
        if len(values) == count:
            return values, machine.at
        machine = _Machine(read, calls, persistent, machine.at)
    raise pickle.UnpicklingError(f"more than {MAX_OPERATIONS} operations")


class _Machine:
    """The stack, the memo, and the remaining data."""

    def __init__(self, read: Read, calls: Calls, persistent: Callable[[Any], Any], at: int) -> None:
        self._read = read
        self._window, self._first, self._next = b"", at, 0  # where it begins, and what is next
        self._calls, self._persistent = calls, persistent
        self.stack: list[Any] = []
        self._outer: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}

    # ---- reading -----------------------------------------------------------------------

    @property
    def at(self) -> int:
        """Where the remaining data begin."""
        return self._first + self._next

    def _move(self, at: int) -> None:
        """Read the window from a place on. Raises EOFError if nothing is there."""
        self._window, self._first, self._next = self._read(at, _WINDOW), at, 0
        if not self._window:
            raise EOFError

    def byte(self) -> int:
        """Return the next byte. Raises EOFError if there is none."""
        if self._next >= len(self._window):
            self._move(self.at)
        byte = self._window[self._next]
        self._next += 1
        return byte

    def take(self, nbytes: int) -> bytes:
        """Return the next bytes, fewer than :data:`LONG`. Raises EOFError if there are fewer."""
        if self._next + nbytes > len(self._window):
            self._move(self.at)
        taken = self._window[self._next : self._next + nbytes]
        self._next += nbytes
        if len(taken) < nbytes:
            raise EOFError
        return taken

    def skip(self, nbytes: int, encoding: str) -> Place:
        """Return the place of the next bytes, and skip them."""
        place = Place(self.at, nbytes, encoding)
        self._next += nbytes
        return place

    def size(self, nbytes: int) -> int:
        """Return a non-negative integer of ``nbytes`` bytes."""
        return int.from_bytes(self.take(nbytes), "little")

    def text_line(self, encoding: str) -> bytes | Place:
        """Return the rest of the line, or its place if it is long."""
        start = self.at
        while (end := self._window.find(b"\n", self._next)) < 0:
            self._move(max(self.at, self._first + len(self._window)))
        self._next, nbytes = end + 1, self._first + end - start
        if nbytes >= LONG:
            return Place(start, nbytes, encoding)
        within = start >= self._first
        return self._window[end - nbytes : end] if within else self._read(start, nbytes)

    def line(self) -> bytes:
        """Return the rest of the line, which is not long."""
        line = self.text_line("")
        if isinstance(line, Place):
            raise pickle.UnpicklingError("a number or a name without end")
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
        """Store the last value in the memo."""
        if not 0 <= key < 2**32:  # unlimited numbers can be chosen to have equal hashes
            raise pickle.UnpicklingError("no number of a value")
        self._memo[key] = self.stack[-1]

    def memoize(self) -> None:
        """Store the last value in the memo under the next number."""
        self._memo[len(self._memo)] = self.stack[-1]

    def get(self, key: int) -> None:
        """Put a value of the memo on the stack."""
        self.stack.append(self._memo[key])

    # ---- containers --------------------------------------------------------------------

    def extend(self, values: list[Any]) -> None:
        """Add values to the list on the stack; ignored if it is not a list."""
        if type(self.stack[-1]) is list:
            self.stack[-1].extend(values)

    def update(self, values: list[Any]) -> None:
        """Add keys and values to the dictionary on the stack, unless keys are containers."""
        entries = self.stack[-1]
        if not isinstance(entries, dict):
            return
        for key, value in zip(values[::2], values[1::2], strict=True):
            # Hashing nested tuples takes time exponential in their depth; for integers see put.
            if type(key) is StandIn:
                entries[ObjectKey(key)] = value
            elif key is None or type(key) in (str, float, bool, bytes) or is_whole(key):
                entries[key] = value

    # ---- objects -----------------------------------------------------------------------

    def make(self, callee: Any, args: Any) -> None:
        """Put the result of a call, or its stand-in, on the stack."""
        of = callee if isinstance(callee, Named) else None
        call = None if of is None else self._calls.get(of)
        if call is None or type(args) is not tuple or len(args) > MAX_ARGUMENTS:
            self.push(StandIn(of, args))
        else:
            self.push(call(*args))

    def build(self) -> None:
        """Store the state of a stand-in; ignored for a dictionary or a tensor."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], StandIn):
            self.stack[-1].state = state

    def find(self, key: Any) -> None:
        """Put the value of a persistent id on the stack."""
        self.push(self._persistent(key))


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a 64-bit integer."""
    return type(value) is int and -(2**63) <= value < 2**63


def _text(raw: bytes) -> str:
    return str(raw, "utf-8", "surrogatepass")


def _old_text(raw: bytes) -> str:
    """Decode a text of Python 2, in which bytes had the same type."""
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError:
        return str(raw, "latin-1")


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


def _sized(length: int, convert: Callable[[bytes], Any] = bytes, encoding: str = "") -> _Operation:
    """Return the operation that puts a length-prefixed value, or its place, on the stack."""

    def operation(m: _Machine) -> None:
        nbytes = m.size(length)
        m.push(convert(m.take(nbytes)) if nbytes < LONG else m.skip(nbytes, encoding))

    return operation


def _unicode(machine: _Machine) -> None:
    line = machine.text_line("raw_unicode_escape")
    machine.push(line if isinstance(line, Place) else codecs.raw_unicode_escape_decode(line)[0])


def _string(machine: _Machine) -> None:
    line = machine.text_line("escape")  # in quotes
    if isinstance(line, Place):
        machine.push(Place(line.start + 1, line.nbytes - 2, line.encoding))
    else:
        machine.push(_old_text(codecs.escape_decode(line[1:-1])[0]))


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
    pickle.STRING: _string,
    pickle.BINSTRING: _sized(4, _old_text),
    pickle.SHORT_BINSTRING: _sized(1, _old_text),
    pickle.UNICODE: _unicode,
    pickle.SHORT_BINUNICODE: _sized(1, _text, "utf-8"),
    pickle.BINUNICODE: _sized(4, _text, "utf-8"),
    pickle.BINUNICODE8: _sized(8, _text, "utf-8"),
    pickle.SHORT_BINBYTES: _sized(1),
    pickle.BINBYTES: _sized(4),
    pickle.BINBYTES8: _sized(8),
    pickle.BYTEARRAY8: _sized(8),
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
    # Objects. Extension codes and out-of-band buffers do not occur in files, and are refused.
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
