"""Another size of text: at once in the window and its plots, without cutting anything off."""

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from gui.plots.plot_axis import PlotAxis
from gui.style.theme import SMALL, TEXT, TEXT_SIZES
from gui.widgets.real_slider import FIELD_WIDTH
from gui.widgets.segmented import Segmented
from gui.window.settings.settings import Settings


@pytest.fixture
def application(start_application, write_gpt2):
    """An application of this test alone, since its size of text is changed."""
    made = start_application(write_gpt2())
    made.window.resize(1280, 800)
    return made


def ticks(window):
    """The sizes of the numbers at the axes of the panel in front."""
    items = window.panels["norms"].findChildren(QLabel)  # built by now
    assert items
    views = [w for w in window.panels["norms"].content.findChildren(object) if hasattr(w, "scene")]
    axes = [item for w in views if callable(w.scene) and w.scene() for item in w.scene().items()]
    return {a.style["tickFont"].pixelSize() for a in axes if isinstance(a, PlotAxis)}


@pytest.mark.slow
def test_it_applies_at_once_to_window_and_plots_and_stays(application, settings):
    window = application.window
    window.bring("norms")
    title = window.panels["inspector"].findChild(QLabel)
    heights = {}
    for size in (max(TEXT_SIZES), min(TEXT_SIZES), TEXT):
        application.choose_text_size(size)
        QApplication.processEvents()
        small = round(SMALL * size / TEXT)
        assert window.panels["prompt"].field.font().pixelSize() == size
        assert title.font().pixelSize() in (size, small, round(16 * size / TEXT))
        assert ticks(window) == {small}
        heights[size] = window.panels["inspector"].beside.horizontalHeader().sizeHint().height()
        period = window.panels["view"].period
        assert period.field.width() == round(FIELD_WIDTH * size / TEXT)
        assert window.panels["norms"].strip.cancel.font().pixelSize() == small
        assert Settings(settings._file).text_size == size
    assert heights[max(TEXT_SIZES)] > heights[TEXT] >= heights[min(TEXT_SIZES)]


@pytest.mark.slow
@pytest.mark.parametrize("size", TEXT_SIZES)
def test_a_small_window_holds_it_and_no_choice_is_cut_off(application, wait_until_idle, size):
    window = application.window
    application.choose_text_size(size)
    wait_until_idle(application)
    QApplication.processEvents()
    assert (window.width(), window.height()) == (1280, 800)
    cut = [
        f"{name}: {button.text()}"
        for name in ("positions", "view", "inspector", "prompt")
        for choice in window.panels[name].findChildren(Segmented)
        for button in choice.buttons.values()
        if button.fontMetrics().horizontalAdvance(button.text()) > button.width()
    ]
    assert cut == []
    assert window.viewport.width() >= 480


@pytest.mark.slow
def test_captions_in_the_view_grow_with_it(application):
    scene = application.window.viewport.scene
    below, lines = {}, {}
    for size in (min(TEXT_SIZES), max(TEXT_SIZES)):
        application.choose_text_size(size)
        QApplication.processEvents()
        below[size] = scene.margins((1000, 1000)).bottom
        lines[size] = scene.arrows.reach[1]
    assert below[max(TEXT_SIZES)] > 1.2 * below[min(TEXT_SIZES)]
    assert lines[max(TEXT_SIZES)] > 1.2 * lines[min(TEXT_SIZES)]


@pytest.mark.slow
def test_side_columns_grow_with_it_and_come_back(application, wait_until_idle, qtbot):
    window = application.window
    wait_until_idle(application)
    columns = {name: window.docks[name] for name in ("models", "inspector")}
    before = {name: dock.width() for name, dock in columns.items()}
    for size in (max(TEXT_SIZES), TEXT):
        application.choose_text_size(size)
        qtbot.waitUntil(
            lambda size=size: all(
                columns[name].width() == pytest.approx(width * size / TEXT, abs=2)
                for name, width in before.items()
            )
        )


def test_the_settings_have_room_for_it(application, qtbot):
    window = application.window
    window.commands.by_name["settings"].trigger()
    page = application._page.dialog.appearance
    application.choose_text_size(max(TEXT_SIZES))
    qtbot.waitUntil(lambda: page.width() >= page.sizeHint().width())
    for choice in page.findChildren(Segmented):
        for button in choice.buttons.values():
            assert button.fontMetrics().horizontalAdvance(button.text()) <= button.width()
