"""The model panel with the catalogue, driven as a user drives it."""

from types import SimpleNamespace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.models.sources.catalogue import read_catalogue
from geometry.models.sources.source import Source
from gui.side_panels.models.models import ModelPanel
from gui.state.session import Session
from gui.state.values import ModelRow
from gui.style.theme import LIGHT
from tests.gui.on_screen import put_on_screen

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
GPT2, MEDIUM = "openai-community/gpt2", "openai-community/gpt2-medium"
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def listed():
    """A session with the catalogue, of which one model is here, and two others opened before."""
    states = {GPT2: "cached"}
    rows = (ModelRow(entry, states.get(entry.id, "online")) for entry in read_catalogue())
    recent = map(Source.parse, ("/home/x/checkpoints/run-7", "someone/theirs@v1"))
    return Session(models=tuple(rows), recent=tuple(recent))


def show_models(qtbot, session):
    return put_on_screen(qtbot, ModelPanel(session, LIGHT), 264, 420)


def hear(panel):
    """Note every intent of a panel."""
    heard = []
    panel.openRequested.connect(lambda source: heard.append(("open", source.text)))
    panel.searchRequested.connect(lambda text: heard.append(("search", text)))
    for name in ("update", "folder", "file", "cancel"):
        signal = getattr(panel, f"{name}Requested")
        signal.connect(lambda name=name: heard.append(name))
    return heard


def hear_opened(panel):
    """Note the texts of the sources that a panel asks to open."""
    heard = []
    panel.openRequested.connect(lambda source: heard.append(source.text))
    return heard


def model_of(source, commit=None):
    """Stand in for an open model of a source."""
    return SimpleNamespace(source=Source.parse(source), commit=commit)


def at(panel, title):
    """Where a line is, by its title."""
    view = panel.list
    for row in range(view.model().rowCount()):
        index = view.model().index(row, 0)
        if index.data() == title:
            return view.visualRect(index).center()
    raise AssertionError(f"no line {title!r}")


def click(panel, title, button=LEFT):
    QTest.mouseClick(panel.list.viewport(), button, pos=at(panel, title))


def current(panel):
    """The title of the current line."""
    return panel.list.currentIndex().data()


def titles(panel):
    return [line.title for line in panel.list.lines()]
