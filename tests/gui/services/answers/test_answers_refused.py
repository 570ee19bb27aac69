"""Questions that cannot be answered, or only at a cost."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from geometry.checkpoints.errors import HelixscopeError, TensorUnavailable
from geometry.hub.faults import WholeDownload
from geometry.models.residual_stream import Subject
from gui.services.answers import FAULT, Answers
from gui.services.jobs.jobs import InlineJobs
from gui.services.questions import QuestionContext, tensors_of


@dataclass(frozen=True, slots=True)
class Failing:
    """A question with no answer."""

    error: Exception = field(hash=False)

    def answer(self, about: QuestionContext) -> None:
        raise self.error


@dataclass(frozen=True, slots=True)
class NeedsE:
    """Something that reads the token embeddings."""

    def tensors(self) -> tuple[tuple[str, int], ...]:
        return tensors_of(Subject("E"), Subject("P"))

    def answer(self, about: QuestionContext) -> str:
        return "read"


def test_what_a_checkpoint_lacks_is_not_possible_and_final(session, answers, hand_jobs):
    answers.ask("a", Failing(TensorUnavailable("No E.", "Open the full one.")))
    hand_jobs.deliver_all()
    answer = session.answers["a"]
    assert (answer.state, answer.why, answer.advice) == (
        "impossible",
        "No E.",
        "Open the full one.",
    )
    assert not answer.retry
    assert answer.result is None


@dataclass(frozen=True, slots=True)
class Whole:
    """Something in a file that comes as a whole or not at all."""

    nbytes: int | None
    agreed: list[str] = field(hash=False, compare=False)

    def answer(self, about: QuestionContext) -> str:
        if not self.agreed:
            raise WholeDownload("model.safetensors", self.nbytes)
        return "read"


@pytest.mark.parametrize(("nbytes", "cost"), [(548_000_000, "all 548 MB of"), (None, "all of")])
def test_server_without_ranges_asks_about_the_cost(session, answers, hand_jobs, nbytes, cost):
    question = Whole(nbytes, [])
    session.model.agree = question.agreed.append
    answers.ask("a", question)
    hand_jobs.deliver_all()
    told = session.answers["a"]
    assert (told.state, told.bytes_to_fetch) == ("to fetch", nbytes or 0)
    assert cost in told.why
    answers.ask("a", question, fetch=True)
    hand_jobs.deliver_all()
    assert session.answers["a"].result == "read"
    assert question.agreed == ["whole files"]


def test_who_agreed_to_less_is_asked_again_for_the_whole_file(session, answers, hand_jobs):
    class OfAFile(Whole):
        def tensors(self):
            return (("W_E", 0),)

    question = OfAFile(548_000_000, [])
    session.model.agree = question.agreed.append
    session.model.bytes_to_fetch_for = lambda matrices: 154_000_000
    answers.ask("a", question)
    hand_jobs.deliver_all()
    assert (session.answers["a"].why, session.answers["a"].bytes_to_fetch) == ("", 154_000_000)
    answers.ask("a", question, fetch=True)
    hand_jobs.deliver_all()
    assert (session.answers["a"].state, question.agreed) == ("to fetch", [])
    assert session.answers["a"].bytes_to_fetch == 548_000_000
    answers.ask("a", question, fetch=True)
    hand_jobs.deliver_all()
    assert session.answers["a"].result == "read"


def test_what_was_agreed_to_is_not_asked_again_after_it_was_cancelled(session, answers, hand_jobs):
    session.model.bytes_to_fetch_for = lambda matrices: 154_000_000
    answers.ask("a", NeedsE())
    hand_jobs.deliver_all()
    answers.ask("a", NeedsE(), fetch=True)
    answers.cancel("a")
    assert session.answers["a"].state == "cancelled"
    answers.ask("a", NeedsE())
    hand_jobs.deliver_all()
    assert session.answers["a"].result == "read"


def test_other_errors_of_ours_can_be_tried_again(session, answers, hand_jobs):
    question = Failing(HelixscopeError("The line is down."))
    answers.ask("a", question)
    hand_jobs.deliver_all()
    assert session.answers["a"].retry
    answers.ask("a", question)
    assert len(hand_jobs.started) == 2


def test_a_fault_is_logged_and_named(session, answers, hand_jobs, caplog):
    answers.ask("a", Failing(ZeroDivisionError("by nothing")))
    hand_jobs.deliver_all()
    answer = session.answers["a"]
    assert answer.state == "impossible"
    assert "ZeroDivisionError: by nothing" in answer.why
    assert answer.advice == FAULT
    assert caplog.records[0].exc_info


def test_a_large_download_is_asked_about_first(session, hand_jobs):
    model = SimpleNamespace(
        bytes_to_fetch_for=lambda matrices: 154_000_000 if ("W_E", 0) in matrices else 0,
        through=session.model.through,
    )
    session.model = model
    answers = Answers(session, InlineJobs())
    answers._stream = SimpleNamespace(told=lambda tell: None)
    answers.ask("a", NeedsE())
    assert session.answers["a"].state == "to fetch"
    assert session.answers["a"].bytes_to_fetch == 154_000_000
    answers.ask("a", NeedsE(), fetch=True)
    assert session.answers["a"].result == "read"
    answers.close()
