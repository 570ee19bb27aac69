"""Scenes as glTF, and the dialog that saves them."""

import io
import json

import numpy as np
import pytest
import trimesh
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from gui.export.pictures import still_session
from gui.export.scene_glb import BALL, FEW, TUBE, scene_glb
from gui.scene.scene_state import resolve_scene
from gui.state.camera import side_on
from gui.state.colors import point_colors
from gui.style.theme import DARK, LIGHT
from tests.gui.dialogs import answer_file, press_key
from tests.gui.export.glb_colors import linear, stored


@pytest.fixture
def state_of(open_table):
    def make(rows, **options):
        return resolve_scene(still_session(open_table(rows), **options))

    return make


def read(data):
    return trimesh.load_scene(io.BytesIO(data), file_type="glb")


def helix(n):
    angle = np.linspace(0, 9, n)
    return np.column_stack([np.cos(angle), np.sin(angle), angle / 4, 0 * angle])


def test_the_body_is_the_shown_curve_at_unit_size(state_of):
    state = state_of(helix(60), positions=(5, 49))
    found = read(scene_glb(state))
    assert set(found.geometry) == {"curve", "positions"}
    shown = state.coordinates[5:50]
    scale = np.ptp(shown, axis=0).max()
    direction, up = side_on(shown)
    axes = np.array([np.cross(up, direction), up, direction])
    extents = np.ptp(shown @ axes.T, axis=0) / scale
    np.testing.assert_allclose(np.ptp(found.bounds, axis=0), extents + 2 * BALL, atol=2 * BALL)
    # Every ball's middle is where its position is.
    balls = found.geometry["positions"].vertices.reshape(45, -1, 3)
    middles = (balls.max(axis=1) + balls.min(axis=1)) / 2
    np.testing.assert_allclose(middles, (shown - shown.mean(axis=0)) / scale, atol=BALL / 4)
    # And the tube goes along all of them.
    tube = found.geometry["curve"].vertices
    for middle in middles:
        assert np.linalg.norm(tube - middle, axis=1).min() < 3 * TUBE


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_it_has_the_colours_and_the_caption_of_the_window(state_of, theme):
    state = state_of(helix(40))
    found = read(scene_glb(state, theme))
    assert found.metadata["caption"] == "\n".join(state.caption)
    colors = stored(found.geometry["positions"]).reshape(39, -1, 4)
    expected = linear(point_colors(state.scale, theme.viewport)[1:])
    np.testing.assert_array_equal(colors, np.broadcast_to(expected[:, None], colors.shape))


def test_it_stands_upright_and_is_dull(state_of):
    state = state_of(helix(60) @ np.diag([1, 1, 4, 1]))
    data = scene_glb(state)
    tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    materials = {p["material"] for mesh in tree["meshes"] for p in mesh["primitives"]}
    assert [tree["materials"][i]["pbrMetallicRoughness"]["metallicFactor"] for i in materials] == [
        0
    ]
    placed = read(data).to_mesh().split(only_watertight=False)
    assert len(placed) > 50
    shown = state.displayed_range
    direction, up = side_on(shown)
    middle = (shown - shown.mean(axis=0)) / np.ptp(shown, axis=0).max()
    wanted = middle @ np.array([np.cross(up, direction), up, direction]).T
    balls = np.array([(ball.bounds[0] + ball.bounds[1]) / 2 for ball in placed])
    for point in wanted:
        assert np.linalg.norm(balls - point, axis=1).min() < BALL


@pytest.mark.parametrize(
    ("rows", "options", "bodies"),
    [
        (helix(9), {"positions": (3, 3)}, {"positions"}),
        (np.ones((6, 3)), {}, None),
        (np.repeat(helix(30), [1] * 11 + [2] + [1] * 18, axis=0), {}, {"curve", "positions"}),
        (helix(FEW + 2), {}, {"curve"}),
    ],
    ids=["one position is a ball", "all rows are one", "a repeated row", "too long for balls"],
)
def test_odd_tables(state_of, rows, options, bodies):
    found = read(scene_glb(state_of(rows, **options)))
    assert np.isfinite(found.bounds).all()
    assert bodies in (None, set(found.geometry))
    assert all(np.isfinite(body.vertices).all() for body in found.geometry.values())


def test_line_and_points_are_as_thick_as_chosen(state_of):
    usual = read(scene_glb(state_of(helix(40)))).geometry
    thick = read(
        scene_glb(state_of(helix(40), look={"line_width": 6.0, "point_size": 21.0}))
    ).geometry
    ball, large = (one["positions"].vertices.reshape(39, -1, 3)[0] for one in (usual, thick))
    np.testing.assert_allclose(np.ptp(large, axis=0), 3 * np.ptp(ball, axis=0), rtol=1e-4)
    assert thick["curve"].volume > 10 * usual["curve"].volume
    assert set(read(scene_glb(state_of(helix(40), look={"curve_parts": "points"}))).geometry) == {
        "positions"
    }
    assert set(read(scene_glb(state_of(helix(40), look={"curve_parts": "line"}))).geometry) == {
        "curve"
    }


@pytest.fixture
def export(application, qtbot, monkeypatch, wait_until_idle):
    """Press the command's key, and answer the dialog with a path; None cancels it."""

    def export_to(path):
        answer_file(monkeypatch, path)
        answer = QFileDialog.exec

        def execute(dialog):
            assert dialog.windowTitle() == "Export scene"
            return answer(dialog)

        monkeypatch.setattr(QFileDialog, "exec", execute)
        press_key(qtbot, application.window, Qt.Key.Key_E)
        wait_until_idle(application)

    return export_to


@pytest.mark.slow
def test_a_page_has_what_the_viewport_shows(application, export, tmp_path, wait_until_idle):
    application.session.positions = (3, 40)
    wait_until_idle(application)
    application.window.viewport.camera.view("xy")
    wait_until_idle(application)
    out = tmp_path / "scene.html"
    export(out)
    assert application.session.status == f"Saved {out}"
    page = out.read_text(encoding="utf-8")
    assert r"positions 3\u201340" in page
    eye = json.loads(page.rpartition('"eye":')[2].partition("}")[0] + "}")
    assert abs(eye["x"]) + abs(eye["y"]) < 1e-6 < eye["z"]


def test_a_body_where_there_is_a_folder_and_nothing_without_a_file(application, export, tmp_path):
    export(None)
    assert application.session.status == "Ready"
    export(tmp_path / "body.glb")
    assert (tmp_path / "body.glb").read_bytes().startswith(b"glTF")
    export(tmp_path / "nowhere" / "scene.glb")
    assert "cannot be written" in application.session.notice.text
