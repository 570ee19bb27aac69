"""Pictures without a window: sizes, themes, transparency, and sentences where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from geometry.checkpoints.errors import RangeError
from gui.export.pictures import (
    MAX_PIXELS,
    OffScreen,
    PictureError,
    _averaged,
    render_picture,
    render_scene,
    write_png,
)
from gui.scene.scene_state import resolve_scene
from gui.state.camera import VIEWS
from gui.style.theme import DARK, LIGHT, THEMES
from tests.gui.scene_stage import rgb


def read(path):
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return np.array(picture)


@pytest.fixture
def state(opened):
    return resolve_scene(opened)


@pytest.fixture
def render(model, tmp_path):
    """Draw a picture into a file, and read it."""

    def rendered(**options):
        out = tmp_path / "helix.png"
        render_picture(model, out, **options)
        return read(out)

    return rendered


def test_a_picture_has_the_size_that_was_asked_for(render, open_table, tmp_path):
    for size, scale in (((300, 200), 1), ((101, 51), 1.5), ((1, 1), 1), ((40, 30), 4)):
        shape = (round(size[1] * scale), round(size[0] * scale), 3)
        assert render(size=size, scale=scale).shape == shape
    for shape in ((1, 4), (2, 2), (3, 1)):  # with fewer than three components too
        table = np.random.default_rng(0).normal(size=shape)
        render_picture(open_table(table), tmp_path / "a.png", size=(160, 120))
        assert read(tmp_path / "a.png").shape == (120, 160, 3)


@pytest.mark.slow
def test_every_view_in_every_theme(render):
    for name, theme in THEMES.items():
        pictures = [render(size=(240, 180), view=view, theme=name) for view in VIEWS]
        for picture in pictures:
            np.testing.assert_array_equal(picture[0, 0], rgb(theme.viewport))
            colourful = np.ptp(picture.astype(int), axis=2) > 100
            assert colourful[10:150, 20:200].mean() > 0.005
        assert len({picture.tobytes() for picture in pictures}) == len(VIEWS)


@pytest.mark.slow
def test_a_larger_scale_shows_the_same_larger(state):
    """Points, lines and texts grow with it: reduced again, only edges differ."""
    small = render_scene(state, LIGHT, "article", (480, 360))
    np.testing.assert_array_equal(render_scene(state, LIGHT, "article", (480, 360)), small)
    large = render_scene(state, LIGHT, "article", (480, 360), scale=2)
    assert large.shape == (720, 960, 3)
    reduced = large.reshape(360, 2, 480, 2, 3).mean(axis=(1, 3))
    assert np.abs(reduced - small).mean() < 4
    assert (np.abs(reduced - small).max(axis=2) > 128).mean() < 0.02
    largest = render_scene(state, LIGHT, "article", (MAX_PIXELS, 8))
    assert largest.shape == (8, MAX_PIXELS, 3)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_a_transparent_picture_has_the_curve_alone(state, theme):
    picture = render_scene(state, theme, "article", (480, 360), transparent=True)
    assert picture.shape == (360, 480, 4)
    assert picture[0, 0, 3] == 0
    assert 0.5 < (picture[..., 3] == 0).mean() < 0.99
    solid = picture[..., 3] == 255
    colourful = np.ptp(picture[..., :3].astype(int), axis=2) > 100
    assert (solid & colourful).sum() > 200
    # Laid over the theme's background it is the picture with that background.
    alpha = picture[..., 3:] / 255
    over = picture[..., :3] * alpha + rgb(theme.viewport) * (1 - alpha)
    whole = render_scene(state, theme, "article", (480, 360))
    assert np.abs(over - whole).mean() < 1.5


def test_range_and_components_are_those_asked_for(model, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("gui.export.pictures.draw", lambda state, *_, **__: shown.append(state))
    render_picture(model, tmp_path / "a.png", positions=(20, 90), components=(4, 2, 1))
    render_picture(model, tmp_path / "b.png")
    assert "positions 20–90" in shown[0].caption[0]
    assert [label[:4] for label in shown[0].axis_labels] == ["PC\xa04", "PC\xa02", "PC\xa01"]
    assert "positions 1–199" in shown[1].caption[0]


def test_a_long_table_is_drawn_at_its_own_size(state, monkeypatch):
    whole = render_scene(state, LIGHT, "article", (480, 360))
    most = len(state.coordinates)
    monkeypatch.setattr("gui.export.pictures.MAX_SMOOTHED", most)
    np.testing.assert_array_equal(render_scene(state, LIGHT, "article", (480, 360)), whole)
    monkeypatch.setattr("gui.export.pictures.MAX_SMOOTHED", most - 1)
    monkeypatch.setattr("gui.export.pictures._averaged", lambda image, factor: image[::factor])
    coarse = render_scene(state, LIGHT, "article", (480, 360))
    assert coarse.shape == whole.shape == (360, 480, 3)
    # The same view, with other edges.
    whole, coarse = (one.reshape(36, 10, 48, 10, 3).mean(axis=(1, 3)) for one in (whole, coarse))
    assert np.corrcoef(whole.ravel(), coarse.ravel())[0, 1] > 0.97
    assert whole.std() > 10.0


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_pixels_are_averaged_by_their_opacity(channels, factor):
    shape = (factor * 130, factor * 7, channels)
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    image[..., 3:] |= 1
    image[: factor * 2] = 0
    blocks = image.reshape(130, factor, 7, factor, channels).astype(float)
    expected = blocks.mean(axis=(1, 3))
    if channels == 4:
        alpha = blocks[..., 3:]
        weight = np.maximum(alpha.sum(axis=(1, 3)), 1)
        expected[..., :3] = (blocks[..., :3] * alpha).sum(axis=(1, 3)) / weight
    np.testing.assert_allclose(_averaged(image, factor), expected, atol=0.5)


@pytest.mark.parametrize(
    ("options", "error", "said", "advice"),
    [
        ({"view": "below"}, PictureError, "There is no view", ("article", "dark")),
        ({"theme": "sepia"}, PictureError, "There is no view", ("article", "dark")),
        *(({"positions": p}, RangeError, None, ()) for p in [(5, 4), (-1, 10), (0, 200)]),
        *(({"components": c}, RangeError, None, ()) for c in [(1, 2, 25), (0, 1, 2), (1, -2, 3)]),
        *(
            ({"size": size}, PictureError, "is not possible", (str(MAX_PIXELS),))
            for size in [(0, 100), (100, 0), (-5, 5), (MAX_PIXELS + 1, 10)]
        ),
        ({"size": (5000, 5000), "scale": 4}, PictureError, "20000 × 20000", ()),
    ],
)
def test_what_cannot_be_is_a_sentence(model, tmp_path, options, error, said, advice):
    with pytest.raises(error, match=said) as caught:
        render_picture(model, tmp_path / "a.png", **options)
    assert all(word in caught.value.advice for word in advice)
    assert not list(tmp_path.glob("*.png"))


def test_suffix_and_format_and_unwritable_files(tmp_path):
    write_png(np.zeros((2, 2, 4), np.uint8), tmp_path / "picture.jpg")
    assert read(tmp_path / "picture.jpg").shape == (2, 2, 4)
    for place, reason in ((tmp_path / "missing" / "a.png", "No such file"),
                          (tmp_path, "Is a directory")):  # fmt: skip
        with pytest.raises(PictureError, match=f"cannot be written.*{reason}") as caught:
            write_png(np.zeros((2, 2, 3), np.uint8), place)
        assert caught.value.advice


@pytest.mark.slow
def test_pictures_are_drawn_without_a_display(run_python, write_table, tmp_path):
    """Headless machines have none; VTK's complaint about it is kept quiet."""
    out = tmp_path / "a.png"
    code = (
        "from geometry.models.sources.opening import open_model\n"
        "from gui.export.pictures import render_picture\n"
        "from pathlib import Path\n"
        "import sys\n"
        f"render_picture(open_model({str(write_table())!r}), Path({str(out)!r}), size=(80, 60))\n"
        "assert 'PySide6' not in sys.modules\n"
    )
    run_python(code)
    assert read(out).shape == (60, 80, 3)


@pytest.mark.slow
@pytest.mark.parametrize("projection", ["perspective", "parallel"])
@pytest.mark.parametrize("transparent", [False, True])
def test_tiles_equal_the_whole_picture(state, monkeypatch, projection, transparent):
    """Marks, texts and points at the edges of tiles included; edges may be half a pixel aside."""
    marked = {3: "3", 60: "60 · a long label that crosses tiles", 120: "120"}
    state = replace(state, projection=projection, selection=tuple(marked), labels=marked, hover=150)
    options = {"scale": 3, "transparent": transparent}
    monkeypatch.setattr("gui.export.pictures.TILE", 10**9)
    whole = render_scene(state, LIGHT, "article", (480, 360), **options)
    drawn = []
    draw = OffScreen._draw_tile
    monkeypatch.setattr(
        OffScreen, "_draw_tile", lambda *at, **how: drawn.append(draw(*at, **how)) or drawn[-1]
    )
    monkeypatch.setattr("gui.export.pictures.TILE", 1_000_000)
    tiled = render_scene(state, LIGHT, "article", (480, 360), **options)
    assert whole.shape == tiled.shape
    assert len(drawn) == 16
    assert {tile.shape for tile in drawn} == {(360, 480, whole.shape[2])}
    aside = np.abs(whole.astype(int) - tiled).max(axis=2)
    assert (aside > 0).mean() < 0.005
    blocks = (one.reshape(108, 10, 144, 10, -1).mean(axis=(1, 3)) for one in (whole, tiled))
    assert np.abs(np.subtract(*blocks)).max() < 16
