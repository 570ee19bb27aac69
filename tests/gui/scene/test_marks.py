"""Marks of many selected positions: they are seen as selected, and so is what colour they have."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from gui.export.pictures import render_scene
from gui.scene.hud import padded
from gui.scene.labels import Coverage
from gui.scene.scene_state import resolve_scene
from gui.state.selection import MAX_RINGS, to_label
from gui.style.theme import COLORMAPS, DARK, LIGHT
from tests.gui.scene_stage import rgb

SIZE = (640, 480)
FEW, MANY = tuple(range(60, 60 + MAX_RINGS)), tuple(range(60, 140))
pytestmark = pytest.mark.usefixtures("opened")


def accented(picture, theme):
    """Where a picture has the accent, (height, width)."""
    return (np.abs(picture[..., :3].astype(int) - rgb(theme.accent)) < 30).all(axis=2)


def in_front(made):
    """Which points no other one hides, 4 pixels around, and where: x and y of the picture."""
    xy, depth = made.pixels()
    apart = np.abs(xy[:, None] - xy[None]).max(axis=2)
    hidden = ((apart < 9) & (depth[None] < depth[:, None])).any(axis=1)
    inside = ((xy > 10) & (xy < np.array(SIZE) - 10)).all(axis=1)
    return np.flatnonzero(~hidden & inside), np.round(xy).astype(int)


@pytest.mark.parametrize("projection", ["perspective", "parallel"])
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_many_selected_points_keep_their_colours_and_have_a_rim(session, stage, theme, projection):
    session.projection = projection
    made = stage(theme, SIZE)
    plain = made.show(session)
    session.selection = MANY
    picture = made.show(session)
    free, xy = in_front(made)
    labelled = xy[[MANY[0], MANY[-1]]]
    far = np.abs(xy[:, None] - labelled[None]).max(axis=2).min(axis=1) > 60
    seen = [p for p in free if p in MANY and far[p]]
    assert len(seen) > 10
    accent = accented(picture, theme)
    for position in seen:
        x, y = xy[position]
        assert np.abs(picture[y, x].astype(int) - plain[y, x]).max() < 60, position
        assert accent[y - 7 : y + 8, x - 7 : x + 8].any(), position
    for position in (p for p in free if p not in MANY and far[p]):
        x, y = xy[position]
        assert not accent[y, x], position
    assert not accented(plain, theme).any()


def test_few_have_rings_and_of_many_only_the_current_one_has(session, stage):
    made = stage(LIGHT, SIZE)

    def area(chosen):
        session.selection = chosen
        return accented(made.show(session), LIGHT).sum()

    few, more, one = map(area, (FEW, (*FEW, 150), MANY[:1]))
    assert few > 3 * one
    assert made.scene._marks.labels.texts[0].text == "60"
    assert more > one
    # As in one of several views, where the rims of large points would hide the curve.
    wide = area(MANY[::4])
    made.scene.compact = True
    assert 0 < area(MANY[::4]) < 0.8 * wide


def test_the_rims_go_with_the_selection_and_stay_with_the_curve(session, stage):
    made = stage(LIGHT, SIZE)
    session.selection = MANY
    made.show(session)
    for name in ("xy", "yz"):
        accent = accented(made.show(session, name), LIGHT)
        rows, columns = np.nonzero(accent)
        _, xy = in_front(made)
        near = xy[list(MANY)]
        away = np.abs(np.column_stack([columns, rows])[:, None] - near[None]).max(axis=2)
        assert away.min(axis=1).max() <= 12
    session.selection = ()
    assert not accented(made.show(session), LIGHT).any()
    made.scene.show(None)
    assert not accented(made.draw(), LIGHT).any()


def test_labels_of_many_tell_where_they_begin_and_end(session):
    session.selection = (*range(20, 60), 150, *range(100, 130))
    labels = resolve_scene(session).labels
    assert list(labels) == [129, 20, 59, 100, 150]
    session.selection = tuple(range(0, 200, 2))
    assert list(resolve_scene(session).labels) == [198]
    session.selection = FEW
    assert list(resolve_scene(session).labels) == list(FEW[::-1])
    assert to_label(()) == ()
    assert to_label((3, 1)) == (1, 3)
    assert to_label(tuple(range(100, 50, -1))) == (51, 100)


def test_labels_dim_no_ring_and_keep_off_it(session, stage):
    session.change(selection=(100, 104), point_size=30.0)
    made = stage(LIGHT, SIZE)
    made.show(session)
    marks = made.scene._marks
    props = list(made.plotter.renderer.GetViewProps())
    assert props.index(marks.labels.plates.actor) < props.index(marks._halos.actor)
    xy, _ = made.scene.projection().to_screen(made.scene.displayed[[104, 100]])
    shown = [text for text in marks.labels.texts if text.actor.GetVisibility()]
    for text, at in zip(shown, xy, strict=True):
        left, bottom, right, top = padded(text.box(72), 1.0)
        nearest = np.clip(at, (left, bottom), (right, top))
        assert np.hypot(*(nearest - at)) > marks._radius, text.text


@pytest.mark.parametrize("chosen", [FEW[:1], MANY], ids=["rings", "rims"])
def test_a_transparent_picture_has_nothing_in_the_backgrounds_colour(session, chosen):
    """Where it is laid on another colour, halos and gaps would be seen."""
    session.selection = chosen
    theme = replace(DARK, viewport="#ff00ff")
    dark = render_scene(resolve_scene(session), theme, "article", SIZE, transparent=True)
    red, green, blue, opacity = np.moveaxis(dark.astype(int), -1, 0)
    assert not ((opacity > 128) & (red > 230) & (green < 30) & (blue > 230)).any()
    assert (opacity > 128).any()


@pytest.mark.slow
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("colormap", COLORMAPS)
def test_a_ring_stands_out_from_a_curve_of_any_colour(session, stage, theme, colormap):
    """Also where the curve is thick, and as red as the ring: an edge and a halo are around it."""
    session.change(colormap=colormap, point_size=30.0, line_width=12.0)
    made = stage(theme, SIZE)
    for position in (20, 100, 190):
        session.selection = (position,)
        made.show(session)
        made.scene.state.labels.clear()
        picture = made.draw().astype(int)
        x, y = made.pixels()[0][position]
        radius = made.scene._marks._radius
        angle = np.linspace(0, 2 * np.pi, 90, endpoint=False)

        def around(wider, x=x, y=y, radius=radius, angle=angle, picture=picture):
            at = np.round(
                [y + (radius + wider) * np.sin(angle), x + (radius + wider) * np.cos(angle)]
            ).astype(int)
            return picture[at[0].clip(0, SIZE[1] - 1), at[1].clip(0, SIZE[0] - 1)]

        for between, color in (
            ((-1.0, 1.0), theme.accent), ((-2.4, -1.3), theme.text), ((2.4, 3.6), theme.viewport),
        ):  # fmt: skip
            found = [np.abs(around(w) - rgb(color)).max(axis=1) for w in np.linspace(*between, 4)]
            assert (np.min(found, axis=0) < 60).mean() > 0.85, (position, between, color)


def test_a_label_is_where_its_backing_covers_nothing():
    """Although another place has room for the text alone, it would be left out there."""
    curve = np.array([[52.0, 55.0], [52.0, 56.0]])
    covered = Coverage(curve, (200, 100), 1.0)
    near, far = (20.0, 50.0, 50.0, 60.0), (60.0, 50.0, 90.0, 60.0)
    assert covered.freest([near, far], 0.0) == (near, 0)
    assert covered.freest([near, far], 1.0) == (far, 0)
    assert covered.freest([near], 1.0)[1] > 0
    assert covered.freest([], 1.0) == (None, 0)


@pytest.mark.parametrize("seed", range(5))
def test_lines_to_labels_cross_neither_each_other_nor_labels(stage, seed, monkeypatch):
    """Thirty labels of points close together: those that would be tangled are left out."""
    labels, drawn = stage(LIGHT, SIZE).scene._marks.labels, {}
    monkeypatch.setattr(labels.leaders, "draw", lambda lines: drawn.update(lines=lines))
    monkeypatch.setattr(labels.plates, "draw", lambda boxes: drawn.update(boxes=boxes))
    anchors = np.random.default_rng(seed).normal((320, 240), 25, size=(30, 2))
    placed = {}
    for firm in (30, 0):
        labels.place(
            [f"token {n}" for n in range(30)], anchors, SIZE, [], 1.0, 72, curve=anchors, firm=firm
        )
        lines, boxes = drawn["lines"], drawn["boxes"]
        crossings = sum(crosses(a, b) for a, b in combinations(lines, 2))
        covered = sum(
            crosses(line, (box[[0, 1]], box[[2, 3]])) or crosses(line, (box[[0, 3]], box[[2, 1]]))
            for (i, line), (j, box) in product(enumerate(lines), enumerate(np.array(boxes)))
            if i != j
        )
        placed[firm] = (len(boxes), crossings + covered)
    assert placed[0][1] == 0 < placed[30][1]
    assert 4 < placed[0][0] < placed[30][0]


def crosses(one, other):
    """Whether two segments cross: the ends of each are on both sides of the other."""

    def apart(line, ends):
        along = line[1] - line[0]
        sides = [np.cross([*along, 0], [*(end - line[0]), 0])[2] for end in ends]
        return sides[0] * sides[1] < 0

    one, other = np.array(one), np.array(other)
    return apart(one, other) and apart(other, one)


def test_lines_end_at_rows_of_nan():
    gap = [[np.nan, np.nan]]
    lines = np.vstack([[[0.0, 50.0], [10.0, 50.0]], gap, [[100.0, 50.0], [110.0, 50.0]]])
    covered = Coverage(lines, (200, 100), 1.0)
    assert covered.count((40.0, 40.0, 60.0, 60.0)) == 0
    assert covered.count((2.0, 40.0, 8.0, 60.0)) > 0
    assert covered.count((102.0, 40.0, 108.0, 60.0)) > 0
