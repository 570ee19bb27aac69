"""Boxes and lassos in the viewport, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.gui.viewport_mouse import LEFT, drag, pickable, pose

KEYS = Qt.KeyboardModifier
SHIFT, CONTROL, ALT = KEYS.ShiftModifier, KEYS.ControlModifier, KEYS.AltModifier


def pixels(viewport, positions=range(1, 200)):
    """Where points are, (m, 2), to a fraction of a widget pixel."""
    projection = viewport.scene.projection()
    xy, _ = projection.to_screen(viewport.scene.displayed[list(positions)])
    xy /= viewport.interactor.devicePixelRatioF()
    return np.column_stack([xy[:, 0], viewport.interactor.height() - 1 - xy[:, 1]])


def middle(viewport, positions=range(1, 200)):
    """A box over the middle half of the curve: its corners."""
    xy = pixels(viewport, positions)
    low, high = np.percentile(xy, 25, axis=0), np.percentile(xy, 75, axis=0)
    return QPoint(*map(int, low)), QPoint(*map(int, high))


def within(viewport, first, last):
    """Which positions are in a box, by their pixels alone."""
    x, y = pixels(viewport).T
    inside = (first.x() <= x) & (x <= last.x()) & (first.y() <= y) & (y <= last.y())
    return tuple((np.flatnonzero(inside) + 1).tolist())


def corners(first, last):
    """The path of a lasso around a box."""
    return first, QPoint(last.x(), first.y()), last, QPoint(first.x(), last.y())


@pytest.mark.slow
@pytest.mark.parametrize(("key", "path"), [("b", lambda *box: box), ("l", corners)])
def test_what_is_drawn_around_points_selects_them(viewport, qtbot, key, path):
    box, before = middle(viewport), pose(viewport)
    wanted = within(viewport, *box)
    assert 20 < len(wanted) < 180
    QTest.keyClicks(viewport.interactor, key)
    assert viewport.interactor.cursor().shape() == Qt.CursorShape.CrossCursor
    drag(qtbot, viewport, *path(*box))
    assert viewport.session.selection == wanted
    np.testing.assert_array_equal(pose(viewport), before)
    assert viewport.marquee.armed is None
    assert viewport.interactor.cursor().shape() != Qt.CursorShape.CrossCursor
    drag(qtbot, viewport, QPoint(60, 60), QPoint(160, 120))  # turns the curve again
    assert viewport.session.selection == wanted
    assert not np.allclose(pose(viewport)[0], before[0])


@pytest.mark.parametrize("keys", [SHIFT, CONTROL, ALT])
def test_modifiers_add_and_remove(viewport, qtbot, keys):
    first, last = middle(viewport)
    inside = within(viewport, first, last)
    viewport.session.selection = before = (inside[3], 199, inside[0], 5)
    QTest.keyClicks(viewport.interactor, "b")
    drag(qtbot, viewport, first, last, keys=keys)
    kept = tuple(p for p in before if p not in inside)
    assert viewport.session.selection == ((*kept, *inside) if keys == SHIFT else kept)
    QTest.keyClicks(viewport.interactor, "b")
    drag(qtbot, viewport, QPoint(2, 2), QPoint(12, 12))  # around nothing
    assert viewport.session.selection == ()


def test_hidden_positions_are_not_selected_and_faint_ones_are(window, viewport, qtbot, settle):
    window.controller.request_positions(50, 120)
    settle()
    corner = QPoint(viewport.interactor.width() - 1, viewport.interactor.height() - 1)
    for outside, wanted in (("hidden", range(50, 121)), ("faint", None)):
        viewport.session.outside = outside
        settle()
        QTest.keyClicks(viewport.interactor, "b")
        drag(qtbot, viewport, QPoint(1, 1), corner + QPoint(90, 30), corner)
        if wanted is None:
            x, y = pixels(viewport, range(200)).T
            size = viewport.interactor.size()
            seen = (x > 1) & (x < size.width() - 1) & (y > 1) & (y < size.height() - 1)
            wanted = np.flatnonzero(seen).tolist()
            assert len(wanted) > 71
        assert viewport.session.selection == tuple(wanted)


def test_key_changes_or_disarms_and_click_is_a_click(window, viewport, qtbot):
    actions = window.commands.by_name
    for key, armed in (("b", "box"), ("l", "lasso"), ("b", "box"), ("b", None), ("b", "box")):
        QTest.keyClicks(viewport.interactor, key)
        assert viewport.marquee.armed == armed
        for shape in ("box", "lasso"):
            assert actions[f"select_{shape}"].isChecked() == (shape == armed)
    position = pickable(viewport, near=100)
    qtbot.mouseClick(viewport.interactor, LEFT, pos=viewport.pixel_of(position))
    assert viewport.session.selection == (position,)
    assert viewport.marquee.armed == "box"


def test_outline_is_drawn_and_escape_leaves(window, viewport, qtbot, settle):
    lasso = window.commands.by_name["select_lasso"]

    def accent_pixels():
        with qtbot.waitSignal(viewport.interactor.frameSwapped):
            viewport.interactor.update()
        image = viewport.interactor.grabFramebuffer()
        wanted = np.array([int(viewport.scene.theme.accent[i : i + 2], 16) for i in (1, 3, 5)])
        found = [image.pixelColor(x, 40).getRgb()[:3] for x in range(60, 260)]
        return int((np.abs(np.array(found) - wanted).max(axis=1) < 60).sum())

    QTest.keyClicks(viewport.interactor, "b")
    assert accent_pixels() == 0
    drag(qtbot, viewport, QPoint(60, 40), QPoint(260, 90), release=False)
    assert accent_pixels() > 150
    qtbot.mouseRelease(viewport.interactor, LEFT, pos=QPoint(260, 90))
    settle()
    viewport.session.selection = (5,)
    QTest.keyClicks(viewport.interactor, "l")
    assert lasso.isChecked()
    drag(qtbot, viewport, QPoint(60, 40), QPoint(260, 40), QPoint(100, 200), release=False)
    assert accent_pixels() > 150
    QTest.keyClick(viewport.interactor, Qt.Key.Key_Escape)
    qtbot.mouseRelease(viewport.interactor, LEFT, pos=QPoint(100, 200))
    assert accent_pixels() == 0
    assert viewport.session.selection == (5,)
    assert viewport.marquee.armed is None
    assert not lasso.isChecked()


@pytest.fixture
def beside(window, settle, write_table, helix):
    """The viewport of another model, beside that of the open one."""
    window.controller.comparing.add(str(write_table(helix(160), "beside")))
    settle()
    (other,) = (v for v in window.grid.viewports if v is not window.viewport)
    return other


def test_box_selects_in_all_views(window, viewport, beside, qtbot):
    QTest.keyClicks(viewport.interactor, "b")
    assert beside.marquee.armed == "box"
    drag(qtbot, beside, *middle(beside, range(1, 160)))
    chosen = beside.session.selection
    assert 10 < len(chosen) < 150
    assert window.session.selection == chosen
    assert viewport.marquee.armed is beside.marquee.armed is None
    assert not window.commands.by_name["select_box"].isChecked()
    window.controller.select((30, 90))
    QTest.keyClicks(viewport.interactor, "m")
    for session in (window.session, beside.session):
        assert session.pair.positions == (30, 90)
        (guide,) = session.guides.values()
        np.testing.assert_allclose(guide.lines[0], session.curve.coordinates[[30, 90]])
    assert beside.session.pair.distance != window.session.pair.distance
    window.controller.select((30, 170))  # which the shorter table lacks
    assert beside.session.pair is None
    assert not beside.session.guides
