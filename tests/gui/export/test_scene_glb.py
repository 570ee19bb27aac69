"""The scene as glTF, read again by another program."""

import io

import numpy as np
import pytest
import trimesh

from gui.export.pictures import still_session
from gui.export.scene_glb import BALL, FEW, TUBE, scene_glb
from gui.scene.scene_state import resolve_scene
from gui.state.colors import point_colors
from gui.style.theme import DARK, LIGHT


@pytest.fixture
def state_of(open_table):
    def make(rows, **options):
        return resolve_scene(still_session(open_table(rows), **options))

    return make


def read(data: bytes) -> trimesh.Scene:
    return trimesh.load_scene(io.BytesIO(data), file_type="glb")


def helix(n: int) -> np.ndarray:
    angle = np.linspace(0, 9, n)
    return np.column_stack([np.cos(angle), np.sin(angle), angle / 4, 0 * angle])


def test_the_body_is_the_shown_curve_at_unit_size(state_of):
    state = state_of(helix(60), positions=(5, 49))
    found = read(scene_glb(state))
    assert set(found.geometry) == {"curve", "positions"}
    shown = state.coordinates[5:50]
    scale = np.ptp(shown, axis=0).max()
    extents = np.ptp(shown, axis=0) / scale
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
def test_it_has_the_colours_of_the_window(state_of, theme):
    state = state_of(helix(40))
    balls = read(scene_glb(state, theme)).geometry["positions"]
    colors = balls.visual.vertex_colors.reshape(39, -1, 4)
    expected = point_colors(state.scale, theme.viewport)[1:]
    np.testing.assert_array_equal(colors, np.broadcast_to(expected[:, None], colors.shape))


def test_the_caption_goes_with_it(state_of):
    state = state_of(helix(40))
    assert read(scene_glb(state)).metadata["caption"] == "\n".join(state.caption)


def test_one_position_is_a_ball(state_of):
    found = read(scene_glb(state_of(helix(9), positions=(3, 3))))
    assert set(found.geometry) == {"positions"}


def test_rows_that_are_all_one_can_be_exported(state_of):
    assert read(scene_glb(state_of(np.ones((6, 3))))).bounds is not None


def test_a_repeated_row_leaves_the_tube_whole(state_of):
    rows = helix(30)
    rows[12] = rows[11]
    vertices = read(scene_glb(state_of(rows))).geometry["curve"].vertices
    assert np.isfinite(vertices).all()


def test_a_very_long_curve_has_no_balls(state_of):
    found = read(scene_glb(state_of(helix(FEW + 2))))
    assert set(found.geometry) == {"curve"}
