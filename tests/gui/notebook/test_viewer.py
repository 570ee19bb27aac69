"""The turnable curve in a browser without a network."""

import io

import numpy as np
import pytest
from PIL import Image

import helixscope as hx
from tests.gui.export.test_scene_html import browser  # noqa: F401 – a fixture


def pixels(page):
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        return np.array(picture.convert("RGB")).astype(int)


@pytest.fixture
def page(browser, tmp_path):  # noqa: F811
    file = hx.open("sample").save(tmp_path / "curve.html", small=True)
    context = browser.new_context(viewport={"width": 600, "height": 400}, offline=True)
    page = context.new_page()
    wrong, asked = [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert (wrong, [url for url in asked if not url.startswith("file:")]) == ([], [])


def test_it_fits_a_frame_of_an_article_and_turns(page):
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    first = pixels(page)
    colored = np.ptp(first, axis=2) > 60
    assert 500 < colored.sum() < colored.size / 4
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(380, 230)
    page.mouse.up()
    turned = pixels(page)
    assert (np.abs(first - turned).max(axis=2) > 40).sum() > 500
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(50)
    assert (np.abs(pixels(page) - turned).max(axis=2) > 40).sum() > 500


def test_a_position_is_named_where_the_pointer_is(page):
    first = pixels(page)
    row, column = np.argwhere(np.ptp(first, axis=2) > 60)[200]
    page.mouse.move(int(column), int(row))
    assert page.locator("[data-tip]").inner_text().startswith("position ")


def test_it_turns_by_keys(page):
    first = pixels(page)
    page.locator("canvas").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert (np.abs(first - pixels(page)).max(axis=2) > 40).sum() > 500


def test_the_wheel_scrolls_the_page_until_the_curve_is_clicked(page):
    turn = "new WheelEvent('wheel', {deltaY: 9, cancelable: true})"
    scrolls = f"document.querySelector('canvas').dispatchEvent({turn})"
    assert page.evaluate(scrolls)
    page.mouse.click(300, 200)
    assert not page.evaluate(scrolls)
