"""Tests of answers about the models beside the open one, without a window."""

from dataclasses import dataclass, replace

import pytest

from geometry.checkpoints.errors import RangeError
from gui.services.compared_answers import AT_ONCE, ComparedAnswers
from gui.services.jobs.jobs import InlineJobs
from gui.services.questions import QuestionContext
from tests.gui.compared_stage import ComparedStage


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows the model has, times something."""

    times: int = 1

    def answer(self, about: QuestionContext) -> int:
        if not self.times:
            raise RangeError("nothing times")
        return len(about.model.W_pos) * self.times


@pytest.fixture
def beside(opened, write_table, helix):
    """Three models of 40, 60 and 80 rows beside the open one."""
    made = ComparedStage(opened)
    for rows in (40, 60, 80):
        made.add(write_table(helix(rows), f"rows-{rows}"))
    yield made
    made.close()


@pytest.fixture
def answers(opened):
    made = ComparedAnswers(opened, InlineJobs())
    yield made
    made.close()


def results(session, slot="rows"):
    return [
        c.session.answers[slot].result if slot in c.session.answers else None
        for c in session.compared
    ]


def test_each_answers_for_its_own_model(opened, beside, answers):
    for compared in opened.compared:
        answers.ask("rows", compared.key, Rows())
    assert results(opened) == [40, 60, 80]
    assert "rows" not in opened.answers


def test_what_is_not_possible_for_one_is_for_others(opened, beside, answers):
    answers.ask("rows", 1, Rows(0))
    answers.ask("rows", 2, Rows(2))
    assert opened.compared[0].session.answers["rows"].state == "impossible"
    assert results(opened) == [None, 120, None]


def test_a_few_are_worked_on_at_a_time(opened, beside, hand_jobs):
    answers = ComparedAnswers(opened, hand_jobs)
    for compared in opened.compared:
        answers.ask("rows", compared.key, Rows())
    assert len(hand_jobs.waiting) == AT_ONCE == 2
    hand_jobs.deliver_all()
    assert results(opened) == [40, 60, 80]
    answers.close()


def test_one_that_goes_is_answered_no_more(opened, beside, hand_jobs):
    answers = ComparedAnswers(opened, hand_jobs)
    gone = opened.compared[0].session
    for compared in opened.compared:
        answers.ask("rows", compared.key, Rows())
    beside.remove(1)
    answers.ask("rows", 1, Rows(3))
    hand_jobs.deliver_all()
    assert "rows" not in gone.answers
    assert results(opened) == [60, 80]
    answers.close()


def test_what_nobody_looks_at_is_given_up(opened, beside, hand_jobs):
    answers = ComparedAnswers(opened, hand_jobs)
    for compared in opened.compared:
        answers.ask("rows", compared.key, Rows())
        answers.ask("other", compared.key, Rows(2))
    answers.forget("rows")
    hand_jobs.deliver_all()
    assert results(opened) == [None, None, None]
    assert results(opened, "other") == [80, 120, 160]
    answers.close()


def test_another_model_in_ones_place_is_asked_anew(opened, beside, answers, open_table, helix):
    answers.ask("rows", 1, Rows())
    other = opened.compared[0].session
    other.model = open_table(helix(50), "rows-50")
    assert "rows" not in other.answers
    answers.ask("rows", 1, Rows())
    assert results(opened)[0] == 50


def test_hiding_is_of_a_model_and_goes_with_it(opened, controller, beside):
    opened.hidden_curves = frozenset({("norms", 1), ("spectra", 2), ("norms", 3)})
    beside.remove(3)
    assert opened.hidden_curves == {("norms", 1), ("spectra", 2)}
    # As when it and the open model change places.
    first, second = opened.compared
    opened.compared = (replace(first, source="another"), second)
    assert opened.hidden_curves == {("spectra", 2)}


def test_a_colour_stays_while_others_come_and_go(opened, controller, beside, write_table):
    assert dict(opened.compared_colors) == {1: 0, 2: 1, 3: 2}
    beside.remove(2)
    assert dict(opened.compared_colors) == {1: 0, 3: 2}
    beside.add(write_table(name="again"))
    assert dict(opened.compared_colors) == {1: 0, 3: 2, 4: 1}
    opened.compared = opened.compared[::-1]
    assert dict(opened.compared_colors) == {1: 0, 3: 2, 4: 1}
