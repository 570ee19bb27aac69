"""The norms panel: its numbers, the line that stability is measured from, and other models."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.errors import RangeError
from geometry.measures.row_lengths import row_lengths
from geometry.measures.sinusoids import sinusoid
from geometry.models.model import TokenizedPrompt
from geometry.models.sources.opening import open_model
from gui.panels.kit.intents import AddModel
from gui.panels.norms import AFTER_TIP, OUTLIER_RULE, ValuesOf, bulk_span, full_span, summary
from gui.plots.thinning import envelope
from gui.services.questions import QuestionContext
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, NONE, ResultStage, double_click, drag, enter, hover
from tests.scripts import run_script

N = 300


def rows(n=N, d_model=16):
    """Rows of nearly equal norm on a winding curve; the first and the last stand out."""
    angle = np.arange(n)[:, None] / 40 * np.arange(1, d_model + 1)
    made = np.cos(angle) + 0.3
    made *= (3 + 0.05 * np.sin(np.arange(n) / 9))[:, None]
    made /= np.linalg.norm(made, axis=1, keepdims=True) / 3
    made[0] *= 3
    made[-1] /= 30
    return made


class Norms(ResultStage):
    """The panel, with tables that are written for it."""

    def show(self, table, name="table"):
        self.open(self.write(table, name))
        return self

    def beside(self, table, name):
        add_beside(self.controller, self.write(table, name))
        QApplication.processEvents()

    @property
    def plot(self):
        return self.panel.content.painted[0].widget

    @property
    def table(self):
        """The texts of the table of models, by row; no rows where there is none."""
        found = self.panel.spec.plots(self.panel.view())[1:]
        return [row.cells for part in found for row in part.rows]

    @property
    def values(self):
        return self.plot.curves[0].y

    def at(self, position, value=None):
        value = float(self.values[round(position)]) if value is None else value
        return self.plot.view.mapViewToScene(QPointF(position, value)).toPoint()

    @property
    def line(self):
        return self.plot.marker_point().toPoint()

    def click(self, position, modifier=NONE):
        QTest.mouseClick(self.plot.viewport(), LEFT, modifier, self.at(position))

    def choose_quantity(self, quantity):
        QTest.mouseClick(self.panel.controls.widgets["norms_quantity"].buttons[quantity], LEFT)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("norms") / "table.npy"
    np.save(path, rows())
    return path


@pytest.fixture
def norms(stage_of, source, write_table):
    """The panel with rows of nearly equal norm."""
    made = stage_of("norms", source, size=(1100, 260), kind=Norms)
    made.write = write_table
    return made


def test_caption_overlay_and_kept_place(norms):
    found = np.linalg.norm(rows()[100:299], axis=1)
    assert norms.panel.caption() == (
        f"table · mean {found.mean():.3f} · std {found.std():.3f} · "
        f"cv {100 * found.std() / found.mean():.1f}\N{NO-BREAK SPACE}% over 100–298 · "
        "outliers\N{NO-BREAK SPACE}0,\N{NO-BREAK SPACE}299"
    )
    QTest.mouseClick(norms.panel.buttons["Overlay…"], LEFT)
    (wanted,) = norms.intents
    assert isinstance(wanted, AddModel)
    assert not wanted.in_grid
    norms.plot.view.setRange(xRange=(20, 60), padding=0)
    for quantity in ("step", "residual", "norm"):
        norms.choose_quantity(quantity)
        assert norms.plot.view.spans()[0] == pytest.approx((20, 60))


def test_a_short_table_is_measured_whole_and_many_outliers_are_counted(norms):
    norms.show(rows(60))
    assert "over all positions (too few to leave out the first 100)" in norms.panel.caption()
    assert not norms.plot._marker.isVisible()
    norms.session.norms_after = 30
    assert norms.plot._marker.isVisible()
    assert "over 30–58" in norms.panel.caption()
    table = rows()
    table[10:290:10] *= 4
    assert norms.show(table).panel.caption().endswith("and 22 more")
    assert norms.show(np.ones((N, 4)), "flat").panel.caption().endswith("no outliers")


@pytest.mark.parametrize("centred", [False, True])
def test_norms_and_steps_are_those_of_the_rows(norms, centred):
    table = rows()
    norms.show(table)
    norms.session.norms_centred = centred
    moved = table - table.mean(axis=1, keepdims=True) if centred else table
    np.testing.assert_allclose(norms.values, np.linalg.norm(moved, axis=1))
    norms.choose_quantity("step")
    assert norms.session.norms_quantity == "step"
    np.testing.assert_allclose(norms.values, np.linalg.norm(np.diff(moved, axis=0), axis=1))
    assert ("mean" in norms.panel.header.formula.text()) is centred
    assert "outlier" not in norms.panel.caption()


def test_early_steps_of_a_real_model_are_longer(gpt2_folder, norms):
    norms.open(gpt2_folder)
    norms.choose_quantity("step")
    steps = np.linalg.norm(np.diff(norms.session.model.W_pos.astype(float), axis=0), axis=1)
    times = steps[:100].mean() / steps[100 : len(steps) - 1].mean()
    assert f"{times:.2f} times the mean" in norms.panel.caption()


def test_tiny_and_constant_tables_are_drawn_and_one_position_has_no_steps(norms):
    norms.show(np.ones((1, 4)))
    assert len(norms.values) == 1
    norms.choose_quantity("step")
    assert norms.panel.words.message.text().startswith("There is only one position")
    with pytest.raises(RangeError):
        ValuesOf("step", False).answer(QuestionContext(norms.session.model))
    norms.choose_quantity("norm")
    assert len(norms.values) == 1
    norms.panel.configure(bulk=True)
    for n, table in enumerate((np.zeros((1, 4)), np.zeros((5, 4)), rows(2))):
        norms.show(table, f"tiny-{n}")
        norms.plot.view.zoom_x(0.5)
        norms.panel.grab()
        assert len(norms.values) == len(table)


def test_everything_fits_zooms_and_follows_the_range(norms):
    low, high = norms.plot.view.spans()[1]
    assert low <= 0
    assert high > norms.values.max()
    QTest.mouseClick(norms.panel.controls.widgets["bulk"], LEFT)
    view = norms.panel.view()
    for _ in range(2):
        assert norms.plot.view.spans()[1] == pytest.approx(bulk_span(view))
        QTest.keyClick(norms.plot, Qt.Key.Key_F)
    assert {0, N - 1} <= {position for position, _ in norms.plot.marks.labels()}
    QTest.mouseClick(norms.panel.controls.widgets["bulk"], LEFT)
    assert norms.plot.view.spans()[1] == pytest.approx(full_span(view))
    norms.choose_quantity("residual")
    session = norms.session
    for change in (
        lambda: None,
        lambda: norms.controller.request_positions(20, 60),
        lambda: setattr(session, "components", (1, 2, 5)),
    ):
        change()
        QApplication.processEvents()
        np.testing.assert_allclose(norms.values, session.curve.residual, atol=1e-9)
    assert "cv" not in norms.panel.caption()
    assert norms.plot.y_axis.title == "residual (share)"


def test_the_bulk_leaves_outliers_out_and_rounding_does_not_fill_the_axis(norms):
    table = rows()
    table[150] *= 2
    norms.show(table)
    low, high = bulk_span(norms.panel.view())
    usual = np.delete(norms.values[100:299], 50)
    assert low < usual.min() <= usual.max() < high < norms.values[150]
    norms.show(sinusoid("marian", 256, 64))
    low, high = bulk_span(norms.panel.view())
    assert 0 < np.ptp(norms.values) < 1e-12
    assert high - low > 0.1


@pytest.mark.slow
def test_a_hundred_thousand_positions_take_a_few_vertices_a_pixel(norms, monkeypatch):
    drawn = []

    def counted(*arguments):
        x, y = envelope(*arguments)
        drawn.append(len(x))
        return x, y

    monkeypatch.setattr("gui.plots.position_curves.envelope", counted)
    norms.show(rows(100_000, 2))
    norms.plot.view.zoom_x(0.5)
    for i in range(15):
        norms.plot.view.pan(10 if i % 2 else -10, 0)
    assert len(drawn) > 15
    assert max(drawn) <= 6 * norms.plot.view.rect().width()
    drawn.clear()
    for i in range(15):  # the range slider moves the veil alone
        norms.session.positions = (1 + i, 99_998 - i)
        norms.plot.viewport().repaint()
    assert drawn == []


def test_norms_about_the_mean_row(norms):
    table = rows() - rows().mean(axis=0) + 1000
    norms.show(table)
    about = np.linalg.norm(table - table.mean(axis=0), axis=1)
    assert norms.panel.caption().endswith("outliers\N{NO-BREAK SPACE}0,\N{NO-BREAK SPACE}299")
    norms.session.hover = 0
    assert norms.plot.hover_text().endswith("outlier by norm about the mean row")
    assert len(norms.plot.curves) == 1
    np.testing.assert_allclose(norms.panel.numbers()["about_mean"], about)
    norms.panel.configure(about_mean=True)
    np.testing.assert_allclose(norms.plot.curves[1].y, about)
    assert f"about the mean row {about[0]:.3f}" in norms.plot.hover_text()
    norms.panel.configure(bulk=True)
    low, high = norms.plot.view.spans()[1]
    assert low < about[1:-1].min() < 1000 < high
    norms.choose_quantity("step")
    assert len(norms.plot.curves) == 1
    assert "about_mean" not in norms.panel.numbers()


def test_rings_tell_their_rule_the_range_is_veiled_and_hover_is_told(norms):
    plot, session = norms.plot, norms.session
    assert plot.tooltip_at(QPointF(norms.at(0))) == OUTLIER_RULE
    assert plot.index_at(QPointF(norms.at(0))) == 0
    session.selection = (40,)
    assert [position for position, _ in plot.marks.labels()] == [40, 0, N - 1]
    session.positions = (100, 200)
    assert plot.marks._shown == (100, 200)
    session = norms.session
    session.tokens = TokenizedPrompt(
        ids=(50256, 15496, 616), texts=("<|endoftext|>", "Hello", " my"), truncated=0
    )
    hover(norms.plot.viewport(), norms.at(2))
    assert session.hover == 2
    assert norms.plot.hover_text() == f"position 2 · norm {norms.values[2]:.3f} · ·my"
    norms.choose_quantity("step")
    session.hover = 30
    assert norms.plot.hover_text() == f"positions 30 → 31 · step {norms.values[30]:.3f}"
    session.hover = N - 1  # no step begins at the last position
    assert norms.plot.hover_text() == ""


def test_dragging_the_line_measures_from_there(norms):
    session, selection = norms.session, norms.session.selection
    assert norms.plot.tooltip_at(QPointF(norms.line)) == AFTER_TIP
    heard = []
    session.events.norms_after.connect(heard.append)
    norms.plot.view.setRange(xRange=(20, 150), yRange=(0, 4), padding=0)
    before = norms.plot.view.spans()
    drag(norms.plot.viewport(), norms.line, norms.at(40, 3))
    assert len(heard) >= 2
    assert session.norms_after == pytest.approx(40, abs=1)
    assert norms.plot.view.spans() == before
    found = norms.values[session.norms_after : N - 1]
    assert f"mean {found.mean():.3f}" in norms.panel.caption()
    assert session.norms.cv == pytest.approx(found.std() / found.mean())
    assert session.selection == selection


def test_line_is_dragged_typed_and_reset(norms):
    drag(norms.plot.viewport(), norms.line, norms.at(N - 1, 3))
    assert norms.session.norms_after == N - 2
    drag(norms.plot.viewport(), norms.line, norms.at(-2, 3))
    assert norms.session.norms_after == 0
    session = norms.session
    session.selection, session.norms_after = (7,), 40
    double_click(norms.plot.viewport(), norms.line)
    assert (session.norms_after, session.selection) == (100, (7,))
    field = norms.panel.controls.widgets["norms_after"].field
    enter(field, "25")
    assert session.norms_after == 25
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert session.norms_after == 26


def test_a_click_on_the_line_selects_and_escape_ends_a_drag(norms):
    session, viewport = norms.session, norms.plot.viewport()
    QTest.mouseClick(viewport, LEFT, NONE, norms.line)
    assert (session.selection, session.norms_after) == ((100,), 100)
    norms.plot.setFocus()
    window = norms.panel.window().windowHandle()
    start, middle, end = (
        viewport.mapTo(norms.panel, point)
        for point in (norms.line, norms.at(60, 3), norms.at(20, 3))
    )
    QTest.mousePress(window, LEFT, NONE, start)
    QTest.mouseMove(window, middle)
    held = session.norms_after
    assert held == pytest.approx(60, abs=1)
    QTest.keyClick(norms.plot, Qt.Key.Key_Escape)
    QTest.mouseMove(window, end)
    QTest.mouseRelease(window, LEFT, NONE, end)
    assert session.norms_after == held


@pytest.fixture
def three(norms, helix):
    """Two others: a longer one of twice the size, and a shorter one."""
    norms.beside(2 * helix(420, 16, 3), "long")
    norms.beside(helix(120, 8, 4), "short")
    return norms


def test_other_models_have_rows_of_their_own(three, helix):
    (x0, x1), (_, y1) = three.plot.view.spans()
    norms = np.linalg.norm(2 * helix(420, 16, 3), axis=1)
    assert x0 < 0
    assert x1 > 419
    assert y1 > norms.max()
    stretch = norms[100:419]
    spread = 100 * stretch.std() / stretch.mean()
    cells = ("long", f"{stretch.mean():.3f}", f"{spread:.1f}\N{NO-BREAK SPACE}%")
    assert [row[0] for row in three.table] == ["table", "long", "short"]
    assert three.table[1] == cells
    three.session.norms_after = 30
    assert three.table[1][1] == f"{norms[30:419].mean():.3f}"
    assert three.plot.index_at(QPointF(three.at(400, 5))) is None
    assert three.plot.index_at(QPointF(three.at(N - 1))) == N - 1
    QTest.mouseClick(three.plot.viewport(), LEFT, NONE, three.at(400, 5))
    assert three.session.selection == ()
    three.session.hover = 50
    tables = 2 * helix(420, 16, 3), helix(120, 8, 4)
    long, short = (f"{np.linalg.norm(table[50]):.3f}" for table in tables)
    assert three.plot.hover_text().endswith(f"long {long} · short {short}")
    three.session.hover = 150  # the short one has no such position
    assert "short" not in three.plot.hover_text()
    three.choose_quantity("residual")
    assert three.table == []
    assert len(three.plot.curves) == 1
    three.choose_quantity("step")
    long = next(one for one in three.session.others if one.name == "long").session.model
    steps = row_lengths(long.W_pos).of("step", centred=False)
    np.testing.assert_array_equal(three.plot.curves[1].y, steps)


def test_relative_to_their_means_models_lie_on_one_another(three):
    QTest.mouseClick(three.panel.controls.widgets["norms_relative"], LEFT)
    assert three.session.norms_relative
    profile = three.session.norms
    np.testing.assert_allclose(three.values, profile.values / profile.mean)
    for curve in three.plot.curves[1:]:
        first = 100 if len(curve.y) > 101 else 0
        assert curve.y[first:-1].mean() == pytest.approx(1.0)
    assert three.plot.y_axis.title == "norm / its mean"
    three.session.hover = 50
    times = profile.values[50] / profile.mean
    assert f"norm {profile.values[50]:.3f} ({times:.2f}×)" in three.plot.hover_text()
    for key in (1, 2):
        three.controller.comparing.remove(key)
    QApplication.processEvents()
    np.testing.assert_array_equal(three.values, profile.values)


@pytest.mark.parametrize(
    ("quantity", "centred"), [("norm", False), ("norm", True), ("step", True), ("residual", False)]
)
def test_figure_numbers_and_python_are_what_is_shown(norms, quantity, centred):
    norms.session.change(norms_quantity=quantity, norms_centred=centred)
    values = norms.values
    axes = norms.panel.figure()().axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), values)
    assert axes.get_title("left").startswith("table · ‖")
    assert axes.texts[0].get_text().split() == summary(norms.panel.view()).split()
    np.testing.assert_array_equal(norms.panel.numbers()[quantity], values)
    printed = run_script(norms.python()).splitlines()
    numbers = [float(line.split()[1]) for line in printed[: len(values)]]
    np.testing.assert_allclose(numbers, values, atol=1e-6)
    if quantity == "norm":
        found = norms.panel.view().result
        assert printed[-2] == f"{found.outliers_raw} {found.outliers_about_mean}"


def test_a_report_draws_the_norms_that_it_measured(write_table):
    from geometry.claims.measurements import Measurements, Scope
    from gui.panels.kit.outputs import report_view
    from gui.panels.kit.views import Reported
    from gui.panels.table import PANELS

    model = open_model(write_table(rows()))
    measured = Measurements(model, Scope((1, N - 1), after=30))
    view = report_view(PANELS["norms"].spec, Reported(measured, (), 0, False), "norms")
    assert view.choices.norms_after == 30
    np.testing.assert_array_equal(view.result.values, measured.norms.values)
    figure = PANELS["norms"].spec.figure(view)
    assert "over 30–298" in figure.axes[0].texts[0].get_text()
