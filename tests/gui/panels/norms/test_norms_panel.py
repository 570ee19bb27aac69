"""The norms panel: what it shows of the session, and what it asks for."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow

from geometry.measures.norms import norm_profile
from gui.panels.norms.norms import EMPTY, NormsPanel
from gui.panels.norms.norms_reading import read
from gui.panels.norms.norms_text import OUTLIER_RULE, bulk_span, full_span
from gui.plots.line_plot import envelope
from gui.state.session import Session
from gui.style.theme import LIGHT
from tests.gui.norms_alone import LEFT, N, at, open_table, show_alone, table


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def panel(qtbot, session):
    return show_alone(qtbot, session)


# The four states.


def test_nothing_open_says_what_it_will_show(panel):
    assert panel.message.isVisible()
    assert panel.message.text() == EMPTY
    assert panel.plot is None


def test_opening_and_measuring_say_so(panel, session):
    session.opening = "gpt2"
    assert "gpt2" in panel.message.text()
    session.model = SimpleNamespace(n_positions=3)
    session.opening = ""
    assert panel.message.isVisible()
    assert panel.message.text() not in ("", EMPTY)


def test_norms_come_and_go(panel, session):
    open_table(session, table())
    assert panel.plot is not None
    assert panel.plot.isVisible()
    assert not panel.message.isVisible()
    session.norms = None
    session.model = None
    assert panel.message.isVisible()
    assert not panel.plot.isVisible()
    open_table(session, table(50))
    assert len(panel.plot.values) == 50


def test_a_hidden_panel_draws_when_it_is_shown(qtbot, session):
    panel = NormsPanel(session, LIGHT)
    qtbot.addWidget(panel, before_close_func=NormsPanel.release)
    open_table(session, table())
    session.selection = (40,)
    assert panel.plot is None
    panel.show()
    QApplication.processEvents()
    assert panel.plot is not None
    assert 40 in [position for position, _ in panel.plot.marks.labels()]


# What it says.


def test_readout_has_the_numbers_of_the_profile(panel, session):
    open_table(session, table())
    profile = session.norms
    assert panel.header.readout.text() == (
        f"mean {profile.mean:.3f} · std {profile.std:.3f} · "
        f"cv {100 * profile.cv:.1f}\N{NO-BREAK SPACE}% over 100–298 · "
        "outliers\N{NO-BREAK SPACE}0,\N{NO-BREAK SPACE}299"
    )


def test_readout_of_the_real_gpt2(panel, session, gpt2_folder):
    from safetensors.numpy import load_file

    open_table(session, load_file(gpt2_folder / "model.safetensors")["wpe.weight"])
    assert panel.header.readout.text() == (
        "mean 3.376 · std 0.097 · cv 2.9\N{NO-BREAK SPACE}% over 100–1022 · "
        "outliers\N{NO-BREAK SPACE}0,\N{NO-BREAK SPACE}1023"
    )


def test_readout_of_a_short_table_says_so(panel, session):
    open_table(session, table(60))
    assert "over all positions (too few to leave out the first 100)" in panel.header.readout.text()
    assert "too short" in panel.header.readout.toolTip()
    found = read(session).stretch
    assert (found.first, found.last) == (0, 59)


@pytest.mark.parametrize("n", [101, 102, 103])
def test_the_stretch_named_is_the_stretch_measured(session, n):
    open_table(session, table(n))
    profile, found = session.norms, read(session).stretch
    assert profile.mean == pytest.approx(profile.values[found.first : found.last + 1].mean())
    assert profile.std == pytest.approx(profile.values[found.first : found.last + 1].std())


def test_many_outliers_are_counted_and_none_is_said(panel, session):
    rows = table()
    rows[10:290:10] *= 4
    open_table(session, rows)
    assert panel.header.readout.text().endswith("and 22 more")
    open_table(session, np.ones((N, 4)))
    assert panel.header.readout.text().endswith("no outliers")


def test_title_help_and_tooltips_explain(panel, session):
    open_table(session, table())
    assert panel.header.formula.text() == "‖Pᵢ‖₂"
    assert panel.header.help.toolTip().count(".") >= 2
    assert panel.plot.tooltip_at(QPointF(at(panel, 0))) == OUTLIER_RULE
    for control in (
        panel.header.kind.buttons["raw"],
        panel.header.kind.buttons["centred"],
        panel.header.bulk,
        panel.header.reset,
        panel.header.help,
    ):
        assert control.toolTip()
        assert control.accessibleName()


# Raw or centred.


def test_centred_is_asked_for_and_shown_when_it_is_there(panel, session, qtbot):
    open_table(session, table())
    with qtbot.waitSignal(panel.centredRequested) as caught:
        qtbot.mouseClick(panel.header.kind.buttons["centred"], LEFT)
    assert caught.args == [True]
    assert not session.norms_centred
    session.norms_centred = True
    session.norms = norm_profile(table(), centred=True)
    assert panel.header.kind.buttons["centred"].isChecked()
    assert "mean(Pᵢ)" in panel.header.formula.text()
    with qtbot.waitSignal(panel.centredRequested) as caught:
        qtbot.mouseClick(panel.header.kind.buttons["raw"], LEFT)
    assert caught.args == [False]


def test_centred_by_someone_else_asks_for_nothing(panel, session, qtbot):
    with qtbot.assertNotEmitted(panel.centredRequested):
        session.norms_centred = True
    assert panel.header.kind.buttons["centred"].isChecked()
    assert not panel.header.kind.buttons["raw"].isChecked()


# The axis.


def test_everything_fits_at_first_and_the_bulk_can_be_zoomed_to(panel, session, qtbot):
    open_table(session, table())
    low, high = panel.plot.view.spans()[1]
    assert low <= 0
    assert high > session.norms.values.max()
    qtbot.mouseClick(panel.header.bulk, LEFT)
    assert panel.plot.view.spans()[1] == pytest.approx(bulk_span(read(session)))
    assert {0, N - 1} <= {position for position, _ in panel.plot.marks.labels()}
    QTest.keyClick(panel.plot, Qt.Key.Key_F)
    assert panel.plot.view.spans()[1] == pytest.approx(bulk_span(read(session)))
    qtbot.mouseClick(panel.header.bulk, LEFT)
    assert panel.plot.view.spans()[1] == pytest.approx(full_span(read(session)))


def test_bulk_leaves_outliers_out_and_stays_inside_the_whole(session):
    rows = table()
    rows[150] *= 2
    open_table(session, rows)
    profile = session.norms
    low, high = bulk_span(read(session))
    assert 150 in profile.outliers
    assert high < profile.values[150]
    usual = np.delete(profile.values[100:299], 50)
    assert low < usual.min() <= usual.max() < high


@pytest.mark.parametrize("rows", [np.zeros((1, 4)), np.zeros((5, 4)), np.ones((1, 4)), table(2)])
def test_tiny_and_constant_tables_are_drawn(panel, session, rows, qtbot):
    open_table(session, rows)
    qtbot.mouseClick(panel.header.bulk, LEFT)
    panel.plot.view.zoom_x(0.5)
    panel.grab()
    assert len(panel.plot.values) == len(rows)


def test_show_all_is_offered_once_something_is_out_of_sight(panel, session, qtbot):
    open_table(session, table())
    assert not panel.header.reset.isVisible()
    panel.plot.view.zoom_x(0.3)
    assert panel.header.reset.isVisible()
    qtbot.mouseClick(panel.header.reset, LEFT)
    assert not panel.header.reset.isVisible()


@pytest.mark.parametrize("width", [240, 280, 500, 1000, 1900])
def test_the_line_above_the_plot_fits_every_dock(session, width, qtbot):
    window, panel = QMainWindow(), NormsPanel(session, LIGHT)
    qtbot.addWidget(window, before_close_func=lambda _: panel.release())
    window.setCentralWidget(panel)
    window.resize(width, 260)
    window.show()
    open_table(session, table())
    assert panel.width() == width
    for part in (
        panel.header.formula,
        panel.header.help,
        panel.header.kind.buttons["raw"],
        panel.header.kind.buttons["centred"],
        panel.header.bulk,
        panel.header.readout,
    ):
        assert part.isVisible()
        assert panel.rect().contains(QRect(part.mapTo(panel, QPoint(0, 0)), part.size()))
    assert panel.plot.height() >= panel.plot.minimumHeight()


# Size and life.


@pytest.fixture
def thinned(monkeypatch):
    """How many vertices the line was drawn with, each time it was."""
    drawn = []

    def counted(*arguments):
        x, y = envelope(*arguments)
        drawn.append(len(x))
        return x, y

    monkeypatch.setattr("gui.plots.line_plot.envelope", counted)
    return drawn


def test_following_the_range_slider_draws_no_line_anew(panel, session, thinned):
    open_table(session, table(100_000, 2))
    panel.plot.viewport().repaint()
    assert thinned
    thinned.clear()
    for i in range(15):
        session.positions = (1 + i, 99_998 - i)
        panel.plot.viewport().repaint()
    assert thinned == []


def test_a_hundred_thousand_positions_are_drawn_with_a_few_vertices_a_pixel(
    panel, session, thinned
):
    open_table(session, table(100_000, 2))
    panel.plot.view.zoom_x(0.5)
    for i in range(15):
        panel.plot.view.pan(10 if i % 2 else -10, 0)
        panel.plot.viewport().repaint()
    assert len(thinned) > 15
    assert max(thinned) <= 6 * panel.plot.view.rect().width()


def test_a_released_panel_hears_nothing_and_is_freed(qtbot, session):
    panel = NormsPanel(session, LIGHT)
    panel.show()
    open_table(session, table())
    QApplication.processEvents()
    gone = [weakref.ref(panel), weakref.ref(panel.plot)]
    panel.release()
    panel.close()
    panel.deleteLater()
    del panel
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert not any(len(session.events[name]) for name in session.events)
    session.hover = 3
    session.selection = (1,)
    session.norms = None


def test_building_the_panel_does_not_import_pyqtgraph():
    code = "import gui.panels.norms.norms, sys; sys.exit('pyqtgraph' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
