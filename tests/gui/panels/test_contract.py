"""What every panel of results keeps to: a table of panels × the contract."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.residual_stream import Subject
from gui.panels.kit.choices import Number
from gui.panels.kit.spec import PanelSpec
from gui.panels.table import PANELS
from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import Plot
from gui.services.questions import Progress
from gui.state.colors import model_color
from gui.style.theme import DARK, LIGHT, shape_of
from gui.testing.test_panels import (  # noqa: F401 – tests that plugins' authors run, too
    other_choices,
    test_a_dragged_range_is_asked_about_at_its_end_or_calmly,
    test_choices_survive_a_file_and_those_that_make_no_sense_are_left_out,
    test_every_choice_can_be_made_and_shown,
    test_figure_numbers_and_script_are_of_the_view,
    test_it_says_what_it_is,
    test_its_menu_closes_with_the_result,
    test_tables_have_one_kind_of_rows_each,
    test_themes_the_mouse_and_what_is_drawn_is_kept_while_it_is_hidden,
)
from tests.geometry.history_stage import write_record
from tests.gui.open_models import add_beside, show_others
from tests.gui.others_stage import drawn_names
from tests.gui.result_stage import ResultStage, double_click, drag, hover, named
from tests.scripts import run_script
from tests.small_models import write_small_gpt2, write_small_llama

pytestmark = pytest.mark.usefixtures("few_random_curves")

CHOSEN: dict[str, dict[str, object]] = {
    "compare": {"sorted_by": [3, True]},
    "overlaps": {
        "rows": Subject("W_O", layer=1, head=1, side="output", fold_ln=True, centred=True),
        "columns": Subject("E", fold_ln=True, centred=True),
        "look": {"blur": 2.5, "colormap": "viridis", "log": True},
    },
}
"""Other choices than the defaults, of panels whose choices have no control."""
SEVERAL: dict[str, dict[str, object]] = {
    "dimensions": {"dimensions": (0, 1)},
    "fourier": {"directions": (1, 2)},
    "experiment": {"page": "steps"},
}
"""Choices with which a plot of several series is drawn."""
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
COMPARED = [name for name, entry in PANELS.items() if entry.spec.compares(entry.spec.defaults)]


@pytest.fixture(scope="module")
def gpt2s(tmp_path_factory):
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


@pytest.fixture(scope="module")
def llamas(tmp_path_factory):
    """Three small rotary models, of different contexts."""
    folder = tmp_path_factory.mktemp("rotary")
    lengths = {"open": 64, "long": 80, "short": 48}
    return {name: write_small_llama(folder / name, n_positions=n) for name, n in lengths.items()}


@pytest.fixture
def models(name, gpt2s, llamas):
    """The models of a panel."""
    return llamas if name == "rotary" else gpt2s


@pytest.fixture(params=PANELS)
def name(request):
    """The name of each panel in turn."""
    return request.param


@pytest.fixture
def source(models):
    """The model that is opened."""
    return models["open"]


@pytest.fixture
def other(name):
    """Other choices than the defaults, of a panel whose choices have no control."""
    return CHOSEN.get(name, {})


@pytest.fixture(name="run_script")
def _run_script():
    """Run a script, which imports only what is public; what it prints."""
    return run_script


@pytest.fixture
def show(stage_of, models):
    """Return a stage with a panel, by its name, and a model open in it."""
    return lambda name: stage_of(name, models["open"], size=(1000, 320))


@pytest.fixture
def compared(show, models):
    """Return a stage with a panel, a model open in it, and two others beside that."""

    def make(name, stage=None):
        stage = stage or show(name)
        add_beside(stage.controller, models["long"], (2, 70))
        add_beside(stage.controller, models["short"], (0, 40))
        QApplication.processEvents()
        return stage

    return make


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
        if isinstance(line, Line2D)  # not a band
    }


@pytest.mark.slow
def test_a_choice_with_a_kept_answer_is_drawn_once(name, show, other, monkeypatch):
    stage = show(name)
    panel, drawn = stage.panel, []
    draw = panel.content.draw
    choices = {f: v for f, v in other_choices(panel.spec, other).items() if f != "playing"}
    for field, value in choices.items():
        before = getattr(panel.choices, field)
        panel.configure(**{field: value})
        if stage.answer.state != "ready":
            panel._set_choices(replace(panel.choices, **{field: before}))
            continue
        with monkeypatch.context() as counting:
            counting.setattr(panel.content, "draw", lambda *args: drawn.append(1) or draw(*args))
            panel._set_choices(replace(panel.choices, **{field: before}))
            assert drawn == [1], field
            drawn.clear()


def test_escape_keeps_what_is_shown_and_hidden_it_waits(name, qtbot, models, hand_jobs):
    stage = ResultStage(qtbot, name, hand_jobs, size=(1000, 320))
    panel = stage.panel
    stage.open(models["open"])
    hand_jobs.deliver_all()
    assert stage.answer.state == "ready", stage.answer.why
    result = stage.answer.result

    def ask_anew():
        """Let the same be computed again."""
        stage.answers._cache.clear()
        stage.answers.ask(name, stage.answer.question)
        (job,) = hand_jobs.waiting
        hand_jobs.drag_on(job)
        return job

    panel.setFocus()
    ask_anew()
    assert panel.strip.isVisible()
    QTest.keyClick(panel, Qt.Key.Key_Escape)
    assert not hand_jobs.waiting
    assert stage.answer.state == "cancelled"
    assert panel.content.isVisible()
    assert panel.result is result

    job = ask_anew()
    hand_jobs.tell(job, Progress(0.5, "Half", result))
    assert stage.controller.cancel()
    assert panel.content.isVisible()
    assert panel.result is result
    assert not panel.words.isVisible()

    QTest.mouseClick(panel.strip.again, LEFT)
    (job,) = hand_jobs.waiting
    panel.set_in_front(False)
    assert hand_jobs.held == {job}
    panel.set_in_front(True)
    assert not hand_jobs.held
    hand_jobs.deliver_all()
    assert stage.answer.state == "ready"
    assert not panel.strip.isVisible()


def test_empty_with_a_bare_table_and_closed(name, qtbot, compared, models, tmp_path, monkeypatch):
    stage = ResultStage(qtbot, name, size=(1000, 320))
    panel = stage.panel
    assert panel.words.message.text() == panel.spec.empty
    assert not panel.words.button.isVisible()
    assert not panel.header.more.isEnabled()
    assert panel.result is None

    np.save(tmp_path / "table.npy", np.random.default_rng(3).normal(size=(40, 12)))
    stage.open(tmp_path / "table.npy")
    assert stage.answer.state in ("ready", "impossible")
    if stage.answer.state == "impossible":
        assert panel.words.message.text().endswith(".")
        assert not stage.answer.retry

    stage.open(models["open"])
    compared(name, stage)
    panel.release()
    drawn = []
    monkeypatch.setattr(panel, "_draw", lambda: drawn.append(1))
    panel.asked.connect(lambda *_: drawn.append(2))
    stage.controller.request_positions(3, 50)
    stage.controller.select((5,))
    stage.session.others[0].session.positions = (3, 60)
    stage.session.components = (2, 1, 3)
    stage.session.hover = 4
    assert drawn == []


def test_plots_over_positions_hover_and_select_them(name, show):
    stage = show(name)
    panel, session = stage.panel, stage.session
    plots = [p for p in panel.spec.plots(panel.view()) if getattr(p, "over", "") == "position"]
    for part in (one for one in plots if isinstance(one, Plot)):
        plot, xs = named(panel, part.name), part.curves[0].x.astype(int)

        def at(index, plot=plot):
            return plot.point_of(0, index).toPoint()

        hover(plot.viewport(), at(20))
        assert session.hover == xs[20]
        session.hover = int(xs[25])
        assert plot.hover_text() == part.hover(0, 25)
        session.hover = int(xs[-1]) + 1
        assert plot.hover_text() == ""
        for index, modifier, chosen in (
            (22, NONE, [22]),
            (33, SHIFT | CONTROL, range(22, 34)),
            (20, NONE, [20]),
            (25, SHIFT, [20, 25]),
            (30, SHIFT, [20, 25, 30]),
            (25, SHIFT, [20, 30]),
        ):
            QTest.mouseClick(plot.viewport(), LEFT, modifier, at(index))
            assert session.selection == tuple(xs[[*chosen]])
        assert plot.marked() == tuple(xs[[20, 30]])
        drag(plot.viewport(), at(35), at(40), SHIFT)
        assert session.selection == tuple(xs[35:41])
        session.selection = (int(xs[7]), int(xs[8]))
        plot.view.zoom_x(0.2)
        double_click(plot.viewport(), plot.viewport().rect().center())
        assert session.selection == tuple(xs[7:9])
        assert not plot.view.is_zoomed
        # Keys step within the shown positions, from the first of them if none is selected.
        stage.controller.request_positions(10, 50)
        first, last = (10, 50) if len(named(panel, part.name).curves[0].x) < 50 else xs[[0, -1]]
        session.selection = ()
        for key, modifier, chosen in (
            (Qt.Key.Key_Right, NONE, (10,)),
            (Qt.Key.Key_Right, NONE, (11,)),
            (Qt.Key.Key_Right, SHIFT, (11, 12)),
            (Qt.Key.Key_Left, NONE, (11,)),
        ):
            QTest.keyClick(plot, key, modifier)
            assert session.selection == chosen
        session.selection = (int(last),)
        QTest.keyClick(plot, Qt.Key.Key_Right)
        assert session.selection == (last,)
        session.selection = (0, 30, 63)
        assert plot.marked() == tuple(one for one in (0, 30, 63) if first <= one <= last)
        stage.controller.request_positions(1, 63)


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, control.field) for name, entry in PANELS.items() for control in entry.spec.controls
     if isinstance(control, Number)],
)  # fmt: skip
def test_numbers_are_typed_and_stepped(name, field, show):
    panel = show(name).panel
    (control,) = [one for one in panel.spec.controls if one.field == field]
    number = panel.controls.widgets[field]
    number.field.setFocus()
    number.field.selectAll()
    QTest.keyClicks(number.field, "5")
    QTest.keyClick(number.field, Qt.Key.Key_Return)
    QTest.keyClick(number.slider, Qt.Key.Key_Right)
    assert number.value == number.slider.value() == number.field.value() == 6
    assert getattr(panel.choices, field) == (6 if control.chosen is None else control.chosen(6))


@pytest.mark.parametrize("name", COMPARED)
def test_compared_models_are_drawn_hidden_and_written(name, compared):
    stage = compared(name)
    panel = stage.panel
    assert panel.legend.isVisible()
    assert {c.name: c.color for c in curves(panel, DARK)} == {
        "long": model_color(1, DARK), "short": model_color(2, DARK)
    }  # fmt: skip
    printed = printed_names(panel.figure()())
    (long,) = [one for one in printed if one.startswith("long")]
    assert printed[long] == model_color(1, LIGHT)
    assert any(column.startswith("short: ") for column in panel.numbers())
    models = [list(dict.fromkeys(table["model"])) for table in panel.tables().values()]
    assert models[0] == [stage.session.model.name, "long", "short"]
    assert all(own[0] == models[0][0] for own in models)  # some are of the open model alone
    for table in panel.tables().values():
        assert len({len(column) for column in table.values()}) == 1
    assert "# Beside it, short:" in panel.python()
    assert panel.legend.chips[1].toolTip()

    QTest.mouseClick(panel.legend.chips[1], LEFT)
    (wanted,) = stage.intents
    assert wanted.hidden == {(name, 1)}
    stage.session.hidden_curves = wanted.hidden
    assert {curve.name for curve in curves(panel)} == drawn_names(panel) == {"short"}
    assert not any(column.startswith("long: ") for column in panel.numbers())
    # It stays hidden when all is drawn anew.
    panel.set_theme(DARK)
    stage.controller.request_positions(3, 60)
    stage.session.others[1].session.positions = (5, 35)
    show_others(stage.session, *stage.session.others[::-1])
    assert drawn_names(panel) == {"short"}
    assert not panel.legend.chips[1].isChecked()
    stage.controller.comparing.remove(2)
    assert not curves(panel)
    stage.controller.comparing.remove(1)
    assert not panel.legend.isVisible()
    assert "Beside it" not in panel.python()
    names = printed_names(panel.figure()())
    assert not any(one.startswith(("long", "short", "open")) for one in names)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside others"])
def test_no_series_is_known_by_its_colour_alone(name, theme, beside, show, compared):
    """Series of a plot differ in style or shape, and their legends show both."""
    stage = compared(name) if beside else show(name)
    stage.controller.select((5, 9, 13))
    panel = stage.panel
    panel.set_theme(theme)
    panel.configure(**SEVERAL.get(name, {}))
    parts = [p for p in panel.spec.plots(panel.view(theme)) if isinstance(p, Plot)]
    for part in parts:
        colors = {}
        for curve in (curve for curve in part.curves if len(curve.x)):
            colors.setdefault((curve.style, shape_of(curve.color)), set()).add(curve.color)
        assert all(len(known) == 1 for known in colors.values()), (part.name, colors)
        assert len({band.style for band in part.bands}) == len(part.bands), part.name
        known = {theme.muted, ""} | {one.color for one in (*part.curves, *part.bands)}
        assert {reading.color for reading in part.readings} <= known
    shaped = {shape_of(curve.color) for part in parts for curve in part.curves if len(curve.x)}
    drawn = {shape for plot in panel.findChildren(CurvePlot) for shape in plot.shapes()}
    assert shaped - {""} <= drawn
    if type(panel.spec).figure is PanelSpec.figure and parts:
        figure = panel.figure()()
        markers = {line.get_marker() for axes in figure.axes for line in axes.lines}
        assert shaped - {""} <= markers
        printed = set(printed_names(figure).values())
        for part in panel.spec.plots(panel.view(LIGHT)):
            curves = part.curves if isinstance(part, Plot) else ()
            own = {curve.color for curve in curves if len(curve.x) and not curve.name}
            assert len(own) < 2 or own <= printed, part.name


def test_a_panel_that_is_not_seen_keeps_no_closed_model(name, compared, models):
    stage = compared(name)
    panel, session = stage.panel, stage.session
    closed = [weakref.ref(one.session.model) for one in session.others]
    panel.set_in_front(False)
    stage.controller.comparing.clear()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [one() for one in closed] == [None, None]
    was_open = weakref.ref(session.model)
    stage.open(models["long"])
    stage._model = None
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert was_open() is None
    panel.set_in_front(True)
    QApplication.processEvents()
    assert session.model is not None
    if stage.answer is not None and stage.answer.state == "ready":
        assert panel.caption()


NEEDS_MORE = {
    "compare", "extend", "capture", "overlaps", "layernorm", "kernels", "rotary", "training",
}  # fmt: skip
"""Panels without an answer about rows with labels alone."""


@pytest.mark.parametrize("name", [name for name in PANELS if name not in NEEDS_MORE])
def test_numbers_have_the_labels_of_rows_beside_their_positions(stage_of, tmp_path, name):
    path, rng = tmp_path / "words.csv", np.random.default_rng(0)
    rows = np.cumsum(rng.normal(size=(40, 6)), axis=0)
    lines = [f"word {i}," + ",".join(f"{x:.5f}" for x in row) for i, row in enumerate(rows)]
    path.write_text("\n".join(["word,a,b,c,d,e,f", *lines]), "utf-8")
    stage = stage_of(name, path)
    tables = {"numbers": stage.panel.numbers(), **stage.panel.tables()}
    for table in tables.values():
        if name == "experiment" or "position" not in table:
            assert "label" not in table
            continue
        columns = list(table)
        assert columns[columns.index("position") + 1] == "label"
        assert [f"word {at}" for at in table["position"]] == table["label"].tolist()


ALONG_ROWS = ("shape", "norms", "dimensions", "directions", "fourier")


@pytest.mark.parametrize("name", ALONG_ROWS)
def test_an_axis_along_rows_says_what_they_are(stage_of, tmp_path, name):
    path = tmp_path / "words.csv"
    lines = [f"word {i},{i},{i % 7},{i * i % 11},{i % 5}" for i in range(40)]
    path.write_text("\n".join(["word,a,b,c,d", *lines]), "utf-8")
    np.save(tmp_path / "table.npy", np.cumsum(np.eye(40, 12), axis=0))
    for source, said in ((path, "row"), (tmp_path / "table.npy", "position (tokens)")):
        panel = stage_of(name, source).panel
        parts = panel.spec.plots(panel.view())
        titles = {part.x.title for part in parts if isinstance(part, Plot)}
        assert said in titles
