"""The answer to a panel's question: its state, and the result or the reason for its lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["working", "ready", "impossible", "cancelled", "to fetch"]


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """The answer to a question so far."""

    question: Any
    # "ready": there is a result. "working": it takes long enough to show progress. "impossible":
    # there is none, for the reason ``why``. "cancelled": by the user. "to fetch": it needs a
    # download so large that the user is asked first.
    state: State
    # The result; while "working", and if "cancelled", a partial result, if any; otherwise None.
    result: Any = None
    # The reason for the lack of a result or for a large download, and advice, as sentences.
    why: str = ""
    advice: str = ""
    retry: bool = False  # Whether trying again may help
    # Progress of the work, 0 to 1 or None, and a description.
    fraction: float | None = None
    message: str = ""
    bytes_to_fetch: int = 0  # Size of the download; 0 if unknown
