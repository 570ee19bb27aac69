"""Consent to large downloads: answers download no more than the user agreed to."""

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
    """A large download is needed to which the user has not agreed.

    Attributes
    ----------
    nbytes
        Its size; 0 if unknown.
    why
        The reason as a sentence, or "" if just a tensor is large.
    """

    def __init__(self, nbytes: int, why: str = "") -> None:
        super().__init__(nbytes)
        self.nbytes, self.why = nbytes, why


def answer_within(question: Question[R], context: QuestionContext, agreed: float) -> R:
    """Answer a question on this thread, unless it needs a larger download than agreed to.

    Parameters
    ----------
    agreed
        Bytes that the user agreed to; 0 if not asked yet.

    Raises
    ------
    FetchFirst
        The user has to be asked.
    HelixscopeError
        As :func:`gui.services.questions.resolve`.
    """
    from geometry.hub.network import LARGE
    from gui.services.questions import resolve

    try:
        nbytes = _to_fetch(context.model, question)
        if nbytes > max(LARGE, agreed):
            raise FetchFirst(nbytes)
        return resolve(question, context)
    except WholeDownload as error:
        nbytes = _whole(context.model, question, error)
        if (nbytes or math.inf) > agreed:
            raise FetchFirst(nbytes, str(error)) from error
    context.model.agree("whole files")
    return resolve(question, context)


def _whole(model: PositionalModel, question: object, error: WholeDownload) -> int:
    """Return a question's download from a server without range support; 0 if unknown."""
    if error.nbytes is None:
        return 0
    with suppress(WholeDownload):  # of another file of unknown size
        return max(error.nbytes, _to_fetch(model, question))
    return error.nbytes


def _to_fetch(model: PositionalModel, question: object) -> int:
    """Return the size of the question's tensors that are on the Hub and not cached."""
    from gui.services.questions import ReadsTensors

    # Missing tensors count 0: the question itself reports them.
    return model.bytes_to_fetch_for(question.tensors()) if isinstance(question, ReadsTensors) else 0
