"""The guide in its window: opened at the panel in use, read, searched, by keys."""

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QCursor, QDesktopServices, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.panels.table import GROUPS
from gui.style.theme import DARK, LIGHT
from gui.window.arrangement.dock_tabs import GroupBar
from gui.window.arrangement.docks import DOCKS
from gui.window.guide.page_view import MARGIN
from gui.window.guide.pages import GUIDE, START, UserGuide
from gui.window.guide.window import NOTHING, GuideWindow
from tests.gui.on_screen import put_on_screen

LEFT, ALT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.AltModifier


@pytest.fixture(scope="module")
def guide():
    return UserGuide()


@pytest.fixture
def shown(qtbot, dress, guide):
    """The guide's window, active, with its first page."""
    dress(LIGHT)
    owner = QWidget()
    qtbot.addWidget(owner)
    made = GuideWindow(guide, LIGHT, owner)
    made.go(START)
    made.owner = owner  # it would be collected
    return put_on_screen(qtbot, made, active=True)


def address(window):
    return window._visited[window._at][0]


def first_block(window):
    """The text at the top of what is seen of the page."""
    page = window.page
    # At the edge itself a picture before it, which ends there, would be found.
    return page.cursorForPosition(QPoint(MARGIN, MARGIN // 2)).block().text()


def listed(window):
    return [window.hits.item(row).text().partition("\n")[0] for row in range(window.hits.count())]


def test_every_page_is_in_it_and_so_is_every_link_between_them(guide):
    assert set(guide.pages) == {file.name for file in GUIDE.glob("*.md")}
    for section in guide.sections:
        assert guide.has(section.address), section.address
    assert guide.target("#which-positions", "the-curve.md") == "the-curve.md#which-positions"
    assert guide.target("../../README.md", START) is None
    assert guide.target("https://huggingface.co", START) is None


def test_every_panel_has_a_place_of_its_own(guide):
    places = {dock.title: guide.about_panel(dock.title) for dock in DOCKS}
    assert START not in places.values()
    assert len(set(places.values())) == len(places)
    assert places["Shape"] == "panels.md#shape"
    # What only refers to another page leads there.
    assert places["Training"].startswith("training.md")
    assert guide.about_panel("") == START


def test_a_search_finds_sections_with_all_words_and_titles_come_first(guide):
    hits = guide.search("LOOK back")
    assert hits[0].section.title == "Look back"
    for hit in hits:
        whole = f"{hit.section.title} {hit.section.text}".lower()
        assert "look" in whole
        assert "back" in whole
    assert len(guide.search("capture chance")) < len(guide.search("capture"))
    assert guide.search("qwertz") == guide.search("  ") == []
    (hit, *_) = guide.search("Procrustes")
    assert "procrustes" in hit.excerpt.lower()


def test_the_contents_links_and_history_lead_to_places(shown, qtbot):
    first = first_block(shown)
    shown._mark("panels.md")  # unfolds it
    row = shown.contents.currentItem()
    part = next(row.child(n) for n in range(row.childCount()) if row.child(n).text(0) == "Shape")
    shown.contents.scrollToItem(part)
    spot = shown.contents.visualItemRect(part).center()
    qtbot.mouseClick(shown.contents.viewport(), LEFT, pos=spot)
    assert address(shown) == "panels.md#shape"
    assert first_block(shown) == "Shape"
    assert shown.contents.currentItem().text(0) == "Shape"
    scrolled = shown.page.verticalScrollBar().value()
    shown.page.anchorClicked.emit(QUrl("comparing.md#side-by-side"))
    assert first_block(shown) == "Side by side"
    QTest.keyClick(shown.page, Qt.Key.Key_Left, ALT)
    assert address(shown) == "panels.md#shape"
    assert shown.page.verticalScrollBar().value() == scrolled
    QTest.mouseClick(shown.back, LEFT)
    assert (address(shown), first_block(shown)) == (START, first)
    assert not shown.back.isEnabled()
    QTest.keyClick(shown.page, Qt.Key.Key_Right, ALT)
    assert address(shown) == "panels.md#shape"
    shown.go("panels.md")
    shown.page.document().size()  # lays all of it out
    bar = shown.page.verticalScrollBar()
    bar.setValue(bar.maximum())
    end = bar.value()
    QTest.keyClick(shown.page, Qt.Key.Key_Home, ALT)
    assert address(shown) == START
    QTest.keyClick(shown.page, Qt.Key.Key_Left, ALT)
    assert bar.value() == end
    shown.go(START)
    assert not shown.forward.isEnabled()


def test_a_search_is_done_by_keys_alone(shown):
    shown.page.setFocus()
    QTest.keyClick(shown.page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert shown.field.hasFocus()
    QTest.keyClicks(shown.field, "procrustes")
    assert listed(shown)
    assert shown.count.text().startswith(str(len(listed(shown))))
    assert not shown.contents.isVisible()
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert first_block(shown) == listed(shown)[0].partition(" · ")[0]
    marked = [mark.cursor.selectedText().lower() for mark in shown.page.extraSelections()]
    assert set(marked) == {"procrustes"}
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert shown.hits.currentRow() == 1
    QTest.keyClick(shown.page, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert shown.hits.currentRow() == 0
    QTest.keyClick(shown.field, Qt.Key.Key_Down)
    assert shown.hits.hasFocus()
    QTest.keyClick(shown.hits, Qt.Key.Key_Escape)
    assert shown.contents.isVisible()
    assert shown.page.extraSelections() == []
    QTest.keyClicks(shown.field, "qwertz")
    assert shown.count.text() == NOTHING
    assert shown.hits.isHidden()
    for _ in range(2):
        assert shown.isVisible()
        QTest.keyClick(shown.field, Qt.Key.Key_Escape)
    assert not shown.isVisible()


def test_f1_in_it_shows_the_keys(shown):
    QTest.keyClick(shown.page, Qt.Key.Key_F1)
    assert address(shown) == "keys.md"


def test_pictures_are_of_the_guide_alone_and_fit_the_page(shown, qtbot):
    shown.go("panels.md")
    page, kind = shown.page, int(QTextDocument.ResourceType.ImageResource.value)
    page.document().size()  # lays all of it out
    assert len(page._images) > 10
    for width in (1000, 700):
        shown.resize(width, 600)
        qtbot.waitUntil(lambda width=width: shown.width() == width)
        room = page.viewport().width()
        assert {page._fitted(name).width() <= room for name in page._images} == {True}
        assert page.horizontalScrollBar().maximum() == 0
    for elsewhere in ("/etc/hostname", "../../tests/x.png", "https://example.org/x.png"):
        assert page.loadResource(kind, QUrl(elsewhere)).isNull()


def test_in_the_dark_theme_pictures_do_not_glare(shown):
    shown.go("panels.md")
    page = shown.page
    page.document().size()
    name = max(page._images, key=lambda name: page._images[name].width())
    light = page._fitted(name)
    page.set_theme(DARK)
    dark = page._fitted(name)
    page.set_theme(LIGHT)
    assert dark.size() == light.size()
    levels = [image.scaled(1, 1).pixelColor(0, 0).lightness() for image in (light, dark)]
    assert levels[1] < 0.8 * levels[0]


def test_only_https_leaves_and_what_leads_nowhere_is_text(shown, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    for link in ("https://huggingface.co/gpt2", "http://example.org", "file:///etc/passwd"):
        shown.page.anchorClicked.emit(QUrl(link))
    assert [url.toString() for url in opened] == ["https://huggingface.co/gpt2"]
    for name in shown.guide.pages:
        shown.go(name)
        html = shown.page.toHtml()
        assert 'href="../' not in html, name


def test_another_theme_keeps_the_place(shown):
    shown.go("panels.md#kernels")
    assert first_block(shown) == "Kernels"
    shown.set_theme(DARK)
    assert first_block(shown) == "Kernels"
    assert DARK.text in shown.page.toHtml()
    assert LIGHT.text not in shown.page.toHtml()


def test_a_hidden_page_has_another_theme_once_it_is_shown(shown):
    shown.go("panels.md#kernels")
    shown.hide()
    shown.set_theme(DARK)
    assert LIGHT.text in shown.page.toHtml()
    shown.show()
    shown.go("panels.md#kernels")
    assert first_block(shown) == "Kernels"
    assert DARK.text in shown.page.toHtml()
    assert LIGHT.text not in shown.page.toHtml()


@pytest.mark.slow
def test_f1_opens_the_guide_at_the_panel_in_use(window, qtbot):
    def press():
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1)
        return address(window.guide.shown)

    window.viewport.interactor.setFocus()
    assert press() == START
    shown = window.guide.shown
    assert shown.isVisible()
    for name, place in (("norms", "panels.md#norms"), ("prompt", "panels.md#prompt")):
        window.focus_on(name)
        assert press() == place
    assert window.guide.shown is shown, "it is one window"
    window.commands.by_name["theme_dark"].trigger()
    assert DARK.text in shown.page.toHtml()


@pytest.mark.slow
def test_f1_shows_the_heading_at_the_top_however_often_it_is_pressed(window, qtbot):
    window.focus_on("lookback")
    for elsewhere in (None, "the-curve.md#selecting-positions", START):
        if elsewhere is not None:
            window.guide.shown.go(elsewhere)
            window.guide.shown.close()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1)
        shown = window.guide.shown
        qtbot.waitExposed(shown)
        assert address(shown) == "panels.md#look-back"
        assert first_block(shown) == "Look back"
        heading = shown.page.cursorRect()
        assert 0 <= heading.top() < 3 * heading.height()


@pytest.mark.slow
def test_another_width_keeps_the_place(shown, qtbot):
    shown.go("panels.md#kernels")
    for width in (700, 1200, 900):
        shown.resize(width, 600)
        qtbot.waitUntil(lambda width=width: shown.width() == width)
        assert first_block(shown) == "Kernels"


def test_f1_over_a_tab_opens_the_guide_at_the_panel_of_its_group(window, qtbot):
    (tabs,) = (bar.tabs for bar in window.findChildren(GroupBar) if bar.isVisible())
    window.viewport.interactor.setFocus()
    titles = [tabs.tabText(at) for at in range(tabs.count())]
    spot = tabs.mapToGlobal(tabs.tabRect(titles.index("Spaces")).center())
    QCursor.setPos(spot)
    qtbot.waitUntil(lambda: QCursor.pos() == spot)
    window.commands.by_name["guide"].trigger()
    title = GROUPS["Spaces"][0].title
    assert address(window.guide.shown) == window.guide.shown.guide.about_panel(title)
    assert address(window.guide.shown) != START


def test_tab_goes_round_all_of_it_and_is_never_trapped(shown):
    shown.go("lessons.md")
    shown.field.setFocus()
    seen = []
    for _ in range(60):
        seen.append(QApplication.focusWidget())
        QTest.keyClick(seen[-1], Qt.Key.Key_Tab)
        if QApplication.focusWidget() is shown.field:
            break
    assert QApplication.focusWidget() is shown.field
    assert {shown.field, shown.contents, shown.page, shown.back, shown.home} <= {*seen}
