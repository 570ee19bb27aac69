"""What is laid over the curve, in saved work and in views to go to; no window."""

from dataclasses import replace

import numpy as np
import pytest

from gui.services.work_files.reopening import take_alignment, take_other, take_work
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfCompared, OfRange, OfStep
from gui.state.session import Session


@pytest.fixture
def take(session, controller):
    """Take down the models beside the open one and what is laid over it, too."""

    def taken(path=None):
        opened = controller.comparing.opened
        others = tuple(take_other(at, wanted, None, path) for _, at, wanted in opened)
        alignment = take_alignment(session, [key for key, _, _ in opened])
        work = take_work(session, controller.shown, None, path)
        return replace(work, others=others, alignment=alignment)

    return taken


@pytest.fixture
def two(session, controller, write_table, helix):
    """Two models beside the open one; returns their keys."""
    controller.open(str(write_table()))
    tables = {"long": helix(300, 20, seed=11), "short": helix(120, 16, seed=9)}
    return [controller.comparing.add(str(write_table(W, name))) for name, W in tables.items()]


def laid_of(session) -> str:
    """The name of the model that is laid over the open one."""
    (name,) = [one.name for one in session.compared if one.key == session.alignment.what.key]
    return name


HOWS = [
    CurveAlignment(OfRange((3, 90)), "scaled", mirrored=False),
    CurveAlignment(OfStep(40), "basis", middle="own"),
]


@pytest.mark.parametrize("alignment", HOWS, ids=["range", "step"])
def test_another_range_or_step_is_laid_over_again(opened, controller, take, tmp_path, alignment):
    opened.alignment = alignment
    write_work(take(), tmp_path / "a.helix")
    source = opened.model.source
    opened.alignment = None
    controller.open(source)
    assert opened.alignment is None
    controller.open(str(tmp_path / "a.helix"))
    assert opened.alignment == alignment
    assert (opened.aligned is not None) is isinstance(alignment.what, OfRange)


def test_a_model_beside_it_is_laid_over_again(session, controller, two, take, tmp_path):
    session.alignment = CurveAlignment(OfCompared(two[1]), "scaled")
    aligned = session.aligned.coordinates.copy()
    path = tmp_path / "a.helix"
    write_work(take(path), path)
    assert read_work(path).alignment == CurveAlignment(OfCompared(1), "scaled")
    controller.comparing.clear()
    assert session.alignment is None
    controller.open(str(path))
    assert session.alignment.how == "scaled"
    assert session.alignment.what.key not in two  # keys are never used again
    assert laid_of(session) == "short"
    np.testing.assert_allclose(session.aligned.coordinates, aligned, atol=1e-9)


def test_one_that_is_gone_is_not_laid_over(session, controller, two, take, tmp_path):
    session.alignment = CurveAlignment(OfCompared(two[0]))
    path = tmp_path / "a.helix"
    write_work(take(path), path)
    (tmp_path / "long.npy").unlink()
    controller.open(str(path))
    assert [one.name for one in session.compared] == ["short"]
    assert session.alignment is None
    assert session.aligned is None


def test_one_that_is_still_being_read_is_not_taken_down():
    session = Session(alignment=CurveAlignment(OfCompared(4), "scaled"))
    assert take_alignment(session, [7]) is None
    assert take_alignment(session, [7, 4]) == CurveAlignment(OfCompared(1), "scaled")


def test_a_view_is_shown_with_what_is_laid_over_it_if_that_is_there(
    session, controller, two, take, write_table, helix
):
    session.alignment = CurveAlignment(OfCompared(two[0]), "scaled")
    view = take()
    session.alignment = None
    controller.go_to(view)
    assert laid_of(session) == "long"
    controller.comparing.move(two[0], 2)
    controller.comparing.make_main(two[1])
    session.alignment = None
    controller.go_to(view)  # the open model is one beside another now
    assert session.model.name == "helix"
    assert laid_of(session) == "long"
    controller.comparing.remove(session.alignment.what.key)
    controller.go_to(view)
    assert session.alignment is None
    assert session.aligned is None
    controller.open(str(write_table(helix(64, 12, 1), "another")))
    controller.go_to(view)
    assert session.model.name == "helix"
    assert session.alignment is None


def test_a_view_with_nothing_laid_over_takes_it_away(opened, controller, take):
    view = take()
    opened.alignment = CurveAlignment(OfRange((1, 50)))
    controller.go_to(view)
    assert opened.alignment is None
    assert opened.aligned is None
