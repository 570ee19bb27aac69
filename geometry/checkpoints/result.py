"""Results: frozen dataclasses of arrays, which print in a line or two."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from geometry.checkpoints.plain_text import shortened

T = TypeVar("T")
LONGEST = 60
"""Maximum characters of a field."""


@dataclass_transform(eq_default=False, frozen_default=True)
def result(of: type[T]) -> type[T]:
    """Make a class a frozen dataclass, compared by identity, whose arrays print as their shapes."""
    if "__repr__" not in vars(of):
        of.__repr__ = _text  # type: ignore[method-assign]
    make: Callable[[type[T]], type[T]] = dataclass(
        frozen=True, eq=False, slots=True, weakref_slot=True, repr=False
    )
    return make(of)


def _text(self: Any) -> str:
    values = (f"{field.name}={_brief(getattr(self, field.name))}" for field in fields(self))
    return f"{type(self).__name__}({', '.join(values)})"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if is_dataclass(value):
        return f"{type(value).__name__}(…)"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = repr(value) if not isinstance(value, Collection) or len(value) <= 3 else ""
    if text and len(text) <= LONGEST and "array(" not in text:
        return text
    if isinstance(value, str) or not isinstance(value, Collection):
        return shortened(text or repr(value), LONGEST)
    return f"{type(value).__name__} of {len(value)}"
