"""The window of a survey by the mouse and the keys: sorted, selected, encircled, opened, saved."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from geometry.survey.curves import read_curves
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey
from geometry.survey.rows import RowSettings
from gui.export.save_result import ResultSaver
from gui.plots.plot_axis import LogAxis
from gui.style.theme import DARK, LIGHT, format_count, format_percent
from gui.window.survey.curves import MAX_CURVES, READING, drawn_rows
from gui.window.survey.curves import NONE as NO_CURVES
from gui.window.survey.rows import SurveyRows, sorted_rows, value_text
from gui.window.survey.scatter import make_scatter, usual_choices
from gui.window.survey.window import SurveyWindow, progress_text
from tests.gui.on_screen import put_on_screen
from tests.gui.window.survey.survey_table import FAILED, SEEDS, STEPS, entries, row, write_survey

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def survey(tmp_path):
    return read_survey(write_survey(tmp_path / "own.parquet"))


@pytest.fixture
def shown(qtbot, dress, survey, controller):
    """The survey's window, active."""
    dress(LIGHT)
    owner = QWidget()
    qtbot.addWidget(owner)
    made = SurveyWindow(survey, LIGHT, ResultSaver(controller), owner)
    made.opened, made.several = [], []
    made.openRequested.connect(made.opened.append)
    made.besideRequested.connect(made.several.append)
    made.owner = owner  # it would be collected
    return put_on_screen(qtbot, made, active=True)


def pixel(window, point):
    """Where a point of the scatter is, on the plot's viewport."""
    return QPointF(*window.plot.pixels()[point]).toPoint()


def click_title(window, name, button=LEFT):
    """Click the title of a column."""
    header = window.table.horizontalHeader()
    at = list(window.survey.columns).index(name)
    window.table.scrollTo(window.table.rows.index(0, at))
    place = QPoint(header.sectionViewportPosition(at) + 8, header.height() // 2)
    QTest.mouseClick(header.viewport(), button, NONE, place)


def texts(window, name):
    """What the table shows in a column, from top to bottom."""
    at = list(window.survey.columns).index(name)
    model = window.table.rows
    return [model.index(place, at).data() for place in range(model.rowCount())]


def drag_around(window, points, modifiers=SHIFT):
    """Draw around points with Shift held, some pixels beside them."""
    plot = window.plot.viewport()
    xy = window.plot.pixels()[list(points)]
    (left, top), (right, bottom) = xy.min(axis=0) - 8, xy.max(axis=0) + 8
    around = [(left, top), (right, top), (right, bottom), (left, bottom)]
    corners = [QPointF(*at).toPoint() for at in around]
    QTest.mousePress(plot, LEFT, modifiers, corners[0])
    for at in (*corners[1:], corners[0]):
        QTest.mouseMove(plot, at)
    QTest.mouseRelease(plot, LEFT, modifiers, corners[0])


def test_rows_are_sorted_and_those_without_a_value_come_last(survey):
    shares = survey.columns["turning_share"]
    up, down = (sorted_rows(shares, descending=way) for way in (False, True))
    assert up[-1] == down[-1] == FAILED
    assert (np.diff(shares.values[up[:-1]]) >= 0).all()
    assert (np.diff(shares.values[down[:-1]]) <= 0).all()
    words = survey.columns["verdict"]
    in_order = words.values[sorted_rows(words, descending=True)].tolist()
    assert in_order == [*["line"] * 6, *["helix"] * 8, ""]
    for name, column in survey.columns.items():
        assert sorted(sorted_rows(column, descending=False)) == list(range(len(survey))), name


def test_values_are_written_in_the_format_of_their_quantity(survey):
    columns = survey.columns
    assert value_text(columns["step"], 4) == format_count(10_000)
    assert value_text(columns["variance_3"], 4) == format_percent(0.75)
    assert value_text(columns["helix_r2"], 4).startswith("1.0")
    assert value_text(columns["helix_r2"], FAILED) == "–"
    assert value_text(columns["verdict"], FAILED) == ""
    assert value_text(columns["error"], FAILED) == "The Hub has no such file."


def test_a_table_model_writes_no_text_that_nobody_asks_for(survey, monkeypatch):
    asked = []
    rows = SurveyRows(survey)
    monkeypatch.setattr(
        "gui.window.survey.rows.value_text", lambda column, row: asked.append(row) or ""
    )
    rows.sort(4)
    rows.show_survey(survey)
    assert asked == []
    rows.index(2, 0).data()
    assert len(asked) == 1


def test_the_first_scatter_is_the_steps_of_each_seed(survey):
    choices = usual_choices(survey)
    assert (choices.x, choices.y, choices.color) == ("step", "turning_share", "seed")
    assert choices.log_x
    scatter = make_scatter(survey, choices)
    places = scatter.places()
    steps = survey.columns["step"].values
    left_out = (steps == 0) | (np.arange(len(steps)) == FAILED)
    np.testing.assert_array_equal(np.isnan(places[:, 0]), left_out)
    np.testing.assert_allclose(places[~left_out, 0], np.log10(steps[~left_out]))
    at, joined = scatter.lines(places)
    assert len(at) == (~left_out).sum()
    assert np.flatnonzero(~joined).tolist() == [3, 6, 10]
    assert scatter.scale.categories == tuple(map(str, SEEDS))


def test_a_click_on_a_title_sorts_and_the_third_one_ends_it(shown):
    before = texts(shown, "source")
    assert before == [entry.source for entry in entries()]
    click_title(shown, "step")
    assert texts(shown, "step")[:4] == ["0", "0", "0", "10"]
    step = list(shown.survey.columns).index("step")
    title = shown.table.rows.headerData(step, Qt.Orientation.Horizontal)
    assert title == "Step ▴"
    click_title(shown, "step")
    assert texts(shown, "step")[0] == format_count(10_000)
    click_title(shown, "step")
    assert texts(shown, "source") == before


def test_what_is_selected_stays_selected_when_rows_are_sorted(shown):
    shown.table.select_rows(np.array([2, 3, 9]), 3)
    click_title(shown, "step")
    assert sorted(shown.table.selected) == [2, 3, 9]
    assert shown.table.current == 3
    places = [shown.table.rows.place_of(one) for one in (2, 3, 9)]
    chosen = sorted(index.row() for index in shown.table.selectionModel().selectedRows())
    assert chosen == sorted(places)


def test_columns_without_values_are_hidden_and_menus_show_them(shown):
    table = shown.table
    assert "layer" not in table.shown_columns
    assert "commit" not in table.shown_columns
    menu = table.make_columns_menu()
    by_text = {action.text(): action for action in menu.actions()}
    assert not by_text["Layer"].isChecked()
    by_text["Layer"].trigger()
    by_text["Group"].trigger()
    assert "layer" in table.shown_columns
    assert "group" not in table.shown_columns
    by_text["Usual columns"].trigger()
    assert "group" in table.shown_columns
    menu.deleteLater()


def test_enter_and_a_double_click_open_a_checkpoint(shown):
    table = shown.table
    first, third = (table.visualRect(table.rows.index(at, 0)).center() for at in (0, 2))
    QTest.mouseClick(table.viewport(), LEFT, NONE, third)
    QTest.keyClick(table, Qt.Key.Key_Return)
    QTest.mouseClick(table.viewport(), LEFT, NONE, first)
    QTest.mouseDClick(table.viewport(), LEFT, NONE, first)
    assert shown.opened == ["own/x21@checkpoint-100", "own/x21@checkpoint-0"]


def test_a_click_on_a_point_selects_its_row_and_enter_opens_it(shown):
    QTest.mouseMove(shown.plot.viewport(), pixel(shown, 8))
    assert shown.plot._label.text().splitlines()[0] == "own/x49@checkpoint-1000"
    QTest.mouseClick(shown.plot.viewport(), LEFT, NONE, pixel(shown, 8))
    assert shown.table.selected.tolist() == [8]
    assert shown.plot._selected.tolist() == [8]
    assert shown.selection.text() == "1 selected"
    shown.plot.setFocus()
    QTest.keyClick(shown.plot, Qt.Key.Key_Return)
    assert shown.opened == ["own/x49@checkpoint-1000"]
    QTest.keyClick(shown.plot, Qt.Key.Key_Right)
    assert shown.table.selected.tolist() == [9]


def test_shift_adds_and_removes_points(shown):
    for point, modifiers in ((2, NONE), (3, SHIFT), (13, SHIFT), (3, SHIFT)):
        QTest.mouseClick(shown.plot.viewport(), LEFT, modifiers, pixel(shown, point))
    assert shown.table.selected.tolist() == [2, 13]


def test_double_click_opens_a_point_or_resets(shown):
    QTest.mouseDClick(shown.plot.viewport(), LEFT, NONE, pixel(shown, 8))
    assert shown.opened == ["own/x49@checkpoint-1000"]
    shown.plot.view.zoom_x(0.5)
    assert shown.plot.view.is_zoomed
    corner = shown.plot.view.sceneBoundingRect().topLeft().toPoint() + QPoint(12, 12)
    assert shown.plot.index_at(QPointF(corner)) is None
    QTest.mouseDClick(shown.plot.viewport(), LEFT, NONE, corner)
    assert not shown.plot.view.is_zoomed
    assert len(shown.opened) == 1


def test_a_lasso_selects_and_a_button_shows_up_to_nine_side_by_side(shown):
    assert not shown.beside.isEnabled()
    last = [4, 9, 14]  # the last step of each seed
    drag_around(shown, last)
    assert shown.table.selected.tolist() == last
    assert shown.beside.isEnabled()
    QTest.mouseClick(shown.beside, LEFT)
    assert shown.several == [tuple(f"own/x{seed}@checkpoint-10000" for seed in SEEDS)]
    drag_around(shown, [3, 8, 13], SHIFT | CONTROL)
    assert shown.table.selected.tolist() == [3, 4, 8, 9, 13, 14]
    assert shown.plot._drawn.getData()[0] is None or not len(shown.plot._drawn.getData()[0])
    QTest.keyClick(shown.table, Qt.Key.Key_Return, CONTROL)
    assert (len(shown.several), shown.opened) == (2, [])
    assert len(shown.several[1]) == 6
    drag_around(shown, range(1, 5))
    assert len(shown.table.selected) < 10
    shown.table.select_rows(np.arange(10))
    assert not shown.beside.isEnabled()


def test_axes_and_colours_are_any_columns(shown, qtbot):
    def choose(box, name):
        box.setCurrentIndex(box.findData(name))
        box.activated.emit(box.currentIndex())

    assert isinstance(shown.plot.x_axis, LogAxis)
    choose(shown.y_box, "variance_3")
    assert shown.plot.y_axis.title == "3 PCs (%)"
    np.testing.assert_allclose(shown.plot.scatter.y.values[4], 75.0, atol=1e-3)
    choose(shown.color_box, "helix_r2")
    assert shown.bar.isVisible()
    assert not shown.swatches.isVisible()
    shown.bar.levelsRequested.emit(0.2, 0.4)
    assert shown.bar.levels == (0.2, 0.4)
    choose(shown.x_box, "verdict")
    assert not isinstance(shown.plot.x_axis, LogAxis)
    assert not shown.log_x.isEnabled()
    assert shown.plot.scatter.x.names == ("helix", "line")
    for name in shown.survey.columns:
        if shown.x_box.findData(name) >= 0:
            for box in (shown.x_box, shown.y_box, shown.color_box):
                choose(box, name)
            QApplication.processEvents()
            assert shown.grab().width() == shown.width()


def test_the_steps_of_each_seed_are_joined_or_not(shown):
    assert len(shown.plot._lines.getData()[0]) == 11
    QTest.mouseClick(shown.lines, LEFT, NONE, QPoint(8, shown.lines.height() // 2))
    assert not shown.lines.isChecked()
    assert shown.plot.scatter.runs == ()


def test_another_theme_is_shown_at_once(shown):
    shown.set_theme(DARK)
    assert shown.plot.theme is DARK
    assert shown.plot.grab().toImage().pixelColor(200, 40).name() == DARK.viewport


def test_newer_rows_keep_order_selection_and_zoom(shown, tmp_path):
    path, found = tmp_path / "running.parquet", entries()
    with SurveyFile(path, RowSettings()) as file:
        file.announce(found, "http://127.0.0.1:8787/status")
        for at, entry in list(enumerate(found))[8:]:
            file.add(row(entry, at))
        file.flush()
        shown.show_survey(read_survey(path))
        assert shown.progress.text() == "7 of 15 checkpoints"
        assert shown.note.text() == "Dashboard: http://127.0.0.1:8787/status"
        click_title(shown, "step")
        shown.table.select_rows(np.array([0, 3]), 3)
        chosen = [texts(shown, "source")[shown.table.rows.place_of(one)] for one in (0, 3)]
        shown.plot.view.zoom_x(0.5)
        seen = shown.plot.view.spans()
        for at, entry in list(enumerate(found))[:8]:
            file.add(row(entry, at))
        file.flush()
        shown.show_survey(read_survey(path))
    assert shown.progress.text() == "15 of 15 checkpoints, 1 failed"
    assert texts(shown, "step")[:3] == ["0", "0", "0"]
    sources = shown.survey.columns["source"].values
    assert sorted(sources[shown.table.selected]) == sorted(chosen)
    assert sources[shown.table.current] == chosen[1]
    np.testing.assert_allclose(shown.plot.view.spans(), seen)
    shown.show_survey(read_survey(path))
    assert shown.progress.text() == "15 checkpoints, 1 failed"
    assert shown.note.text() == ""


def test_a_survey_without_rows_says_so(qtbot, dress, tmp_path, controller):
    dress(LIGHT)
    path = tmp_path / "running.parquet"
    with SurveyFile(path, RowSettings()) as file:
        file.announce(entries())
        empty = read_survey(path)
        owner = QWidget()
        qtbot.addWidget(owner)
        made = SurveyWindow(empty, LIGHT, ResultSaver(controller), owner)
        made.show()
        assert made.empty.isVisible()
        assert not made.x_box.isVisible()
        assert made.progress.text() == progress_text(empty) == "0 of 15 checkpoints"
        for at, entry in enumerate(entries()[:3]):
            file.add(row(entry, at))
        file.flush()
        made.show_survey(read_survey(path))
    assert not made.empty.isVisible()
    assert made.table.rows.rowCount() == 3
    chosen = [box.currentData() for box in (made.x_box, made.y_box, made.color_box)]
    assert chosen == ["step", "turning_share", "seed"]


def test_a_long_sentence_does_not_widen_the_window(shown):
    width = shown.minimumSizeHint().width()
    shown.show_message("A sentence about a file. " * 8)
    assert shown.minimumSizeHint().width() == width
    assert "A sentence about a file" in shown.note.toolTip()


def test_the_table_is_saved_as_it_is_shown(shown, tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    monkeypatch.setattr("gui.export.save_result.ask_where", lambda *args, **kwargs: path)
    click_title(shown, "step")
    click_title(shown, "step")
    shown.table.show_columns(["source", "step", "helix_r2", "error"])
    shown.save_table()
    with path.open(newline="", encoding="utf-8") as file:
        title, *rows = csv.reader(file)
    assert title == ["source", "step", "helix_r2", "error"]
    assert [one[0] for one in rows] == texts(shown, "source")
    assert [int(one[1]) for one in rows] == sorted(STEPS * 3, reverse=True)
    values = shown.survey.columns["helix_r2"].values[shown.table.rows.order]
    np.testing.assert_array_equal([float(one[2]) for one in rows], values)


@pytest.mark.parametrize("color", ["seed", "variance_3"])
def test_the_figure_is_saved(shown, tmp_path, monkeypatch, color):
    shown.color_box.setCurrentIndex(shown.color_box.findData(color))
    shown.color_box.activated.emit(0)
    for ending, begins in (("png", b"\x89PNG\r"), ("pdf", b"%PDF-"), ("svg", b"<?xml")):
        path = tmp_path / f"figure.{ending}"
        monkeypatch.setattr("gui.export.save_result.ask_where", lambda *_, _at=path, **__: _at)
        shown.save_figure()
        assert path.read_bytes().startswith(begins)
    text = path.read_text("utf-8")
    for word in ("Turning share", "Step", "own.parquet", "15 checkpoints, 1 failed"):
        assert f">{word}<" in text
    assert all(f">{name}<" in text for name in SEEDS) == (color == "seed")


def with_curve(stored):
    """The fields of a row with components."""
    numbers = {"n_positions": 60, "first_position": 1, "last_position": 59}
    return numbers | {"coordinates": stored}


@pytest.fixture
def curved(tmp_path):
    """A survey with components, but of the checkpoint that failed."""
    t = np.linspace(0, 1, 60)
    path = tmp_path / "curved.parquet"
    with SurveyFile(path, RowSettings(kept=3)) as file:
        for at, entry in enumerate(entries()):
            curve = np.column_stack([3 * t, np.cos((at + 1) * t), np.sin((at + 1) * t)])
            stored = curve.astype("<f2").tobytes()
            file.add(row(entry, at) | ({} if at == FAILED else with_curve(stored)))
    return read_survey(path)


@pytest.fixture
def drawn(shown, curved):
    """The window on its page of curves, which are read at once, and what it asked for."""
    shown.asked = []

    def read(sources):
        shown.asked.append(sources)
        assert shown.curves.caption.text() == READING
        shown.show_curves(read_curves(shown.survey, sources))

    shown.curvesRequested.connect(read)
    shown.show_survey(curved)
    assert shown.asked == []  # not on this page
    QTest.mouseClick(shown.page.buttons["curves"], LEFT)
    return shown


def picture(window, at):
    """Where a picture is, on the list's viewport."""
    return window.curves.list.visualItemRect(window.curves.list.item(at)).center()


def names(window):
    return [window.curves.list.item(at).text() for at in range(window.curves.list.count())]


def test_the_curves_of_all_are_drawn_and_those_that_failed_have_none(drawn):
    assert not drawn.x_box.isVisible()
    assert [len(sources) for sources in drawn.asked] == [15]
    expected = [f"seed {seed} · step {format_count(step)}" for seed in SEEDS for step in STEPS]
    assert names(drawn) == expected[:FAILED] + expected[FAILED + 1 :]
    assert drawn.curves.caption.text().startswith("14 curves; 1 checkpoint has none in the file.")
    for points in drawn.curves.flat.values():
        assert points.shape == (59, 2)
    QTest.mouseClick(drawn.page.buttons["scatter"], LEFT)
    assert drawn.x_box.isVisible()
    assert drawn.plot.isVisible()
    QTest.mouseClick(drawn.page.buttons["curves"], LEFT)
    assert len(drawn.asked) == 1  # they are known


def test_the_curves_of_selected_rows_are_drawn_and_read_once(drawn):
    drawn.table.select_rows(np.array([4, 9, 14]))
    assert names(drawn) == ["seed 21", "seed 49", "seed 81"]  # of one step
    assert len(drawn.asked) == 1
    drawn.table.select_rows(np.array([3, 4]))
    assert names(drawn) == [f"step {format_count(step)}" for step in STEPS[3:]]
    assert drawn.asked[1:] == [("own/x21@checkpoint-1000",)]
    drawn.table.select_rows(np.array([FAILED]))
    assert drawn.curves.caption.text() == NO_CURVES
    assert not drawn.curves.list.isVisible()


def test_a_click_on_a_picture_moves_to_its_row_and_a_double_click_opens_it(drawn):
    QTest.mouseClick(drawn.curves.list.viewport(), LEFT, NONE, picture(drawn, 5))
    assert drawn.table.current == 5
    assert drawn.table.selected.size == 0
    assert len(names(drawn)) == 14
    QTest.keyClick(drawn.curves.list, Qt.Key.Key_Right)
    assert drawn.table.current == 6
    QTest.keyClick(drawn.curves.list, Qt.Key.Key_Return)
    assert drawn.opened == ["own/x49@checkpoint-10"]
    QTest.mouseClick(drawn.curves.list.viewport(), LEFT, NONE, picture(drawn, 2))
    QTest.mouseDClick(drawn.curves.list.viewport(), LEFT, NONE, picture(drawn, 2))
    assert drawn.opened[1:] == ["own/x21@checkpoint-100"]
    drawn.table.select_rows(np.array([1, 12]))
    assert drawn.curves.list.currentItem().text() == "seed 81 · step 100"


def test_many_rows_are_thinned_evenly():
    order = np.arange(1000)[::-1]
    rows = drawn_rows(order, np.zeros(0, dtype=int))
    assert len(rows) == MAX_CURVES
    assert (rows[0], rows[-1]) == (999, 0)
    assert np.ptp(np.diff(rows)) <= 1
    assert drawn_rows(order, np.array([5, 3])).tolist() == [5, 3]
    assert drawn_rows(np.zeros(0, dtype=int), np.zeros(0, dtype=int)).size == 0


def test_newer_rows_bring_newer_curves(drawn, curved, tmp_path):
    more = Entry("own/x21@checkpoint-5", "own", 21, 5)
    stored = np.ones((60, 3), "<f2").cumsum(axis=0).tobytes()
    with SurveyFile(curved.path, RowSettings(kept=3)) as file:
        file.add(row(more, 0) | with_curve(stored))
        file.flush()
        drawn.show_survey(read_survey(curved.path))
    assert names(drawn)[1] == "seed 21 · step 5"
    assert set(drawn.asked[-1]) == {more.source, entries()[FAILED].source}
    QTest.mouseClick(drawn.curves.list.viewport(), LEFT, NONE, picture(drawn, 2))
    assert drawn.survey.columns["source"].values[drawn.table.current] == "own/x21@checkpoint-10"


def test_the_figure_and_the_script_are_of_the_curves(drawn, monkeypatch):
    figure = drawn._figure()()
    assert len(figure.axes[0].collections[0].get_segments()) == 14
    assert {text.get_text() for text in figure.axes[0].texts} >= set(names(drawn))
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    variables = {"__name__": "__main__"}
    exec(compile(drawn.script(), "script", "exec"), variables)
    for source, points in drawn.curves.flat.items():
        np.testing.assert_allclose(variables["drawn"][source], points, atol=1e-4)


def test_the_pictures_follow_the_theme(drawn):
    before = drawn.curves.list.item(0).icon().pixmap(100, 100).toImage()
    drawn.set_theme(DARK)
    after = drawn.curves.list.item(0).icon().pixmap(100, 100).toImage()
    assert before.pixelColor(50, 3).lightness() > 200 > 80 > after.pixelColor(50, 3).lightness()


def test_a_survey_without_components_says_how_to_keep_them(shown):
    shown.curvesRequested.connect(
        lambda sources: shown.show_curves(read_curves(shown.survey, sources))
    )
    QTest.mouseClick(shown.page.buttons["curves"], LEFT)
    assert shown.curves.caption.text() == NO_CURVES


def test_short_table_leaves_room_to_the_plot(shown, tmp_path):
    def lower():
        return shown._splitter.sizes()[1]

    short = read_survey(write_survey(tmp_path / "short.parquet", entries()[:3]))
    shown.resize(900, 600)
    assert abs(lower() - shown._splitter.height() // 2) <= shown._splitter.handleWidth()
    shown.show_survey(short)
    QApplication.processEvents()
    assert lower() == shown.table.full_height()
    assert not shown.table.verticalScrollBar().isVisible()
    handle = shown._splitter.handle(1)
    QTest.mousePress(handle, LEFT)
    QTest.mouseMove(handle, handle.rect().center() - QPoint(0, 80))
    QTest.mouseRelease(handle, LEFT, NONE, handle.rect().center() - QPoint(0, 80))
    parted = lower()
    assert parted > shown.table.full_height() + 40
    shown.show_survey(short)
    assert lower() == parted


def test_the_legend_has_no_name_without_a_point(survey):
    choices = replace(usual_choices(survey), x="step", y="helix_r2", color="error")
    (failed,) = set(survey.columns["error"].values) - {""}
    assert np.isnan(make_scatter(survey, choices).places()[FAILED]).any()
    assert failed not in make_scatter(survey, choices).scale.categories
    choices = replace(choices, y="source")
    assert failed in make_scatter(survey, choices).scale.categories
