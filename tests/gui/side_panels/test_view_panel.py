"""The view panel, through real events."""

import pytest
from cmap import Colormap
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.column_files import PositionColumn
from geometry.models.sources.opening import open_model
from gui.side_panels.view import ViewPanel
from gui.state.session import Session
from gui.state.values import CurveLook
from gui.style.theme import COLORMAPS, DARK, LIGHT
from tests.gui.on_screen import choose_by_keys, put_on_screen, turn_wheel
from tests.gui.result_stage import enter


@pytest.fixture
def panel(qtbot):
    return put_on_screen(qtbot, ViewPanel(Session(), LIGHT), 280, 160)


@pytest.fixture
def heard(panel) -> list[tuple]:
    """Every intent of the panel."""
    heard: list[tuple] = []
    panel.colorByRequested.connect(lambda by, component: heard.append((by, component)))
    panel.columnRequested.connect(lambda column: heard.append(("column", column.name)))
    panel.columnFileRequested.connect(lambda: heard.append(("file",)))
    panel.colorSpanRequested.connect(lambda value: heard.append(("span", value)))
    panel.outsideRequested.connect(lambda value: heard.append(("outside", value)))
    panel.projectionRequested.connect(lambda value: heard.append(("projection", value)))
    panel.keepTurnedRequested.connect(lambda value: heard.append(("keep", value)))
    panel.lookRequested.connect(lambda field, value: heard.append((field, value)))
    return heard


def test_shows_the_session_and_asks_nothing(panel, heard):
    panel.session.change(color_by="component", color_component=7, colormap="viridis")
    panel.session.change(colormap="batlow", color_by="norm", color_span="table", outside="faint")
    panel.session.change(projection="parallel", keep_turned=True, curve_parts="points")
    assert panel.colormap.currentData() == "batlow"
    assert panel.color_by.currentText() == "Norm"
    assert panel.color_span.value() == "table"
    assert panel.outside.value() == "faint"
    assert panel.outside.buttons["faint"].isChecked()
    assert panel.projection.value() == "parallel"
    assert panel.after_drag.value() == "stay"
    assert panel.curve_parts.value() == "points"
    assert heard == []


def test_choosing_what_colours_the_curve_which_component_and_which_map(panel, heard):
    choose_by_keys(panel.color_by, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down)
    assert not panel.component.isVisible()
    choose_by_keys(panel.color_by, Qt.Key.Key_Down)
    assert panel.component.isVisible()
    choose_by_keys(panel.component, Qt.Key.Key_Down)
    choose_by_keys(panel.colormap, Qt.Key.Key_Down)
    colours = [("period", 4), ("norm", 4), ("residual", 4), ("component", 4), ("component", 5)]
    assert heard == [*colours, ("colormap", "turbo")]


def test_every_map_is_on_offer_with_its_picture_and_what_it_is_good_for(panel):
    combo = panel.colormap
    assert tuple(combo.itemData(index) for index in range(combo.count())) == COLORMAPS
    for index, name in enumerate(COLORMAPS):
        assert combo.itemData(index, Qt.ItemDataRole.ToolTipRole)
        picture = combo.itemIcon(index).pixmap(32, 12).toImage()
        expected = Colormap(name)(0.5).rgba8
        seen = picture.pixelColor(picture.width() // 2, 6).getRgb()[:3]
        assert seen == pytest.approx((expected.r, expected.g, expected.b), abs=15)


def test_the_popup_of_maps_opens_and_chooses(panel, qtbot, heard):
    qtbot.mouseClick(panel.colormap, Qt.MouseButton.LeftButton)
    view = panel.colormap.view()
    qtbot.waitUntil(view.isVisible)
    at = view.visualRect(view.model().index(2, 0)).center()
    # A press and release right after opening would be taken for the click that opened it.
    QTest.mouseMove(view.viewport(), at)
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert len(heard) == 1
    assert heard[0][0] == "colormap"


def test_segments_ask_once_by_mouse_and_by_keyboard(panel, qtbot, heard):
    for choice, value, expected in (
        ("color_span", "table", ("span", "table")),
        ("outside", "faint", ("outside", "faint")),
        ("projection", "parallel", ("projection", "parallel")),
        ("curve_parts", "line", ("curve_parts", "line")),
    ):
        for _ in range(2):
            qtbot.mouseClick(getattr(panel, choice).buttons[value], Qt.MouseButton.LeftButton)
        assert heard.pop() == expected
    faint = panel.outside.buttons["faint"]
    panel.activateWindow()
    faint.setFocus()
    qtbot.waitUntil(faint.hasFocus)
    QTest.keyClick(faint, Qt.Key.Key_Left)
    assert heard == [("outside", "hidden")]


def test_the_wheel_passing_over_changes_nothing(panel, heard):
    panel.outside.buttons["hidden"].setFocus()
    combo = panel.colormap
    turn_wheel(combo, up=-1)
    assert heard == []
    assert combo.currentData() == "jet"


def test_fits_its_place_in_the_left_column(panel, dress):
    dress(DARK)
    panel.set_theme(DARK)
    panel.session.color_by = "component"
    assert panel.minimumSizeHint().width() <= 240
    assert panel.sizeHint().height() <= 180
    for choice in (panel.color_span, panel.curve_parts, panel.outside, panel.projection):
        for button in choice.buttons.values():
            assert button.fontMetrics().horizontalAdvance(button.text()) < button.width()


@pytest.fixture
def options(panel, qtbot):
    """The small window of the curve's sizes, opened by its button."""
    qtbot.mouseClick(panel.more, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(panel.curve_options.isVisible)
    yield panel.curve_options
    panel.curve_options.close()


def test_sizes_and_opacity_are_dragged_and_typed_live(panel, options, qtbot, heard):
    for field, low, high in (("line_width", 2.0, 8.0), ("point_size", 8.0, 25.0)):
        slider = options.sliders[field].slider
        ticks = len(heard)
        slider.setFocus()
        for _ in range(5):
            QTest.keyClick(slider, Qt.Key.Key_PageUp)
        values = [value for name, value in heard[ticks:] if name == field]
        assert len(values) == 5
        assert values == sorted(values)
        assert low < values[-1] < high
    enter(options.sliders["opacity"].field, "0.4")
    assert heard[-1] == ("opacity", 0.4)
    qtbot.mouseClick(options.after_drag.buttons["stay"], Qt.MouseButton.LeftButton)
    assert heard[-1] == ("keep", True)


def test_the_small_window_shows_the_session_and_resets_it(panel, options, qtbot, heard):
    panel.lookRequested.connect(lambda field, value: setattr(panel.session, field, value))
    assert not options.reset.isEnabled()
    panel.session.change(line_width=4.0, point_size=2.5, curve_parts="points", opacity=0.5)
    shown = {field: slider.value for field, slider in options.sliders.items()}
    assert shown == {"line_width": 4.0, "point_size": 2.5, "opacity": 0.5}
    assert heard == []
    qtbot.mouseClick(options.reset, Qt.MouseButton.LeftButton)
    usual = CurveLook()
    assert heard == [
        ("line_width", usual.line_width),
        ("point_size", usual.point_size),
        ("opacity", usual.opacity),
        ("curve_parts", "both"),
    ]
    assert not options.reset.isEnabled()
    QTest.keyClick(options, Qt.Key.Key_Escape)
    assert not options.isVisible()


def test_a_period_is_dragged_and_typed_and_has_a_map_of_its_own(panel, heard):
    panel.session.color_by = "period"
    assert panel.spans.currentWidget() is panel.period
    assert panel.span_title.toolTip() == "The period in positions"
    assert panel.span_title.text() == "Period"
    assert panel.colormap.currentData() == "romaO"
    panel.period.slider.setFocus()
    for _ in range(3):
        QTest.keyClick(panel.period.slider, Qt.Key.Key_Right)
    periods = [value for field, value in heard if field == "color_period"]
    assert len(periods) == 3
    assert 32 < periods[0] < periods[1] < periods[2]
    enter(panel.period.field, "24.5")
    choose_by_keys(panel.colormap, Qt.Key.Key_Up)
    assert heard[-2:] == [("color_period", 24.5), ("cyclic_colormap", "batlow")]
    panel.session.color_by = "position"
    assert panel.spans.currentWidget() is panel.color_span
    assert panel.colormap.currentData() == "jet"


def test_a_column_is_chosen_from_the_file_and_another_file_is_asked_for(panel, heard):
    choose_by_keys(panel.color_by, Qt.Key.Key_End)
    assert heard == [("file",)]
    assert panel.color_by.currentData() == "position"  # until there is one
    loss = PositionColumn("loss", "a.csv", (1.0, 2.0))
    kind = PositionColumn("kind", "a.csv", ("x", "y"))
    panel.session.change(columns=(loss, kind), color_column=loss, color_by="column")
    assert panel.column.isVisible()
    assert [panel.column.itemText(i) for i in range(3)] == ["loss", "kind", "Other file…"]
    choose_by_keys(panel.column, Qt.Key.Key_Down)
    choose_by_keys(panel.column, Qt.Key.Key_End)
    assert heard[1:] == [("column", "kind"), ("file",)]
    assert panel.colormap.isEnabled()
    panel.session.color_column = kind
    assert panel.column.currentText() == "kind"
    assert not panel.colormap.isEnabled()
    # Of a saved project there is the column alone.
    panel.session.change(columns=(), color_column=loss)
    assert panel.column.itemText(1) == "Other file…"


def test_of_labelled_rows_the_first_column_is_one_in_which_some_are_equal(panel, heard, tmp_path):
    lines = [f"word {i},kind {i % 3},{i},{i * i % 7},{i % 5}" for i in range(20)]
    (tmp_path / "words.csv").write_text("\n".join(["word,kind,a,b,c", *lines]), "utf-8")
    model = open_model(tmp_path / "words.csv")
    panel.session.change(model=model)
    names = [panel.color_by.itemText(i) for i in range(panel.color_by.count())]
    assert names[0] == "Row"
    assert "Label" in names
    choose_by_keys(panel.color_by, Qt.Key.Key_End)
    assert heard == [("column", "kind")]
    panel.session.change(model=None)
    assert panel.color_by.itemText(0) == "Position"


def test_colours_by_token_say_what_is_needed(panel):
    panel.session.color_by = "token"
    assert panel.hint.isVisible()
    assert panel.hint.text() == "Enter text under Prompt"


@pytest.mark.parametrize("quantity", ["period", "token", "column"])
def test_it_is_as_high_whatever_colours_the_curve(panel, dress, quantity):
    dress(DARK)
    panel.session.change(color_column=PositionColumn("loss", "a.csv", (1.0,)), color_by=quantity)
    assert panel.minimumSizeHint().width() <= 240
    assert panel.sizeHint().height() <= 180
