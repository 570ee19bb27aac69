"""Facts: formatted numbers of the open model, for a lesson's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gui.services.lessons.findings import Findings
from gui.services.questions import Tensor


@dataclass(frozen=True, slots=True)
class Fact:
    """A formatted number for a lesson's text."""

    meaning: str  # Its definition, for authors of lessons
    find: Callable[[Findings], str]  # Computes it for the open model and a range of positions
    tensors: tuple[Tensor, ...] = ()  # Tensors it reads besides P
