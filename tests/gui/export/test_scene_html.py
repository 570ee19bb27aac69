"""The scene as a page, in a browser that has no network."""

import io
import itertools
import shutil

import numpy as np
import pytest
from PIL import Image

from geometry.models.sources.opening import open_model
from gui.export.pictures import still_session
from gui.export.scene_files import SceneExport
from gui.style.theme import DARK, LIGHT
from tests.gui.scene_stage import rgb

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 900, 700
NAME = "a < b & c"
GRAPH = "document.getElementById('scene')"


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium here to open the page in")
    from playwright.sync_api import sync_playwright

    # WebGL in software: no graphics card is needed.
    drawing = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", *drawing])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory):
    """Export a helix and open it, offline; the page's errors and requests fail the tests."""
    folder, contexts, wrong, asked = tmp_path_factory.mktemp("scenes"), [], [], []

    def export(theme=LIGHT, **fields):
        along = np.linspace(0, 1, 200)
        angle, table = 6 * np.pi * along, folder / f"{NAME}.npy"
        np.save(table, np.column_stack([np.cos(angle), np.sin(angle), 2 * along]))
        session = still_session(open_model(table), positions=(1, 198))
        session.change(**fields)
        out = folder / "scene.html"
        SceneExport.of(session, theme, "article").write(out)
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, offline=True)
        context.set_default_timeout(100_000)  # drawing in software takes its time
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(out.as_uri())
        page.wait_for_function("document.querySelector('#scene canvas') !== null")
        return page

    yield export
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture(scope="module")
def light(show):
    return show(LIGHT)


@pytest.fixture(scope="module")
def dark(show):
    return show(DARK, outside="faint", projection="parallel")


def pixels(page):
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        return np.array(picture.convert("RGB")).astype(int)


def colourful(picture):
    """Which pixels of the middle are the curve's: everything else is grey."""
    return np.ptp(picture[50:-80, :700], axis=2) > 100


@pytest.mark.slow
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_it_shows_the_curve_on_the_themes_background(theme, request):
    picture = pixels(request.getfixturevalue(theme.name))
    np.testing.assert_array_equal(picture[5, 5], rgb(theme.viewport))
    assert 0.01 < colourful(picture).mean() < 0.5
    # The first positions are blue, the last ones are red.
    red, _, blue = np.moveaxis(picture[50:-80, :700], 2, 0)
    assert (blue - red > 100).sum() > 100
    assert (red - blue > 100).sum() > 100


@pytest.mark.slow
def test_points_caption_and_axes_say_what_they_are(light):
    texts = light.evaluate(f"{GRAPH}.data[0].text")
    assert len(texts) == 198
    assert texts[0].startswith("position 1 · norm ")
    assert texts[-1].startswith("position 198 · norm ")
    rows, columns = np.nonzero(colourful(pixels(light)))
    middle = len(rows) // 2
    light.mouse.move(int(columns[middle]) - 3, int(rows[middle]) + 47)
    light.mouse.move(int(columns[middle]), int(rows[middle]) + 50)
    light.wait_for_function(f"{GRAPH}.textContent.includes('position ')")
    assert light.title() == NAME
    assert f"{NAME} · positions 1–198 · centred" in light.inner_text("#scene")
    assert axis_names(light) == [f"PC\xa0{k}" for k in (1, 2, 3)]
    assert light.evaluate(f"{GRAPH}.data.length") == 1  # nothing in the scene but the curve


def axis_names(page):
    return page.locator("#axes text").all_text_contents()


def arrows(page):
    """Where the axes' arrows end, (3, 2) in pixels from their beginning; y is downwards."""
    ends = "[...document.querySelectorAll('#axes polyline')].map(l => l.getAttribute('points'))"
    lines = [line for line in page.evaluate(ends) if line.startswith("0,0 ")]
    return np.array([[float(x) for x in line.split()[1].split(",")] for line in lines])


def camera_axes(page):
    """The browser's camera: right and up on the screen, as rows."""
    camera = page.evaluate(f"{GRAPH}._fullLayout.scene._scene.getCamera()")
    eye, centre, up = ([camera[k][a] for a in "xyz"] for k in ("eye", "center", "up"))
    back = np.subtract(eye, centre)
    right = np.cross(up, back)
    right = right / np.linalg.norm(right)
    return np.array([right, np.cross(back / np.linalg.norm(back), right)])


@pytest.mark.slow
def test_the_axes_stay_in_their_corner_and_turn_with_the_camera(show):
    page = show(LIGHT)
    corner = page.locator("#axes").bounding_box()
    assert corner["x"] + corner["width"] == WIDTH - 8
    assert corner["y"] + corner["height"] == HEIGHT - 8
    seen = [arrows(page)]
    page.mouse.move(300, 300)
    page.mouse.down()
    for x, y in ((380, 300), (420, 360)):  # also while the button is held
        page.mouse.move(x, y, steps=4)
        seen.append(arrows(page))
    page.mouse.up()
    seen.append(arrows(page))
    expected = 30 * camera_axes(page).T * (1, -1)
    np.testing.assert_allclose(seen[-1], expected, atol=0.5)
    assert min(np.abs(b - a).max() for a, b in itertools.pairwise(seen[:3])) > 2
    assert page.locator("#axes").bounding_box() == corner


@pytest.mark.slow
def test_positions_outside_the_range_are_faint_and_parallel_is_parallel(dark, light):
    counts = [page.evaluate(f"{GRAPH}.data.length") for page in (light, dark)]
    assert counts[1] - counts[0] == 2
    kind = f"{GRAPH}.layout.scene.camera.projection.type"
    assert [page.evaluate(kind) for page in (light, dark)] == ["perspective", "orthographic"]


@pytest.mark.slow
def test_a_drag_turns_it_and_the_wheel_brings_it_nearer(light):
    before = colourful(pixels(light))
    light.mouse.move(400, 350)
    light.mouse.down()
    light.mouse.move(550, 330, steps=5)
    light.mouse.up()
    assert (before != colourful(pixels(light))).mean() > 0.01
    distance = f"Math.hypot(...Object.values({GRAPH}._fullLayout.scene._scene.getCamera().eye))"
    start = light.evaluate(distance)
    light.mouse.wheel(0, -400)
    light.wait_for_function(f"{distance} < {start - 0.01}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "mode"), [("both", "lines+markers"), ("points", "markers"), ("line", "lines")]
)
def test_line_points_and_opacity_are_those_of_the_window(show, parts, mode):
    page = show(curve_parts=parts, line_width=3.0, point_size=14.0, opacity=0.5)
    trace = page.evaluate(
        f"(({{mode, opacity, line, marker}}) => [mode, opacity, line.width, marker.size])"
        f"({GRAPH}.data[0])"
    )
    assert trace == [mode, 0.5, 6, 8]
    # The colour bar is there in any case.
    page.wait_for_selector("#scene .colorbar, #scene .cbfill", state="attached")
