"""Results, which print in a line or two: frozen dataclasses of arrays, and several of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from geometry.checkpoints.plain_text import shortened

T = TypeVar("T")
LONGEST = 60
"""Maximum characters of a field."""
LONGEST_DICT = 400
"""Maximum characters of a dictionary."""


@dataclass_transform(eq_default=False, frozen_default=True)
def result(of: type[T]) -> type[T]:
    """Make a class a frozen dataclass, compared by identity, whose arrays print as their shapes."""
    if "__repr__" not in vars(of):
        of.__repr__ = _text  # type: ignore[method-assign]
    make: Callable[[type[T]], type[T]] = dataclass(
        frozen=True, eq=False, slots=True, weakref_slot=True, repr=False
    )
    return make(of)


class ResultTuple(tuple[T, ...]):
    """Results in an order, of which the first one is printed, and their number."""

    __slots__ = ()

    def __repr__(self) -> str:
        first = "".join(map(repr, self[:1]))
        return f"({first}, … {len(self)} in all)" if len(self) > 1 else f"({first})"


class ResultDict(dict[str, Any]):
    """Results by name, of which the names are printed, and the first numbers."""

    def __repr__(self) -> str:
        values = ", ".join(f"{key}: {_brief(value)}" for key, value in self.items())
        return f"{{{shortened(values, LONGEST_DICT)}}}"

    def __missing__(self, key: str) -> Any:
        near = get_close_matches(str(key), self)
        raise KeyError(f"{key}; did you mean {near[0]}?" if near else key)


def _text(self: Any) -> str:
    values = (
        f"{field.name}={_brief(getattr(self, field.name))}" for field in fields(self) if field.repr
    )
    return f"{type(self).__name__}({', '.join(values)})"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if is_dataclass(value):
        names = (getattr(value, name, None) for name in ("id", "key", "name"))
        named = next((name for name in names if isinstance(name, str)), "…")
        return f"{type(value).__name__}({shortened(named, LONGEST)})"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = repr(value) if not isinstance(value, Collection) or len(value) <= 3 else ""
    if text and len(text) <= LONGEST and "array(" not in text:
        return text
    if isinstance(value, str) or not isinstance(value, Collection):
        return shortened(text or repr(value), LONGEST)
    return f"{type(value).__name__} of {len(value)}"
