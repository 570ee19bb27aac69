"""The 3D view as vectors: everything is where VTK draws it, in files of bounded size."""

import re
from contextlib import closing, contextmanager
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from vtkmodules.vtkRenderingCore import vtkCoordinate

from geometry.measures.sphere import sphere_section
from gui.export.canvas import Canvas
from gui.export.pictures import (
    OffScreen,
    PictureError,
    Shot,
    add_vectors,
    render_picture,
    render_scene,
    still_session,
    vector_scene,
    write_vectors,
)
from gui.export.vector_picture import MAX_STROKES, blank_figure, scene_strokes, vector_file
from gui.scene.marks import RING_WIDTH
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose, view_pose
from gui.state.guides import Guide
from gui.style.theme import DARK, LIGHT
from tests.gui.conftest import N_POSITIONS

SIZE = (640, 480)
PER_POINT = 96 / 72
LINE = np.array([[0.0, 0, 0], [0.5, 0, 0], [0.5, 0, 0.5]])


@pytest.fixture
def session(model):
    return still_session(model, positions=(20, 180))


@pytest.fixture
def state(session):
    return resolve_scene(session)


class Drawing:
    """An SVG, with pixels from the lower left corner."""

    def __init__(self, state, pose="article", theme=LIGHT, size=SIZE):
        figure = vector_scene(state, Shot(theme, Canvas.times(size, 1), pose))
        self.text = vector_file(figure, "svg").decode()
        self.root = ElementTree.fromstring(self.text)
        self.height = float(self.root.get("viewBox").split()[3]) * PER_POINT

    def tags(self, tag, group=None):
        root = self.root if group is None else self.root.find(f".//*[@id='{group}']")
        return root.iter("{http://www.w3.org/2000/svg}" + tag)

    def points(self):
        """Places and colours of the points, in the order in which they are painted."""
        used = list(self.tags("use", "scene_1"))
        xy = np.array([[float(one.get(axis)) for axis in "xy"] for one in used]) * PER_POINT
        colors = [re.search("fill: (#......)", one.get("style"))[1] for one in used]
        return np.column_stack([xy[:, 0], self.height - xy[:, 1]]), colors

    def texts(self):
        return [one.text for one in self.tags("text")]


@contextmanager
def arranged(state, pose="article"):
    """The scene as it is before it is drawn."""
    stage = OffScreen(LIGHT, Canvas.times(SIZE, 1), finer=1)
    with closing(stage), stage.arranged(state, pose) as scene:
        yield scene


def pixels_of_vtk(state, pose, points):
    """Where VTK itself puts world points."""
    with arranged(state, pose) as scene:
        place, renderer = vtkCoordinate(), scene.plotter.renderer
        place.SetCoordinateSystemToWorld()
        found = []
        for point in points:
            place.SetValue(*point)
            found.append(place.GetComputedDoubleDisplayValue(renderer))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("projection", ["perspective", "parallel"])
@pytest.mark.parametrize("view", ["article", "xz"])
def test_points_are_where_vtk_puts_them(state, view, projection):
    state = replace(state, projection=projection, outside="hide")
    shown = state.coordinates[20:181]
    drawing = Drawing(state, view)
    xy, _ = drawing.points()
    expected = pixels_of_vtk(state, view, shown)
    assert len(xy) == len(expected) == 161
    apart = np.linalg.norm(xy[:, None] - expected, axis=2)
    assert sorted(apart.argmin(axis=0)) == list(range(161))  # one for each
    assert apart.min(axis=0).max() < 0.5
    # And so does a picture: each point is coloured in it.
    picture = render_scene(state, LIGHT, view, SIZE)[::-1]
    column, row = xy.round().astype(int).T
    assert (np.ptp(picture[row, column].astype(int), axis=1) > 60).mean() > 0.9


def test_the_near_is_painted_over_the_far(state):
    state = replace(state, outside="hide")
    xy, colors = Drawing(state, "article").points()
    points = state.coordinates[20:181]
    way = view_pose("article", points, state.turn, SIZE[0] / SIZE[1])
    depth = np.linalg.norm(points - way.position, axis=1)
    nearest = np.linalg.norm(xy[:, None] - pixels_of_vtk(state, "article", points), axis=2).argmin(
        axis=1
    )
    ahead = (points - way.position) @ (way.focal_point - way.position)
    assert depth[nearest[0]] > depth[nearest[-1]]
    assert (np.diff(ahead[nearest]) <= 1e-9).all()
    assert len(set(colors)) > 100


def test_everything_that_a_picture_shows_is_in_it(session):
    session.change(selection=(30, 60), hover=90, outside="faint")
    state = resolve_scene(session)
    drawing = Drawing(state)
    texts = drawing.texts()
    assert {"30", "60"} < set(texts)
    assert any(text.startswith("position 90") for text in texts)
    for words in (
        *(one.partition(" · ")[0] for one in state.axis_labels),
        *state.caption,
        state.scale.title,
        *state.scale.labels,
    ):
        assert words.replace("  ", "\N{NO-BREAK SPACE} ") in texts
    # The rings around the selected and the hovered points.
    styles = [one.get("style", "") for one in drawing.tags("path")]
    ring = f"stroke-width: {RING_WIDTH / PER_POINT:g}"
    assert sum(f"stroke: {LIGHT.accent}; {ring}" in style for style in styles) == 2
    assert sum(f"stroke: {LIGHT.hover}; {ring}" in style for style in styles) == 1
    xy, colors = drawing.points()
    # Some of the positions outside the range are outside the picture too.
    assert 20 < colors.count(LIGHT.faint) == len(xy) - 161
    assert drawing.text.count("<image") == 0


def test_guides_and_matched_points_are_in_it(session):
    plain = len(list(Drawing(resolve_scene(session)).tags("path", "scene_1")))
    parts = {"lines": (LINE,), "dashed": (LINE,), "points": LINE, "texts": ((LINE[0], "north"),)}
    matched = np.array([20, 100, 180])
    guide = Guide(session.pca, session.components, matched=matched, caption="a guide", **parts)
    session.change(guides={"a": guide})
    drawing = Drawing(resolve_scene(session))
    assert {"north", "a guide"} < set(drawing.texts())
    xy, _ = drawing.points()
    expected = pixels_of_vtk(resolve_scene(session), "article", LINE)
    assert np.linalg.norm(xy[:, None] - expected, axis=2).min(axis=0).max() < 0.5
    assert len(list(drawing.tags("path", "scene_1"))) > plain + 10


def test_what_is_behind_the_camera_is_cut_off(state):
    """A line from far behind the camera to before it ends at the picture's edge."""
    points = state.coordinates[20:181]
    pose = CameraPose(points[80] + 1e-3, points[100], np.array([0.0, 0, 1]), 1.0)
    with arranged(state, pose) as scene:
        strokes = scene_strokes(scene)
        near = scene.plotter.camera.GetClippingRange()[0]
        assert (strokes.depth[~strokes.is_point] >= near * (1 - 1e-6)).all()
        assert np.isfinite(strokes.ends).all()
    assert 0 < strokes.is_point.sum() < N_POSITIONS
    beside = strokes.widths[:, None]
    assert (strokes.ends.max(axis=1) >= -beside).all(), "what is outside is left out"
    assert (strokes.ends.min(axis=1) <= np.array(SIZE) + beside).all()


def test_a_view_beside_others_paints_nothing_over_them(state):
    """Each is clipped by its own area, as one that is much enlarged."""
    canvas, view = Canvas.times((600, 200), 1), Canvas.times((200, 200), 1)
    figure = blank_figure(canvas, "white")
    for corner in ((0, 0), (200, 0), (400, 0)):
        add_vectors(figure, state, Shot(LIGHT, view), corner)
    clips = {tuple(np.round(one.get_clip_box().bounds, 6)) for one in figure.artists}
    assert clips == {(0, 0, 200, 200), (200, 0, 200, 200), (400, 0, 200, 200)}
    root = ElementTree.fromstring(vector_file(figure, "svg").decode())
    rects = root.findall(".//{*}clipPath/{*}rect")
    assert rects
    assert {float(one.get("width")) for one in rects} == {200 / PER_POINT}


def test_long_lines_are_cut_also_where_there_are_too_many_pieces(session):
    """The pieces of a line that runs away from the camera are as far as where they are."""
    line = session.curve.coordinates[[20, 180]]
    guide = Guide(session.pca, session.components, lines=(line,) * 1500)
    session.change(guides={"a": guide})
    with arranged(resolve_scene(session), "xz") as scene:
        strokes = scene_strokes(scene)
    assert len(strokes) > 2 * 1500
    lengths = np.linalg.norm(strokes.ends[:, 1] - strokes.ends[:, 0], axis=1)
    assert lengths.max() < 200


@pytest.mark.slow
def test_files_of_long_tables_are_small(open_table, tmp_path):
    angle = np.linspace(0, 60, MAX_STROKES)
    table = np.column_stack([np.cos(angle), np.sin(angle), angle / 60])
    model, sizes = open_table(table), {}
    for kind in ("svg", "pdf"):
        out = tmp_path / f"long.{kind}"
        render_picture(model, out, size=(320, 240))
        sizes[kind] = out.stat().st_size
    assert max(sizes.values()) < 400_000
    text = (tmp_path / "long.svg").read_text("utf-8")
    assert text.count("<image") == 1
    assert "Position" in text  # words stay words


@pytest.mark.slow
def test_files_are_of_their_kind_and_size_and_equal_each_time(model, tmp_path):
    for theme, transparent in (("light", False), ("dark", True)):
        for kind in ("svg", "pdf"):
            out, again = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
            for file in (out, again):
                render_picture(
                    model, file, size=(400, 300), scale=1.5, theme=theme, transparent=transparent
                )
            assert out.read_bytes() == again.read_bytes()
        text = (tmp_path / "a.svg").read_text("utf-8")
        assert 'width="450pt" height="337.5pt"' in text  # 600 × 450 pixels of 1/96 inch
        assert (f"fill: {DARK.viewport}" in text or f"fill: {LIGHT.viewport}" in text) is (
            not transparent
        )
        pdf = (tmp_path / "a.pdf").read_bytes()
        assert pdf.startswith(b"%PDF")
        assert b"/MediaBox [ 0 0 450 337.5 ]" in pdf
        assert b"/Subtype /Image" not in pdf


def test_what_cannot_be_written_says_why(state, tmp_path):
    figure = vector_scene(state, Shot(LIGHT, Canvas.times((100, 80), 1)))
    with pytest.raises(PictureError, match="No such file or directory"):
        write_vectors(figure, tmp_path / "no such folder" / "a.svg")


def test_a_sphere_is_drawn_as_circles(state):
    sphere = sphere_section(np.zeros(3), np.eye(3), 1.0, centred=False)
    drawing = Drawing(replace(state, sphere=sphere, outside="hide"))
    faint = [p for p in drawing.tags("path", "scene_1") if LIGHT.faint in p.get("style", "")]
    assert len(faint) > 500
