"""Fits of the models beside the open one: nothing is prepared for them on the GUI thread."""

import numpy as np
import pytest

from geometry.pca import range_pca
from geometry.pca.pca import fit_pca
from gui.services import fitting
from gui.services.controller import Controller

EYE = np.eye(3)


@pytest.fixture
def by_hand(session, hand_jobs, write_table):
    """The small helix open in a session whose jobs are delivered by the test."""
    made = Controller(session, hand_jobs)
    made.open(str(write_table()))
    hand_jobs.deliver_all()
    yield made
    made.close()


@pytest.fixture
def beside(by_hand, hand_jobs, write_table, helix):
    """The session of a model beside the small helix, whose ranges are linked to nothing yet."""
    by_hand.comparing.add(str(write_table(helix(300, 20, 11), "long")), (1, 299))
    hand_jobs.deliver_all()
    return by_hand.session.compared[0].session


@pytest.fixture
def prepared(monkeypatch):
    """The tables whose fast fits were prepared."""
    made = []
    for name in ("NarrowTable", "ReducedTable"):
        kind = getattr(range_pca, name)

        def counted(table, kind=kind):
            made.append(len(table))
            return kind(table)

        monkeypatch.setattr(range_pca, name, counted)
    return made


def assert_is_exact(session, positions):
    assert session.curve.pca.exact
    assert session.curve.pca.positions == session.positions == positions
    assert session.curve.components == session.components
    np.testing.assert_array_equal(session.turn, EYE)
    assert session.status == "Ready"


def test_a_model_beside_is_fitted_once_and_off_the_gui_thread_when_it_is_linked(
    session, by_hand, hand_jobs, beside, prepared, monkeypatch
):
    by_hand.request_positions(20, 190)
    session.components = (2, 3, 4)
    hand_jobs.deliver_all()
    fits = []
    monkeypatch.setattr(fitting, "fit_pca", lambda *a: fits.append(a[1]) or fit_pca(*a))
    session.ranges_linked = True
    assert (beside.positions, beside.components) == ((20, 190), (2, 3, 4))
    assert (beside.curve.pca.positions, fits) == ((1, 299), [])
    assert hand_jobs.started.count("view 1 exact") == 2, "of the whole range, and of this one"
    hand_jobs.deliver_all()
    assert fits == [(20, 190)]
    assert_is_exact(beside, (20, 190))
    assert 300 not in prepared, "nobody drags"


def test_a_short_range_is_shown_at_once(by_hand, hand_jobs, beside):
    by_hand.comparing.request_positions(1, 100, 160)
    assert beside.curve.pca.positions == (100, 160)
    hand_jobs.deliver_all()
    assert_is_exact(beside, (100, 160))


def test_a_drag_of_linked_ranges_prepares_in_the_background(
    session, by_hand, hand_jobs, beside, prepared
):
    session.ranges_linked = True
    hand_jobs.deliver_all()
    session.dragging = True
    for first in (5, 6, 7):
        by_hand.request_positions(first, 199)
        assert session.curve.pca.positions == (first, 199)
    assert beside.curve.pca.positions == (1, 199)
    assert 300 not in prepared
    assert set(hand_jobs.waiting) == {"view 1 range"}
    hand_jobs.deliver("view 1 range")
    assert prepared.count(300) == 1
    assert beside.curve.pca.positions == (7, 199)
    by_hand.request_positions(8, 199)
    assert beside.curve.pca.positions == (8, 199)
    session.dragging = False
    hand_jobs.deliver_all()
    assert_is_exact(beside, (8, 199))
    assert prepared.count(300) == 1


def test_what_is_fitted_in_the_background_never_takes_the_place_of_what_is_newer(
    session, by_hand, hand_jobs, beside
):
    session.ranges_linked = session.dragging = True
    by_hand.request_positions(5, 199)
    hand_jobs.compute("view 1 range")  # and is on its way
    by_hand.request_positions(6, 199)
    assert beside.curve.pca.positions == (6, 199)
    hand_jobs.deliver_all()
    assert beside.curve.pca.positions == (6, 199)
