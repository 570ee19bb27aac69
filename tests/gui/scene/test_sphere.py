"""The sphere of mean norm in the scene: drawn where the mathematics says, and in nobody's way."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from scipy.stats import ortho_group

from geometry.measures.sphere import sphere_section
from gui.export.pictures import render_scene
from gui.scene.actors import unit_circles
from gui.scene.scene_state import norm_sphere, resolve_scene
from gui.style.theme import DARK, LIGHT
from tests.gui.scene_stage import rgb


def share_of(picture, color):
    return (np.abs(picture.astype(int) - rgb(color)).max(axis=-1) <= 12).mean()


def world_points(section, turn):
    """Points of the wires where the scene should have them."""
    points = np.concatenate(unit_circles())
    return (points @ section.axes.T + section.centre) @ turn.T


def test_the_caption_tells_norm_scope_and_radius(opened):
    assert norm_sphere(opened) is None
    state = resolve_scene(opened)
    assert state.sphere is None
    assert len(state.caption) == 2
    opened.sphere = True
    pca = opened.curve.pca
    radii = []
    for opened.norms_after, shown in ((100, "100–198"), (0, "0–198")):
        state = resolve_scene(opened)
        expected = sphere_section(pca.mean, pca.components[:3], opened.norms.mean)
        np.testing.assert_allclose(state.sphere.centre, expected.centre)
        assert state.caption[2] == (
            f"sphere: norm {opened.norms.mean:.3f} (mean of {shown}) · "
            f"radius {expected.radii[0]:.3f} here"
        )
        radii.append(expected.radii[0])
    assert radii[0] != radii[1]


@pytest.mark.parametrize("components", [(1, 2, 3), (3, 1, 2), (2, 5, 4)])
@pytest.mark.parametrize("centred", [False, True])
def test_rows_of_that_norm_in_the_subspace_are_on_it(opened, components, centred):
    """Of row-centred norms it is an ellipsoid."""
    opened.change(components=components, sphere=True, norms_centred=centred)
    state, pca = resolve_scene(opened), opened.curve.pca
    assert state.caption[2].startswith("ellipsoid: row-centred norm" if centred else "sphere: norm")
    basis = pca.components[[k - 1 for k in components]]
    rows = pca.mean + world_points(state.sphere, np.eye(3)) @ basis
    if centred:
        rows = rows - rows.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), opened.norms.mean, rtol=1e-6)


def test_where_there_is_none_it_says_so(session, controller, write_table, helix):
    # The shown rows all have 50 in an entry that no component has; those after them are short.
    table = np.hstack([helix(80, 6), np.zeros((80, 1))])
    table[:20, -1] = 50.0
    controller.open(str(write_table(table)), positions=(1, 19))
    session.change(norms_after=40, sphere=True)
    assert session.norms.mean < 20
    assert norm_sphere(session).section is None
    pca = session.curve.pca
    basis = pca.components[:3]
    least = np.linalg.norm(pca.mean - (pca.mean @ basis.T) @ basis)
    assert resolve_scene(session).caption[2] == (
        f"no sphere: the smallest norm here is {least:.3f}, the mean {session.norms.mean:.3f}"
    )
    controller.open(str(write_table(np.column_stack([np.arange(20.0) + 1, np.ones(20)]), "two")))
    assert session.sphere
    assert norm_sphere(session).section is None
    assert "3 components, not 2" in resolve_scene(session).caption[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize("seed", [None, 3])
def test_wires_are_where_the_turned_sphere_is(opened, stage, theme, seed):
    opened.sphere = True
    if seed is not None:
        opened.turn = ortho_group.rvs(3, random_state=seed)
    made = stage(theme)
    picture = made.show(opened)
    points = world_points(made.scene.state.sphere, opened.turn)
    xy, _ = made.scene.projection().to_screen(points)
    width, height = made.plotter.window_size
    x, y = np.round(xy[:, 0]).astype(int), height - 1 - np.round(xy[:, 1]).astype(int)
    inside = (x > 2) & (x < width - 3) & (y > 2) & (y < height - 3)
    assert inside.sum() > 100
    hits = 0
    for i, j in zip(x[inside], y[inside], strict=True):
        patch = picture[j - 1 : j + 2, i - 1 : i + 2].reshape(-1, 3).astype(int)
        hits += bool((np.abs(patch - rgb(theme.viewport)).max(axis=1) > 20).any())
    assert hits > 0.97 * inside.sum()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_it_comes_and_goes_and_the_camera_stays(opened, stage, theme):
    made = stage(theme)
    plain = made.show(opened)
    pose = made.plotter.camera.position
    opened.sphere = True
    with_it = made.show(opened, view=None)
    assert made.plotter.camera.position == pose
    assert share_of(with_it, theme.faint) > share_of(plain, theme.faint) + 0.005
    opened.sphere = False
    np.testing.assert_array_equal(made.show(opened, view=None), plain)
    opened.sphere = True
    made.show(opened, view=None)
    made.scene.show(None)
    assert share_of(made.draw(), theme.faint) < 0.001


def test_sphere_is_framed_unless_huge(opened, controller, stage):
    made = stage()
    made.show(opened)
    np.testing.assert_array_equal(made.scene.framed, made.scene.displayed_range)
    opened.sphere = True
    opened.turn = ortho_group.rvs(3, random_state=1)
    made.show(opened)
    ends = made.scene.framed[len(made.scene.displayed_range) :]
    wires = world_points(made.scene.state.sphere, opened.turn)
    low, high = ends.min(axis=0), ends.max(axis=0)
    centre = made.scene.state.sphere.centre @ opened.turn.T
    np.testing.assert_allclose((low + high) / 2, centre, atol=1e-9)
    radius = made.scene.state.sphere.radii[0]
    np.testing.assert_allclose(np.linalg.norm(wires - centre, axis=1), radius, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(ends - centre, axis=1), radius, rtol=1e-9)
    controller.request_positions(100, 103)
    made.show(opened)
    np.testing.assert_array_equal(made.scene.framed, made.scene.displayed_range)


def test_another_theme_and_scale_reach_the_wires_and_pictures_have_them(opened, stage):
    plain = render_scene(resolve_scene(opened), LIGHT, "article", (400, 300))
    opened.sphere = True
    made = stage(LIGHT)
    made.show(opened)
    made.scene.set_theme(DARK)
    made.scene.set_scale(2.0)
    assert share_of(made.draw(), DARK.faint) > 0.01
    drawn = render_scene(resolve_scene(opened), LIGHT, "article", (400, 300))
    assert (drawn != plain).any(axis=-1).mean() > 0.01


def test_key_menu_and_button_agree(application, wait_until_idle):
    window, session = application.window, application.session
    window.activateWindow()
    window.viewport.interactor.setFocus()
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_N)
    assert session.sphere
    wait_until_idle(application)
    assert window.viewport.scene.state.sphere is not None
    assert window.commands.by_name["sphere"].isChecked()
    button = window.panels["norms"].controls.widgets["sphere"]
    assert button.isChecked()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not session.sphere
    assert not window.commands.by_name["sphere"].isChecked()
    window.commands.by_name["sphere"].trigger()
    assert session.sphere
    assert button.isChecked()


def test_picking_with_a_sphere_and_redrawing(application, wait_until_idle):
    viewport, session = application.window.viewport, application.session

    def picked():
        return {p: viewport.position_at(viewport.pixel_of(p)) for p in range(1, 200, 7)}

    viewport.camera.zoom(1.1)  # otherwise the sphere's line of text moves the curve a little
    wait_until_idle(application)
    before = picked()
    session.norms_after = 50
    assert viewport.idle
    session.sphere = True
    wait_until_idle(application)
    assert picked() == before
    point = viewport.pixel_of(50)
    QTest.mouseClick(viewport.interactor, Qt.MouseButton.LeftButton, pos=point)
    assert session.selection == (before[50],)
    radius = viewport.scene.state.sphere.radii[0]
    session.norms_after = 0
    assert not viewport.idle
    wait_until_idle(application)
    assert viewport.scene.state.sphere.radii[0] != radius
