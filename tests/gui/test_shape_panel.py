"""The shape panel: curves fitted to real and made tables, through the window."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QToolTip

from geometry.errors import RangeError
from geometry.measurements import Measurements, Scope
from geometry.sources import open_source
from gui.panels.shape import ShapePanel
from gui.panels.shape_figure import shape_figure
from gui.panels.shape_numbers import MARK, ShapeNumbers, conditions
from gui.panels.shape_question import ShapeOf
from gui.questions import Subjects, resolve
from gui.theme import LIGHT

LEFT = Qt.MouseButton.LeftButton


def asked(model, positions, components=(1, 2, 3)):
    return resolve(ShapeOf(positions, components), Subjects(model))


@pytest.fixture(scope="module")
def of_gpt2(gpt2_folder):
    return asked(open_source(gpt2_folder), (1, 1023))


@pytest.fixture
def shape(start_application, write_gpt2, wait_until_idle):
    """The panel in the window, answered about a tiny GPT-2 whose positions are a helix."""
    app = start_application(write_gpt2())
    app.window.docks["shape"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["shape"]
    assert panel.result is not None
    return SimpleNamespace(app=app, window=app.window, panel=panel, shown=panel.shown)


def line(shown, name):
    return [widget.text() for widget in shown.lines[name]]


# ---- the question -----------------------------------------------------------------------------


def test_gpt2_is_the_drifting_helix_of_the_ground_truth(of_gpt2):
    assert of_gpt2.best == "drifting_helix"
    assert of_gpt2.better_helix.name == "drifting_helix"
    assert of_gpt2.curve("helix").turns == pytest.approx(1.85, abs=0.02)
    assert of_gpt2.coordinates.shape == of_gpt2.fitted.shape == (1023, 3)
    sse = np.square(of_gpt2.coordinates - of_gpt2.fitted).sum()
    sst = np.square(of_gpt2.coordinates - of_gpt2.coordinates.mean(axis=0)).sum()
    assert of_gpt2.better_helix.r2 == pytest.approx(1 - sse / sst)


def test_numbers_are_those_of_the_report(model):
    found = asked(model, (1, 150))
    fits = Measurements(model, Scope((1, 150))).shapes.fits
    for curve in found.curves:
        fit = fits[curve.name]
        assert curve.r2 == pytest.approx(fit.r2)
        assert curve.turns == pytest.approx(fit.turns)
        assert curve.climb_per_turn == pytest.approx(fit.climb_per_turn)
        assert curve.drift == pytest.approx(fit.drift * 149)


def test_the_shown_components_count(model):
    assert asked(model, (1, 198)).best in ("helix", "drifting_helix")
    other = asked(model, (1, 198), (4, 5, 6))
    assert other.best == "none"
    assert other.components == (4, 5, 6)


def test_too_few_positions_or_dimensions_are_said(model, open_table):
    with pytest.raises(RangeError, match="4 positions or more, and the range is 7–9"):
        asked(model, (7, 9))
    assert asked(model, (7, 10)).positions == (7, 10)
    flat = open_table(np.random.default_rng(1).normal(size=(20, 2)), "flat")
    with pytest.raises(RangeError, match="components"):
        asked(flat, (0, 19))


# ---- what is shown ----------------------------------------------------------------------------


def test_the_verdict_its_reasons_and_the_marked_line(qtbot, of_gpt2):
    shown = ShapeNumbers()
    qtbot.addWidget(shown)
    shown.show_shape(of_gpt2)
    assert shown.verdict.text() == "A drifting helix"
    assert [one.text()[0] for one in shown.conditions] == ["✓"] * 3
    assert shown.conditions[0].text() == f"✓  R² ≥ 0.8: {of_gpt2.better_helix.r2:.3f}"
    assert [name for name in shown.lines if line(shown, name)[0] == MARK] == ["drifting_helix"]
    assert line(shown, "line")[3:] == ["–"] * 4
    assert line(shown, "circle")[5:] == ["–"] * 2
    assert line(shown, "helix")[3] == f"{of_gpt2.curve('helix').turns:.2f}"
    assert line(shown, "helix")[5] == "–"
    assert line(shown, "helix")[2].startswith("−")


def test_no_clear_helix_is_an_answer(start_application, minilm_folder, wait_until_idle):
    app = start_application(minilm_folder)
    app.window.docks["shape"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["shape"]
    assert panel.shown.verdict.text() == "No clear helix"
    assert all(line(panel.shown, name)[0] == "" for name in panel.shown.lines)
    said = panel.header.caption.text()
    assert said == "No clear helix · all-MiniLM-L6-v2 · positions 1–511, centred · PC 1, 2, 3"


@pytest.mark.parametrize(
    ("r2", "simple", "turns", "met"),
    [(0.95, 0.5, 2.0, [True, True, True]), (0.7, 0.2, 2.0, [False, True, True]),
     (0.95, 0.9, 2.0, [True, False, True]), (0.95, 0.5, 0.9, [True, True, False])],
)  # fmt: skip
def test_each_condition_is_told_apart(of_gpt2, r2, simple, turns, met):
    values = {"line": 0.0, "circle": simple, "helix": 0.0, "drifting_helix": r2}
    curves = tuple(replace(c, r2=values[c.name], turns=turns) for c in of_gpt2.curves)
    assert [one for one, _ in conditions(replace(of_gpt2, curves=curves))] == met


def test_other_positions_and_components_are_asked_for(shape, wait_until_idle):
    session = shape.app.session
    session.positions = (20, 120)
    wait_until_idle(shape.app)
    assert shape.panel.result.positions == (20, 120)
    session.components = (2, 3, 4)
    wait_until_idle(shape.app)
    assert shape.panel.result.components == (2, 3, 4)
    assert "positions 20–120, centred · PC 2, 3, 4" in shape.panel.header.caption.text()


def test_a_drag_is_waited_for(shape):
    session, questions = shape.app.session, []
    shape.panel.asked.connect(lambda question, fetch: questions.append(question))
    session.dragging = True
    session.positions = (10, 150)
    assert questions == []
    session.dragging = False
    assert questions == [ShapeOf((10, 150), (1, 2, 3))]


def test_too_short_a_range_says_so_and_comes_back(shape, wait_until_idle):
    session = shape.app.session
    session.positions = (5, 7)
    wait_until_idle(shape.app)
    assert "the range is 5–7" in shape.panel.message.text()
    assert shape.panel.advice.text().startswith("Show a longer range.")
    session.positions = (5, 150)
    wait_until_idle(shape.app)
    assert shape.shown.isVisible()


def test_the_table_goes_below_the_words_where_it_is_narrow(qtbot, of_gpt2):
    area, shown = QScrollArea(), ShapeNumbers()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    area.setWidget(shown)
    shown.show_shape(of_gpt2)
    area.show()

    def table_at(width):
        area.resize(width, 300)
        QApplication.processEvents()
        last = shown.lines["helix"][-1]
        assert last.width() >= last.sizeHint().width()
        return last.mapTo(shown, QPoint(0, 0)) - shown.verdict.pos()

    assert table_at(900).x() > shown.verdict.sizeHint().width()
    assert table_at(shown.minimumSizeHint().width() + 20).y() > shown.conditions[-1].y()


def test_the_question_mark_tells_the_rule(shape):
    QTest.mouseClick(shape.panel.header.help, LEFT)
    said = QToolTip.text().replace("\n", " ")
    assert all(part in said for part in ("R² ≥ 0.8", "≥ 0.1", "≥ 1 turn", "BIC"))
    QToolTip.hideText()


# ---- taking it away ---------------------------------------------------------------------------


def test_the_figure_has_the_positions_and_the_curve(of_gpt2):
    figure = shape_figure(of_gpt2, "A drifting helix", "gpt2")
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == 3
    for column, axes in enumerate(figure.axes):
        points, curve = axes.lines
        assert points.get_xdata().tolist() == list(range(1, 1024))
        assert points.get_ydata() == pytest.approx(of_gpt2.coordinates[:, column])
        assert curve.get_ydata() == pytest.approx(of_gpt2.fitted[:, column])
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Position", f"PC {column + 1}")


def test_the_numbers_have_a_row_for_each_curve(shape):
    numbers = shape.panel.numbers(shape.panel.result)
    assert numbers["curve"].tolist() == ["line", "circle", "helix", "drifting_helix"]
    assert numbers["best"].sum() == 1
    assert numbers["r2"].tolist() == [one.r2 for one in shape.panel.result.curves]


def test_the_copied_python_prints_the_same(shape, run_python, wait_until_idle):
    shape.app.session.change(positions=(10, 150), components=(2, 1, 3))
    wait_until_idle(shape.app)
    best, *lines = run_python(shape.panel.python()).splitlines()
    assert best == shape.panel.result.best
    for printed, curve in zip(lines, shape.panel.result.curves, strict=True):
        name, r2, bic, *_ = printed.split()
        assert name == curve.name
        assert float(r2) == pytest.approx(curve.r2)
        assert float(bic) == pytest.approx(curve.bic)


def test_it_says_what_it_will_show(session, qtbot):
    panel = ShapePanel(session, LIGHT)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.message.text() == ShapePanel.empty
    panel.release()
