"""Pictures by their meaning: the pixel at a point has the point's colour, and so on."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import ortho_group

from geometry.checkpoints.column_files import PositionColumn
from gui.scene import scene
from gui.scene.marks import RING_RADIUS
from gui.scene.scene import FAINT_POINT_SIZE, FARTHER, MAX_LEGEND, HelixScene
from gui.scene.scene_state import Ways, net, resolve_scene
from gui.state.camera import AXES, CameraPose, fitted, framed
from gui.state.colors import legible, lookup_table, point_colors
from gui.state.guides import Guide
from gui.state.values import POINT_SIZE
from gui.style.theme import DARK, LIGHT
from tests.gui.scene_stage import rgb

SIZE = (640, 480)
pytestmark = pytest.mark.usefixtures("opened")


def uncovered(stage, positions, margin):
    """The positions that no other point, and no line but their own, comes near on the screen."""
    xy, _ = stage.pixels()
    n = len(xy)
    along = np.linspace(0, n - 1, 8 * (n - 1) + 1)
    path = np.column_stack([np.interp(along, np.arange(n), xy[:, i]) for i in range(2)])
    alone = []
    for p in positions:
        to_points, to_lines = np.hypot(*(xy - xy[p]).T), np.hypot(*(path - xy[p]).T)
        to_points[p] = to_lines[np.abs(along - p) <= 1] = np.inf
        if min(to_points.min(), to_lines.min()) > margin:
            alone.append(p)
    return alone


def colour_at(picture, xy):
    x, y = np.round(xy).astype(int)
    return picture[y, x].astype(int)


def assert_colours(stage, picture, session, theme, positions):
    scale = stage.scene.state.scale
    table = legible(lookup_table(session.colormap), theme.viewport)
    low, high = scale.limits
    xy, _ = stage.pixels()
    for p in positions:
        share = np.clip((scale.values[p] - low) / (high - low), 0, 1)
        entry = int(min(share * 256, 255))
        expected = table[max(entry - 1, 0) : entry + 2, :3].astype(int)
        found = colour_at(picture, xy[p])
        assert np.abs(expected - found).max(axis=1).min() <= 4, (p, found, expected)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("quantity", "colormap"), [("position", "jet"), ("norm", "viridis"), ("component", "batlow")]
)
def test_each_point_has_its_colour(opened, controller, stage, theme, quantity, colormap):
    controller.request_positions(10, 190)
    controller.color_by(quantity, 4)
    opened.colormap = colormap
    made = stage(theme)
    picture = made.show(opened)
    alone = uncovered(made, range(10, 191), POINT_SIZE)
    assert len(alone) > 20
    assert_colours(made, picture, opened, theme, alone)


@pytest.mark.parametrize("quantity", ["position", "norm"])
def test_spanning_colours_reuse_actors(opened, controller, stage, monkeypatch, quantity):
    opened.color_span = "range"
    controller.color_by(quantity, 4)
    controller.request_positions(10, 190)
    made = stage()
    made.show(opened)
    painted = []
    monkeypatch.setattr(made.scene, "_recolor", painted.append)
    for span in ((10, 120), (60, 100)):
        controller.request_positions(*span)
        picture = made.show(opened)
        alone = uncovered(made, range(span[0], span[1] + 1), POINT_SIZE)
        assert len(alone) > 10
        assert_colours(made, picture, opened, LIGHT, alone)
        assert painted == []
        np.testing.assert_array_equal(picture, stage().show(opened))
    blue, red = (picture[y, x] for x, y in np.round(made.pixels()[0][[60, 100]]).astype(int))
    if quantity == "position":
        assert blue[2] > 100 > blue[0]
        assert red[0] > 100 > red[2]


@pytest.mark.parametrize("seed", [1, 2])
def test_turned_curves_are_drawn_turned(opened, stage, seed):
    opened.turn = ortho_group.rvs(3, random_state=seed)
    made = stage()
    picture = made.show(opened)
    assert_colours(made, picture, opened, LIGHT, uncovered(made, range(1, 199), POINT_SIZE))
    np.testing.assert_allclose(made.scene.displayed, opened.curve.coordinates @ opened.turn.T)


def test_the_curve_connects_neighbours_in_their_colour(opened, controller, stage):
    """With few positions, far apart, the line between two points can be seen."""
    controller.request_positions(30, 60)
    made = stage(size=(1200, 900))
    picture = made.show(opened, "xy")
    xy, _ = made.pixels()
    for p in range(30, 60):
        middle = (xy[p] + xy[p + 1]) / 2
        x, y = np.round(middle).astype(int)
        patch = picture[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).astype(int)
        assert (np.abs(patch - rgb(LIGHT.viewport)).max(axis=1) > 60).any()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_positions_outside_are_hidden_or_faint(opened, controller, stage, theme):
    controller.request_positions(60, 120)
    made = stage(theme)
    outside = [*range(1, 58), *range(123, 199)]

    def colours():
        # framed so that all positions are in sight, shown or not
        picture = made.show(opened, None)
        pose = framed(made.scene.displayed[1:199], *AXES["article"], SIZE[0] / SIZE[1])
        pose.apply(made.plotter.camera)
        picture = made.draw()
        alone = uncovered(made, outside, POINT_SIZE + FAINT_POINT_SIZE)
        assert len(alone) > 20
        return np.array([colour_at(picture, made.pixels()[0][p]) for p in alone])

    np.testing.assert_array_equal(np.unique(colours(), axis=0), [rgb(theme.viewport)])
    opened.outside = "faint"
    np.testing.assert_allclose(
        colours(), np.broadcast_to(rgb(theme.faint), colours().shape), atol=3
    )
    opened.outside = "hidden"
    np.testing.assert_array_equal(np.unique(colours(), axis=0), [rgb(theme.viewport)])


def test_axes_are_equal_and_each_point_is_drawn_once(opened, stage):
    """A unit along any component has the same length on the screen."""
    made = stage()
    opened.projection = "parallel"
    made.show(opened, "xy")
    units = np.vstack([np.zeros(3), np.eye(3)])
    xy, _ = made.scene.projection().to_screen(units)
    lengths = np.hypot(*(xy[1:3] - xy[0]).T)
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-6)
    actors = made.plotter.actors
    dots, line = (actors[name].mapper.GetInput() for name in ("points", "curve"))
    first, last = opened.positions
    np.testing.assert_array_equal(dots.verts[1:], np.arange(first, last + 1))
    assert dots.n_lines == line.n_verts == 0


def has(picture, tone):
    return (np.abs(picture.astype(int) - rgb(tone)).max(axis=2) < 12).any()


def ringed(picture, centre, tone):
    """How much of the ring around a point is in a tone."""
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    ring = centre + RING_RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    colours = np.array([colour_at(picture, xy) for xy in ring])
    return (np.abs(colours - rgb(tone)).max(axis=1) < 12).mean()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_selected_and_hovered_points_have_rings_in_their_tones(opened, controller, stage, theme):
    controller.request_positions(10, 190)
    controller.select((50, 120))
    opened.hover = 90
    made = stage(theme)
    picture = made.show(opened)
    xy, _ = made.pixels()
    for position, tone in ((50, theme.accent), (120, theme.accent), (90, theme.hover)):
        assert ringed(picture, xy[position], tone) > 0.6
    assert ringed(picture, xy[150], theme.accent) == 0


def test_marks_follow_the_camera_and_go_away_also_with_hidden_positions(opened, controller, stage):
    controller.select((50,))
    made = stage()
    made.show(opened)
    made.plotter.camera.Azimuth(40)
    picture = made.draw()
    xy, _ = made.pixels()
    assert ringed(picture, xy[50], LIGHT.accent) > 0.6
    controller.request_positions(60, 120)
    opened.hover = 190
    picture = made.show(opened)
    for tone in (LIGHT.accent, LIGHT.hover):
        assert not has(picture, tone)
    controller.request_positions(1, 199)
    opened.hover = None
    controller.select(())
    assert not has(made.show(opened), LIGHT.accent)


@pytest.mark.slow
def test_hundreds_of_updates_add_nothing(opened, controller, stage, write_table, helix):
    made = stage(size=(160, 120))
    made.show(opened)
    count = made.plotter.renderer.GetViewProps().GetNumberOfItems()
    actors = set(made.plotter.actors)
    opened.dragging = True
    for i in range(300):
        controller.request_positions(1 + i % 50, 190 - i % 60)
        controller.select((i % 200, (3 * i) % 200))
        opened.outside = ("hidden", "faint")[i % 2]
        opened.hover = i % 200
        if i % 100 == 50:
            opened.dragging = False
            controller.open(str(write_table(helix(100 + i), f"t{i}")))
            opened.dragging = True
        made.scene.show(resolve_scene(opened))
        if i % 20 == 0:
            made.draw()
    assert made.plotter.renderer.GetViewProps().GetNumberOfItems() == count
    assert set(made.plotter.actors) == actors
    assert len(made.plotter.renderers) == 1


def test_picture_is_independent_of_history(opened, controller, stage, write_table, helix):
    """In-place updates leave nothing behind: longer, shorter, other range, other colours."""
    used = stage()
    used.show(opened)
    controller.open(str(write_table(helix(120, 30, seed=9), "other")))
    controller.color_by("norm", 4)
    opened.outside, opened.colormap, opened.projection = "faint", "cividis", "parallel"
    used.show(opened)
    controller.request_positions(7, 55)
    controller.select((9, 100))
    again = used.show(opened)
    np.testing.assert_array_equal(again, stage().show(opened))
    used.scene.show(None)
    np.testing.assert_array_equal(again, used.show(opened))


def test_theme_change_and_empty_scene(opened, controller, stage):
    controller.request_positions(60, 120)
    controller.select((80,))
    opened.outside = "faint"
    made = stage(LIGHT)
    made.show(opened)
    made.scene.set_theme(DARK)
    np.testing.assert_array_equal(made.draw(), stage(DARK).show(opened))
    for theme in (DARK, LIGHT):
        made.scene.set_theme(theme)
        made.scene.show(None)
        ground = np.unique(made.draw().reshape(-1, 3), axis=0)
        np.testing.assert_array_equal(ground, [rgb(theme.viewport)])
        assert made.scene.displayed.shape == made.scene.displayed_range.shape == (0, 3)


def test_updates_keep_the_camera_until_release(opened, controller, stage):
    made = stage()
    made.show(opened)
    made.plotter.camera.Azimuth(33)
    before = CameraPose.of(made.plotter.camera)
    controller.request_positions(60, 120)
    made.show(opened, None)
    after = CameraPose.of(made.plotter.camera)
    np.testing.assert_array_equal(before.position, after.position)
    np.testing.assert_array_equal(before.focal_point, after.focal_point)
    made.scene.release()
    controller.select((80,))
    made.scene.show(resolve_scene(opened))
    assert not has(made.draw(), LIGHT.accent)


def test_categories_are_listed_beside_the_curve_and_drawn_in_their_colours(opened, stage):
    kinds = tuple(f"kind {i % 20}" for i in range(190))
    opened.change(color_by="column", color_column=PositionColumn("kind", "a.csv", kinds))
    made = stage(LIGHT, SIZE)
    made.scene.set_backed(False)  # points are under texts
    picture = made.show(opened)
    scale = made.scene.state.scale
    colors = point_colors(scale, LIGHT.viewport)[:, :3].astype(int)
    xy, _ = made.pixels()
    alone = uncovered(made, range(1, 199), POINT_SIZE)
    assert len(alone) > 10
    for p in alone:
        assert np.abs(colour_at(picture, xy[p]) - colors[p]).max() <= 4
    bar = made.scene._bar
    shown = [text.text for text in bar.names if text.actor.GetVisibility()]
    assert bar.title.text == "kind"
    assert shown == [*scale.categories[: MAX_LEGEND - 1], f"{20 - MAX_LEGEND + 1} more"]
    for text, (name, color) in zip(
        bar.names, scale.legend(LIGHT.viewport, MAX_LEGEND), strict=True
    ):
        _, y = text.actor.GetPosition()
        strip = picture[SIZE[1] - 1 - int(y), -40:].astype(int)
        assert (np.abs(strip - color[:3]).max(axis=1) < 8).any(), name
    # And of numbers again it is a bar.
    opened.color_by = "position"
    made.scene.set_backed(True)
    np.testing.assert_array_equal(made.show(opened), stage(LIGHT, SIZE).show(opened))


def test_a_low_view_lists_as_many_categories_as_it_has_room_for(opened, stage):
    kinds = tuple(f"kind {i % 20}" for i in range(190))
    opened.change(color_by="column", color_column=PositionColumn("kind", "a.csv", kinds))
    made, counts = stage(LIGHT, (500, 260)), []
    for height in (260, 480, 260):
        made.plotter.window_size = (500, height)
        picture = made.show(opened)
        bar = made.scene._bar
        shown = [text for text in bar.names if text.actor.GetVisibility()]
        counts.append(len(shown))
        assert shown[-1].text == f"{20 - len(shown) + 1} more"
        boxes = [text.box(72) for text in (bar.title, *shown)]
        assert all(below[3] <= above[1] for above, below in pairwise(boxes))
        assert min(box[1] for box in boxes) > made.scene.arrows.box()[3]
    assert counts == [counts[0], MAX_LEGEND, counts[0]]
    assert 1 < counts[0] < MAX_LEGEND
    np.testing.assert_array_equal(picture, stage(LIGHT, (500, 260)).show(opened))


def test_frames_that_change_nothing_place_nothing(opened, controller, stage):
    """And what changes is drawn as in a new scene."""
    controller.select((100,))
    made = stage(LIGHT, SIZE)
    made.show(opened)
    texts = [made.scene._caption, made.scene._bar.title, *made.scene.arrows.labels]
    texts += made.scene._marks.labels.texts[:1]

    def times():
        return [text.actor.GetMTime() for text in texts]

    before = times()
    for _ in range(3):
        made.draw()
    assert times() == before
    made.plotter.camera.Azimuth(20)
    made.draw()
    assert times()[:2] == before[:2]
    assert times()[2:] != before[2:]
    made.scene.set_theme(DARK)
    controller.select(())
    opened.color_by = "norm"
    made.plotter.window_size = (500, 333)
    np.testing.assert_array_equal(made.show(opened), stage(DARK, (500, 333)).show(opened))


def test_a_view_of_no_size_has_margins(opened, stage):
    made = stage(LIGHT, SIZE)
    made.show(opened)
    found = made.scene.margins((0, 0))
    assert np.isfinite([found.left, found.right, found.bottom, found.top]).all()


def test_a_small_view_is_framed_above_its_caption(opened, stage):
    """As when another model is laid over one of several views."""
    made = stage(LIGHT, (480, 220))
    state = resolve_scene(opened)
    words = 2 * "Overlay: another model, scaled, in positions 0 to 99, with a residual of 12 %. "
    made.scene.compact = True
    made.scene.show(state)
    made.draw()
    lowest = []
    for shown in (state, replace(state, caption=(*state.caption[:2], words))):
        made.scene.show(shown)
        made.scene.pose_of("xz", made.scene.displayed).apply(made.plotter.camera)
        made.draw()
        lowest.append(made.scene.projection().to_screen(made.scene.displayed)[0][:, 1].min())
    left, bottom, right, top = made.scene._caption.box(made.plotter.render_window.GetDPI())
    assert top - bottom > 20
    assert 0 < left < right < 480
    assert lowest[0] < top < lowest[1]


@pytest.mark.parametrize(("size", "compact"), [((300, 200), True), ((480, 270), False)])
def test_a_small_view_fades_the_curve_behind_letters_only(opened, stage, size, compact):
    made = stage(LIGHT, size)
    made.scene.compact = compact
    made.scene.show(resolve_scene(opened))
    # The curve passes through the arrows' corner.
    made.scene.pose_of("xz", made.scene.displayed).apply(made.plotter.camera)
    made.plotter.camera.zoom(3.0)
    drawn = []
    for on in (True, False):
        made.scene._plates.on = on
        drawn.append(made.draw().astype(int))
    rows, columns = np.nonzero(np.abs(drawn[0] - drawn[1]).sum(axis=2))
    up = drawn[0].shape[0] - 1 - rows
    inside = np.zeros(len(rows), dtype=bool)
    letters = [*made.scene.arrows.label_boxes(), *made.scene._taken]
    for left, bottom, right, top in letters:
        inside |= (left <= columns) & (columns <= right) & (bottom - 1 <= up) & (up <= top)
    assert len(rows)
    assert inside.all()


@pytest.mark.parametrize("compact", [False, True])
def test_a_curve_is_framed_below_the_legend(opened, stage, compact):
    made = stage(LIGHT, SIZE)
    state = replace(resolve_scene(opened), legend=(("One", "jet"), ("Another", "viridis")))
    made.scene.compact = compact
    made.scene.show(state)
    made.draw()
    made.scene.pose_of("xz", made.scene.displayed).apply(made.plotter.camera)
    made.draw()
    lines = [text.box(made.plotter.render_window.GetDPI()) for _, text in made.scene._legend._lines]
    assert len(lines) == 2
    highest = made.scene.projection().to_screen(made.scene.displayed)[0][:, 1].max()
    assert highest < min(bottom for _, bottom, _, _ in lines)


def test_trails_are_framed_with_their_curve(opened, stage):
    made = stage(LIGHT, SIZE)
    state = resolve_scene(opened)
    way = 1.5 * state.coordinates[None, :4]
    made.scene.show(replace(state, ways=Ways(way, 1)))
    made.draw()
    np.testing.assert_allclose(made.scene.framed[-4:], way[0] @ made.scene.turn.T)
    made.scene.show(state)
    assert len(made.scene.framed) == len(made.scene.displayed_range)


def in_the_scene(projection, xy, depth):
    """The points of some pixels at a depth."""
    clip = np.column_stack(
        [2 * xy / np.array(projection.size) - 1, np.full(len(xy), depth), np.ones(len(xy))]
    )
    found = clip @ np.linalg.inv(projection.matrix).T
    return found[:, :3] / found[:, 3:]


def test_labels_keep_off_other_curves(opened, stage):
    """In both views the label would otherwise be at the same place."""
    made = stage(LIGHT, SIZE)
    opened.prompt = ""
    opened.selection = (40,)
    made.show(opened)
    state = replace(made.scene.state, selection=())
    labels = made.scene._marks.labels
    made.scene.show(state)
    made.draw()
    left, bottom, right, top = free = labels.texts[0].box(made.plotter.render_window.GetDPI())
    x = np.linspace(left, right, 50)
    xy = np.column_stack([x, np.full(50, (bottom + top) / 2)])
    depth = made.pixels()[1][40]
    across = in_the_scene(made.scene.projection(), xy, depth)
    guide = Guide(opened.curve.pca, opened.curve.components, lines=(across @ made.scene.turn,))
    made.scene.show(replace(state, guides=(guide,)))
    made.draw()
    moved = labels.texts[0].box(made.plotter.render_window.GetDPI())
    assert moved != free
    assert moved[0] > right or moved[2] < left or moved[1] > (bottom + top) / 2 > moved[3]


def test_a_parallel_view_is_framed_by_its_height(opened, stage, monkeypatch):
    """How far away its camera is says nothing about it."""
    opened.projection = "parallel"
    made = stage(LIGHT, (720, 430))
    made.show(opened, None)
    poses = []

    def framed_so(*arguments):
        poses.append(fitted(*arguments))
        if len(poses) == 2:  # the one beside the arrows
            poses[1] = replace(poses[1], parallel_scale=FARTHER * 1.01 * poses[0].parallel_scale)
            poses[1] = replace(poses[1], position=poses[0].position)
        return poses[-1]

    monkeypatch.setattr(scene, "fitted", framed_so)
    corner = np.array([[719.0, 1.0]])
    monkeypatch.setattr(HelixScene, "_seen", lambda *_: corner)  # a point is under the arrows
    chosen = made.scene.pose_of("side", made.scene.displayed_range)
    assert len(poses) == 2
    assert chosen is poses[0]


def test_a_period_that_is_dragged_is_drawn_as_if_it_had_been_so_at_first(opened, stage):
    made = stage(LIGHT, SIZE)
    opened.color_by = "period"
    for opened.color_period in (8.0, 20.5, 31.0):
        picture = made.show(opened)
    np.testing.assert_array_equal(picture, stage(LIGHT, SIZE).show(opened))
    xy, _ = made.pixels()
    colors = point_colors(made.scene.state.scale, LIGHT.viewport)[:, :3].astype(int)
    for p in uncovered(made, range(1, 199), POINT_SIZE):
        assert np.abs(colour_at(picture, xy[p]) - colors[p]).max() <= 4


def inked(picture):
    """How many pixels the curve covers, and how dark these are in the mean."""
    curve = 255 - picture[:, : SIZE[0] - 100].astype(int).min(axis=2)  # without the colour bar
    return (curve > 20).sum(), curve[curve > 20].mean()


def test_line_and_points_have_the_chosen_sizes(opened, stage):
    made = stage(LIGHT, SIZE)
    usual = inked(made.show(opened))[0]
    opened.change(point_size=14.0, line_width=6.0)
    assert inked(made.show(opened))[0] > 2 * usual
    points, line = (made.scene._actors[name].prop for name in ("points", "curve"))
    assert (points.point_size, line.line_width) == (14.0, 6.0)
    opened.outside = "faint"
    made.show(opened)
    faint = made.scene._actors["faint points"].prop.point_size
    assert faint == 2 * FAINT_POINT_SIZE
    opened.change(point_size=7.0, line_width=1.5, outside="hidden")
    assert inked(made.show(opened))[0] == usual


def test_the_curve_weighs_the_same_on_a_dense_screen(opened, stage):
    """Twice the pixels a side, at twice the pixels a logical one: the same share of the picture."""
    opened.change(point_size=10.0, line_width=3.0)
    plain = inked(stage(LIGHT, SIZE).show(opened))[0]
    dense = stage(LIGHT, (2 * SIZE[0], 2 * SIZE[1]), 2.0)
    curve = 255 - dense.show(opened)[:, : 2 * (SIZE[0] - 100)].astype(int).min(axis=2)
    assert 0.95 < (curve > 20).sum() / (4 * plain) < 1.05


def test_points_or_the_line_alone(opened, controller, stage):
    controller.request_positions(60, 120)
    opened.outside = "faint"
    made = stage(LIGHT, SIZE)
    both = inked(made.show(opened))[0]
    middles = {}
    for part in ("points", "line"):
        opened.curve_parts = part
        picture = made.show(opened)
        xy, _ = made.pixels()
        alone = uncovered(made, range(61, 120), POINT_SIZE)
        between = [(xy[p] + xy[p + 1]) / 2 for p in alone if np.hypot(*(xy[p] - xy[p + 1])) > 12]
        assert len(between) > 5
        middles[part] = [bool((colour_at(picture, at) < 200).any()) for at in between]
        assert inked(picture)[0] < both
    assert all(middles["line"])
    assert not any(middles["points"])


def test_a_curve_that_can_be_seen_through(opened, stage):
    opened.curve_parts = "points"
    made = stage(LIGHT, SIZE)
    solid = inked(made.show(opened))[1]
    opened.opacity = 0.3
    pale = inked(made.show(opened))[1]
    assert 0.2 * solid < pale < 0.6 * solid
    opened.opacity = 1.0
    assert inked(made.show(opened))[1] == solid


def test_the_ring_stays_around_a_large_point(opened, stage):
    opened.change(selection=(100,), point_size=30.0)
    made = stage(LIGHT, SIZE)
    made.show(opened)
    xy, _ = made.pixels()
    ring = made.scene._marks._rings._data.points[:, :2]
    radius = np.hypot(ring[:, 0] - xy[100, 0], SIZE[1] - 1 - ring[:, 1] - xy[100, 1])
    assert radius.min() > 15.0


def test_patches_are_joined_to_those_beside_and_below():
    def joined(n_positions, columns, positions):
        found = net(n_positions, columns, positions)
        return tuple({tuple(edge) for edge in edges.tolist()} for edges in found)

    everything = {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    assert joined(6, 3, (0, 5)) == (everything, set())
    inside = {(1, 2), (1, 4), (3, 4)}
    assert joined(6, 3, (1, 4)) == (inside, everything - inside)
    assert joined(3, 1, (0, 2)) == ({(0, 1), (1, 2)}, set())
    assert joined(3, 3, (0, 2)) == ({(0, 1), (1, 2)}, set())
