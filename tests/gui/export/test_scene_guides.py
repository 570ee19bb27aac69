"""Guides in the scenes that other programs show: a page, and glTF."""

import io
from dataclasses import replace

import numpy as np
import pytest
import trimesh

from geometry.models.sources.opening import open_model
from gui.export.pictures import still_session
from gui.export.scene_files import SceneExport
from gui.export.scene_glb import BALL, THIN, scene_glb
from gui.export.scene_guides import colors_of, css, guide_traces
from gui.export.scene_html import scene_html
from gui.scene.guide_lines import DASHES, LIT_SIZES
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose
from gui.state.colors import lookup_table, point_colors
from gui.state.guides import Guide
from gui.style.theme import DARK, LIGHT
from tests.gui.conftest import N_POSITIONS
from tests.gui.export.glb_colors import distinct, linear, stored

LINE = np.array([[0.0, 3, 0], [1, 3, 0], [1, 3, 1]])
HUES = {"colormap": "blue", "curve_colormap": "orange", "name": "other"}
SEGMENTS = np.array([[[0.0, 3, 0], [0, 3, 1]], [[1, 3, 0], [1, 3, 1]]])


@pytest.fixture
def state_with(model):
    """The scene of the small helix, turned, with one guide of some parts."""

    def make(**parts):
        session = still_session(model, positions=(1, 198))
        turn = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
        session.change(turn=turn, guides={"a": Guide(session.pca, session.components, **parts)})
        return resolve_scene(session)

    return make


def points_of(trace):
    return np.column_stack([trace[axis] for axis in "xyz"])


def bodies(state):
    return trimesh.load_scene(io.BytesIO(scene_glb(state)), file_type="glb").geometry


def unit(state, points):
    """Where points are in the body, whose longest extent is 1."""
    first, last = state.positions
    shown = (state.coordinates @ state.turn.T)[first : last + 1]
    return (points @ state.turn.T - shown.mean(axis=0)) / np.ptp(shown, axis=0).max()


def test_curve_beside_categories_has_its_own_hue(state_with):
    state = state_with(lines=(LINE,), along=np.array([10, 90, 190]), **HUES)
    scale = replace(state.scale, categories=("a", "b"), limits=(-0.5, 1.5))
    scale = replace(scale, values=np.arange(N_POSITIONS) % 2)
    colors = colors_of(replace(state, scale=scale), state.guides[0], LIGHT)
    assert {tuple(color) for color in colors} <= {tuple(color) for color in lookup_table("blue")}
    matched = colors_of(replace(state, scale=scale), replace(state.guides[0], colormap=""), LIGHT)
    np.testing.assert_array_equal(matched, point_colors(scale, LIGHT.viewport))


def test_a_curve_in_a_hue_of_its_own_has_it_in_the_page_and_the_body(state_with):
    along = np.array([10, 90, 190])
    state = state_with(lines=(LINE,), along=along, points=LINE[::2], matched=along[::2], **HUES)
    orange = point_colors(state.scale, LIGHT.viewport)
    assert state.scale.colormap == "orange"
    blue = point_colors(replace(state.scale, colormap="blue"), LIGHT.viewport)
    line, points = guide_traces(state, LIGHT)
    assert css(np.array([1, 2, 3, 255], np.uint8)) == "rgb(1, 2, 3)"
    blues = [css(blue[at]) for at in along]
    assert line["line"]["color"] == blues
    assert points["marker"]["color"] == blues[::2]
    pose = CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
    page = scene_html(state, LIGHT, pose, [""] * N_POSITIONS, "two")
    for name, colormap in state.legend:
        assert name.partition(" ·")[0] in page
        first = lookup_table(colormap)[0, :3]
        assert f"color:{css(first)}" in page
    found = bodies(state)
    seen = distinct(stored(found["guides"]))
    assert distinct(linear(blue[along])) <= seen
    assert not distinct(linear(orange)) & seen
    legend = trimesh.load_scene(io.BytesIO(scene_glb(state)), file_type="glb").metadata["legend"]
    assert legend.splitlines()[1] == "blue: other"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_page_has_lines_dashes_segments_and_points(state_with, theme):
    state = state_with(lines=(LINE, LINE[:2]), dashed=(LINE,), segments=SEGMENTS, points=LINE)
    lines, dashed, segments, points = guide_traces(state, theme)
    modes = [trace["mode"] for trace in (lines, dashed, segments, points)]
    assert modes == ["lines", "lines", "lines", "markers"]
    drawn = points_of(lines)
    np.testing.assert_allclose(drawn[:3], LINE @ state.turn.T)
    assert np.isnan(drawn[3]).all(), "a gap between the two"
    np.testing.assert_allclose(drawn[4:], LINE[:2] @ state.turn.T)
    assert lines["line"]["color"] == theme.text
    assert np.isnan(points_of(dashed)[:, 0]).sum() > DASHES / 2
    assert np.isnan(points_of(segments)[:, 0]).sum() == 1
    np.testing.assert_allclose(points_of(points), LINE @ state.turn.T)
    assert all(trace["hoverinfo"] == "skip" for trace in (lines, dashed, segments, points))


def test_the_page_draws_what_is_pale_pale_and_what_lights_up_larger(state_with):
    (pale,) = guide_traces(state_with(lines=(LINE,), pale=True), LIGHT)
    assert pale["line"]["color"] == LIGHT.faint
    at, weights = np.array([40, 90, 140]), np.array([1.0, 0.5, 0.0])
    state = state_with(positions=at, weights=weights)
    (lit,) = guide_traces(state, LIGHT)
    np.testing.assert_allclose(points_of(lit), (state.coordinates @ state.turn.T)[[90, 40]], 1e-6)
    assert lit["marker"]["size"][1] > lit["marker"]["size"][0]
    assert lit["marker"]["color"][1] == css(point_colors(state.scale, LIGHT.viewport)[40])


def test_the_file_of_a_page_with_guides_is_written(write_table, tmp_path):
    session = still_session(open_model(write_table()), positions=(1, 198))
    session.guides = {"a": Guide(session.pca, (1, 2, 3), segments=SEGMENTS, caption="lines: two")}
    export = SceneExport.of(session, LIGHT, "article")
    export.write(tmp_path / "scene.html")
    assert "lines: two" in (tmp_path / "scene.html").read_text("utf-8")


def test_the_body_has_tubes_and_balls_where_they_should_be(state_with):
    state = state_with(lines=(LINE,), segments=SEGMENTS, points=LINE + 1)
    guides = bodies(state)["guides"]
    places = unit(state, np.concatenate([LINE, SEGMENTS.reshape(-1, 3)]))
    for place in places:
        assert np.linalg.norm(guides.vertices - place, axis=1).min() < 2 * THIN
    for place in unit(state, LINE + 1):
        near = np.linalg.norm(guides.vertices - place, axis=1).min()
        assert near == pytest.approx(BALL / 2, rel=0.05)


def test_what_lights_up_is_larger_balls_of_its_colour(state_with):
    at, weights = np.array([40, 140]), np.array([1.0, 0.1])
    state = state_with(positions=at, weights=weights)
    lit = bodies(state)["lit"]
    large, small = unit(state, state.coordinates[at])
    for place, size in ((large, LIT_SIZES[-1]), (small, LIT_SIZES[0])):
        near = np.linalg.norm(lit.vertices - place, axis=1).min()
        assert near == pytest.approx(BALL * size / 7, rel=0.05)
    assert len(state.coordinates) == N_POSITIONS
    expected = point_colors(state.scale, LIGHT.viewport)[at]
    assert distinct(stored(lit)) == distinct(linear(expected))


def test_matched_points_have_the_colours_of_those_they_match(state_with):
    at = np.array([30, 100, 170])
    state = state_with(points=LINE, matched=at)
    colors = point_colors(state.scale, DARK.viewport)[at]
    (trace,) = guide_traces(state, DARK)
    assert trace["marker"]["color"] == [css(color) for color in colors]
    np.testing.assert_allclose(points_of(trace), LINE @ state.turn.T)
    expected = point_colors(state.scale, LIGHT.viewport)[at]
    assert distinct(stored(bodies(state)["guides"])) == distinct(linear(expected))


def test_without_guides_or_for_a_segment_without_length_nothing_is_added(state_with):
    assert guide_traces(state_with(), LIGHT) == []
    assert set(bodies(state_with())) == {"curve", "positions"}
    flat = np.concatenate([SEGMENTS, np.ones((1, 2, 3))])
    some, more = (bodies(state_with(segments=s))["guides"] for s in (SEGMENTS, flat))
    assert len(some.vertices) == len(more.vertices)
