"""Catches the exceptions of Python methods that override Qt's and are called by Qt.

PySide reports an exception that leaves a slot. An exception that leaves an override is kept, if
Python is further up the stack, and raised by the next Python code that calls Qt. If it was raised
in C, Python 3.11 may not have normalised it yet, which PySide does not expect: the process ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from types import FunctionType

from shiboken6 import Shiboken

CALLED_BY_QT = re.compile(
    r"event|eventFilter|viewportEvent|\w+Event|paint(GL)?|initializeGL|resizeGL"
    r"|sizeHint|minimumSizeHint|minimumSize|heightForWidth|boundingRect|shape|itemChange"
    r"|data|flags|headerData|rowCount|columnCount|sort|loadResource|moveCursor|focusNextPrevChild"
    r"|canInsertFromMimeData|fixup|stepBy|textFromValue|validate|valueFromText|reject|showPopup"
    r"|addItem|count|expandingDirections|hasHeightForWidth|itemAt|setGeometry|takeAt"
)
"""Methods that Qt calls; other overrides are called from Python only."""


def contain_overrides() -> None:
    """Contain the overrides of all classes that extend Qt's, now and later; idempotent.

    Call it before their first objects exist: PySide looks methods up once for each.
    """
    if "__init_subclass__" in vars(Shiboken.Object):
        return

    def contain_new(cls: type, **options: object) -> None:
        super(Shiboken.Object, cls).__init_subclass__(**options)  # type: ignore[misc]
        _contain(cls)

    Shiboken.Object.__init_subclass__ = classmethod(contain_new)  # type: ignore[assignment]
    for cls in set(_below(Shiboken.Object)):
        _contain(cls)


def _below(cls: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(cls)
    for subclass in below:
        yield subclass
        yield from _below(subclass)


def _contain(cls: type) -> None:
    for name, function in overrides(cls).items():
        if CALLED_BY_QT.fullmatch(name):
            setattr(cls, name, _contained(cls, name, function))


def overrides(cls: type) -> dict[str, FunctionType]:
    """Return the methods of a Python class that override Qt's."""
    return {
        name: function
        for name, function in vars(cls).items()
        if isinstance(function, FunctionType)
        and not name.startswith("__")
        and any(
            name in vars(base) for base in cls.__mro__[1:] if base.__module__.startswith("PySide6")
        )
    }


def _contained(cls: type, name: str, function: Callable[..., object]) -> Callable[..., object]:
    """Return an override that reports its exceptions, and then calls the base method instead."""

    @wraps(function)
    def contained(self: object, *arguments: object, **named: object) -> object:
        try:
            return function(self, *arguments, **named)
        except Exception:
            with suppress(Exception):
                sys.excepthook(*sys.exc_info())
        with suppress(Exception):  # some base methods have no implementation
            return getattr(super(cls, self), name)(*arguments, **named)
        return None

    return contained
