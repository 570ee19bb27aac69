"""The model panel, through real events, on a small catalogue."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.catalogue import CatalogueEntry, read_catalogue
from gui.panels.model_rows import list_groups, matches, source_title
from gui.panels.models import ModelPanel
from gui.session import ModelRow, Session
from gui.theme import DARK, LIGHT, stylesheet


def row(identity: str, title: str, group: str, state: str) -> ModelRow:
    entry = CatalogueEntry(identity, title, group, 1024, 768, f"A note about {title}.")
    return ModelRow(entry, state)


ROWS = (
    row("openai-community/gpt2", "GPT-2 small", "OpenAI's GPT-2", "cached"),
    row("openai-community/gpt2-medium", "GPT-2 medium", "OpenAI's GPT-2", "online"),
    row("stanford-crfm/alias-gpt2-small-x21", "Alias", "Stanford's GPT-2 small", "online"),
    row("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2", "Encoders", "installed"),
)
RECENT = ("/home/x/checkpoints/run-7", "/data/my-model/model.safetensors", ROWS[0].entry.id)


@pytest.fixture
def session() -> Session:
    return Session(models=ROWS, recent=RECENT)


@pytest.fixture
def panel(qtbot, session):
    return shown(qtbot, session)


def shown(qtbot, session):
    panel = ModelPanel(session, LIGHT)
    qtbot.addWidget(panel, before_close_func=lambda closing: closing.release())
    panel.resize(280, 420)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def record(panel) -> list:
    """Note every intent of the panel."""
    heard: list = []
    panel.openRequested.connect(heard.append)
    panel.folderRequested.connect(lambda: heard.append("folder…"))
    panel.fileRequested.connect(lambda: heard.append("file…"))
    panel.cancelRequested.connect(lambda: heard.append("cancel"))
    return heard


def click(panel, qtbot, source: str, *, twice: bool = False) -> None:
    at = panel.list.rect_of(source).center()
    viewport = panel.list.viewport()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    if twice:
        qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)


def titles(panel) -> list[str]:
    return [line.title for line in panel.list.lines()]


def test_lists_recent_paths_then_the_catalogue_in_its_groups(panel):
    assert titles(panel) == [
        "run-7",
        "model.safetensors",
        "GPT-2 small",
        "GPT-2 medium",
        "Alias",
        "all-MiniLM-L6-v2",
    ]
    groups = [group.title for group in list_groups(ROWS, RECENT)]
    assert groups == ["Recent", "OpenAI's GPT-2", "Stanford's GPT-2 small", "Encoders"]


def test_each_line_says_where_the_model_is(panel):
    states = {line.title: line.state for line in panel.list.lines()}
    assert states["GPT-2 small"] == "cached"
    assert states["GPT-2 medium"] == "not here yet"
    assert states["all-MiniLM-L6-v2"] == "here"
    assert states["run-7"] == "checkpoints"


def test_the_tooltip_has_the_rest(panel):
    lines = {line.title: line for line in panel.list.lines()}
    assert lines["run-7"].tip == "/home/x/checkpoints/run-7"
    tip = lines["GPT-2 medium"].tip
    assert "A note about GPT-2 medium." in tip
    assert "768 dimensions" in tip
    assert "not on this machine yet" in tip.casefold()


def test_a_click_opens(panel, qtbot):
    heard = record(panel)
    click(panel, qtbot, "openai-community/gpt2")
    click(panel, qtbot, "/home/x/checkpoints/run-7")
    assert heard == ["openai-community/gpt2", "/home/x/checkpoints/run-7"]


def test_a_double_click_opens_once(panel, qtbot):
    heard = record(panel)
    panel.openRequested.connect(lambda source: setattr(panel.session, "opening", source))
    click(panel, qtbot, "openai-community/gpt2", twice=True)
    assert heard == ["openai-community/gpt2"]


def test_clicking_what_is_not_here_explains(panel, qtbot):
    heard = record(panel)
    assert not panel.explanation.isVisible()
    click(panel, qtbot, "openai-community/gpt2-medium")
    assert heard == []
    assert panel.explanation.isVisible()
    assert "GPT-2 medium is not on this machine yet" in panel.explanation.text()
    assert "open their folder" in panel.explanation.text()
    click(panel, qtbot, "openai-community/gpt2")
    assert not panel.explanation.isVisible()


def test_a_heading_does_nothing(panel, qtbot):
    heard = record(panel)
    first = panel.list.rect_of(panel.list.lines()[0].source)
    at = first.center()
    at.setY(first.top() - 8)
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert heard == []
    assert not panel.explanation.isVisible()


def test_search_filters_by_title_id_and_group(panel):
    for typed, expected in (
        ("gpt2-m", ["GPT-2 medium"]),
        ("GPT-2 SMALL", ["GPT-2 small", "Alias"]),
        ("x21", ["Alias"]),
        ("encoders", ["all-MiniLM-L6-v2"]),
        ("run-7", ["run-7"]),
    ):
        panel.search.clear()
        QTest.keyClicks(panel.search, typed)
        assert titles(panel) == expected
    panel.search.clear()
    assert len(titles(panel)) == 6
    assert matches("all-minilm-l6-v2", "mini v2")


def test_a_search_without_result_says_so(panel):
    QTest.keyClicks(panel.search, "qwertz")
    assert panel.message.isVisible()
    assert "“qwertz”" in panel.message.text()
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert panel.search.text() == ""
    assert panel.list.isVisible()


def test_enter_in_the_search_opens_the_first_that_is_here(panel):
    heard = record(panel)
    QTest.keyClicks(panel.search, "gpt")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard == ["openai-community/gpt2"]
    panel.search.setText("medium")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert len(heard) == 1
    assert panel.explanation.isVisible()


def test_the_list_by_keyboard(panel):
    heard = record(panel)
    QTest.keyClicks(panel.search, "a")
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    lines = panel.list.lines()
    assert heard == [lines[1].source]
    QTest.keyClick(panel.list, Qt.Key.Key_End)
    QTest.keyClick(panel.list, Qt.Key.Key_Up)
    assert panel.list.currentIndex().data() == lines[-2].title
    QTest.keyClick(panel.list, Qt.Key.Key_Home)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert heard[1:] == [lines[0].source]


def test_the_open_model_is_in_sight(panel):
    session = panel.session
    last = session.models[-1].entry.id
    panel.resize(280, 200)
    assert not panel.list.viewport().rect().contains(panel.list.rect_of(last).center())
    session.model = SimpleNamespace(source=last)
    assert panel.list.viewport().rect().contains(panel.list.rect_of(last).center())
    session.recent = ("/somewhere/else",)  # the list is made anew
    assert panel.list.viewport().rect().contains(panel.list.rect_of(last).center())


def test_focus_search_takes_the_focus_and_selects(panel, qtbot):
    panel.search.setText("gpt")
    panel.activateWindow()
    panel.focus_search()
    qtbot.waitUntil(panel.search.hasFocus)
    assert panel.search.selectedText() == "gpt"


@pytest.mark.parametrize("source", ["openai-community/gpt2", "gpt2", "GPT2"])
def test_marks_the_open_model(panel, source):
    panel.session.model = SimpleNamespace(source=source, n_positions=1024, d_model=768)
    assert [line.title for line in panel.list.open_lines()] == ["GPT-2 small"]


def test_marks_an_open_folder_and_keeps_the_mark(panel):
    panel.session.model = SimpleNamespace(source=RECENT[0], n_positions=8, d_model=4)
    panel.session.recent = RECENT[:1]
    panel.session.models = ROWS[:2]
    assert [line.title for line in panel.list.open_lines()] == ["run-7"]


def test_the_open_model_is_not_opened_again(panel, qtbot):
    heard = record(panel)
    panel.session.model = SimpleNamespace(source="openai-community/gpt2")
    click(panel, qtbot, "openai-community/gpt2")
    assert heard == []


def test_opening_shows_what_and_can_be_cancelled(panel, qtbot):
    heard = record(panel)
    assert not panel.cancel.isVisible()
    panel.session.opening = "openai-community/gpt2"
    assert panel.cancel.isVisible()
    assert panel.opening.text() == "Opening GPT-2 small…"
    qtbot.mouseClick(panel.cancel, Qt.MouseButton.LeftButton)
    assert heard == ["cancel"]
    panel.session.opening = ""
    assert not panel.cancel.isVisible()


def test_the_buttons_ask_for_a_folder_and_a_file(panel, qtbot):
    heard = record(panel)
    qtbot.mouseClick(panel.folder, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(panel.file, Qt.MouseButton.LeftButton)
    assert heard == ["folder…", "file…"]


def test_with_nothing_to_list_it_says_what_to_do(qtbot):
    panel = shown(qtbot, Session())
    assert panel.message.isVisible()
    assert "Open a folder or a file" in panel.message.text()
    panel.session.models = ROWS
    assert panel.list.isVisible()


def test_a_snapshot_in_the_hub_cache_is_called_by_its_model():
    path = "/c/hub/models--someone--my-gpt/snapshots/0123abcd"
    assert source_title(path, ROWS) == "my-gpt"
    assert source_title("C:\\", ()) == "C:\\"


def test_the_whole_catalogue_is_listed(qtbot):
    rows = tuple(ModelRow(entry, "online") for entry in read_catalogue())
    panel = shown(qtbot, Session(models=rows))
    assert titles(panel) == [entry.title for entry in read_catalogue()]


def test_fits_the_left_column_and_paints_in_the_dark(panel):
    QApplication.instance().setStyleSheet(stylesheet(DARK))
    panel.set_theme(DARK)
    panel.resize(240, 200)
    assert panel.minimumSizeHint().width() <= 240
    assert panel.minimumHeight() <= 200
    list_middle = panel.list.grab().toImage()
    assert list_middle.pixelColor(list_middle.width() // 2, 3).lightness() < 60
    QApplication.instance().setStyleSheet("")


def test_a_released_panel_hears_nothing(panel):
    panel.release()
    panel.session.models = ()
    assert len(titles(panel)) == 6
