"""Large downloads: nothing is fetched for an answer beyond what the user agreed to."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from geometry.hub.faults import WholeDownload

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.services.questions import Question, QuestionContext

R = TypeVar("R")


class FetchFirst(Exception):
    """So many bytes would have to be fetched, and the user has not agreed to it.

    Attributes
    ----------
    nbytes
        How many; 0 where nobody says it.
    why
        A sentence, or "" where a tensor is simply large.
    """

    def __init__(self, nbytes: int, why: str = "") -> None:
        super().__init__(nbytes)
        self.nbytes, self.why = nbytes, why


def answer_within(question: Question[R], about: QuestionContext, agreed: float) -> R:
    """Answer a question on this thread, unless more is to be fetched than the user agreed to.

    Parameters
    ----------
    question, about
        What is asked, and about what.
    agreed
        Bytes that the user agreed to; 0 before anything was asked.

    Raises
    ------
    FetchFirst
        The user is to be asked.
    HelixscopeError
        As :func:`gui.services.questions.resolve`.
    """
    from geometry.hub.network import LARGE
    from gui.services.questions import resolve

    try:
        nbytes = _to_fetch(about.model, question)
        if nbytes > max(LARGE, agreed):
            raise FetchFirst(nbytes)
        return resolve(question, about)
    except WholeDownload as error:
        nbytes = _whole(about.model, question, error)
        if (nbytes or math.inf) > agreed:
            raise FetchFirst(nbytes, str(error)) from error
    about.model.agree("whole files")
    return resolve(question, about)


def _whole(model: PositionalModel, question: object, error: WholeDownload) -> int:
    """Return what a question takes from a server that sends no parts of files; 0 if unknown."""
    if error.nbytes is None:
        return 0
    with suppress(WholeDownload):  # of another file, whose size nobody has said yet
        return max(error.nbytes, _to_fetch(model, question))
    return error.nbytes


def _to_fetch(model: PositionalModel, question: object) -> int:
    """Return how many bytes of the question's tensors are on the Hub and not here."""
    from gui.services.questions import ReadsTensors

    # What the checkpoint lacks counts nothing: the question says how that concerns it.
    return model.bytes_to_fetch_for(question.tensors()) if isinstance(question, ReadsTensors) else 0
