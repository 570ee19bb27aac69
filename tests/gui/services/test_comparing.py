"""Models side by side, without a window: which there are, what they share, what stays their own."""

from dataclasses import dataclass, replace
from unittest.mock import Mock

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca
from gui.services.comparing import ANSWERS_AT_ONCE
from gui.services.controller import Controller
from gui.services.questions import QuestionContext
from gui.services.work_files.reopening import take_work
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.state.colors import color_scale, common_scale
from gui.state.fields import MAX_MODELS
from gui.state.values import Notice

FIRST = 0
"""The key of the model that is opened first."""


@pytest.fixture
def comparing(opened, controller):
    """What compares with the small helix (200 positions), which is open."""
    return controller.comparing


@pytest.fixture
def short(write_table, helix):
    """Another table, of 120 positions."""
    return str(write_table(helix(120, 16, seed=9), "short"))


@pytest.fixture
def long(write_table, helix):
    """Another table, of 300 positions."""
    return str(write_table(helix(300, 20, seed=11), "long"))


def session_of(session, key):
    return next(one.session for one in session.open_models if one.key == key)


def session_name(session, key):
    return next(one.name for one in session.open_models if one.key == key)


def names(session):
    return [one.name for one in session.open_models]


def test_another_model_is_shown_in_its_own_range_and_components(opened, comparing, short):
    opened.components = (2, 3, 4)
    key = comparing.add(short, (10, 50))
    other = session_of(opened, key)
    assert opened.others[0].name == other.model.name == "short"
    assert other.model.n_positions == 120
    assert other.positions == other.curve.pca.positions == (10, 50)
    assert other.components == other.curve.components == (2, 3, 4)
    exact = fit_pca(other.model.W_pos, (10, 50), 10)
    np.testing.assert_allclose(
        other.curve.explained_variance_ratio, exact.explained_variance_ratio[1:4], rtol=1e-9
    )
    comparing.request_positions(key, 90, 20)
    assert other.curve.pca.positions == (20, 90)
    comparing.request_positions(key, -5, 900)
    assert other.positions == (0, 119)
    assert opened.positions == (1, 199)


def test_there_is_room_for_nine(opened, comparing, short, long):
    for _ in range(MAX_MODELS - 1):
        assert comparing.add(short) is not None
    assert comparing.room == 0
    assert comparing.add(short) is None
    assert "At most 9 models" in opened.notice.text
    assert len(opened.others) == 8
    assert len({one.key for one in opened.others}) == 8
    comparing.clear()
    assert opened.others == ()
    assert comparing.add(short) not in (None, *range(MAX_MODELS))
    comparing.add_all([opened.model.source.text, short, long, short])
    assert names(opened) == ["helix", "short", "long"]
    comparing.add_all([long])
    assert len(opened.others) == 2


def test_nothing_is_compared_with_nothing(session, controller, short):
    assert controller.comparing.add(short) is None
    assert session.notice.advice == "Open a model first."
    assert session.others == ()


def test_what_cannot_be_opened_stays_to_be_tried_again_as_does_what_cannot_be_worked_out(
    opened, comparing, tmp_path, controller, short, monkeypatch, write_table, helix
):
    key = comparing.add(str(tmp_path / "late.npy"))
    assert "does not exist" in opened.notice.text
    assert opened.others[0].failed == opened.notice.text
    assert not comparing.make_current(key)
    assert comparing.opened == ()
    comparing.retry(key)
    assert opened.others[0].failed == opened.notice.text
    write_table(helix(60), "late")
    opened.notice = replace(opened.notice, retry=True)  # as of a model of the Hub
    controller.retry()
    assert opened.notice is None
    assert [(one.name, one.failed) for one in opened.others] == [("late", "")]
    comparing.remove(key)
    assert opened.others == ()
    key = comparing.add(short, (10, 50))
    opened.alignment = alignment = CurveAlignment(OfOther(key), "scaled")
    monkeypatch.setattr("gui.services.fitting.fit_pca", Mock(side_effect=MemoryError("too large")))
    comparing.request_positions(key, 20, 90)
    text = "The components could not be fitted for short: MemoryError: too large"
    assert opened.notice.text == text
    assert not opened.notice.retry
    other = session_of(opened, key)
    assert (other.model.name, other.positions) == ("short", (20, 90))
    assert opened.alignment == alignment


def test_what_is_odd_about_a_model_is_said_once(opened, comparing, write_table, helix, tmp_path):
    table = helix(60, 16)
    table[7] = 0.5
    odd = str(write_table(table, "odd"))
    text = "odd: One row has the same number throughout: positions 7."
    key = comparing.add(odd)
    assert opened.notice == Notice(text)
    opened.notice = None
    assert comparing.make_current(key)
    assert comparing.make_current(FIRST)
    assert opened.others[0].name == "odd"
    assert opened.notice is None or not opened.notice.text.startswith("odd")
    # It does not hide that another is missing.
    comparing.add(str(tmp_path / "nowhere"))
    comparing.add(odd)
    assert "does not exist" in opened.notice.text


# ---- what is shared ----------------------------------------------------------------------


def test_selection_and_hover_are_linked_by_position_also_with_one_that_comes_later(
    opened, controller, comparing, short, long
):
    one, other = (session_of(opened, comparing.add(source)) for source in (short, long))
    controller.select((5, 150))
    assert (one.selection, other.selection) == ((5,), (5, 150))
    opened.hover = 119
    assert (one.hover, other.hover) == (119, 119)
    opened.hover = 120
    assert (one.hover, other.hover) == (None, 120)
    # In a longer table: there, whatever the others have.
    comparing.marks.select((250, 7))
    assert (opened.selection, one.selection, other.selection) == ((7,), (7,), (250, 7))
    comparing.marks.hover(260)
    assert (opened.hover, one.hover, other.hover) == (None, None, 260)
    assert other.selection == (250, 7)
    controller.select((3, 180, 4))
    assert session_of(opened, comparing.add(short)).selection == (3, 4)
    other = session_of(opened, comparing.add(long))
    comparing.marks.select((7, 250))
    opened.hover = 5
    assert (opened.selection, other.selection) == ((7,), (7, 250))
    assert (other.hover, comparing.marks.selected) == (5, (7, 250))
    opened.hover = None
    assert other.selection == (7, 250)
    comparing.marks.select((260,))
    assert (opened.selection, other.selection) == ((), (260,))
    comparing.clear()
    assert comparing.marks.selected == ()


def test_colours_and_projection_are_shared_and_ranges_once_they_are_linked(
    opened, comparing, short, controller
):
    opened.color_by = "norm"
    other = session_of(opened, comparing.add(short))
    assert other.color_by == "norm"
    for name, value in (
        ("colormap", "viridis"), ("outside", "faint"), ("projection", "parallel"),
        ("norms_centred", True),
    ):  # fmt: skip
        setattr(opened, name, value)
        assert getattr(other, name) == value
    assert other.norms.centred
    other = session_of(opened, comparing.add(short))
    controller.request_positions(20, 60)
    opened.components = (1, 2, 4)
    assert (other.positions, other.components) == ((1, 119), (1, 2, 3))
    opened.ranges_linked = True
    assert (other.positions, other.components) == ((20, 60), (1, 2, 4))
    controller.request_positions(100, 190)
    assert other.positions == other.curve.pca.positions == (100, 119)


def test_positions_span_all_colours_in_each_view_whatever_its_length(
    opened, comparing, short, long
):
    opened.color_span = "table"
    keys = [comparing.add(source) for source in (short, long)]
    sessions = [opened, *(session_of(opened, key) for key in keys)]
    limits = [color_scale(session).limits for session in sessions]
    assert limits == [(0.0, 199.0), (0.0, 119.0), (0.0, 299.0)]
    assert common_scale(opened).labels == ("first", "last")
    assert common_scale(opened).title == "Position, in each table"
    comparing.clear()
    assert common_scale(opened).labels == ("0", "199")


@pytest.mark.parametrize("by", ["norm", "residual", "component"])
def test_a_colour_means_the_same_in_all_views(opened, controller, comparing, short, long, by):
    opened.color_span = "table"
    keys = [comparing.add(source) for source in (short, long)]
    controller.color_by(by, 2)
    sessions = [opened, *(session_of(opened, key) for key in keys)]
    scales = [color_scale(session) for session in sessions]
    assert len({scale.limits for scale in scales}) == 1
    assert len({scale.labels for scale in scales}) == 1
    comparing.clear()
    assert opened.color_limits is None


def test_colours_that_span_the_range_span_that_of_each_view(
    opened, controller, comparing, short, long
):
    keys = [comparing.add(source) for source in (short, long)]
    sessions = [opened, *(session_of(opened, key) for key in keys)]

    def spanned():
        return [color_scale(session).limits for session in sessions]

    opened.color_span = "table"
    opened.dragging = True
    opened.color_span = "range"
    opened.dragging = False
    assert spanned() == [(1.0, 199.0), (1.0, 119.0), (1.0, 299.0)]
    assert common_scale(opened).labels == ("first", "last")
    controller.request_positions(20, 60)
    comparing.request_positions(keys[1], 100, 250)
    assert spanned() == [(20.0, 60.0), (1.0, 119.0), (100.0, 250.0)]
    opened.ranges_linked = True
    assert spanned() == [(20.0, 60.0)] * 3
    assert common_scale(opened).labels == ("20", "60")
    controller.color_by("norm", 4)
    assert common_scale(opened).labels == ("lowest", "highest")
    opened.color_span = "table"
    assert len(set(spanned())) == 1
    assert common_scale(opened).labels == color_scale(opened).labels


# ---- order -------------------------------------------------------------------------------


def test_models_move_in_the_grid_the_open_one_too(opened, comparing, short, long):
    a, b = comparing.add(short), comparing.add(long)
    assert comparing.keys == (FIRST, a, b)
    comparing.move(FIRST, 1)
    assert comparing.keys == (a, FIRST, b)
    assert names(opened) == ["short", "helix", "long"]
    comparing.move(b, -2)
    assert comparing.keys == (b, a, FIRST)
    comparing.move(b, -1)
    comparing.move(999, 1)
    assert comparing.keys == (b, a, FIRST)
    comparing.remove(b)
    assert comparing.keys == (a, FIRST)


def test_another_model_takes_the_place_of_the_open_one(opened, controller, comparing, short, long):
    opened.components = (1, 3, 2)
    controller.request_positions(30, 170)
    a = comparing.add(short, (5, 100), (3, 2, 1))
    b = comparing.add(long)
    comparing.marks.select((40, 280))
    before = opened.curve
    assert comparing.make_current(a)
    other = session_of(opened, FIRST)
    assert opened.model.name == "short"
    assert opened.positions == opened.curve.pca.positions == (5, 100)
    assert opened.components == opened.curve.components == (3, 2, 1)
    assert other.model.name == "helix"
    assert other.positions == other.curve.pca.positions == (30, 170)
    np.testing.assert_allclose(other.curve.coordinates, before.coordinates, atol=1e-9)
    # In the list each is where it was.
    assert (comparing.keys, opened.current_key) == ((FIRST, a, b), a)
    assert names(opened) == ["helix", "short", "long"]
    assert session_of(opened, b).selection == (40, 280)
    assert opened.selection == other.selection == (40,)
    # And the panels are about it: its range is fitted anew.
    controller.request_positions(50, 90)
    assert opened.curve.pca.positions == (50, 90)
    assert comparing.make_current(FIRST)
    assert opened.model.name == "helix"
    assert comparing.keys == (FIRST, a, b)
    assert opened.positions == (30, 170)


def test_models_keep_colours_hidden_curves_and_places_whichever_is_current(
    opened, comparing, short, long
):
    comparing.add(short)
    b = comparing.add(long)
    opened.hidden_curves = frozenset({("norms", b), ("spectra", FIRST)})

    def shown():
        return [(m.key, m.name, m.color, m.in_grid) for m in opened.open_models]

    before, hidden = shown(), opened.hidden_curves
    assert [color for _, _, color, _ in before] == [0, 1, 2]
    for key in (b, FIRST, b):
        assert comparing.make_current(key)
        assert (opened.current_key, opened.model.name) == (key, session_name(opened, key))
        assert (shown(), opened.hidden_curves) == (before, hidden)
    assert not comparing.make_current(b)  # it is already
    comparing.remove(FIRST)
    assert opened.hidden_curves == {("norms", b)}


def test_an_aligned_curve_that_becomes_the_current_one_is_aligned_with_the_previous(
    opened, comparing, short
):
    key = comparing.add(short)
    opened.alignment = CurveAlignment(OfOther(key), "scaled")
    comparing.make_current(key)
    assert opened.alignment == CurveAlignment(OfOther(FIRST), "scaled")
    assert opened.aligned is not None


def test_linked_ranges_are_not_carried_over_by_a_change_of_places(opened, comparing, long):
    assert comparing.make_current(comparing.add(long, (200, 290)))
    assert session_of(opened, FIRST).positions == (1, 199)
    opened.ranges_linked = True
    assert session_of(opened, FIRST).positions == (199, 199)


def test_closing_the_open_one_leaves_its_neighbour_open(opened, comparing, short, long):
    a, b = comparing.add(short), comparing.add(long)
    comparing.remove(FIRST)
    assert opened.model.name == "short"
    assert names(opened) == ["short", "long"]
    assert (comparing.keys, opened.current_key) == ((a, b), a)
    comparing.remove(b)
    comparing.remove(a)
    assert (opened.model.name, opened.others) == ("short", ())
    assert not comparing.make_current(a)


def test_a_change_of_places_gives_up_what_is_being_opened(
    session, hand_jobs, write_table, short, long
):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    key = controller.comparing.add(short)
    hand_jobs.deliver_all()
    work = take_work(session, controller.opening.shown, None)
    controller.reopening.show(replace(work, source=Source.parse(long), positions=(10, 20)))
    hand_jobs.drag_on("open")
    assert session.opening.text == long
    assert controller.comparing.make_current(key)
    assert "open" not in hand_jobs.waiting
    assert (session.opening, session.transfer, session.status) == (None, None, "Ready")
    hand_jobs.deliver_all()
    assert names(session) == ["helix", "short"]
    # And what was saved is not shown of the same model, opened for its own sake.
    controller.open(long)
    hand_jobs.deliver_all()
    assert session.model.name == "long"
    assert session.positions == (1, 299)
    controller.close()


@pytest.mark.parametrize(
    ("place", "neighbour", "left"),
    [(0, "b", "bcd"), (1, "c", "bcd"), (2, "d", "bcd"), (3, "d", "bcd")],
)
def test_the_neighbour_is_the_nearest_the_next_one_rather(
    opened, comparing, write_table, helix, place, neighbour, left
):
    for name in "bcd":
        comparing.add(str(write_table(helix(60, 16, seed=ord(name)), name)))
    comparing.move(FIRST, place)
    comparing.remove(FIRST)
    assert opened.model.name == neighbour
    assert names(opened) == list(left)


# ---- in the background -------------------------------------------------------------------


def test_until_it_is_read_it_is_listed_and_cannot_take_the_place(
    session, hand_jobs, write_table, short, long
):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    a, b = (controller.comparing.add(source) for source in (short, long))
    assert [one.name for one in session.others] == ["short.npy", "long.npy"]
    assert all(one.session.model is None for one in session.others)
    assert not controller.comparing.make_current(a)
    # Both are read at the same time, and one that is closed meanwhile is given up.
    assert {f"view {a} open", f"view {b} open"} <= set(hand_jobs.waiting)
    controller.comparing.remove(a)
    assert f"view {a} open" not in hand_jobs.waiting
    hand_jobs.deliver_all()
    assert [one.session.model.n_positions for one in session.others] == [300]
    controller.comparing.add(short)
    controller.close()
    assert not hand_jobs.waiting


def test_sessions_that_have_changed_places_work_beside_each_other(
    session, hand_jobs, write_table, short, long
):
    controller = Controller(session, hand_jobs)
    comparing = controller.comparing
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    b, c = (comparing.add(source) for source in (short, long))
    hand_jobs.deliver_all()
    for key in (b, c):
        comparing.make_current(key)
    before = comparing.arrangement()
    comparing.remove(b)
    comparing.restore(before)
    hand_jobs.deliver_all()
    for other in session.others:
        other.session.positions = (5, 60)
    assert len(hand_jobs.waiting) == len(session.others) == 2


def test_a_model_without_a_view_comes_last_and_changes_no_colours(opened, comparing, short, long):
    opened.change(color_by="norm", color_span="table")
    overlay = comparing.add(long, in_grid=False)
    assert opened.color_limits is None
    key = comparing.add(short)
    assert comparing.keys == (FIRST, key, overlay)
    assert opened.color_limits is not None
    comparing.move(FIRST, 2)
    assert comparing.keys == (key, FIRST, overlay)
    comparing.give_view(overlay)
    assert comparing.keys == (key, FIRST, overlay)
    assert all(one.in_grid for one in opened.others)
    assert comparing.find(Source.parse(long)) == overlay


def test_a_model_without_a_view_can_be_the_open_one(opened, comparing, short):
    key = comparing.add(short, in_grid=False)
    assert comparing.make_current(key)
    assert opened.model.name == "short"
    assert [(one.name, one.in_grid) for one in opened.open_models] == [
        ("short", True),
        ("helix", False),
    ]


# ---- what the other models are asked -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows the model has, times something."""

    times: int = 1

    def answer(self, about: QuestionContext) -> int:
        if not self.times:
            raise RangeError("nothing times")
        return len(about.model.W_pos) * self.times


@pytest.fixture
def asked(session, hand_jobs, write_table, helix):
    """What compares three models of 40, 60 and 80 rows with a fourth, by hand."""
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    for rows in (40, 60, 80):
        controller.comparing.add(str(write_table(helix(rows), f"rows-{rows}")))
    hand_jobs.deliver_all()
    hand_jobs.started.clear()
    yield controller.comparing
    controller.close()


def results(session, slot="rows"):
    return [
        c.session.answers[slot].result if slot in c.session.answers else None
        for c in session.others
    ]


def test_each_answers_for_its_own_model_and_another_in_its_place_is_asked_anew(
    session, asked, hand_jobs
):
    for other in session.others:
        asked.ask("rows", other.key, Rows())
    # A few at a time.
    assert len(hand_jobs.waiting) == ANSWERS_AT_ONCE == 2
    hand_jobs.deliver_all()
    assert results(session) == [40, 60, 80]
    assert "rows" not in session.answers
    assert asked.make_current(1)
    assert results(session) == [None, 60, 80]
    asked.ask("rows", FIRST, Rows())
    asked.ask("rows", 1, Rows())  # it is the current one
    hand_jobs.deliver_all()
    assert results(session) == [200, 60, 80]
    assert "rows" not in session.answers


def test_what_is_not_possible_for_one_is_for_others(session, asked, hand_jobs):
    asked.ask("rows", 1, Rows(0))
    asked.ask("rows", 2, Rows(2))
    hand_jobs.deliver_all()
    assert session.others[0].session.answers["rows"].state == "impossible"
    assert results(session) == [None, 120, None]


def test_one_that_goes_is_answered_no_more(session, asked, hand_jobs):
    gone = session.others[0].session
    for other in session.others:
        asked.ask("rows", other.key, Rows())
    asked.remove(1)
    asked.ask("rows", 1, Rows(3))
    hand_jobs.deliver_all()
    assert "rows" not in gone.answers
    assert results(session) == [60, 80]


def test_what_nobody_looks_at_waits_for_what_is_seen(session, asked, hand_jobs):
    for other in session.others:
        asked.ask("rows", other.key, Rows())
        asked.ask("other", other.key, Rows(2))
    assert hand_jobs.started == ["beside 1 answer 0", "beside 1 answer 1"]
    asked.hold("rows")
    # One that has begun may not be interruptible: it takes the place of none that is seen.
    assert len(hand_jobs.waiting) == 1 + ANSWERS_AT_ONCE
    hand_jobs.deliver_all()
    assert results(session) == [None, None, None]
    assert results(session, "other") == [80, 120, 160]
    assert len(hand_jobs.started) == 4
    asked.resume("rows")
    hand_jobs.deliver_all()
    assert results(session) == [40, 60, 80]
    assert len(hand_jobs.started) == 6


def test_a_colour_stays_while_others_come_and_go(opened, comparing, short, long):
    def colors():
        return {one.key: one.color for one in opened.open_models}

    keys = [comparing.add(short) for _ in range(3)]
    assert colors() == {0: 0, 1: 1, 2: 2, 3: 3}
    comparing.remove(keys[1])
    comparing.add(long)
    assert colors() == {0: 0, 1: 1, 3: 3, 4: 2}
    comparing.move(4, -2)
    assert colors() == {0: 0, 1: 1, 3: 3, 4: 2}


def test_another_model_in_place_of_the_current_one_has_its_key_and_colour_and_no_hidden_curve(
    opened, controller, comparing, short, long
):
    key = comparing.add(short)
    opened.hidden_curves = frozenset({("norms", FIRST), ("norms", key)})
    controller.open(long)
    assert names(opened) == ["long", "short"]
    assert (comparing.keys, opened.current_key) == ((FIRST, key), FIRST)
    assert opened.hidden_curves == {("norms", key)}
