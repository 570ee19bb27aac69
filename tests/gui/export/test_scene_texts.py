"""Texts over the scene: readable at every size, inside the picture, never over each other."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gui.scene.hud import drawable
from gui.scene.scene_state import spread
from gui.style.theme import DARK, LIGHT, SMALL
from tests.gui.scene_stage import rgb

TOKENS = (" hello", "WWWWWWWW", "iiiiiiii", "@MMMM@", "日本語トークン", "<|endoftext|>", "\n\t½²…")


def box(text, renderer):
    """The pixels a text covers: left, right, bottom, top."""
    bounds = [0.0] * 4
    text.actor.GetBoundingBox(renderer, bounds)
    x, y = text.actor.GetPosition()
    return np.array([x + bounds[0], x + bounds[1], y + bounds[2], y + bounds[3]])


def boxes(stage, texts):
    shown = [t for t in texts if t.actor.GetVisibility()]
    return {t.text: box(t, stage.plotter.renderer) for t in shown}


def covers(a, b, slack=0.0):
    return (
        a[0] + slack < b[1] and b[0] + slack < a[1] and a[2] + slack < b[3] and b[2] + slack < a[3]
    )


def placed(stage, texts, slack=1.0):
    """Where texts are: inside the picture, and none over another one."""
    found, (width, height) = boxes(stage, texts), stage.plotter.window_size
    for (a, place_a), (b, place_b) in itertools.combinations(found.items(), 2):
        assert not covers(place_a, place_b, slack), f"{a!r} {place_a} covers {b!r} {place_b}"
    for text, (left, right, bottom, top) in found.items():
        inside = left >= 0 and bottom >= 0 and right <= width and top <= height
        assert inside, f"{text!r} at {left, right, bottom, top} of {width, height}"
    return found


def fixed(scene):
    """The texts that are always there: caption and colour bar."""
    return [scene._caption, scene._bar.title, scene._bar.low, scene._bar.high]


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_labels_do_not_cover_each_other(opened, controller, stage, scale):
    controller.select(tuple(range(20, 190, 11)))
    opened.hover = 77
    made = stage(size=(int(640 * scale), int(480 * scale)), scale=scale)
    for view in ("article", "xy", "xz", "yz"):
        made.show(opened, view)
        found = placed(made, made.scene._marks.labels.texts, slack=scale)
        assert len(found) > 10
        assert any(text.startswith("position 77") for text in found)


def test_wide_tokens_do_not_cover_each_other(opened, stage):
    class Tokens:
        texts = tuple(f"{token}{i}" for i, token in enumerate(TOKENS * 6))

    opened.tokens = Tokens
    opened.outside = "faint"
    made = stage(size=(900, 700))
    for view in ("article", "xy"):
        made.show(opened, view)
        assert len(placed(made, made.scene._marks.labels.texts)) > 5


def test_labels_leave_caption_colour_bar_and_arrows_free(opened, controller, stage):
    controller.select(tuple(range(1, 199, 2)))
    made = stage(size=(420, 320))
    for view in ("article", "xy", "xz", "yz"):
        made.show(opened, view)
        labels = boxes(made, made.scene._marks.labels.texts)
        assert labels
        others = boxes(made, [*fixed(made.scene), *made.scene.arrows.labels])
        for (a, place_a), (b, place_b) in itertools.product(labels.items(), others.items()):
            assert not covers(place_a, place_b, 1), f"{a!r} covers {b!r} in {view}"


@pytest.mark.slow
@pytest.mark.parametrize("components", [(1, 2, 3), (10, 11, 12)])
def test_arrow_labels_are_inside_and_apart_however_the_camera_stands(opened, stage, components):
    opened.components = components
    made = stage()
    made.show(opened)
    camera = made.plotter.camera
    focal, distance = np.array(camera.GetFocalPoint()), camera.GetDistance()
    for rotation in Rotation.random(60, random_state=1).as_matrix():
        camera.SetPosition(*(focal + distance * rotation[0]))
        camera.SetViewUp(*rotation[1])
        made.draw()
        assert len(placed(made, made.scene.arrows.labels)) == 3


@pytest.mark.parametrize("size", [(640, 480), (400, 300), (330, 260)])
def test_nothing_covers_anything_in_the_named_views(opened, stage, size):
    opened.color_by = "residual"
    made = stage(size=size)
    for view in ("article", "isometric", "xy", "xz", "yz"):
        made.show(opened, view)
        placed(made, [*made.scene.arrows.labels, *fixed(made.scene)])


def inside(xy, box):
    """Which pixels (from the lower left) are in a box of left, bottom, right and top."""
    return ((xy > box[:2]) & (xy < box[2:])).all(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("projection", ["perspective", "parallel"])
@pytest.mark.parametrize("size", [(720, 430), (1000, 600), (700, 700)])
def test_framed_curve_avoids_caption_bar_and_arrows(opened, stage, size, projection, scale):
    opened.projection = projection
    made = stage(size=(int(size[0] * scale), int(size[1] * scale)), scale=scale)
    made.show(opened, None)
    scene = made.scene
    for view in ("side", "article", "xy", "xz", "yz"):
        pose = scene.pose_of(view, scene.displayed_range)
        pose.apply(made.plotter.camera)
        made.draw()
        xy, _ = scene.projection().to_screen(scene.displayed_range)
        dpi = made.plotter.render_window.GetDPI()
        for taken in (scene._caption.box(dpi), scene._bar.box(dpi)):
            assert not inside(xy, taken).any(), view
        assert inside(xy, (0, 0, *made.plotter.window_size)).all()
        # The view is filled as far as they let it be.
        assert (np.ptp(xy, axis=0) / made.plotter.window_size).max() > 0.7
        if view == "side":
            assert not inside(xy, scene.arrows.box()).any()


def test_texts_have_a_backing_that_dims_the_curve(opened, stage):
    opened.projection = "parallel"
    made, size = stage(size=(720, 430)), np.array((720, 430))
    made.show(opened, "xy")
    scene, camera = made.scene, made.plotter.camera
    camera.SetParallelScale(camera.GetParallelScale() / 3)
    distance, pixel = camera.GetDistance(), 2 * camera.GetParallelScale() / size[1]
    dpi = made.plotter.render_window.GetDPI()
    for box in (scene._caption.box(dpi), scene._bar.title.box(dpi), scene.arrows.box()):
        # A point of the curve is brought behind the text.
        left, bottom, right, top = (round(side) for side in box)
        x, y, z = scene.displayed[100]
        dx, dy = pixel * ((left + right, bottom + top) - size) / 2
        camera.SetFocalPoint(x - dx, y - dy, z)
        camera.SetPosition(x - dx, y - dy, z + distance)
        found = []
        for backed in (False, True):
            scene.set_backed(backed)
            found.append(np.ptp(made.draw().astype(int)[::-1], axis=2))
        plain, dimmed = (one[bottom:top, left:right] for one in found)
        assert plain.max() > 150
        assert dimmed.max() < 0.4 * plain.max()
        away = np.ones(found[0].shape, bool)
        away[:130, :], away[:, 580:] = False, False
        np.testing.assert_array_equal(found[0][away], found[1][away])


def test_labels_of_tokens_keep_off_the_curve_and_are_spread_over_the_text(opened, stage):
    class Tokens:
        texts = tuple(f"word{i}" for i in range(150))

    opened.tokens = Tokens
    made = stage(size=(900, 700))
    made.show(opened)
    labels = boxes(made, made.scene._marks.labels.texts)
    xy, _ = made.scene.projection().to_screen(made.scene.displayed_range)
    for left, right, bottom, top in labels.values():
        assert not inside(xy, (left, bottom, right, top)).any()
    shown = sorted(int(text.removeprefix("word")) for text in labels)
    assert len(shown) > 8
    assert shown[-1] == 149
    assert max(np.diff(shown)) < 60
    order = spread(9, 9)
    assert order == [0, 8, 4, 2, 6, 1, 3, 5, 7]
    assert [spread(n, 9) for n in (0, 1, 2)] == [[], [0], [0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(640, 480), (1600, 1200), (320, 240)])
@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0])
def test_caption_and_bar_are_inside_and_grow_with_the_scale(opened, stage, size, scale):
    opened.color_by = "residual"
    if size[0] * scale > 3200:
        size = (size[0] // 4, size[1] // 4)
    pixels = (int(size[0] * scale), int(size[1] * scale))
    made = stage(size=pixels, scale=scale)
    made.show(opened)
    found = placed(made, fixed(made.scene), slack=0)
    assert "\n".join(made.scene.state.caption) in found
    height = {text: place[3] - place[2] for text, place in found.items()}
    one_line = height["Off-subspace residual"] / scale
    # Letters with their ascenders and descenders: about as high as the font's size.
    assert 0.7 * SMALL <= one_line <= 1.6 * SMALL


def test_the_caption_can_be_read_in_the_picture(opened, stage):
    """Its letters are drawn in a tone with contrast to the background, at its place."""
    for theme in (LIGHT, DARK):
        made = stage(theme)
        picture = made.show(opened).astype(int)
        left, right, bottom, top = box(made.scene._caption, made.plotter.renderer).astype(int)
        height = picture.shape[0]
        patch = picture[height - top : height - bottom, left:right]
        assert (np.abs(patch - rgb(theme.muted)).max(axis=2) < 16).mean() > 0.03
        assert (patch == picture[0, 0]).all(axis=2).mean() > 0.4


def test_what_the_font_lacks_is_drawn_as_boxes():
    assert drawable("·naïve −1.5 ≤ ‖P‖ ⟨F0⟩ ⏎") == "·naïve −1.5 ≤ ‖P‖ ⟨F0⟩ ⏎"
    assert drawable("a 日本\n🧬") == "a □□\n□"
