"""The shape panel: curves fitted to real and made tables, through the window."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from geometry.checkpoints.errors import RangeError
from geometry.claims.measurements import Measurements, Scope
from geometry.evidence.null import strictest
from geometry.evidence.turning_share import TurningShare
from geometry.models.sources.opening import open_model
from gui.panels.shape.body import (
    BAR_ROW,
    CURVE_NULLS,
    MARK,
    NAMES,
    NullStrip,
    ShapeNumbers,
    conditions,
)
from gui.panels.shape.spec import DRAWN_R2, ShapeOf, ShapePanel, chosen, verdict_of
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import LIGHT
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import LEFT, named, shape_view
from tests.scripts import run_script


def asked(model, positions, components=(1, 2, 3)):
    return resolve(ShapeOf(positions, components), QuestionContext(model))


@pytest.fixture(scope="module")
def of_gpt2(gpt2_folder):
    return asked(open_model(gpt2_folder), (1, 1023))


@pytest.fixture
def shape(stage_of, helix_table):
    """The panel with a helix of 200 positions."""
    return stage_of("shape", helix_table)


def line(shown, name):
    """The cells of a curve's row."""
    return list(shown.table.rows[list(NAMES).index(name)].cells)


def marked(shown):
    return [name for name in NAMES if line(shown, name)[0] == MARK]


def test_gpt2_is_a_helix_whose_drift_does_not_earn_its_parameter(of_gpt2):
    assert of_gpt2.best == of_gpt2.first_choice == "helix"
    assert of_gpt2.better_helix.name == "drifting_helix"
    assert of_gpt2.fits["helix"].turns == pytest.approx(1.85, abs=0.02)
    assert of_gpt2.evidence.b == pytest.approx(0.564, abs=0.002)
    assert of_gpt2.nulls["process"].band[2] < 0.5 < of_gpt2.evidence.b
    assert of_gpt2.coordinates.shape == (1023, 3)
    sse = np.square(of_gpt2.distances("drifting_helix")).sum()
    assert of_gpt2.rms("drifting_helix") == pytest.approx(np.sqrt(sse / 1023))
    sst = np.square(of_gpt2.coordinates - of_gpt2.coordinates.mean(axis=0)).sum()
    assert of_gpt2.better_helix.r2 == pytest.approx(1 - sse / sst)


def test_numbers_are_those_of_the_report(model):
    found = asked(model, (1, 150)).fits
    for name, fit in Measurements(model, Scope((1, 150))).shapes.fits.items():
        for number in ("r2", "turns", "climb_per_turn", "drift"):
            assert getattr(found[name], number) == pytest.approx(getattr(fit, number))


def test_shown_components_and_too_few_rows(model, open_table):
    assert asked(model, (1, 198)).best in ("helix", "drifting_helix")
    other = asked(model, (1, 198), (4, 5, 6))
    assert other.best == "none"
    assert other.evidence.b < 0.01
    assert other.components == (4, 5, 6)
    with pytest.raises(RangeError, match="at least 4 positions; the range is 7–9"):
        asked(model, (7, 9))
    assert asked(model, (7, 10)).positions == (7, 10)
    flat = open_table(np.random.default_rng(1).normal(size=(20, 2)), "flat")
    with pytest.raises(RangeError, match="components 1, 2, 3, but this table has 2 columns"):
        asked(flat, (0, 19))


def test_the_verdict_its_reasons_the_marked_line_and_the_title(qtbot, of_gpt2):
    shown = ShapeNumbers()
    qtbot.addWidget(shown)
    shown.show_shape(of_gpt2)
    assert shown.verdict.text() == "A helix"
    assert "more evenly than random smooth curves" in shown.meaning.text()
    assert [one.text()[0] for one in shown.conditions] == ["✓"] * 3
    strength, purity = of_gpt2.evidence.strength, of_gpt2.evidence.purity
    turning = f"✓ turning over bound ≥ 1: {strength:.2f} (purity {purity:.2f})"
    assert shown.conditions[0].text() == turning
    turns = f"✓ turns ≥ 1.5: {of_gpt2.evidence.turns:.2f}"
    assert shown.conditions[1].text() == turns
    for one, words in zip(
        shown.conditions,
        ("single even turning", "turns of that turning", "direction of the climb"),
        strict=True,
    ):
        assert words in one.toolTip().replace("\n", " ")
    assert shown.rough["loops"].text() == f"loops {of_gpt2.rough.loops:.2f} (median)"
    low, _, high = of_gpt2.nulls["process"].band
    assert shown.random.text().startswith(f"B of random curves: smooth {low:.2f}–{high:.2f} · ")
    assert marked(shown) == ["helix"]
    # What means something of a helix alone stands at none of the others.
    for name in ("line", "circle", "drifting_helix"):
        assert line(shown, name)[4:] == ["–"] * 4
    helix = of_gpt2.fits["helix"]
    assert line(shown, "helix")[3:5] == [f"{helix.score:.3f}", f"{helix.turns:.2f}"]
    assert line(shown, "helix")[6] == "–"
    r2 = {name: f"{fit.r2:.3f}" for name, fit in of_gpt2.fits.items()}
    best = f"A helix (R² {r2['helix']})"
    assert verdict_of(of_gpt2) == verdict_of(of_gpt2, "helix") == best
    assert verdict_of(of_gpt2, "line") == f"{best}; drawn, the line: R² {r2['line']}"
    none = replace(of_gpt2, best="none")
    assert verdict_of(none) == f"No clear helix (the better helix fit: R² {r2['drifting_helix']})"
    few = replace(none, evidence=replace(of_gpt2.evidence, turns=1.1, strength=0.0, beyond=0.0))
    shown.show_shape(replace(few, nulls={}))
    assert shown.verdict.text() == "Undetermined"
    assert "fewer than 1½ turns" in shown.meaning.text()


@pytest.mark.slow
def test_no_clear_helix_is_an_answer(stage_of, minilm_folder):
    stage = stage_of("shape", minilm_folder)
    panel = stage.panel
    assert panel.content.numbers.verdict.text() == "No clear helix"
    assert "the better of the two helix fits is plotted" in panel.content.numbers.meaning.text()
    assert marked(panel.content.numbers) == []
    better, near = panel.result.better_helix.name, panel.result.rms("drifting_helix")
    assert chosen(panel.view()) == better == "drifting_helix"
    assert panel.header.caption.text() == (
        "No clear helix · all-MiniLM-L6-v2 · positions 1–509, centred · PC 1, 2, 3"
        f" · the drifting helix: RMS distance {near:.3f}"
    )
    assert panel.result.fits[better].r2 < DRAWN_R2
    assert stage.session.shown_guides == (), "what describes hardly anything is not drawn unasked"
    panel.configure(curve=better)
    (guide,) = stage.session.shown_guides
    assert guide.pale, "nor dark"


@pytest.mark.parametrize(
    ("changed", "met", "first"),
    [
        ({}, [True, True, True], "turning over bound ≥ 1: 1.20 (purity 0.95)"),
        ({"strength": 0.4}, [False, True, True], "turning over bound ≥ 1: 0.40"),
        ({"turns": 1.1}, [True, False, True], "turning over bound ≥ 1: 1.20"),
        ({"climb_ratio": 0.2}, [True, True, False], "turning over bound ≥ 1: 1.20"),
        ({"climb_ratio": None}, [True, True, False], "turning over bound ≥ 1: 1.20"),
    ],
)
def test_each_condition_is_told_apart(of_gpt2, changed, met, first):
    evidence = TurningShare(b=0.6, b_prime=0.7, turns=2.0, share=0.9, climb_ratio=np.inf,
                            purity=0.95, strength=1.2)  # fmt: skip
    found = conditions(replace(of_gpt2, evidence=replace(evidence, **changed)))
    assert [one for one, _ in found] == met
    assert found[0][1].startswith(first)


def test_the_question_mark_tells_the_rule_and_what_has_no_room_is_left_out(shape):
    QTest.mouseClick(shape.panel.header.help, LEFT)
    said = QToolTip.text().replace("\n", " ")
    rule = ("98 %", "≥ 1.5 turns", "error by 5 %", "misses")
    assert all(part in said for part in rule)
    QToolTip.hideText()
    panel, table = shape.panel, shape.panel.content.numbers.table

    def at(width):
        panel.resize(width, 300)
        QApplication.processEvents()
        hidden = [i for i in range(table.model().columnCount()) if table.isColumnHidden(i)]
        last = panel.content.numbers.conditions[-1]
        assert last.x() + last.sizeHint().width() <= last.parentWidget().width()
        return hidden, named(panel, "Plotted quantity").isVisible()

    assert at(900) == ([], True)
    assert at(500) == ([], False)
    assert at(380) == ([5, 6], False)
    assert at(260) == ([3, 5, 6, 7], False)
    assert at(900) == ([], True)


@pytest.mark.parametrize("name", ["", "circle"])
def test_the_figure_has_the_positions_the_curve_and_the_distances(of_gpt2, name):
    figure = ShapePanel().figure(shape_view(of_gpt2, name))
    FigureCanvasAgg(figure).draw()
    *above, below = figure.axes
    fit = of_gpt2.fits[name or "helix"]
    assert len(above) == 3
    for column, axes in enumerate(above):
        points, curve = axes.lines
        assert points.get_xdata().tolist() == list(range(1, 1024))
        assert points.get_ydata() == pytest.approx(of_gpt2.coordinates[:, column])
        assert curve.get_ydata() == pytest.approx(fit.values[:, column])
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Position", f"PC {column + 1}")
    distances, mean = below.lines
    assert distances.get_xdata().tolist() == list(range(1, 1024))
    assert np.square(distances.get_ydata()).mean() == pytest.approx(mean.get_ydata()[0] ** 2)
    assert distances.get_ydata()[0] == pytest.approx(
        np.linalg.norm(of_gpt2.coordinates[0] - fit.values[0])
    )
    assert below.get_ylabel() == "Distance (units of P)"
    (said,) = below.texts
    assert said.get_text() == f"RMS\n{of_gpt2.rms(fit.name):.3f}"


def test_numbers_have_a_row_for_each_curve(shape):
    result = shape.panel.result
    numbers = shape.panel.numbers()
    assert numbers["curve"].tolist() == list(NAMES)
    assert numbers["best"].sum() == 1
    for name in ("r2", "score", "turns", "radius", "climb_per_turn"):
        assert numbers[name].tolist() == [getattr(fit, name) for fit in result.fits.values()]
    assert numbers["drift"][3] == pytest.approx(result.fits["drifting_helix"].drift * 198)
    assert numbers["turning_share"].tolist() == [result.evidence.b]
    assert numbers["turning_share_of_walk"].tolist() == result.nulls["walk"].values.tolist()
    assert numbers["n_free"].tolist() == [6, 8, 9, 10]
    assert numbers["position"].tolist() == list(range(1, 200))
    for number, name in enumerate(NAMES):
        distances = numbers[f"distance_{name}"]
        assert numbers["rms_distance"][number] ** 2 == pytest.approx((distances**2).mean())
    session = shape.session
    session.positions = (20, 120)
    assert shape.panel.result.positions == (20, 120)
    session.components = (2, 3, 4)
    assert shape.panel.result.components == (2, 3, 4)
    assert "positions 20–120, centred · PC 2, 3, 4" in shape.panel.header.caption.text()
    session.positions = (5, 7)
    assert "the range is 5–7" in shape.panel.words.message.text()
    assert shape.panel.words.advice.text().startswith("Show a longer range.")
    session.positions = (5, 150)
    assert shape.panel.content.numbers.isVisible()


def test_the_copied_python_prints_the_same(shape):
    shape.session.change(positions=(10, 150), components=(2, 1, 3))
    shape.panel.configure(curve="circle")
    best, *lines, farthest, rough = run_script(shape.panel.python()).splitlines()
    assert best == shape.panel.result.best
    for printed, (curve, fit) in zip(lines[:4], shape.panel.result.fits.items(), strict=True):
        name, r2, score, *_ = printed.split()
        assert name == curve
        assert (float(r2), float(score)) == pytest.approx((fit.r2, fit.score))
    evidence, nulls = shape.panel.result.evidence, shape.panel.result.nulls
    b, _, turns, remarkable = lines[4].split()
    assert (float(b), float(turns)) == pytest.approx((evidence.b, evidence.turns))
    assert remarkable == str(evidence.remarkable)
    rule = shape.panel.result.rule
    for printed, (name, null) in zip(lines[5 : 5 + len(nulls)], nulls.items(), strict=True):
        assert printed.split()[0] == name
        assert [float(part) for part in printed.split()[2:5]] == pytest.approx(null.band)
    for printed, (name, null) in zip(lines[5 + len(nulls) :], rule.items(), strict=True):
        p = null.p_value(evidence.strength)
        assert printed.split() == [name, str(null.draws), str(p)]
    distances = shape.panel.result.distances("circle")
    position, distance = farthest.split()
    assert int(position) == 10 + distances.argmax()
    assert float(distance) == pytest.approx(distances.max())
    found = shape.panel.result.rough
    assert [float(part) for part in rough.split()] == pytest.approx(
        [found.turning_angle, found.high_frequency_energy, found.loops]
    )


def test_the_strip_has_a_bar_of_each_kind_and_the_positions_across(qtbot, of_gpt2):
    strip = NullStrip()
    qtbot.addWidget(strip)
    strip.show_shape(of_gpt2)
    strip.set_theme(LIGHT)
    strip.resize(420, strip.sizeHint().height())
    strip.show()
    image = strip.grab().toImage()
    nulls = of_gpt2.nulls
    curves = strictest(nulls[name] for name in CURVE_NULLS)
    for row, null in enumerate((curves, nulls["band"], nulls["phase"])):
        y = row * BAR_ROW + 4
        low, _, high = (round(strip.place_of(value)) for value in null.band)
        inside, outside = image.pixelColor((low + high) // 2, y), image.pixelColor(low - 6, y)
        assert inside.lightness() < outside.lightness(), row
    at = round(strip.place_of(of_gpt2.evidence.b))
    across = [
        min(image.pixelColor(at + dx, y).lightness() for dx in (-1, 0, 1))
        for y in range(1, image.height() - 1)
    ]
    assert max(across) < 80
    # It is no taller for a longer text: nothing wraps.
    assert strip.sizeHint().height() == 3 * BAR_ROW
    assert all(f"{one.band[2]:.2f}" in strip.toolTip() for one in nulls.values())
    # It has its place before the curves are drawn, and none for too few positions.
    strip.show_shape(replace(of_gpt2, nulls={}))
    assert strip.sizeHint().height() == 3 * BAR_ROW
    strip.show_shape(replace(of_gpt2, nulls={}, evidence=None))
    assert strip.sizeHint().height() == 0


def test_the_verdict_and_its_numbers_come_first_and_nothing_moves_when_the_rest_arrives(
    qtbot, of_gpt2
):
    shown = ShapeNumbers()
    put_on_screen(qtbot, shown, 430, 400)
    early = replace(of_gpt2, nulls={}, rule={}, intervals=None)

    def places():
        shown.layout().activate()
        parts = (shown.verdict, shown.numbers, *shown.conditions, shown.p, shown.table)
        parts = (*parts, shown.random, shown.intervals, shown.meaning)
        return [one.mapTo(shown, QPoint(0, 0)).y() for one in parts if one.isVisible()]

    shown.show_shape(early)
    before = places()
    assert before == sorted(before)
    assert before[0] == min(before)
    helix = of_gpt2.fits["helix"]
    assert shown.numbers.text() == f"R² {helix.r2:.3f} · {helix.turns:.2f} turns"
    assert "0." not in shown.p.text()
    shown.show_shape(of_gpt2)
    assert places() == before
    assert "0." in shown.p.text()
    shown.show_shape(replace(of_gpt2, best="none"))
    assert f"R² {of_gpt2.better_helix.r2:.3f}" in shown.numbers.text()
