"""The positions panel, through real events, on a small synthetic table."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFocusEvent, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.side_panels.components import put_on_axis
from gui.side_panels.positions import longest_run, range_presets
from gui.state.session import Session
from gui.style.theme import DARK
from tests.gui.on_screen import turn_wheel
from tests.gui.positions_stage import N, fill, follow, record, shown, table
from tests.gui.result_stage import enter, hover


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(qtbot, session):
    fill(session)
    return shown(qtbot, session)


@pytest.fixture
def heard(panel):
    """Every intent of the panel, which the session follows."""
    intents = record(panel)
    follow(panel)
    return intents


def drag(slider, start: QPoint, *moves: int, release: bool = True) -> None:
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=start)
    for dx in moves:
        QTest.mouseMove(slider, start + QPoint(dx, 0))
    if release:
        QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=start + QPoint(moves[-1], 0))


def test_range_is_shown_and_drags_need_no_layout(panel):
    assert panel.slider.value() == (1, 199)
    assert (panel.first.value(), panel.last.value()) == (1, 199)
    assert panel.count.note() == "199 positions"
    assert panel.components.foot.note() == "exact fit 1–199"
    W_pos = table()
    curve = place_curve(W_pos, fit_pca(W_pos, (7, 180)), (1, 2, 3))
    layout = panel.slider.parentWidget().layout()
    layout.activate()
    panel.session.dragging = True
    panel.session.positions = (7, 180)
    panel.session.curve = curve
    # Activating a layout that is up to date does nothing, and says so.
    assert layout.activate() is False


def test_dragging_a_handle_asks_live_between_start_and_finish(panel, heard):
    drag(panel.slider, panel.slider.handle_rect(1).center(), -10, -40, -80)
    assert heard[0] == ("started",)
    assert heard[-1] == ("finished",)
    ranges = [words for words in heard if words[0] == "range"]
    assert len(ranges) == 3
    assert all(first == 1 for _, first, _ in ranges)
    assert [last for _, _, last in ranges] == sorted((r[2] for r in ranges), reverse=True)
    assert panel.last.value() == ranges[-1][2] == panel.session.positions[1] < 170


def test_bar_drags_the_range_held_handle_does_not(panel, heard):
    panel.session.positions = (37, 151)
    off_centre = panel.slider.handle_rect(0).center() + QPoint(3, 2)
    drag(panel.slider, off_centre, 1, 0)
    assert heard == [("started",), ("finished",)]
    assert panel.session.positions == (37, 151)
    panel.session.positions = (40, 120)
    middle = panel.slider.handle_rect(0).center() + QPoint(40, 0)
    drag(panel.slider, middle, 7, 19, 31, 500)
    ranges = [words[1:] for words in heard if words[0] == "range"]
    assert {last - first for first, last in ranges} == {80}
    assert ranges[-1] == (119, 199)


def test_escape_takes_a_drag_back(panel, heard):
    start = panel.slider.handle_rect(1).center()
    drag(panel.slider, start, -60, release=False)
    assert panel.session.positions[1] < 199
    QTest.keyClick(panel.slider, Qt.Key.Key_Escape)
    assert panel.session.positions == (1, 199)
    assert heard[-1] == ("finished",)
    count = len(heard)
    QTest.mouseMove(panel.slider, start + QPoint(-30, 0))
    QTest.mouseRelease(panel.slider, Qt.MouseButton.LeftButton, pos=start)
    assert len(heard) == count


def test_each_key_on_the_slider_is_one_complete_request(panel, heard):
    panel.slider.setFocus()
    none, shift = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
    for keys, modifier, expected in (
        ([Qt.Key.Key_Right], none, (51, 100)),
        ([Qt.Key.Key_Left], none, (49, 100)),
        ([Qt.Key.Key_Right], shift, (51, 101)),
        ([Qt.Key.Key_End], shift, (149, 199)),
        ([Qt.Key.Key_Home], none, (0, 100)),
        ([Qt.Key.Key_PageUp], none, (59, 100)),
        ([Qt.Key.Key_End], none, (99, 100)),
        ([Qt.Key.Key_Up, Qt.Key.Key_Right], none, (50, 101)),
    ):
        panel.session.positions = (50, 100)
        for key in keys:
            QTest.keyClick(panel.slider, key, modifier)
        assert heard.pop() == ("range", *expected)
        assert heard == []


def test_typing_applies_on_enter_and_on_leaving_the_field_only(panel, heard):
    panel.last.setFocus()
    panel.last.selectAll()
    QTest.keyClicks(panel.last, "150")
    assert heard == []
    QTest.keyClick(panel.last, Qt.Key.Key_Return)
    assert heard == [("range", 1, 150)]
    assert panel.slider.value() == (1, 150)
    panel.first.selectAll()
    QTest.keyClicks(panel.first, "20")
    assert len(heard) == 1
    QApplication.sendEvent(panel.first, QFocusEvent(QEvent.Type.FocusOut))
    assert heard[1:] == [("range", 20, 150)]


def test_an_end_typed_beyond_the_other_moves_the_range_along(panel, heard):
    for field, typed, expected in (
        (panel.first, "120", (120, 160)),
        (panel.first, "180", (180, 199)),
        (panel.last, "50", (10, 50)),
        (panel.last, "20", (0, 20)),
    ):
        panel.session.positions = (60, 100)
        enter(field, typed)
        assert heard.pop() == ("range", *expected)
        assert heard == []
        assert (panel.first.value(), panel.last.value()) == expected


def test_controls_follow_the_session(panel):
    enter(panel.first, "77")
    assert panel.first.value() == 1
    assert panel.slider.value() == (1, 199)
    heard = record(panel)
    panel.session.positions = (30, 90)
    panel.session.components = (4, 2, 5)
    assert heard == []
    assert panel.slider.value() == (30, 90)
    assert (panel.first.value(), panel.last.value()) == (30, 90)
    assert [combo.currentText() for combo in panel.components.combos] == ["PC 4", "PC 2", "PC 5"]


def test_presets_and_bars_choose_ranges_and_axes(panel, qtbot, heard):
    for button in panel.presets:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert [words[1:] for words in heard] == [(0, 199), (1, 199), (100, 199), (1, 99), (1, 198)]
    panel.session.norms = None
    button = panel.presets[-1]
    assert not button.isEnabled()
    assert "not known yet" in button.toolTip()
    heard = record(panel)
    follow(panel)
    for component in (4, 5, 6, 7):
        click_bar(panel, qtbot, component)
    assert [words[1] for words in heard] == [(1, 2, 4), (1, 5, 4), (6, 5, 4), (6, 5, 7)]
    click_bar(panel, qtbot, 6)
    assert heard[-1] == ("components", (5, 6, 7))


def test_longest_run():
    assert longest_run(1024, (0, 1023)) == (1, 1022)
    assert longest_run(512, (511, 0, 127, 510)) == (128, 509)
    assert longest_run(5, ()) == (0, 4)
    assert longest_run(2, (0, 1)) is None
    assert [preset.positions for preset in range_presets(1, ())] == [(0, 0), None, None, None, None]


def test_it_says_what_it_will_show_and_which_presets_a_short_table_lacks(qtbot, session):
    panel = shown(qtbot, session)
    assert panel.message.isVisible()
    assert "Open a model" in panel.message.text()
    session.opening = Source.parse("gpt2")
    assert "Opening" in panel.message.text()
    fill(session)
    assert not panel.message.isVisible()
    assert panel.slider.isVisible()
    fill(session, n_positions=64)
    by_name = {button.accessibleName(): button for button in panel.presets}
    assert by_name["All positions"].isEnabled()
    assert not by_name["100–last"].isEnabled()
    assert not by_name["1–99"].isEnabled()
    assert "only 64 positions" in by_name["1–99"].toolTip()


def test_a_table_of_one_position_has_no_range_to_choose(qtbot, session):
    session.model = SimpleNamespace(
        n_positions=1, d_model=16, source="one", name="one", rows=None, of_positions=True
    )
    panel = shown(qtbot, session)
    assert not panel.slider.isEnabled()
    assert not panel.first.isEnabled()
    assert panel.count.note() == "1 position"


def test_both_themes_paint(panel, dress):
    dress(DARK)
    panel.set_theme(DARK)
    picture = panel.grab().toImage()
    assert picture.pixelColor(2, picture.height() - 2).lightness() != 255


def test_a_click_beside_the_handles_fetches_the_nearer_one(panel, heard):
    panel.session.positions = (80, 120)
    QTest.mouseClick(panel.slider, Qt.MouseButton.LeftButton, pos=QPoint(40, 11))
    assert [words[0] for words in heard] == ["started", "range", "finished"]
    assert panel.session.positions[0] < 40
    assert panel.session.positions[1] == 120


def test_a_range_of_few_positions_or_one_is_shown_for_what_it_is(panel):
    W_pos = table()
    panel.session.positions = (9, 9)
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (9, 9)), (1, 2, 3))
    assert panel.count.note() == "1 position"
    assert (panel.first.value(), panel.last.value()) == (9, 9)
    assert panel.grab().width() == 280
    panel.session.positions = (10, 12)
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (10, 12)), (1, 2, 3))
    assert len(panel.components.bars.shares()) <= 3
    assert panel.components.foot.text().startswith("PC 1 + 2 + 3 = 100.0")


def test_the_wheel_moves_the_range_only_with_the_focus(panel, qtbot, heard):
    panel.session.positions = (80, 120)

    turn_wheel(panel.slider, up=1)
    assert heard == []
    panel.activateWindow()
    panel.slider.setFocus()
    qtbot.waitUntil(panel.slider.hasFocus)
    turn_wheel(panel.slider, up=1)
    assert [words[0] for words in heard] == ["range"]
    assert panel.session.positions[1] - panel.session.positions[0] == 40


def test_choosing_a_shown_component_swaps_the_two(panel, qtbot, heard):
    combo = panel.components.combos[0]
    combo.setFocus()
    QTest.keyClick(combo, Qt.Key.Key_Down)
    assert heard == [("components", (2, 1, 3))]
    assert [box.currentIndex() + 1 for box in panel.components.combos] == [2, 1, 3]
    assert put_on_axis((1, 2, 3), 2, 7) == (1, 2, 7)


def click_bar(panel, qtbot, component: int) -> None:
    at = panel.components.bars.slot(component).center().toPoint()
    qtbot.mouseClick(panel.components.bars, Qt.MouseButton.LeftButton, pos=at)


def test_totals_tooltips_and_badge_of_the_fit(panel):
    ratios = panel.session.pca.explained_variance_ratio
    panel.session.components = (1, 2, 4)
    expected = 100 * (ratios[0] + ratios[1] + ratios[3])
    assert panel.components.foot.text() == f"PC 1 + 2 + 4 = {expected:.1f}\N{NO-BREAK SPACE}%"
    assert panel.components.bars.shares() == pytest.approx(ratios[:10])
    bars = panel.components.bars
    at = bars.slot(2).center().toPoint()
    QApplication.sendEvent(bars, QHelpEvent(QEvent.Type.ToolTip, at, bars.mapToGlobal(at)))
    assert "of the variance, on y" in bars.describe(2)
    assert "show it on z in place of PC 4" in bars.describe(7)
    assert "move it to z, and PC 4 to y" in bars.describe(2)
    assert [bars.foot(k) for k in (1, 2, 3, 4)] == ["1 x", "2 y", "3", "4 z"]
    hover(bars, bars.slot(7).center().toPoint())
    assert bars.foot(7) == "→ z"
    W_pos = table()
    panel.session.dragging = True
    panel.session.positions = (5, 150)
    assert panel.components.foot.note() == "fast fit"
    panel.session.curve = place_curve(
        W_pos, replace(fit_pca(W_pos, (5, 150)), exact=False), (1, 2, 3)
    )
    assert panel.components.foot.note() == "fast fit"
    panel.session.dragging = False
    assert panel.components.foot.note() == "refitting…"
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (5, 150)), (1, 2, 3))
    assert panel.components.foot.note() == "exact fit 5–150"


def test_bars_follow_a_drag_calmly_and_catch_up_at_its_end(panel, qtbot):
    W_pos = table()
    before = panel.components.foot.text()
    panel.session.dragging = True
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (5, 9)), (1, 2, 3))
    assert panel.components.foot.text() == before
    qtbot.waitUntil(lambda: panel.components.foot.text() != before)
    during = panel.components.foot.text()
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (5, 150)), (1, 2, 3))
    panel.session.dragging = False
    assert panel.components.foot.text() != during


def test_bars_that_a_fast_fit_leaves_out_wait_for_the_exact_one(panel):
    W_pos = table()
    before = panel.components.bars.shares()
    partial = replace(fit_pca(W_pos, (5, 150), 3), exact=False)
    panel.session.curve = place_curve(W_pos, partial, (1, 2, 3))
    shares = panel.components.bars.shares()
    assert shares[:3] == pytest.approx(partial.explained_variance_ratio)
    assert shares[3:] == before[3:]
    assert "at the last exact fit" in panel.components.bars.describe(5)
    other = SimpleNamespace(
        n_positions=N, d_model=16, source="b", name="b", rows=None, of_positions=True
    )
    first = place_curve(W_pos, replace(partial), (1, 2, 3))
    panel.session.change(curve=first, model=other)
    assert len(panel.components.bars.shares()) == 3, "at once: the others were another model's"
