"""The components in the positions panel: which are on the axes, and their shares."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.panels.side.components import put_on_axis
from gui.state.session import Session
from tests.gui.positions_stage import N, fill, follow, record, shown, table


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(qtbot, session):
    fill(session)
    return shown(qtbot, session)


def test_choosing_a_shown_component_swaps_the_two(panel, qtbot):
    heard = record(panel)
    follow(panel)
    combo = panel.components.combos[0]
    combo.setFocus()
    QTest.keyClick(combo, Qt.Key.Key_Down)
    assert heard == [("components", (2, 1, 3))]
    assert [box.currentIndex() + 1 for box in panel.components.combos] == [2, 1, 3]
    assert put_on_axis((1, 2, 3), 2, 7) == (1, 2, 7)


def click_bar(panel, qtbot, component: int) -> None:
    at = panel.components.bars.slot(component).center().toPoint()
    qtbot.mouseClick(panel.components.bars, Qt.MouseButton.LeftButton, pos=at)


def test_clicking_bars_cycles_through_the_axes(panel, qtbot):
    heard = record(panel)
    follow(panel)
    for component in (4, 5, 6, 7):
        click_bar(panel, qtbot, component)
    assert [words[1] for words in heard] == [(1, 2, 4), (1, 5, 4), (6, 5, 4), (6, 5, 7)]
    click_bar(panel, qtbot, 6)
    assert heard[-1] == ("components", (5, 6, 7))


def test_the_total_is_that_of_the_shown_components(panel):
    ratios = panel.session.pca.explained_variance_ratio
    panel.session.components = (1, 2, 4)
    expected = 100 * (ratios[0] + ratios[1] + ratios[3])
    assert panel.components.foot.text() == f"PC 1 + 2 + 4 = {expected:.1f}\N{NO-BREAK SPACE}%"
    assert panel.components.bars.shares() == pytest.approx(ratios[:10])


def test_the_tooltip_of_a_bar_has_its_share(panel):
    bars = panel.components.bars
    at = bars.slot(2).center().toPoint()
    QApplication.sendEvent(bars, QHelpEvent(QEvent.Type.ToolTip, at, bars.mapToGlobal(at)))
    assert "of the variance, on y" in bars.describe(2)
    assert "show it on an axis" in bars.describe(7)


def test_a_range_of_few_positions_has_few_bars(panel):
    W_pos = table()
    panel.session.positions = (10, 12)
    panel.session.curve = place_curve(W_pos, fit_pca(W_pos, (10, 12)), (1, 2, 3))
    assert len(panel.components.bars.shares()) <= 3
    assert panel.components.foot.text().startswith("PC 1 + 2 + 3 = 100.0")


def test_the_badge_tells_when_the_basis_was_fitted(panel):
    W_pos = table()
    panel.session.dragging = True
    panel.session.positions = (5, 150)
    assert panel.components.foot.note() == "fast fit, dragging"
    panel.session.curve = place_curve(
        W_pos, replace(fit_pca(W_pos, (5, 150)), exact=False), (1, 2, 3)
    )
    assert panel.components.foot.note() == "fast fit, dragging"
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
    panel.session.model = SimpleNamespace(n_positions=N, d_model=16, source="b", name="b")
    panel.session.curve = place_curve(W_pos, replace(partial), (1, 2, 3))
    assert len(panel.components.bars.shares()) == 3
