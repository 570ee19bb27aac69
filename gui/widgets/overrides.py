"""A boundary around what Qt calls in Python: no exception leaves an override of one of its methods.

PySide reports an exception that leaves a slot. One that leaves an override is kept, where Python is
further up the stack, and raised by whatever Python code calls Qt next. If C raised it, Python 3.11
may not have made an object of it yet, which PySide takes for one: the process ends.
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
    r"|data|headerData|rowCount|columnCount|sort|loadResource|moveCursor|focusNextPrevChild"
    r"|canInsertFromMimeData|fixup|stepBy|textFromValue|validate|valueFromText|reject|showPopup"
    r"|addItem|count|expandingDirections|hasHeightForWidth|itemAt|setGeometry|takeAt"
)
"""Methods that Qt calls; others with a name of Qt's are called from Python alone."""


def contain_overrides() -> None:
    """Put the boundary around all classes that extend one of Qt's, now and later; idempotent.

    Before the first of their objects is there: PySide looks methods up once for each.
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
    for one in below:
        yield one
        yield from _below(one)


def _contain(cls: type) -> None:
    for name, function in overrides(cls).items():
        if CALLED_BY_QT.fullmatch(name):
            setattr(cls, name, _contained(cls, name, function))


def overrides(cls: type) -> dict[str, FunctionType]:
    """Return the methods of a class written in Python that have a name of Qt's."""
    return {
        name: function
        for name, function in vars(cls).items()
        if isinstance(function, FunctionType)
        and not name.startswith("__")
        and any(
            name in vars(one) for one in cls.__mro__[1:] if one.__module__.startswith("PySide6")
        )
    }


def _contained(cls: type, name: str, function: Callable[..., object]) -> Callable[..., object]:
    """Return an override that reports its exceptions, and is then as if it were not there."""

    @wraps(function)
    def contained(self: object, *arguments: object, **named: object) -> object:
        try:
            return function(self, *arguments, **named)
        except Exception:
            with suppress(Exception):
                sys.excepthook(*sys.exc_info())
        with suppress(Exception):  # not every method has an implementation to fall back on
            return getattr(super(cls, self), name)(*arguments, **named)
        return None

    return contained
