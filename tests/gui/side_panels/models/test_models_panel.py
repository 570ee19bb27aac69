"""The model panel, through real events, on a small catalogue."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest

from geometry.models.sources.catalogue import CatalogueEntry
from geometry.models.sources.source import Source
from gui.state.session import Session
from gui.state.values import ModelRow
from gui.style.theme import DARK
from gui.widgets.tooltips import LINE
from tests.gui.side_panels.models.models_stage import (
    current,
    hear,
    hear_opened,
    model_of,
    show_models,
    titles,
)


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
    return Session(models=ROWS, recent=tuple(map(Source.parse, RECENT)))


def click(panel, qtbot, source: str, *, twice: bool = False) -> None:
    at = panel.list.rect_of(source).center()
    viewport = panel.list.viewport()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    if twice:
        qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)


def test_recent_paths_then_catalogue(panel):
    catalogue = [row.entry.title for row in ROWS]
    assert titles(panel) == ["run-7", "my-model", *catalogue]
    rows = range(panel.list.model().rowCount())
    texts = [panel.list.model().index(row, 0).data() for row in rows]
    headings = [text for text in texts if text not in titles(panel)]
    assert headings == ["Recent", "OpenAI's GPT-2", "Stanford's GPT-2 small", "Encoders"]
    lines = {line.title: line for line in panel.list.lines()}
    assert lines["run-7"].tip == "/home/x/checkpoints/run-7"
    tip = lines["GPT-2 medium"].tip
    assert "A note about GPT-2 medium." in tip
    assert "768 dimensions" in tip
    assert "only the position table" in tip
    index = panel.list.indexAt(panel.list.rect_of("openai-community/gpt2-medium").center())
    shown = index.data(Qt.ItemDataRole.ToolTipRole)
    assert shown.split() == tip.split()
    assert max(map(len, shown.split("\n"))) <= LINE


def test_clicks_typed_paths_and_buttons_open_and_a_double_click_once(panel, qtbot):
    heard = hear_opened(panel)
    click(panel, qtbot, "openai-community/gpt2")
    click(panel, qtbot, "/home/x/checkpoints/run-7")
    assert heard == ["openai-community/gpt2", "/home/x/checkpoints/run-7"]
    heard = hear_opened(panel)
    QTest.keyClicks(panel.search, "/data/run 8")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    click(panel, qtbot, "/data/run 8")
    assert heard == ["/data/run 8"] * 2
    heard = hear(panel)
    qtbot.mouseClick(panel.folder, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(panel.file, Qt.MouseButton.LeftButton)
    assert heard == ["folder", "file"]
    heard = hear_opened(panel)
    panel.openRequested.connect(lambda source: setattr(panel.session, "opening", source))
    panel.search.clear()
    click(panel, qtbot, "openai-community/gpt2", twice=True)
    assert heard == ["openai-community/gpt2"]


def test_offline_a_click_on_what_is_not_here_explains(panel, qtbot):
    heard = hear_opened(panel)
    panel.session.offline = True
    lines = {line.title: line.state for line in panel.list.lines()}
    assert lines["GPT-2 medium"] == "offline"
    click(panel, qtbot, "openai-community/gpt2-medium")
    assert heard == []
    assert panel.explanation.isVisible()
    assert "GPT-2 medium is not on this machine" in panel.explanation.text()
    click(panel, qtbot, "openai-community/gpt2")
    assert heard == ["openai-community/gpt2"]
    assert not panel.explanation.isVisible()
    click(panel, qtbot, "openai-community/gpt2-medium")
    panel.session.offline = False
    assert not panel.explanation.isVisible()
    click(panel, qtbot, "openai-community/gpt2-medium")
    assert heard[1:] == ["openai-community/gpt2-medium"]


def test_search_filters_the_list(panel):
    for typed, expected in (
        ("gpt2-m", ["GPT-2 medium"]),
        ("GPT-2 SMALL", ["GPT-2 small", "Alias"]),
        ("x21", ["Alias"]),
        ("encoders", ["all-MiniLM-L6-v2"]),
        ("run-7", ["run-7"]),
    ):
        panel.search.clear()
        QTest.keyClicks(panel.search, typed)
        assert titles(panel) == [*expected, f"Search the Hub for “{typed}”"]
    panel.search.clear()
    assert len(titles(panel)) == 6
    QTest.keyClicks(panel.search, "no@where at all")
    assert panel.message.isVisible()
    assert "“no@where at all”" in panel.message.text()
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert panel.search.text() == ""
    assert panel.list.isVisible()


def test_enter_in_the_search_opens_the_marked_line(panel):
    heard = hear_opened(panel)
    QTest.keyClicks(panel.search, "gpt")
    assert current(panel) == "GPT-2 small"
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard == ["openai-community/gpt2"]
    panel.search.setText("medium")
    assert current(panel) == "GPT-2 medium"
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard[1:] == ["openai-community/gpt2-medium"]
    panel.search.clear()
    assert current(panel) is None
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert len(heard) == 2


def test_enter_prefers_what_is_here_while_offline(panel):
    heard = hear_opened(panel)
    panel.session.offline = True
    QTest.keyClicks(panel.search, "stanford")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard == []
    assert "Alias is not on this machine" in panel.explanation.text()
    QTest.keyClick(panel.search, Qt.Key.Key_A)  # another search needs no old explanation
    assert not panel.explanation.isVisible()
    panel.search.setText("e")
    assert current(panel) == "run-7"
    panel.search.setText("gpt")
    assert current(panel) == "GPT-2 small"


def test_the_list_by_keyboard(panel):
    heard = hear_opened(panel)
    QTest.keyClicks(panel.search, "a")
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    lines = panel.list.lines()
    assert heard == [lines[1].source]
    QTest.keyClick(panel.list, Qt.Key.Key_End)
    assert current(panel) == lines[-1].title == "Search the Hub for “a”"
    QTest.keyClick(panel.list, Qt.Key.Key_Up)
    assert current(panel) == lines[-2].title
    QTest.keyClick(panel.list, Qt.Key.Key_Home)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert heard[1:] == [lines[0].source]


def test_the_arrows_step_over_headings_and_the_current_line_stays(panel):
    panel.list.enter()
    seen = []
    for _ in panel.list.lines():
        seen.append(current(panel))
        QTest.keyClick(panel.list, Qt.Key.Key_Down)
    assert seen == titles(panel)
    for title in reversed(titles(panel)):
        assert current(panel) == title
        QTest.keyClick(panel.list, Qt.Key.Key_Up)
    panel.list.enter()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    assert current(panel) == "my-model"
    panel.session.recent = (Source.parse("/another/folder"), *panel.session.recent)
    assert current(panel) == "my-model"


def test_the_open_model_is_in_sight(panel):
    session = panel.session
    last = session.models[-1].entry.id
    panel.resize(280, 200)
    assert not panel.list.viewport().rect().contains(panel.list.rect_of(last).center())
    session.model = model_of(last)
    assert panel.list.viewport().rect().contains(panel.list.rect_of(last).center())
    session.recent = (Source.parse("/somewhere/else"),)  # the list is made anew
    assert panel.list.viewport().rect().contains(panel.list.rect_of(last).center())
    QTest.keyClicks(panel.search, "gpt")
    panel.session.model = model_of(last)
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert panel.list.viewport().rect().contains(panel.list.rect_of(last))


def test_what_was_searched_and_opened_hides_the_catalogue_no_longer(panel):
    QTest.keyClicks(panel.search, "alias")
    assert titles(panel)[0] == "Alias"
    heard = hear_opened(panel)
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    (source,) = heard
    assert panel.search.text() == "alias", "it may fail, and be corrected"
    panel.session.model = model_of(source)
    assert panel.search.text() == ""
    assert {"GPT-2 small", "Alias"} <= {*titles(panel)}
    assert panel.list.viewport().rect().contains(panel.list.rect_of(source).center())
    QTest.keyClicks(panel.search, "gpt")
    panel.session.model = model_of(RECENT[0])  # opened elsewhere
    assert panel.search.text() == "gpt"


def test_focus_search_takes_the_focus_and_selects(panel, qtbot):
    panel.search.setText("gpt")
    panel.activateWindow()
    panel.take_focus()
    qtbot.waitUntil(panel.search.hasFocus)
    assert panel.search.selectedText() == "gpt"


def test_marks_the_open_model_or_folder_which_is_not_opened_again(panel, qtbot):
    assert panel.list.open_lines() == ()
    panel.session.model = model_of("gpt2")
    assert [line.title for line in panel.list.open_lines()] == ["GPT-2 small"]
    panel.session.model = model_of("stanford-crfm/alias-gpt2-small-x21")
    assert [line.title for line in panel.list.open_lines()] == ["Alias"]
    panel.session.model = model_of(RECENT[0])
    panel.session.recent = panel.session.recent[:1]
    panel.session.models = ROWS[:2]
    assert [line.title for line in panel.list.open_lines()] == ["run-7"]
    heard = hear_opened(panel)
    first = panel.list.rect_of(panel.list.lines()[0].source)
    at = first.center()
    at.setY(first.top() - 8)
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert heard == []
    assert not panel.explanation.isVisible()
    panel.session.model = model_of("openai-community/gpt2")
    click(panel, qtbot, "openai-community/gpt2")
    assert heard == []


def test_with_nothing_to_list_it_says_what_to_do(qtbot):
    panel = show_models(qtbot, Session())
    assert panel.message.isVisible()
    assert "Open a folder or file" in panel.message.text()
    panel.session.models = ROWS
    assert panel.list.isVisible()


def test_fits_the_left_column_and_paints_in_the_dark(panel, dress):
    dress(DARK)
    panel.set_theme(DARK)
    panel.resize(240, 200)
    assert panel.minimumSizeHint().width() <= 240
    assert panel.minimumHeight() <= 200
    list_middle = panel.list.grab().toImage()
    assert list_middle.pixelColor(list_middle.width() // 2, 3).lightness() < 60


def test_digits_and_letters_are_left_to_the_window(panel):
    """By which Qt would look for a line; 0 to 9 are views."""
    for key, text in ((Qt.Key.Key_0, "0"), (Qt.Key.Key_7, "7"), (Qt.Key.Key_F, "f")):
        event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier, text)
        panel.list.keyPressEvent(event)
        assert not event.isAccepted()
    event = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier)
    panel.list.keyPressEvent(event)
    assert event.isAccepted()
