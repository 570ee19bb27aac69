"""Links of lessons: pages by https are opened, everything else is text; there are no pictures."""

import ast

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage

from gui.side_panels.lesson import LessonPanel
from gui.side_panels.lesson_page import LessonPage
from gui.state.session import Session
from gui.style.theme import LIGHT
from gui.widgets import links
from gui.widgets.links import is_web_page, open_web_page
from gui.widgets.markdown_page import blocks, runs
from tests.command_line import ROOT

PAGES = [
    "https://example.org",
    "https://example.org:8443/a/b?c=d&e=f#g",
    "HTTPS://example.org/%E2%82%AC",
    "https://xn--bcher-kva.example/",
]
REFUSED = [
    "",
    "http://example.org",
    "file:///etc/passwd",
    "/etc/passwd",
    "ftp://example.org",
    "ssh://x",
    "javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "smb://host/share",
    "mailto:a@b.c",
    "ms-msdt:/id",
    "https:example.org",
    "https://",
    "https:///etc/passwd",
    "https://a@example.org",
    "https://huggingface.co@example.org/",
    "https://user:word@example.org",
    "//example.org",
    "https://example.org\\@other.org",
    "https://exa mple.org",
    "https://example.org/\x1b[2J",
    "https://example.org/\u202egnp.exe",
    "https://example.org:port/",
    "https://аррӏе.com/",
    "https://[::1",
    "\nhttps://example.org",
    "https\t://example.org",
]


@pytest.fixture
def opened(monkeypatch):
    asked = []
    monkeypatch.setattr(
        links.QDesktopServices, "openUrl", lambda url: asked.append(url.toString()) or True
    )
    return asked


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_opened(address, opened):
    assert is_web_page(address)
    assert open_web_page(address)
    assert len(opened) == 1


@pytest.mark.parametrize("address", REFUSED)
def test_nothing_else_is(address, opened):
    assert not is_web_page(address)
    assert not open_web_page(address)
    assert opened == []


@pytest.fixture
def page(qtbot):
    made = LessonPage(LIGHT)
    qtbot.addWidget(made)
    return made


def targets(page):
    """Of the links that can be followed, in their order."""
    looks = [look for block in blocks(page.document()) for _, _, look in runs(block)]
    assert not any(look.isImageFormat() for look in looks)
    return [look.anchorHref() for look in looks if look.isAnchor()]


def test_other_links_are_text(page):
    text = "\n\n".join(f"[words]({address})" for address in REFUSED if "\n" not in address)
    page.show_text({"": f"{text}\n\n<file:///etc/passwd>\n\nfile:///etc/passwd"})
    assert targets(page) == []
    assert "words" in page.toPlainText()
    page.show_text({"": "[a](https://example.org) [b](panel:shape)", "answer": "x"})
    assert targets(page) == ["https://example.org", "panel:shape", "answer:"]


@pytest.mark.parametrize(
    "picture",
    [
        "![alt](PLACE)",
        "![alt][ref]\n\n[ref]: PLACE",
        "\\\\![alt](PLACE)",
        "[![alt](PLACE)](https://example.org)",
        "<img src='PLACE'>",
        "![alt]\n\n[alt]: PLACE",
    ],
)
def test_no_picture_is_read(page, picture, tmp_path):
    path = tmp_path / "picture.png"
    assert QImage(2, 2, QImage.Format.Format_RGB32).save(str(path))
    for place in (str(path), QUrl.fromLocalFile(str(path)).toString(), "https://example.org/x.png"):
        page.show_text({"": picture.replace("PLACE", place)})
        targets(page)
        assert "\ufffc" not in page.toPlainText()


def test_a_clicked_link_goes_through_the_check(qtbot, opened):
    panel = LessonPanel(Session(), LIGHT)
    qtbot.addWidget(panel)
    for address in ("file:///etc/passwd", "http://example.org", "https://a@example.org"):
        panel.page.linked.emit(QUrl(address))
    assert opened == []
    panel.page.linked.emit(QUrl("https://example.org/a"))
    assert opened == ["https://example.org/a"]
    panel.release()


@pytest.mark.slow
def test_one_module_opens():
    found = set()
    for path in (ROOT / "gui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "id", getattr(node, "attr", getattr(node, "name", "")))
            if name in ("QDesktopServices", "webbrowser", "setOpenExternalLinks", "startfile"):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"gui/widgets/links.py"}
