"""What every panel of results keeps to: a table of panels × the contract."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.residual_stream import Subject
from gui.panels import kit
from gui.panels.kit import Choice, Layer, Matrices, Number, Toggle
from gui.panels.table import PANELS
from gui.plots.spec import Image, Plot
from gui.services.compared_curves import compared_color
from gui.style.theme import DARK, LIGHT
from tests.geometry.history_stage import write_record
from tests.gui.compared_stage import ComparedStage
from tests.gui.result_stage import ResultStage, drag, hover, write_small_gpt2
from tests.scripts import run_script

CHOSEN: dict[str, dict[str, object]] = {
    "compare": {"sorted_by": [3, True]},
    "overlaps": {
        "rows": Subject("W_O", layer=1, head=1, side="output", fold_ln=True, centred=True),
        "columns": Subject("E", fold_ln=True, centred=True),
        "look": {"blur": 2.5, "colormap": "viridis", "log": True},
    },
}
"""Other choices than the defaults, of panels whose choices have no control."""
RETRIED = {"training"}
"""Panels that may find later what a model lacks: a history may be put beside it."""
COMPARED = [name for name, entry in PANELS.items() if entry.spec.compares(entry.spec.defaults)]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Three small GPT-2s, of different sizes; the one to be opened with its history."""
    folder = tmp_path_factory.mktemp("models")
    sizes = {"open": (64, 16), "long": (80, 24), "short": (48, 16)}
    made = {
        name: write_small_gpt2(folder / name, n_positions=n, d_model=d)
        for name, (n, d) in sizes.items()
    }
    noise = np.random.default_rng(5).normal(size=(3, *sizes["open"])).astype(np.float16)
    write_record(made["open"] / "history.safetensors", [0, 10, 100], positions=noise)
    return made


@pytest.fixture
def show(qtbot, models):
    """Return a stage with a panel, by its name, and a model open in it."""

    def make(name, source="open"):
        stage = ResultStage(qtbot, name, size=(1000, 320))
        if source:
            stage.open(models[source])
        return stage

    return make


@pytest.fixture
def compared(show, models):
    """Return a stage with a panel, a model open in it, and two others beside that."""
    made = []

    def make(name):
        stage = show(name)
        others = ComparedStage(stage.session)
        made.append(others)
        others.add(models["long"], (2, 70))
        others.add(models["short"], (0, 40))
        QApplication.processEvents()
        return stage, others

    yield make
    for one in made:
        one.close()


def other_choices(spec):
    """Choices that differ from the defaults, of every control that has a widget."""
    chosen = dict(CHOSEN.get(spec.name, {}))
    for control in spec.controls:
        default = getattr(spec.defaults, control.field)
        if control.shared:
            continue
        if isinstance(control, Toggle):
            chosen[control.field] = not default
        elif isinstance(control, Choice):
            options = [option.value for option in control.options]
            chosen[control.field] = options[(options.index(default) + 1) % len(options)]
        elif isinstance(control, Number):
            number = control.least + 2
            chosen[control.field] = number if control.chosen is None else control.chosen(number)
        elif isinstance(control, Layer):
            chosen[control.field] = 1
        elif isinstance(control, Matrices):
            chosen[control.field] = (Subject("W_Q", layer=1), Subject("E"))
    return chosen


def curves(panel, theme=None):
    """All curves of other models in a panel's plots."""
    parts = [p for p in panel.spec.plots(panel.view(theme)) if isinstance(p, Plot)]
    return [curve for part in parts for curve in part.curves if curve.name]


def printed_names(figure):
    """The names in all legends of a figure, with the colours of their lines."""
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    return {
        text.get_text(): to_hex(line.get_color())
        for legend in legends
        for text, line in zip(legend.texts, legend.legend_handles, strict=True)
    }


# ---- what a spec says ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PANELS)
def test_it_says_what_it_is(name):
    spec = PANELS[name].spec
    assert spec.name == name
    assert spec.explanation.count(". ") + spec.explanation.endswith(".") == 2
    assert spec.empty.startswith("Open a model to see ")
    assert spec.formula
    assert kit.has_fields_for_controls(spec)
    assert set(spec.figures) <= set(PANELS[name].figures)


@pytest.mark.parametrize("name", PANELS)
def test_choices_survive_a_file(name, models):
    from geometry.models.sources import open_source

    spec, model = PANELS[name].spec, open_source(models["open"])
    # What is shared is saved with the session.
    kept = {one.field for one in spec.controls if one.kept and not one.shared}
    chosen = {field: value for field, value in other_choices(spec).items() if field in kept}
    choices = kit.changed(spec, spec.defaults, chosen)
    written = json.loads(json.dumps(kit.saved(spec, choices)))
    read = kit.usable(spec, written, model)
    assert kit.changed(spec, spec.defaults, read) == choices


@pytest.mark.parametrize("name", PANELS)
def test_choices_that_make_no_sense_are_left_out(name, models):
    from geometry.models.sources import open_source

    spec, model = PANELS[name].spec, open_source(models["open"])
    nonsense = {control.field: {"no": "choice"} for control in spec.controls}
    assert kit.usable(spec, {**nonsense, "nobody knows this": 1}, model) == {}
    with pytest.raises(TypeError, match="nobody"):
        kit.changed(spec, spec.defaults, {"nobody": 1})


# ---- what a panel shows ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PANELS)
def test_without_a_model_it_says_what_it_would_show(name, show):
    stage = show(name, source="")
    assert stage.panel.words.message.text() == stage.panel.spec.empty
    assert stage.panel.result is None


@pytest.mark.parametrize("name", PANELS)
def test_a_bare_table_is_shown_or_a_sentence(name, show, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(3).normal(size=(40, 12)))
    stage = show(name, source="")
    stage.open(tmp_path / "table.npy")
    assert stage.answer.state in ("ready", "impossible")
    if stage.answer.state == "impossible":
        assert stage.panel.words.message.text().endswith(".")
        assert stage.answer.retry is (name in RETRIED)


@pytest.mark.parametrize("name", PANELS)
def test_every_choice_can_be_made_and_shown(name, show):
    stage = show(name)
    panel, spec = stage.panel, stage.panel.spec
    for field, value in other_choices(spec).items():
        panel.configure(**{field: value})
        assert stage.answer.state == "ready", (field, stage.answer.why)
        assert panel.caption()
    again = json.loads(json.dumps(panel.options()))
    panel.configure(**kit.saved(spec, spec.defaults))
    panel.configure(**again)
    assert panel.options() == again


@pytest.mark.parametrize("name", PANELS)
def test_themes_and_the_mouse(name, show):
    stage = show(name)
    panel = stage.panel
    panel.set_theme(DARK)
    assert panel.view().theme is DARK
    middle = panel.content.rect().center()
    drag(panel.content, middle, middle + QPoint(60, 0))
    hover(panel, QPoint(2, 2))
    panel.set_theme(LIGHT)
    assert stage.answer.state == "ready"


@pytest.mark.parametrize("name", PANELS)
def test_a_closed_panel_hears_nothing(name, show, monkeypatch):
    stage = show(name)
    panel = stage.panel
    panel.release()
    drawn = []
    monkeypatch.setattr(panel, "_draw", lambda: drawn.append(1))
    panel.asked.connect(lambda *_: drawn.append(2))
    stage.controller.request_positions(3, 50)
    stage.controller.select((5,))
    stage.session.components = (2, 1, 3)
    stage.session.hover = 4
    assert drawn == []


@pytest.mark.parametrize("name", PANELS)
def test_what_is_drawn_is_kept_while_it_is_hidden(name, show):
    stage = show(name)
    panel = stage.panel
    asked = []
    panel.asked.connect(lambda question, _: asked.append(question))
    panel.set_in_front(False)
    stage.controller.request_positions(2, 40)
    QApplication.sendEvent(panel, QEvent(QEvent.Type.LayoutRequest))
    assert asked == []
    panel.set_in_front(True)
    assert stage.answer.question == panel.spec.question(panel.view().scope, panel.choices)


# ---- what can be taken away ------------------------------------------------------------------


@pytest.mark.parametrize("name", PANELS)
def test_the_figure_is_drawn_of_the_view(name, show):
    stage = show(name)
    figure = stage.panel.figure()()
    figure.canvas.draw()
    assert figure.axes or figure.texts
    parts = stage.panel.spec.plots(stage.panel.view(LIGHT))
    assert any(isinstance(part, Plot | Image) for part in parts) or stage.panel.spec.body


@pytest.mark.parametrize("name", PANELS)
def test_numbers_are_finite_columns(name, show):
    for column, values in show(name).panel.numbers().items():
        assert column
        assert np.asarray(values).size, column


@pytest.mark.parametrize("name", PANELS)
def test_the_script_runs_by_itself(name, show):
    assert run_script(show(name).panel.python()).strip()


# ---- compared models ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPARED)
def test_compared_models_are_drawn_hidden_and_written(name, compared):
    stage, others = compared(name)
    panel = stage.panel
    assert panel.legend.isVisible()
    assert {c.name: c.color for c in curves(panel, DARK)} == {
        "long": compared_color(0, DARK), "short": compared_color(1, DARK)
    }  # fmt: skip
    printed = printed_names(panel.figure()())
    (long,) = [one for one in printed if one.startswith("long")]
    assert printed[long] == compared_color(0, LIGHT)
    assert any(column.startswith("short: ") for column in panel.numbers())
    assert "# Beside it, short:" in panel.python()
    assert panel.legend.chips[1].toolTip()

    QTest.mouseClick(panel.legend.chips[1], Qt.MouseButton.LeftButton)
    (wanted,) = stage.intents
    assert wanted.hidden == {(name, 1)}
    stage.session.hidden_curves = wanted.hidden
    assert {curve.name for curve in curves(panel)} == {"short"}
    others.remove(2)
    assert not curves(panel)
    others.remove(1)
    assert not panel.legend.isVisible()
    assert "Beside it" not in panel.python()
