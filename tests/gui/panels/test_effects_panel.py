"""The panel of effects: changes in the view, and what they cost, by mouse and keys."""

from contextlib import closing
from dataclasses import asdict, replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.errors import FileChanged
from geometry.inside.effects import Effect
from geometry.inside.intervene import changed_table, intervene
from geometry.inside.interventions import USUAL, usual_length
from geometry.inside.positions_run import measure_positions
from geometry.inside.settings import InsideError, PositionsSettings
from geometry.inside.worker import WorkerProgress
from geometry.models.sources.opening import open_model
from gui.panels.effects.body import LISTED
from gui.panels.effects.spec import Choices
from gui.services import effects as module
from gui.services.effects import EffectsOf, EffectsResult, EffectsRun, named
from gui.services.questions import Progress, QuestionContext, resolve
from tests.gui.result_stage import LEFT, drag, enter
from tests.gui.result_stage import named as plot_named
from tests.scripts import run_script
from tests.small_models import write_small_llama

SIZE = (1100, 320)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    place = tmp_path_factory.mktemp("texts")
    for i in range(4):
        (place / f"{i}.txt").write_text(
            "The curve is a helix, and its rows are its points. "[i:] * 9
        )
    return place


@pytest.fixture
def asked(monkeypatch):
    """Measure in this process, and return what was asked for."""
    requests = []

    def here(measure, **request):
        assert measure == "effects"
        requests.append(dict(request))
        assert len(request.pop("fingerprint")) == 32
        parts = []
        result = intervene(follow=parts.append, **request)
        for done, one in enumerate(parts):
            yield WorkerProgress("as it is", done, len(parts), asdict(one))
        return asdict(result)

    monkeypatch.setattr("geometry.inside.intervene.FOLLOW_S", 0.0)
    monkeypatch.setattr(module, "run_in_subprocess", here)
    return requests


@pytest.fixture
def stage(stage_of, texts):
    stage = stage_of("effects", "sample", size=SIZE)
    stage.panel.configure(texts=str(texts), windows=4, length=24)
    return stage


def rows(panel):
    """The table's cells, by change."""
    table = panel.content.table.rows
    return dict(zip(table.changes, table.cells, strict=True))


def partial(name):
    """What is told after two windows."""
    effect = asdict(Effect(name, 1.0, 0.5, 2.0))
    return {"baseline": 4.0, "windows": 2, "effects": [effect]}


def click(panel, change):
    table = panel.content.table
    index = table.rows.index(table.rows.changes.index(change), 0)
    table.scrollTo(index)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())


def dimensions(points):
    return np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-6)


def guide(panel):
    return panel.spec.guide(panel.view(), None)


def test_a_change_is_seen_in_front_of_the_pale_curve(stage):
    panel, session = stage.panel, stage.session
    assert [cells[0] for cells in rows(panel).values()] == [named(one) for one in LISTED]
    click(panel, "fitted helix")
    assert panel.choices.change == "fitted helix"
    seen, pca = guide(panel), session.pca
    assert seen.ghost
    first, last = seen.matched[[0, -1]]
    assert (first, last) == (session.positions[0], 23)
    changed = changed_table(session.model, "fitted helix", 24)
    points = (changed[first : last + 1] - pca.mean) @ pca.components[:3].T
    np.testing.assert_allclose(seen.points, points, atol=1e-12)
    assert "fitted helix" in seen.caption
    assert panel.content.table.selectionModel().selectedRows()[0].row() == LISTED.index(
        "fitted helix"
    )
    QTest.mouseClick(panel.controls.widgets["in_view"], LEFT, pos=QPoint(8, 8))
    assert guide(panel) is None


def test_radius_and_pitch_are_turned_by_hand(stage):
    panel = stage.panel
    assert not panel.content.helix.isVisible()
    click(panel, "fitted helix")
    sliders = panel.content.sliders
    assert panel.content.helix.isVisible()
    plain = guide(panel).points
    enter(sliders["Radius"].field, "2")
    assert panel.choices.change == "fitted helix radius 2.00 pitch 1.00"
    wide = guide(panel).points
    assert np.ptp(wide, axis=0).max() > 1.5 * np.ptp(plain, axis=0).max()
    sliders["Radius"].field.setValue(1.0)
    assert panel.choices.change == "fitted helix"
    np.testing.assert_array_equal(guide(panel).points, plain)
    sliders["Pitch"].field.setValue(0)
    assert dimensions(guide(panel).points) == 2  # a circle is flat


def test_the_number_of_components_is_dragged_typed_and_stepped(stage):
    panel = stage.panel
    plot = plot_named(panel, "Effect by components")
    middle = plot.viewport().rect().center()
    drag(plot.viewport(), middle, middle + QPoint(5, 0))
    assert panel.choices.change.startswith("top ")
    assert 5 < int(panel.choices.change[4:]) < 15
    number = panel.controls.widgets["change"]
    number.field.setValue(2)
    assert panel.choices.change == "top 2"
    before = guide(panel).points
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert panel.choices.change == "top 1"
    assert dimensions(guide(panel).points) == 1
    assert dimensions(before) == 2


def test_a_table_too_short_and_a_change_that_is_impossible(stage_of, tmp_path):
    np.save(tmp_path / "short.npy", np.random.default_rng(0).normal(size=(7, 8)))
    panel = stage_of("effects", tmp_path / "short.npy", size=SIZE).panel
    assert "at least 8 positions" in panel.words.message.text()
    np.save(tmp_path / "bare.npy", np.random.default_rng(0).normal(size=(60, 8)))
    panel = stage_of("effects", tmp_path / "bare.npy", size=SIZE).panel
    panel.configure(change="into E")
    assert guide(panel) is None
    assert panel.numbers()["moved"].max() == 0


def test_a_model_without_a_table_has_nothing_to_change(stage, tmp_path):
    panel, session = stage.panel, stage.session
    panel.configure(change="top 1")
    assert session.shown_change.name == "top 1"
    stage.open(write_small_llama(tmp_path / "rotary"))
    assert (stage.answer.state, stage.answer.retry) == ("impossible", False)
    assert "turns queries and keys" in stage.answer.why
    assert session.shown_change is None
    stage.open("sample")
    assert stage.answer.state == "ready"
    assert session.shown_change.name == "top 1"


def test_effects_are_measured_on_demand(stage, texts, asked):
    panel = stage.panel
    assert asked == []
    before = panel.spec.plots(panel.view())[1]
    assert "not measured" in before.readings[0].name
    assert before.curves[0].y[0] == 0
    assert before.curves[0].y[3] > 0.99  # of P's variance
    QTest.mouseClick(panel.content.measure, LEFT)
    assert [one["changes"] for one in asked] == [list(USUAL)]
    expected = intervene("sample", texts, ["top 0", "into E"], length=24, texts_at_most=4)
    for one in expected.effects:
        found = panel.result.effects.of(one.name)
        assert found.delta == pytest.approx(one.delta, abs=1e-9)
        said = f"{one.delta:+.3f}".replace("-", "−")
        assert rows(panel)[one.name][1] == said
    assert panel.result.effects.baseline == pytest.approx(expected.baseline)
    losses = panel.spec.plots(panel.view())[1]
    assert losses.curves[0].x.tolist() == list(range(21))
    assert losses.curves[0].y[0] == pytest.approx(expected.effects[0].delta, abs=1e-9)
    assert "from 4 windows of text" in panel.caption()
    printed = run_script(panel.python())
    assert f"{expected.baseline:.6f}"[:6] in printed
    tables = panel.tables()
    assert tables["effects"]["change"].tolist() == list(USUAL)
    # Beside each change its nearest control, and what remains of the effect, in the table and plot.
    shift = panel.result.effects.of("shift 10")
    control = min(shift.controls, key=lambda one: abs(one.difference[0]))
    assert rows(panel)["shift 10"][2] == f"{control.delta:+.3f}".replace("-", "−")
    assert shift.delta - control.delta == pytest.approx(control.difference[0])
    at = list(USUAL).index("shift 10")
    assert tables["effects"]["difference"][at] == pytest.approx(control.difference[0])
    assert losses.curves[1].x.tolist() == list(range(21))
    assert losses.curves[1].y[0] == panel.result.effects.of("top 0").controls[0].delta
    assert "intervals over windows, as 2 files are too few" in panel.caption()
    # A helix of one's own is measured with the next press, and nothing else again.
    panel.configure(change="fitted helix radius 1.50 pitch 1.00")
    assert rows(panel)["fitted helix radius 1.50 pitch 1.00"][1] == ""
    QTest.mouseClick(panel.content.measure, LEFT)
    assert asked[-1]["changes"] == ["fitted helix radius 1.50 pitch 1.00"]
    assert rows(panel)["fitted helix radius 1.50 pitch 1.00"][1] != ""
    assert len(panel.result.effects.effects) == len(USUAL) + 1


def test_a_failure_is_said_beside_what_is_known_and_tried_again(stage, monkeypatch, asked):
    panel, real = stage.panel, module.run_in_subprocess
    panel.configure(windows=5)  # of which nothing is known yet

    def fail(measure, **request):
        yield WorkerProgress("top 0", 0, 2, partial("top 0"))
        raise InsideError("The process was ended by signal 9.", "Use shorter windows.")

    monkeypatch.setattr(module, "run_in_subprocess", fail)
    QTest.mouseClick(panel.content.measure, LEFT)
    assert panel.content.failure.text() == "The process was ended by signal 9. Use shorter windows."
    assert rows(panel)["top 0"][1:] == ("+1.000", "", "", "")
    assert rows(panel)["top 1"][1] == ""
    assert "from 2 windows" in panel.caption()
    monkeypatch.setattr(module, "run_in_subprocess", real)
    QTest.mouseClick(panel.content.measure, LEFT)
    assert panel.content.failure.text() == ""
    assert asked[-1]["changes"] == list(USUAL)
    assert panel.result.effects.windows == 5


def test_given_up_the_process_ends_and_what_it_found_stays(texts, monkeypatch):
    ended = []

    def endless(measure, **request):
        try:
            yield WorkerProgress("top 0", 0, 9, partial("top 0"))
            while True:
                yield WorkerProgress("top 1", 1, 9)
        finally:
            ended.append(True)

    monkeypatch.setattr(module, "run_in_subprocess", endless)
    about = QuestionContext(open_model("sample"))
    asked = EffectsOf(24, EffectsRun(str(texts), 24, 4))
    with closing(asked.steps(about)) as steps:
        for step in steps:
            assert isinstance(step, Progress)
            assert not ended
            if step.fraction > 0:
                break
    assert ended
    assert step.so_far.effects.of("top 0").delta == 1

    def changed(measure, **request):
        assert request["changes"] == list(USUAL)  # not all windows were done
        raise FileChanged("model.safetensors")
        yield

    monkeypatch.setattr(module, "run_in_subprocess", changed)
    with pytest.raises(FileChanged):
        resolve(asked, about)


def test_another_model_is_not_measured_by_itself(stage, asked):
    panel = stage.panel
    panel.configure(windows=6)
    QTest.mouseClick(panel.content.measure, LEFT)
    assert len(asked) == 1
    stage.open("synthetic:helix,n=90,d=16,turns=2,climb=0.3")
    assert len(asked) == 1
    assert panel.choices.run is None
    assert isinstance(panel.result, EffectsResult)
    assert panel.result.effects.effects == ()
    stage.open("sample")
    assert len(asked) == 1


def test_texts_and_sizes_are_chosen_in_a_small_window(stage, tmp_path, monkeypatch):
    panel = stage.panel
    settings = panel.content.settings
    QTest.mouseClick(panel.content.texts, LEFT)
    assert settings.isVisible()
    settings.windows.setValue(7)
    settings.length.setValue(30)
    assert (panel.choices.windows, panel.choices.length) == (7, 30)
    monkeypatch.setattr(
        "gui.widgets.texts_choice.QFileDialog.getExistingDirectory", lambda *_: str(tmp_path)
    )
    settings.source.setCurrentIndex(settings.source.findText("Folder…"))
    settings.source.activated.emit(settings.source.currentIndex())
    assert panel.choices.texts == str(tmp_path)
    assert settings.source.currentText() == tmp_path.name
    assert "7 windows of 30 tokens" in settings.summary
    monkeypatch.setattr(
        "gui.widgets.texts_choice.QFileDialog.getOpenFileName", lambda *_, **__: ("", "")
    )
    settings.source.setCurrentIndex(settings.source.findText("Text file…"))
    settings.source.activated.emit(settings.source.currentIndex())
    assert panel.choices.texts == str(tmp_path)  # cancelled
    settings.close()


@pytest.mark.slow
def test_layer_change_shows_heads_that_notice(stage_of, texts, asked, tmp_path_factory):
    run = tmp_path_factory.mktemp("run")
    settings = PositionsSettings("sample", str(texts), 30, 8, ("position",), control=False)
    measure_positions(settings, run)
    stage = stage_of("effects", run / "layer 1", size=SIZE)
    panel = stage.panel
    assert panel.result.effects.layer == 1
    panel.configure(texts=str(texts), windows=4, length=24, change="top 0", heads=True)
    assert np.linalg.matrix_rank(guide(panel).points - guide(panel).points[0], tol=1e-6) == 0
    assert len(panel.spec.plots(panel.view())) == 2
    QTest.mouseClick(panel.content.measure, LEFT)
    assert panel.content.failure.text() == ""
    assert (asked[0]["source"], asked[0]["layer"]) == ("sample", str(run / "layer 1"))
    expected = intervene(
        "sample",
        str(texts),
        ["top 0"],
        layer=str(run / "layer 1"),
        attention=True,
        length=24,
        texts_at_most=4,
    )
    found = panel.result.effects.of("top 0")
    assert found.delta == pytest.approx(expected.effects[0].delta, abs=1e-9)
    image = panel.spec.plots(panel.view())[2]
    np.testing.assert_allclose(image.values, expected.effects[0].attention, atol=1e-9)
    assert image.values.shape == (2, 4)
    assert "layer 1, head 2" in image.hover(1, 2)
    assert "layer=" in panel.python()
    assert f"{expected.baseline:.6f}"[:6] in run_script(panel.python())


def test_names_in_words():
    assert named("top 7") == "only the first 7 components"
    assert named("without 1-3") == "without components 1–3"
    assert named("blocks of 10") == "10 neighbours averaged"
    assert named("shift 1") == "1 position later"
    assert named("fitted helix radius 1.50 pitch 0.80") == (
        "the fitted helix, 1.5 × radius, 0.8 × pitch"
    )
    assert all(named(one) != one for one in USUAL)


def test_the_length_of_windows_is_that_of_each_model(stage):
    panel = stage.panel
    assert "positions 0–23" in panel.spec.caption(panel.view())
    stage.open("sample/inside/layer 1")
    assert panel.choices.length is None
    assert panel.result.table.length == usual_length(stage.session.model.n_positions)


def test_a_lesson_keeps_measurements_with_its_own_settings_only(stage):
    model, spec = stage.session.model, stage.panel.spec
    own = EffectsRun("sample", usual_length(model.n_positions), Choices().windows)
    others = (replace(own, windows=8), replace(own, length=24), replace(own, texts="/texts"))
    for run in (own, *others):
        chosen = Choices("top 0", texts=run.texts, windows=run.windows, length=run.length, run=run)
        expected = own if run is own else None
        assert spec.choices_for_lesson(model, chosen) == Choices(run=expected)
