"""The contract of panels of results, tested on those that installed plugins add."""

# mypy: allow-untyped-defs

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.residual_stream import Subject
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.opening import open_model
from gui.panels.kit.choices import Choice, Layer, Matrices, Number, Toggle
from gui.panels.kit.saved_choices import saved, usable
from gui.panels.kit.spec import AnyPanel, PanelSpec, changed
from gui.panels.table import PANELS
from gui.plots.spec import Image, Plot
from gui.style.theme import DARK, LIGHT
from gui.testing import panel_stage  # noqa: F401 – a fixture
from gui.testing.stage import drag, hover

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(params=[name for name, entry in PANELS.items() if entry.plugin is not None])
def name(request):
    """Return the name of each installed panel in turn."""
    return request.param


@pytest.fixture
def source():
    """Return the model that is opened."""
    return SAMPLE


@pytest.fixture
def other():
    """Return other choices than the defaults, of a panel whose choices have no control."""
    return {}


@pytest.fixture
def show(panel_stage, source):  # noqa: F811
    """Return a function that shows a panel, by its name, with the model open in it."""
    return lambda name: panel_stage(PANELS[name].spec, source, size=(1000, 320))


@pytest.fixture
def run_script():
    """Return a function that runs a script, and returns what it prints."""

    def run(script):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(script, "script", "exec"), {"__name__": "__main__"})
        return printed.getvalue()

    return run


def other_choices(spec: AnyPanel, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices that differ from the defaults: ``known``, and of controls with widgets."""
    chosen = dict(known)
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
            number = control.minimum + 2
            chosen[control.field] = number if control.chosen is None else control.chosen(number)
        elif isinstance(control, Layer):
            chosen[control.field] = 1
        elif isinstance(control, Matrices):
            chosen[control.field] = (Subject("W_Q", layer=1), Subject("E"))
    return chosen


def test_it_says_what_it_is(name):
    """Its name is that of its entry; it has a formula, two sentences, and text without a model."""
    spec = PANELS[name].spec
    assert spec.name == name
    assert spec.explanation.count(". ") + spec.explanation.endswith(".") == 2
    assert spec.empty.startswith("Open a model to see ")
    assert spec.formula
    names = sorted(field.name for field in fields(spec.defaults))
    assert names == sorted(control.field for control in spec.controls)
    for choices in (*spec.claims.values(), *spec.figures.values()):
        changed(spec, spec.defaults, choices)
    assert set(spec.figures) <= set(PANELS[name].figures)


def test_choices_survive_a_file_and_those_that_make_no_sense_are_left_out(name, source, other):
    """Choices are saved and restored; unknown and invalid ones are left out."""
    spec, model = PANELS[name].spec, open_model(source)
    # What is shared is saved with the session.
    kept = {one.field for one in spec.controls if one.kept and not one.shared}
    chosen = {field: value for field, value in other_choices(spec, other).items() if field in kept}
    choices = changed(spec, spec.defaults, chosen)
    written = json.loads(json.dumps(saved(spec, choices)))
    read = usable(spec, written, model)
    assert changed(spec, spec.defaults, read) == choices

    nonsense = {control.field: {"no": "choice"} for control in spec.controls}
    assert usable(spec, {**nonsense, "nobody knows this": 1}, model) == {}
    with pytest.raises(TypeError, match="nobody"):
        changed(spec, spec.defaults, {"nobody": 1})
    for field in (control.field for control in spec.controls if not control.shared):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            changed(spec, spec.defaults, {field: "no such choice"})


def test_every_choice_can_be_made_and_shown(name, show, other):
    """Each choice of a control has an answer, and is an option that is saved."""
    stage = show(name)
    panel, spec = stage.panel, stage.panel.spec
    for field, value in other_choices(spec, other).items():
        panel.configure(**{field: value})
        assert stage.answer.state == "ready", (field, stage.answer.why)
        assert panel.caption()
    again = json.loads(json.dumps(panel.options()))
    panel.configure(**saved(spec, spec.defaults))
    panel.configure(**again)
    assert panel.options() == again


def test_themes_the_mouse_and_what_is_drawn_is_kept_while_it_is_hidden(name, show):
    """It is drawn in both themes, under the mouse, and asks nothing while it is hidden."""
    stage = show(name)
    panel = stage.panel
    panel.set_theme(DARK)
    assert panel.view().theme is DARK
    middle = panel.content.rect().center()
    drag(panel.content, middle, middle + QPoint(60, 0))
    hover(panel, QPoint(2, 2))
    panel.set_theme(LIGHT)
    assert stage.answer.state == "ready"
    asked = []
    panel.asked.connect(lambda question, _: asked.append(question))
    panel.set_in_front(False)
    stage.controller.request_positions(2, 40)
    QApplication.sendEvent(panel, QEvent(QEvent.Type.LayoutRequest))
    assert asked == []
    panel.set_in_front(True)
    assert stage.answer.question == panel.spec.question(panel.view().scope, panel.choices)


def test_its_menu_closes_with_the_result(show, name):
    """Its menu closes when its model does."""
    stage = show(name)
    QTest.mouseClick(stage.panel.header.more, LEFT)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    stage.session.change(model=None, curve=None)
    assert stage.panel.result is None
    assert not menu.isVisible()


def test_a_dragged_range_is_asked_about_at_its_end_or_calmly(name, show, qtbot):
    """A range is asked about when its drag ends, or during it if the panel follows drags."""
    stage = show(name)
    panel, session, asked = stage.panel, stage.session, []
    before = stage.answer.question
    panel.asked.connect(lambda question, _: asked.append(question))

    def wanted():
        return panel.spec.question(panel.view().scope, panel.choices)

    session.dragging = True
    stage.controller.request_positions(4, 60)
    assert asked == []
    if panel.spec.follows_drag and wanted() != before:
        qtbot.waitUntil(lambda: asked == [wanted()])
    asked.clear()
    stage.controller.request_positions(5, 50)
    session.dragging = False
    assert stage.answer.question == wanted()
    assert asked == ([] if wanted() == before else [wanted()])


def test_figure_numbers_and_script_are_of_the_view(name, show, run_script):
    """The printed figure has the plots of the screen; numbers and script are not empty."""
    stage = show(name)
    figure = stage.panel.figure()()
    figure.canvas.draw()
    assert figure.axes or figure.texts
    spec, parts = stage.panel.spec, stage.panel.spec.plots(stage.panel.view(LIGHT))
    assert any(isinstance(part, Plot | Image) for part in parts) or spec.body
    drawn = [p for p in parts if isinstance(p, Image) or (isinstance(p, Plot) and p.curves)]
    if type(spec).figure is not PanelSpec.figure:
        drawn = []
    assert len(figure.axes) >= len(drawn)
    for part, axes in zip(drawn, figure.axes, strict=False):
        for axis, title in ((part.x, axes.get_xlabel()), (part.y, axes.get_ylabel())):
            assert title.casefold() == (axis.printed or axis.title).casefold()
        if isinstance(part, Image):
            np.testing.assert_array_equal(axes.images[0].get_array(), part.values)
            assert axes.images[0].get_clim() == part.levels
            continue
        assert (axes.get_xscale(), axes.get_yscale()) == tuple(
            "log" if axis.log else "linear" for axis in (part.x, part.y)
        )
        for curve in part.curves:
            known = (curve.x > 0) | (not part.x.log)
            known &= (curve.y > 0) | (not part.y.log)
            assert any(np.array_equal(line.get_ydata(), curve.y[known]) for line in axes.lines)
        for rule in part.rules:
            assert any(rule.at in (*line.get_xdata(), *line.get_ydata()) for line in axes.lines)
    for column, values in show(name).panel.numbers().items():
        assert column
        assert np.asarray(values).size, column
    assert run_script(show(name).panel.python()).strip()


def test_tables_have_one_kind_of_rows_each(name, show):
    """The first column has a value in each row, so that it can say what the rows are."""
    panel = show(name).panel
    tables = panel.tables()
    assert next(iter(tables)) == ""
    assert {column for table in tables.values() for column in table} == set(panel.numbers())
    for title, table in tables.items():
        lengths = [len(np.atleast_1d(values)) for values in table.values()]
        assert max(lengths) == lengths[0], title
        assert len(table) == 1 or min(lengths) > lengths[0] / 3, title
