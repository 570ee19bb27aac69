"""Models side by side in the window, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from geometry.models.sources.source import Source
from gui.export.save_picture import PictureOptions
from gui.export.vector_picture import vector_file
from gui.scene.scene_state import resolve_scene
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.state.colors import model_color
from gui.style.theme import DARK, LIGHT
from gui.viewport.grid import columns_for
from gui.window.main_window import MainWindow
from tests.gui.compare_stage import TITLES
from tests.gui.viewport_mouse import LEFT, drag, pickable, wheel

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def grid(application, qtbot):
    """The grid of a window that is active: only that one has shortcuts."""
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow)
    return application.window.grid


@pytest.fixture
def short(write_table, helix):
    return str(write_table(helix(120, 16, seed=9), "short"))


@pytest.fixture
def long(write_table, helix):
    return str(write_table(helix(300, 20, seed=11), "long"))


@pytest.fixture
def beside(application, settle):
    """Show models beside the open one; their cells, when they are painted."""

    def add(*sources):
        keys = [application.controller.comparing.add(source) for source in sources]
        settle()
        return [application.window.grid.cells[key] for key in keys]

    return add


@pytest.fixture
def turn(qtbot, settle):
    def turned(viewport, x, y):
        middle = viewport.interactor.rect().center()
        drag(qtbot, viewport, middle, middle + QPoint(x, y))
        settle()

    return turned


def look_of(viewport):
    outlook = viewport.camera.outlook
    return np.concatenate([outlook.direction, outlook.up, outlook.shift, [outlook.nearness]])


def pose(viewport):
    return np.array([viewport.camera.place.pose.position, viewport.camera.place.pose.focal_point])


def names(grid):
    return [cell.name.text() for cell in grid.shown_cells]


def click(widget):
    QTest.mouseClick(widget, LEFT, pos=widget.rect().center())


def click_point(viewport, position, keys=Qt.KeyboardModifier.NoModifier):
    QTest.mouseClick(viewport.interactor, LEFT, keys, viewport.pixel_of(position))


@pytest.mark.slow
def test_named_views_until_they_are_closed(application, grid, beside, settle, short, long):
    def alone():
        (cell,) = grid.shown_cells
        assert cell.key == grid.main.session.current_key
        assert not any(part.isVisible() for part in (cell.header, grid.bar, grid.strip))
        return grid.main.size() == grid.size()

    assert alone()
    one, other = beside(short, long)
    main = grid.cells[grid.main.session.current_key]
    assert names(grid) == ["tiny-gpt2", "short", "long"]
    assert grid.bar.isVisible()
    assert grid.bar.count.text() == "3 models"
    areas = [cell.geometry() for cell in grid.shown_cells]
    assert not any(a.intersects(b) for i, a in enumerate(areas) for b in areas[:i])
    for cell in (main, one, other):
        assert cell.header.isVisible()
        assert cell.viewport.isVisible()
        state = resolve_scene(cell.session)
        assert state.coordinates.shape == (cell.session.model.n_positions, 3)
        assert cell.viewport.scene.state.caption == state.caption
    total = sum(one.session.curve.explained_variance_ratio)
    assert one.facts.text().endswith(f"{100 * total:.1f}\N{NO-BREAK SPACE}%")
    # The colours are explained once, for all of them.
    assert grid.strip.isVisible()
    assert grid.strip.scale.labels == ("first", "last")
    application.session.color_span = "table"
    settle()
    assert grid.strip.scale.labels == ("first", "last"), "each is as long as it is"
    click(one.close_button)
    assert names(grid) == ["tiny-gpt2", "long"]
    click(main.close_button)
    settle()
    assert application.session.model.name == "long"
    assert alone()
    beside(short, long)
    click(grid.bar.clear)  # all at once
    assert [cell.key for cell in grid.shown_cells] == [grid.main.session.current_key]


@pytest.mark.slow
def test_views_appear_one_at_a_time(application, grid, settle, short, long):
    comparing = application.controller.comparing
    keys = [comparing.add(source) for source in (short, long, short)]
    shown = [grid.cells[key].isVisible() for key in keys]
    assert shown == [True, False, False], "the others wait for the event loop"
    settle()
    assert all(cell.isVisible() for cell in grid.shown_cells)
    areas = [cell.geometry() for cell in grid.shown_cells]
    assert not any(a.intersects(b) for a in areas for b in areas if a is not b)


@pytest.mark.slow
def test_views_span_their_ranges_with_one_bar(application, grid, beside, settle, short):
    (other,) = beside(short)
    application.session.color_span = "range"
    settle()
    scales = [
        cell.viewport.scene.state.scale
        for cell in (grid.cells[grid.main.session.current_key], other)
    ]
    assert [scale.labels for scale in scales] == [("1", "199"), ("1", "119")]
    assert grid.strip.scale.labels == ("first", "last")
    assert grid.strip.scale.title == "Position, in each range"
    application.controller.request_positions(1, 119)
    settle()
    assert grid.strip.scale.labels == ("1", "119")
    # The bar is drawn anew when only the model beside has another range.
    painted = []
    grid.strip.draw, draw = lambda *a: painted.append(grid.strip.scale) or draw(*a), grid.strip.draw
    application.controller.comparing.request_positions(other.key, 1, 50)
    settle()
    assert painted[-1].labels == ("first", "last")


def test_a_model_is_added_by_the_menu(application, grid, settle, short):
    application.session.recent = (*application.session.recent, Source.parse(short))
    QTest.keyClick(application.window, Qt.Key.Key_M, CONTROL)
    menus = application.window.findChildren(QMenu)
    menu = next(one for one in menus if one.isVisible() and not one.title())
    action = next(a for a in menu.actions() if a.text() == "short.npy")
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    settle()
    assert names(grid) == ["tiny-gpt2", "short"]


def test_header_click_and_keys_choose_a_view(application, grid, beside, short, long):
    one, _ = beside(short, long)
    order = ["tiny-gpt2", "short", "long"]
    click(one.name)
    assert application.session.model.name == "short"
    assert application.window.windowTitle().startswith("short")
    assert names(grid) == order
    assert grid.shown_cells[1].key == grid.main.session.current_key
    for step, name in ((1, "long"), (1, "tiny-gpt2"), (1, "short"), (-1, "tiny-gpt2")):
        at = Qt.Key.Key_PageDown if step > 0 else Qt.Key.Key_PageUp
        QTest.keyClick(application.window, at, CONTROL)
        assert application.session.model.name == name
        assert names(grid) == order


def test_views_keep_their_cameras_colours_and_places_whichever_is_current(
    application, grid, beside, turn, settle, short, long
):
    beside(short, long)
    grid.link_cameras(False)
    settle()
    turn(grid.viewports[1], 60, 25)
    grid.viewports[0].camera.zoom(1.5)
    settle()

    def shown():
        return [(c.key, c.name.text(), c.mark.styleSheet()) for c in grid.shown_cells]

    before, looks = shown(), [look_of(viewport) for viewport in grid.viewports]
    for place in (1, 2, 0):
        click(grid.shown_cells[place].name)
        settle()
        assert grid.shown_cells[place].viewport is grid.main
        assert shown() == before
        for viewport, look in zip(grid.viewports, looks, strict=True):
            np.testing.assert_allclose(look_of(viewport), look, atol=0.02)  # sizes differ by pixels
    application.window.undo.undo()
    settle()
    assert (grid.shown_cells[2].viewport, shown()) == (grid.main, before)


def test_a_view_fills_the_grid_and_goes_back(application, grid, beside, settle, short):
    (one,) = beside(short)
    QTest.mouseDClick(one.header, LEFT)
    settle()
    assert grid.shown_cells == (one,)
    assert one.isVisible()
    assert not grid.cells[grid.main.session.current_key].isVisible()
    assert not grid.strip.isVisible()
    assert one.width() == grid.width()
    assert grid.bar.count.text() == "1 of 2 models"
    assert one.larger.isChecked()
    assert one.larger.toolTip() == "Show all views again"
    click(one.larger)
    assert len(grid.shown_cells) == 2
    assert grid.bar.count.text() == "2 models"
    assert not one.larger.isChecked()
    QTest.keyClick(application.window, Qt.Key.Key_M, CONTROL | SHIFT)
    assert [cell.key for cell in grid.shown_cells] == [grid.main.session.current_key]
    QTest.keyClick(application.window, Qt.Key.Key_M, CONTROL | SHIFT)
    assert len(grid.shown_cells) == 2


def test_headers_are_dragged_onto_each_other(application, grid, beside, short, long):
    one, other = beside(short, long)
    middle = one.header.mapFromGlobal(other.mapToGlobal(other.rect().center()))
    QTest.mousePress(one.header, LEFT, pos=QPoint(4, 4))
    QTest.mouseMove(one.header, middle)
    assert [cell for cell in grid.shown_cells if cell.header.property("target")] == [other]
    QTest.mouseRelease(one.header, LEFT, pos=middle)
    assert not any(cell.header.property("target") for cell in grid.shown_cells)
    assert names(grid) == ["tiny-gpt2", "long", "short"]
    back, forward = (a for a in other.make_menu().actions() if a.text().startswith("Move "))
    assert forward.isEnabled()
    back.trigger()
    assert names(grid) == ["long", "tiny-gpt2", "short"]
    back, forward = (a for a in other.make_menu().actions() if a.text().startswith("Move "))
    assert not back.isEnabled()
    assert application.session.model.name == "tiny-gpt2"


@pytest.mark.slow
def test_turning_one_curve_turns_the_others(application, grid, beside, turn, settle, short, long):
    (one,) = beside(short)

    def check_agreement():
        for viewport in grid.viewports:
            np.testing.assert_allclose(look_of(viewport), look_of(grid.main), atol=1e-6)

    check_agreement()
    first = look_of(grid.main)
    for turned, follows in ((one.viewport, grid.main), (grid.main, one.viewport)):
        before = look_of(follows)
        turn(turned, 60, 25)
        assert np.abs(look_of(follows) - before).max() > 0.05
        check_agreement()
    application.window.undo.undo()
    settle()
    np.testing.assert_allclose(look_of(grid.main), first, atol=1e-6)
    check_agreement()
    # One that comes later looks as the others do, or once they are linked.
    turn(grid.main, 70, -30)
    grid.main.camera.zoom(1.5)
    beside(short)
    check_agreement()
    click(grid.bar.cameras)
    before = look_of(one.viewport)
    turn(grid.main, -50, 10)
    np.testing.assert_array_equal(look_of(one.viewport), before)
    (late,) = beside(long)
    own = look_of(late.viewport)
    assert np.abs(own - look_of(grid.main)).max() > 0.05
    click(grid.bar.cameras)
    settle()
    check_agreement()
    # And it is one of them: turned, it turns them.
    turn(late.viewport, -50, 30)
    assert np.abs(look_of(grid.main) - own).max() > 0.05
    check_agreement()


def test_click_selects_in_all_views(application, grid, beside, long):
    (one,) = beside(long)
    for viewport, near in ((one.viewport, 150), (grid.main, 40), (one.viewport, 280)):
        position = pickable(viewport, near=near)
        click_point(viewport, position)
        assert one.session.selection == (position,)
        assert application.session.selection == ((position,) if position < 200 else ())
    QTest.keyClick(grid.main.interactor, Qt.Key.Key_Escape)
    assert one.session.selection == ()


@pytest.mark.slow
@pytest.mark.parametrize("in_open", [True, False])
def test_shift_adds_to_what_only_a_longer_table_has(grid, beside, qtbot, short, long, in_open):
    small, large = beside(short, long)
    beyond = pickable(large.viewport, near=280)
    click_point(large.viewport, beyond)
    viewport = grid.main if in_open else small.viewport
    added = pickable(viewport, near=60)
    click_point(viewport, added, SHIFT)
    assert large.session.selection == (beyond, added)
    assert grid.main.session.selection == small.session.selection == (added,)
    # Drawn around all that is in sight there: what is not stays selected.
    viewport.marquee.arm("box")
    corner = QPoint(viewport.interactor.width() - 2, viewport.interactor.height() - 2)
    drag(qtbot, viewport, QPoint(1, 1), corner, keys=SHIFT)
    assert len(viewport.session.selection) > 50
    assert large.session.selection == (beyond, *viewport.session.selection)
    click_point(viewport, added)
    assert large.session.selection == (added,)


@pytest.mark.slow
@pytest.mark.parametrize("in_open", [True, False])
def test_zoom_stays_for_other_ranges(application, grid, beside, settle, short, in_open):
    (one,) = beside(short)
    click(grid.bar.ranges)  # the same positions for all
    application.controller.request_positions(30, 150)
    assert one.session.positions == (30, 119)
    assert application.window.commands.by_name["ranges_linked"].isChecked()
    application.controller.request_positions(1, 199)
    for _ in range(8):
        wheel(grid.main if in_open else one.viewport)
    settle()
    before = [pose(viewport) for viewport in grid.viewports]
    application.controller.request_positions(1, 110)
    settle()
    for viewport, was in zip(grid.viewports, before, strict=True):
        assert viewport.session.curve.pca.positions == (1, 110)
        np.testing.assert_allclose(pose(viewport), was)
    # Framed again, the next range is brought into sight in all views.
    one.viewport.camera.frame()
    settle()
    before = [pose(viewport) for viewport in grid.viewports]
    application.controller.request_positions(50, 53)
    settle()
    for viewport, was in zip(grid.viewports, before, strict=True):
        assert np.abs(pose(viewport) - was).max() > 0.1


def test_linked_views_beside_an_aligned_curve(grid, beside, application, settle, short):
    """Also when a camera moves again afterwards: which of two curves came first is not seen."""
    (one,) = beside(short)
    before = [pose(viewport) for viewport in grid.viewports]
    framed = len(grid.main.scene.framed)
    application.session.alignment = CurveAlignment(OfOther(one.key))
    settle()
    assert len(grid.main.scene.framed) > framed
    grid.link_cameras(True)
    settle()
    for viewport, was in zip(grid.viewports, before, strict=True):
        np.testing.assert_allclose(pose(viewport), was)


def test_columns_are_those_that_give_the_largest_views():
    assert [columns_for(count, QSize(800, 600)) for count in (1, 2, 4, 9)] == [1, 2, 2, 3]
    assert columns_for(2, QSize(300, 900)) == 1
    assert columns_for(3, QSize(1500, 400)) == columns_for(6, QSize(900, 600)) == 3
    assert columns_for(9, QSize(2000, 300)) == 9
    assert columns_for(6, QSize(1600, 600)) == 3  # and not four and two


@pytest.mark.slow
def test_a_picture_has_all_views_and_what_the_colours_mean(application, grid, beside, short, long):
    beside(short, long)
    application.choose_theme("dark")
    image = application.window.pictures.picture(PictureOptions(scale=2))
    assert image.size() == grid.pictured.size() * 2
    corner = grid.pictured.topLeft()
    for cell in grid.shown_cells:
        area = cell.viewport.rect().translated(cell.viewport.mapTo(grid, QPoint(0, 0)) - corner)
        colors = {
            image.pixelColor(x * 2, y * 2).name()
            for x in range(area.left(), area.right(), 3)
            for y in range(area.top(), area.bottom(), 3)
        }
        assert DARK.viewport in colors
        assert len(colors) > 20
    clear = application.window.pictures.picture(PictureOptions(scale=1, background="transparent"))
    assert clear.pixelColor(clear.width() // 2, 2).alpha() < 255
    whole = application.window.pictures.picture(PictureOptions(whole_window=True, scale=1))
    assert whole.size() == application.window.size()
    exact = application.window.pictures.picture(PictureOptions(pixels=(701, 333)))
    assert exact.size().toTuple() == (701, 333)


def test_vectors_have_all_views_under_their_names(application, grid, beside, short, long):
    beside(short, long)
    figure = application.window.pictures.vectors(PictureOptions(pixels=(1000, 500)))
    text = vector_file(figure, "svg").decode()
    assert 'width="750pt" height="375pt"' in text
    counts = [cell.session.positions for cell in grid.shown_cells]
    assert text.count("<use") >= sum(last - first + 1 for first, last in counts)
    assert all(f">{cell.name.text()}<" in text for cell in grid.shown_cells)
    assert text.count(">Position<") == 1  # of the common colour bar


@pytest.mark.slow
def test_narrow_headers_and_their_colours(application, grid, beside, short):
    cell = beside(*[short] * 8)[3]
    assert len(grid.shown_cells) == 9
    application.window.resize(900, 700)
    assert not cell.close_button.isVisible()
    assert cell.menu_button.isVisible()
    assert "–" not in cell.facts.text()
    cell.name.setText("a model whose name is longer than its header is wide")
    cell.header.layout().activate()
    assert cell.name.shown_text.endswith("…")
    assert cell.name.geometry().right() < cell.facts.geometry().left()
    assert cell.facts.width() >= cell.facts.sizeHint().width()
    assert not grid.bar.add.isEnabled()

    def mark():
        image = cell.mark.grab().toImage()
        return image.pixelColor(image.rect().center()).name()

    color = model_color(application.session.others[3].color, LIGHT)
    assert mark() == color
    application.choose_theme("dark")
    assert mark() != color


@pytest.mark.slow
def test_window_begins_side_by_side(start_application, write_gpt2, short, qtbot, monkeypatch):
    build = MainWindow.build_panels
    monkeypatch.setattr(MainWindow, "build_panels", lambda self: None)
    application = start_application(write_gpt2(), beside=(short, "sample"), wait=False)
    window, session = application.window, application.session
    qtbot.waitUntil(lambda: application.idle and len(window.grid.shown_cells) == 3)
    # And no button of the bar, which the space bar would press.
    assert window.focusWidget() is window.viewport.interactor
    assert names(window.grid) == ["tiny-gpt2", "short", "sample"]
    assert "norms" not in session.others[0].session.answers
    build(window)
    window.bring("norms")
    qtbot.waitUntil(lambda: "norms" in session.others[0].session.answers)


@pytest.mark.slow
def test_real_models_and_tiny_ones(
    show_model, gpt2_folder, minilm_folder, write_gpt2, wait_until_idle
):
    application = show_model(gpt2_folder)
    comparing, window = application.controller.comparing, application.window
    grid = window.grid
    window.bring("compare")
    keys = [comparing.add(str(one)) for one in (minilm_folder, "sample", write_gpt2())]
    wait_until_idle(application)
    table = window.panels["compare"].content.table.rows
    cells = {
        title: [table.index(row, number).data() for row in range(table.rowCount())]
        for number, title in enumerate(TITLES)
    }
    assert cells["Positions"] == ["1\N{THIN SPACE}024", "512", "256", "200"]
    assert cells["3 PCs"][:3] == ["91.1", "36.8", "100.0"]
    assert cells["Outliers"][:3] == ["2", "4", "2"]
    assert cells["Curve"][:3] == ["helix", "none of these", "helix"]
    shaking = [float(text) for text in cells["Roughness"]]
    assert shaking[1] > 10 > shaking[2] > shaking[0]
    assert application.session.notice is None
    shares = [cell.facts.text().split(" · ")[-1] for cell in grid.shown_cells]
    assert [share.split("\N{NO-BREAK SPACE}")[0] for share in shares[:3]] == cells["3 PCs"][:3]
    picture = window.pictures.picture(PictureOptions(scale=1))
    assert picture.size() == grid.pictured.size()
    # A position of all four, chosen in the tiny one.
    tiny = grid.cells[keys[-1]].viewport
    position = pickable(tiny, near=100)
    click_point(tiny, position)
    assert {cell.session.selection for cell in grid.shown_cells} == {(position,)}
    # And one laid over the other: the helix of GPT-2 is no MiniLM.
    application.session.alignment = CurveAlignment(OfOther(keys[0]), "scaled")
    wait_until_idle(application)
    assert application.session.aligned.alignment.disparity == pytest.approx(0.841, abs=5e-4)
