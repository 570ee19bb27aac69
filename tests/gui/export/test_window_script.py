"""The whole window as Python: the script draws the same picture, without the window."""

from dataclasses import replace

import numpy as np
import pytest
import pyvista as pv
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from geometry.checkpoints.column_files import PositionColumn
from geometry.history.here import history_here
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.export.drawing import draw
from gui.export.pictures import PictureError, render_scene
from gui.export.timelapse_film import timeline_session
from gui.export.window_script import SCALE, Sight, expression, script
from gui.scene.scene_state import lasting_labels, resolve_scene
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.services.snippets import python_script
from gui.state.camera import CameraPose, view_pose
from gui.state.guides import Guide, ShownChange, with_guide
from gui.state.session import OpenModel, Session
from gui.style.theme import COLORMAPS, THEMES
from gui.window.exports import window_script
from tests.geometry.history_stage import growing, write_checkpoint, write_record
from tests.gui.dialogs import press_key
from tests.gui.open_models import show_others
from tests.marks import slow_but
from tests.scripts import check_imports, run_script

SIGHT = Sight(
    CameraPose(np.array([9.0, 9.0, 6.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0),
    (320, 240),
    "dark",
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a script that leaves its pictures in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return run_script


def read(path):
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB")).astype(int)


def sight(session, theme="light"):
    """From where all of a session's curve is seen."""
    state = resolve_scene(session)
    points = state.coordinates[slice(*state.positions)] @ state.turn.T
    return Sight(view_pose("article", points, state.turn, 4 / 3), SIGHT.size, theme)


def sight_of(viewport):
    """How a view of the window is seen."""
    interactor, scene = viewport.interactor, viewport.scene
    size = (interactor.width(), interactor.height())
    return Sight(CameraPose.of(interactor.camera), size, scene.theme.name, scene.compact)


def assert_drawn(picture, session, sight):
    """The picture is that of the session's scene."""
    state = replace(resolve_scene(session), hover=None, labels=lasting_labels(session))
    drawn = render_scene(
        state, THEMES[sight.theme], sight.pose, sight.size, scale=SCALE, compact=sight.compact
    )
    assert picture.shape == drawn.shape
    # Values that differ in their last digit may have the next colour of the map.
    assert np.abs(picture - drawn).mean() < 0.02
    empty = np.abs(picture - picture[0, 0]).max(axis=2) < 8
    assert 0.5 < empty.mean() < 0.999


@pytest.mark.slow
def test_copied_script_draws_the_points(application, qtbot, run_python, tmp_path, wait_until_idle):
    window, session = application.window, application.session
    session.change(selection=(20, 21), color_by="norm", outside="faint", prompt="hello my name")
    session.change(components=(2, 1, 3), sphere=True, colormap="viridis", projection="parallel")
    session.positions = (4, 120)
    wait_until_idle(application)
    window.viewport.camera.view("isometric")
    wait_until_idle(application)
    window.viewport.camera.zoom(1.4)
    wait_until_idle(application)
    session.hover = 30
    control_alt = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    press_key(qtbot, window, Qt.Key.Key_C, control_alt)
    assert session.status == "Copied the view as Python"
    copied = QGuiApplication.clipboard().text()
    check_imports(copied)
    # In a process of its own, as a reader runs it.
    out = str(tmp_path / "tiny-gpt2.png")
    printed = run_python(copied.replace("'tiny-gpt2.png'", repr(out))).splitlines()
    assert printed[0].partition("(")[0].strip() == "tiny-gpt2"
    assert "(4, 120) (2, 1, 3)" in printed[0]
    rows = np.array([[float(x) for x in line.split()] for line in printed[1:201]])
    np.testing.assert_allclose(rows[:, 1:4], session.curve.coordinates, atol=1e-9)
    np.testing.assert_allclose(rows[:, 4], session.norms.values, rtol=1e-12)
    assert "20: '20'" in copied
    assert "30: " not in copied
    assert_drawn(read(tmp_path / "tiny-gpt2.png"), session, sight_of(window.viewport))


def test_what_is_usual_is_left_out_and_what_panels_draw_is_written_out(opened, run, tmp_path):
    text = script(opened, SIGHT)
    unusual = ("turn=np.array", "parallel'", "labels={", "sphere", "guide", "look", "hover")
    assert not any(word in text for word in unusual)
    opened.selection = (5,)
    assert "labels={5: '5'}" in script(opened, SIGHT)
    run(script(opened, SIGHT))
    without = read(tmp_path / "helix.png")
    line = opened.curve.coordinates[20:60] * 1.2
    guide = Guide(
        opened.curve.pca,
        opened.curve.components,
        lines=(line,),
        segments=np.stack([line[:-1], line[1:]], axis=1),
        positions=np.array([3, 7, 8]),
        weights=np.array([0.2, 0.5, 1.0]),
        texts=((line[0], "begin"),),
        caption="a line of\na panel",
        pale=True,
        change=ShownChange("top 3", 200),
    )
    opened.guides = with_guide(opened.guides, "look-back", guide)
    names = {}
    run(script(opened, SIGHT), names)
    (drawn,) = names["scene"].guides
    assert names["scene"].caption == resolve_scene(opened).caption
    assert (drawn.caption, drawn.pale, drawn.change) == (guide.caption, True, None)
    for field in ("segments", "positions", "weights"):
        np.testing.assert_allclose(getattr(drawn, field), getattr(guide, field), rtol=1e-6)
    np.testing.assert_allclose(drawn.lines[0], line, rtol=1e-6)
    ((at, text),) = drawn.texts
    assert text == "begin"
    np.testing.assert_array_equal(at, line[0])
    assert np.abs(read(tmp_path / "helix.png") - without).max() > 100


@pytest.mark.parametrize(
    "array",
    [
        np.eye(3),
        np.array([[1.5, np.nan, -np.inf]]),
        np.zeros((0, 2, 3)),
        np.zeros(0, np.intp),
        np.arange(4, 90, 3),
        np.array([5, 5]),
        np.array([7]),
        np.linspace(0, 1, 2000, dtype=np.float32).reshape(-1, 2, 4),
    ],
    ids=["eye", "nan", "empty", "none", "range", "same", "single", "long"],
)
def test_an_array_is_written_out_as_it_is(array):
    names = {}
    run_script(python_script(f"value = {expression(array)}"), names)
    np.testing.assert_allclose(names["value"], array, rtol=1e-7)
    assert names["value"].shape == array.shape
    assert names["value"].dtype.kind == array.dtype.kind


def test_the_picture_is_that_of_the_window(opened, run, tmp_path):
    opened.positions = (10, 99)
    opened.change(selection=(20, 41), color_by="norm", outside="faint", sphere=True, measure=True)
    opened.change(projection="parallel", point_size=9.0, opacity=0.8)
    names = {}
    printed = run(script(opened, SIGHT), names)
    assert repr(opened.pair) in printed
    drawn = render_scene(resolve_scene(opened), THEMES["dark"], SIGHT.pose, SIGHT.size, scale=SCALE)
    assert np.abs(read(tmp_path / "helix.png") - drawn).mean() < 0.01
    for suffix in (".svg", ".pdf"):
        draw(names["scene"], tmp_path / f"again{suffix}", SIGHT.pose, size=SIGHT.size)
        assert (tmp_path / f"again{suffix}").stat().st_size > 2000
    with pytest.raises(PictureError, match="no view 'front'"):
        draw(names["scene"], tmp_path / "again.png", "front")


def test_without_a_file_it_is_shown_in_a_window(opened, monkeypatch):
    shown = []

    def show(plotter, **_options):
        pose = CameraPose.of(plotter.camera)
        shown.append((pose.position, plotter.camera_set, plotter.window_size))

    monkeypatch.setattr(pv.Plotter, "show", show)
    monkeypatch.setattr(pv, "OFF_SCREEN", True)
    draw(resolve_scene(opened), None, SIGHT.pose, size=SIGHT.size, theme="dark")
    draw(resolve_scene(opened))
    (position, is_set, size), (other, *_) = shown
    np.testing.assert_allclose(position, SIGHT.pose.position)
    assert is_set
    assert tuple(size) == SIGHT.size
    assert not np.allclose(position, other)


def test_a_map_of_colours_is_written_and_a_single_position_is_drawn(opened, run, tmp_path):
    opened.colormap = COLORMAPS[-1]
    run(script(opened, sight(opened)))
    assert_drawn(read(tmp_path / "helix.png"), opened, sight(opened))
    opened.positions = (7, 7)
    run(script(opened, SIGHT))
    assert np.ptp(read(tmp_path / "helix.png")) > 100


def column(*values):
    return {"color_by": "column", "color_column": PositionColumn("a", "b.csv", values)}


OTHERWISE = {
    "residual": {"color_by": "residual", "outside": "faint", "selection": (150,)},
    "component": {"color_by": "component", "color_component": 2},
    "sphere": {"sphere": True, "norms_centred": True},
    "points": {"line_width": 4.0, "point_size": 12.0, "curve_parts": "points", "outside": "faint"},
    "period": {"color_by": "period", "color_period": 12.5},
    "numbers": column(None, *range(120)),
    "categories": column(*(f"k{i % 5}" for i in range(150))),
}


@pytest.mark.parametrize(
    "name", slow_but(["residual", "component", "period", "categories"], OTHERWISE)
)
def test_what_is_drawn_otherwise(opened, run, tmp_path, name):
    opened.positions = (1, 99)
    opened.change(**OTHERWISE[name])
    # Of three dimensions, one mirrored: what continuity may ask for.
    opened.turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    names = {}
    run(script(opened, sight(opened)), names)
    state = resolve_scene(opened)
    np.testing.assert_allclose(names["points"], state.coordinates, atol=1e-9)
    np.testing.assert_array_equal(names["scene"].turn, state.turn)
    np.testing.assert_allclose(names["values"], state.scale.values, atol=1e-5)
    assert_drawn(read(tmp_path / "helix.png"), opened, sight(opened))
    assert ("section" in names) == opened.sphere
    if opened.sphere:
        np.testing.assert_allclose(names["section"].axes, state.sphere.axes, atol=1e-9)


def test_the_line_alone_and_what_can_be_seen_through(opened, run, tmp_path):
    run(script(opened, sight(opened)))
    solid = read(tmp_path / "helix.png")
    opened.change(curve_parts="line", line_width=5.0, opacity=0.4)
    text = script(opened, sight(opened))
    assert "line_width=5.0," in text
    run(text)
    pale = read(tmp_path / "helix.png")
    assert pale[:, :500].min() > solid[:, :500].min()
    # The colour bar stays.
    assert np.abs(pale[:, 540:] - 255).max() > 100


def test_models_beside_it_get_pictures_of_their_own(opened, write_table, helix, run, tmp_path):
    other = Session()
    controller = Controller(other, InlineJobs())
    path = str(write_table(helix(90, 16, 3), "other"))
    controller.open(path, positions=(0, 60))
    later = OpenModel(2, Source.parse("later"), "later", Session())
    show_others(opened, OpenModel(1, Source.parse(path), "other", other), later)
    printed = run(script(opened, SIGHT)).splitlines()
    controller.close()
    assert len(printed) == 1 + 200 + 1 + 90
    assert "(0, 60)" in printed[201]
    first, second = read(tmp_path / "helix.png"), read(tmp_path / "other 1.png")
    assert first.shape == second.shape == (480, 640, 3)
    assert np.abs(first - second).max() > 100


@pytest.mark.parametrize("basis", ["aligned", "frozen"])
def test_a_snapshot_of_the_training(session, run, tmp_path, basis):
    steps = [0, 10, 100]
    folder = write_checkpoint(tmp_path / "trained", growing(steps)[-1])
    write_record(folder / "history.safetensors", steps)
    model = open_model(folder)
    shown = timeline_session(model, history_here(model), basis)
    shown.change(snapshot=1, selection=(3, 5))
    text = script(shown, sight(shown, "dark"))
    assert "index(10)" in text
    names = {}
    run(text, names)
    state = resolve_scene(shown)
    np.testing.assert_allclose(names["points"], state.coordinates, atol=1e-6)
    np.testing.assert_allclose(names["scene"].ways.points, state.ways.points)
    assert names["scene"].ways.at == state.ways.at
    assert_drawn(read(tmp_path / "trained.png"), shown, sight(shown, "dark"))


@pytest.mark.slow
def test_side_by_side_views_are_drawn(application, run, tmp_path, write_table, helix, settle):
    window, session = application.window, application.session
    path = str(write_table(helix(120, 16, 3), "other"))
    key = application.controller.comparing.add(path)
    session.change(color_by="norm", color_span="table", selection=(20, 30), measure=True)
    settle()
    window.viewport.camera.view("xy")
    settle()
    assert session.color_limits is not None
    names = {}
    text = window_script(window)
    assert text.count(repr(tuple(map(float, session.color_limits.limits)))) == 2
    printed = run(text, names)
    assert repr(session.pair) in printed
    other = window.grid.cells[key]
    assert_drawn(read(tmp_path / "tiny-gpt2.png"), session, sight_of(window.viewport))
    assert_drawn(read(tmp_path / "other 1.png"), other.session, sight_of(other.viewport))
    # The panel in front comes too, and opens nothing again.
    application.controller.comparing.clear()
    window.bring("shape")
    settle()
    text = window_script(window)
    assert "\n# Shape\n" in text
    assert text.count("open_model(") == 1
    check_imports(text)


def test_drawing_needs_no_qt(run_python):
    program = "import sys, gui.export.drawing; print('PySide6' in sys.modules)"
    assert run_python(program).strip() == "False"
