"""The whole window as Python: the script draws the same points, without Helixscope's window."""

import numpy as np
import pytest
import pyvista as pv
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from geometry.checkpoints.column_files import PositionColumn
from geometry.history.here import history_here
from geometry.models.sources.opening import open_model
from gui.export.timelapse_film import timeline_session
from gui.export.window_script import SCALE, Sight, script
from gui.scene.scene import HelixScene
from gui.scene.scene_state import resolve_scene
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.camera import CameraPose, view_pose
from gui.state.colors import point_colors
from gui.state.guides import Guide, with_guide
from gui.state.session import ComparedModel, Session
from gui.style.theme import COLORMAPS, THEMES
from gui.window.exports import window_script
from tests.geometry.history_stage import growing, write_checkpoint, write_record
from tests.gui.dialogs import press_key
from tests.gui.scene_stage import rgb
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


def seen(session):
    """How the scene of a session is seen from there."""
    plotter = pv.Plotter(off_screen=True, window_size=SIGHT.size)
    scene = HelixScene(plotter, THEMES["light"])
    scene.show(resolve_scene(session))
    sight(session).pose.apply(plotter.camera)
    projection = scene.projection()
    scene.release()
    plotter.close()
    return projection


def assert_drawn(picture, session, seen, theme):
    """The points of the shown range are where they are seen, most in their colours."""
    state = resolve_scene(session)
    ground = THEMES[theme].viewport
    assert picture.shape[1::-1] == tuple(SCALE * side for side in seen.size)
    first, last = state.positions
    xy, _ = seen.to_screen((state.coordinates @ state.turn.T)[first : last + 1])
    x, y = np.round(SCALE * xy).astype(int).T
    inside = (x >= 0) & (x < picture.shape[1]) & (y >= 0) & (y < picture.shape[0])
    assert inside.mean() > 0.5
    found = picture[picture.shape[0] - 1 - y[inside], x[inside]]
    assert (np.abs(found - rgb(ground)).max(axis=1) > 20).all()
    expected = point_colors(state.scale, ground)[first : last + 1, :3].astype(int)[inside]
    # Selected ones are marked, labels lie over some, and near ones over those that are far.
    assert np.median(np.abs(found - expected).max(axis=1)) <= 8
    empty = np.abs(picture - picture[0, 0]).max(axis=2) < 8
    assert 0.5 < empty.mean() < 0.999


@pytest.mark.slow
def test_the_copied_script_draws_the_points_where_they_are_in_the_window(
    application, qtbot, run_python, tmp_path, wait_until_idle
):
    window, session = application.window, application.session
    session.change(
        selection=(20, 21), color_by="norm", outside="faint", prompt="hello my name",
        components=(2, 1, 3), sphere=True, colormap="viridis", projection="parallel",
    )  # fmt: skip
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
    projection = window.viewport.scene.projection()
    assert_drawn(read(tmp_path / "tiny-gpt2.png"), session, projection, "light")


def test_what_is_usual_is_left_out_and_what_is_not_drawn_is_named(opened):
    text = script(opened, SIGHT)
    unusual = ("@ turn", "parallel", "point_labels", "pv.Sphere", THEMES["dark"].faint)
    assert not any(word in text for word in unusual)
    opened.selection = (5,)
    assert "labels = {5: '5'}" in script(opened, SIGHT)
    guide = Guide(opened.curve.pca, opened.curve.components, caption="a line of\na panel")
    opened.guides = with_guide(opened.guides, "shape", guide)
    text = script(opened, SIGHT)
    assert "# Not drawn here: a line of\n# Not drawn here: a panel\n" in text
    assert text.count("a panel") == 1


def test_a_name_is_no_formula(opened, controller, write_table):
    controller.open(str(write_table(name="a$b$c")))
    assert r"    'a\\$b\\$c · " in script(opened, SIGHT)


@pytest.mark.slow
def test_every_map_of_colours_is_known_and_a_single_position_is_drawn(opened, run, tmp_path):
    projection = seen(opened)
    for opened.colormap in COLORMAPS:
        run(script(opened, sight(opened)))
        assert_drawn(read(tmp_path / "helix.png"), opened, projection, "light")
    opened.positions = (7, 7)
    run(script(opened, SIGHT))
    assert np.ptp(read(tmp_path / "helix.png")) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"color_by": "residual", "outside": "faint", "selection": (150,)},
        {"color_by": "component", "color_component": 2},
        {"sphere": True, "norms_centred": True},
        {"line_width": 4.0, "point_size": 12.0, "outside": "faint"},
        {"curve_parts": "points", "outside": "faint"},
    ],
)
def test_what_is_drawn_otherwise(opened, run, tmp_path, fields):
    opened.positions = (1, 99)
    opened.change(**fields)
    # Of three dimensions, one mirrored: what continuity may ask for.
    opened.turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    names = {}
    run(script(opened, sight(opened)), names)
    state = resolve_scene(opened)
    np.testing.assert_allclose(names["points"], state.coordinates @ state.turn.T, atol=1e-9)
    np.testing.assert_allclose(names["values"], state.scale.values, atol=1e-5)
    assert_drawn(read(tmp_path / "helix.png"), opened, seen(opened), "light")
    assert ("section" in names) == opened.sphere
    if opened.sphere:
        np.testing.assert_allclose(names["section"].axes, state.sphere.axes, atol=1e-9)


def test_the_line_alone_and_what_can_be_seen_through(opened, run, tmp_path):
    run(script(opened, sight(opened)))
    solid = read(tmp_path / "helix.png")
    opened.change(curve_parts="line", line_width=5.0, opacity=0.4)
    text = script(opened, sight(opened))
    assert "add_points" not in text
    assert "line_width=10, " in text
    run(text)
    pale = read(tmp_path / "helix.png")
    assert pale[:, :500].min() > solid[:, :500].min()
    # The colour bar stays.
    assert np.abs(pale[:, 540:] - 255).max() > 100


@pytest.mark.parametrize(
    "fields",
    [
        {"color_by": "period", "color_period": 12.5},
        {"color_by": "column", "color_column": PositionColumn("a", "b.csv", (None, *range(120)))},
        {
            "color_by": "column",
            "color_column": PositionColumn("a", "b.csv", tuple(f"k{i % 5}" for i in range(150))),
        },
    ],
    ids=["period", "numbers", "categories"],
)
def test_what_else_colours_the_curve(opened, run, tmp_path, fields):
    opened.change(**fields)
    names = {}
    run(script(opened, sight(opened)), names)
    np.testing.assert_allclose(names["values"], resolve_scene(opened).scale.values, atol=1e-5)
    assert_drawn(read(tmp_path / "helix.png"), opened, seen(opened), "light")


def test_models_beside_it_get_pictures_of_their_own(opened, write_table, helix, run, tmp_path):
    other = Session()
    controller = Controller(other, InlineJobs())
    path = str(write_table(helix(90, 16, 3), "other"))
    controller.open(path, positions=(0, 60))
    opened.compared = (
        ComparedModel(1, path, "other", other), ComparedModel(2, "later", "later", Session()),
    )  # fmt: skip
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
    np.testing.assert_allclose(names["ways"][:, [3, 5]], state.ways.points.transpose(1, 0, 2))
    assert_drawn(read(tmp_path / "trained.png"), shown, seen(shown), "dark")


@pytest.mark.slow
def test_views_side_by_side_are_drawn_as_they_are(
    application, run, tmp_path, write_table, helix, settle
):
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
    for name, viewport, its in (
        ("tiny-gpt2", window.viewport, session), ("other 1", other.viewport, other.session),
    ):  # fmt: skip
        picture = read(tmp_path / f"{name}.png")
        assert_drawn(picture, its, viewport.scene.projection(), "light")
    # The panel in front comes too, and opens nothing again.
    application.controller.comparing.clear()
    window.bring("shape")
    settle()
    text = window_script(window)
    assert "\n# Shape\n" in text
    assert text.count("open_model(") == 1
    check_imports(text)
