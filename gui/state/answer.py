"""What came of a question that a panel asked: a state, and a result or what there is to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["working", "ready", "impossible", "cancelled", "to fetch"]


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What came of a question so far.

    Attributes
    ----------
    question
        What was asked.
    state
        "ready": there is a result. "working": it has taken long enough for the user to wonder.
        "impossible": there is none, and ``why``. "cancelled": the user gave it up. "to fetch":
        so much would have to be downloaded that the user is asked first.
    result
        What the question gives; while "working" what is known of it, if anything; else None.
    why, advice
        Why there is no result, as a sentence, and what to do; or why so much is to be fetched.
    retry
        Whether asking again may help.
    fraction, message
        How far the work is, 0 to 1 or None, and what is being done.
    bytes_to_fetch
        How much would have to be downloaded; 0 where nobody says it.
    """

    question: Any
    state: State
    result: Any = None
    why: str = ""
    advice: str = ""
    retry: bool = False
    fraction: float | None = None
    message: str = ""
    bytes_to_fetch: int = 0
