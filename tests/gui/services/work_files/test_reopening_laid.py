"""What is laid over the curve, in saved work and in views to go to; no window."""

from dataclasses import replace

import numpy as np
import pytest

from gui.services.work_files.reopening import take_laying, take_other, take_work
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfCompared, OfRange, OfStep
from gui.state.session import Session


@pytest.fixture
def take(session, controller):
    """Take down the models beside the open one and what is laid over it, too."""

    def taken(path=None):
        opened = controller.comparing.opened
        others = tuple(take_other(at, wanted, None, path) for _, at, wanted in opened)
        laying = take_laying(session, [key for key, _, _ in opened])
        work = take_work(session, controller.shown, None, path)
        return replace(work, others=others, laying=laying)

    return taken


@pytest.fixture
def two(session, controller, write_table, helix):
    """Two models beside the open one; returns their keys."""
    controller.open(str(write_table()))
    tables = {"long": helix(300, 20, seed=11), "short": helix(120, 16, seed=9)}
    return [controller.comparing.add(str(write_table(W, name))) for name, W in tables.items()]


def laid_of(session) -> str:
    """The name of the model that is laid over the open one."""
    (name,) = [one.name for one in session.compared if one.key == session.laying.what.key]
    return name


HOWS = [
    CurveAlignment(OfRange((3, 90)), "scaled", mirrored=False),
    CurveAlignment(OfStep(40), "basis", middle="own"),
]


@pytest.mark.parametrize("laying", HOWS, ids=["range", "step"])
def test_another_range_or_step_is_laid_over_again(opened, controller, take, tmp_path, laying):
    opened.laying = laying
    write_work(take(), tmp_path / "a.helix")
    source = opened.model.source
    opened.laying = None
    controller.open(source)
    assert opened.laying is None
    controller.open(str(tmp_path / "a.helix"))
    assert opened.laying == laying
    assert (opened.laid is not None) is isinstance(laying.what, OfRange)


def test_a_model_beside_it_is_laid_over_again(session, controller, two, take, tmp_path):
    session.laying = CurveAlignment(OfCompared(two[1]), "scaled")
    laid = session.laid.coordinates.copy()
    path = tmp_path / "a.helix"
    write_work(take(path), path)
    assert read_work(path).laying == CurveAlignment(OfCompared(1), "scaled")
    controller.comparing.clear()
    assert session.laying is None
    controller.open(str(path))
    assert session.laying.how == "scaled"
    assert session.laying.what.key not in two  # keys are never used again
    assert laid_of(session) == "short"
    np.testing.assert_allclose(session.laid.coordinates, laid, atol=1e-9)


def test_one_that_is_gone_is_not_laid_over(session, controller, two, take, tmp_path):
    session.laying = CurveAlignment(OfCompared(two[0]))
    path = tmp_path / "a.helix"
    write_work(take(path), path)
    (tmp_path / "long.npy").unlink()
    controller.open(str(path))
    assert [one.name for one in session.compared] == ["short"]
    assert session.laying is None
    assert session.laid is None


def test_one_that_is_still_being_read_is_not_taken_down():
    session = Session(laying=CurveAlignment(OfCompared(4), "scaled"))
    assert take_laying(session, [7]) is None
    assert take_laying(session, [7, 4]) == CurveAlignment(OfCompared(1), "scaled")


def test_a_view_is_shown_with_what_is_laid_over_it_if_that_is_there(
    session, controller, two, take, write_table, helix
):
    session.laying = CurveAlignment(OfCompared(two[0]), "scaled")
    view = take()
    session.laying = None
    controller.go_to(view)
    assert laid_of(session) == "long"
    controller.comparing.move(two[0], 2)
    controller.comparing.make_main(two[1])
    session.laying = None
    controller.go_to(view)  # the open model is one beside another now
    assert session.model.name == "helix"
    assert laid_of(session) == "long"
    controller.comparing.remove(session.laying.what.key)
    controller.go_to(view)
    assert session.laying is None
    assert session.laid is None
    controller.open(str(write_table(helix(64, 12, 1), "another")))
    controller.go_to(view)
    assert session.model.name == "helix"
    assert session.laying is None


def test_a_view_with_nothing_laid_over_takes_it_away(opened, controller, take):
    view = take()
    opened.laying = CurveAlignment(OfRange((1, 50)))
    controller.go_to(view)
    assert opened.laying is None
    assert opened.laid is None
