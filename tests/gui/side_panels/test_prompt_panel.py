"""The prompt panel, driven with real events."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from geometry.models.tokens import TokenizedPrompt
from gui.side_panels.prompt import PromptPanel
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT
from tests.gui.on_screen import put_on_screen

ADAM = TokenizedPrompt(
    (50256, 15496, 616, 1438, 318, 7244), ("<|endoftext|>", "Hello", " my", " name", " is", " Adam")
)


@pytest.fixture
def session() -> Session:
    made = Session()
    made.model = SimpleNamespace(n_positions=1024)
    return made


@pytest.fixture
def make(qtbot):
    def build(session: Session) -> PromptPanel:
        panel = put_on_screen(qtbot, PromptPanel(session, LIGHT), 280, 260)
        panel.promptRequested.connect(lambda text: setattr(session, "prompt", text))
        panel.selectionRequested.connect(lambda chosen: setattr(session, "selection", chosen))
        panel.hoverRequested.connect(lambda position: setattr(session, "hover", position))
        panel.activateWindow()
        return panel

    return build


@pytest.fixture
def panel(make, session) -> PromptPanel:
    return make(session)


def show_adam(session: Session) -> None:
    session.prompt = "Hello my name is Adam"
    session.tokens = ADAM


def click(panel: PromptPanel, position: int, keys=Qt.KeyboardModifier.NoModifier) -> None:
    spot = panel.flow.box_on_screen(position).center()
    QTest.mouseClick(panel.flow.viewport(), Qt.MouseButton.LeftButton, keys, spot)


def color_at(widget: QWidget, spot: QPoint) -> QColor:
    return widget.grab().toImage().pixelColor(spot)


def test_each_state_says_what_to_do(make, qtbot):
    session = Session()
    panel = make(session)
    assert "Open a model" in panel.sentence.text()
    assert not panel.field.isEnabled()
    session.opening = Source.parse("gpt2")
    assert panel.sentence.text() == "Opening gpt2…"
    session.opening = None
    session.model = SimpleNamespace(n_positions=1024)
    assert panel.field.isEnabled()
    assert panel.sentence.text().startswith("Enter text")
    session.prompt = "Hello"
    qtbot.waitUntil(lambda: panel.sentence.text().startswith("Splitting"))
    session.tokens_missing = "This checkpoint has no tokenizer."
    assert panel.sentence.text() == "This checkpoint has no tokenizer."
    assert panel.sentence.isVisible()
    session.tokens_missing = ""
    session.tokens = ADAM
    assert not panel.sentence.isVisible()
    assert panel.flow.isVisible()


def test_typing_asks_once_after_a_pause(panel, qtbot):
    asked = []
    panel.promptRequested.connect(asked.append)
    panel.field.setFocus()
    with qtbot.waitSignal(panel.promptRequested):
        QTest.keyClicks(panel.field, "Hello my")
        assert asked == []
    assert asked == ["Hello my"]


def test_enter_asks_and_shift_enter_breaks_lines(panel):
    asked = []
    panel.promptRequested.connect(asked.append)
    panel.field.setFocus()
    QTest.keyClicks(panel.field, "a")
    QTest.keyClick(panel.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(panel.field, "b")
    assert asked == []
    QTest.keyClick(panel.field, Qt.Key.Key_Return)
    assert asked == ["a\nb"]
    panel.field.selectAll()
    panel.field.insertPlainText("a\u00a0b  c\n\u3000é ")
    QTest.keyClick(panel.field, Qt.Key.Key_Enter)
    assert asked[1:] == ["a\u00a0b  c\n\u3000é "]


def test_clear_takes_text_and_labels_away_and_focus_takes_typing(panel, session):
    assert not panel.clear.isVisible()
    show_adam(session)
    assert panel.field.exact_text() == "Hello my name is Adam"
    assert panel.clear.isVisible()
    QTest.mouseClick(panel.clear, Qt.MouseButton.LeftButton)
    assert session.prompt == ""
    assert panel.field.exact_text() == ""
    assert not panel.clear.isVisible()
    show_adam(session)
    panel.take_focus()
    assert panel.focusWidget() is panel.field
    QTest.keyClicks(panel.field, "x")
    assert panel.field.exact_text() == "x"


def test_typed_text_stays_and_files_pass(panel, session):
    session.prompt = "from the settings"
    assert panel.field.exact_text() == "from the settings"
    QTest.keyClicks(panel.field, "x")
    session.prompt = "older"
    assert panel.field.exact_text() == "xfrom the settings"
    files = QMimeData()
    files.setUrls([QUrl.fromLocalFile("/folder")])
    assert not panel.field.canInsertFromMimeData(files)
    words = QMimeData()
    words.setText("Hello")
    assert panel.field.canInsertFromMimeData(words)


def test_chips_show_position_and_token_and_the_count_and_what_does_not_fit(panel, session):
    show_adam(session)
    chips = panel.flow.chips
    assert [chip.position for chip in chips] == list(range(6))
    assert chips[2].runs == (("·", True), ("my", False))
    assert [chip.special for chip in chips] == [True] + [False] * 5
    assert panel.count.text() == "6 of 1\u2009024"
    assert panel.surplus.text() == ""
    assert panel.flow.tip(2) == "Position 2 · ·my · token 616"
    assert "beginning-of-text" in panel.flow.tip(0)
    session.prompt = "x"
    session.tokens = TokenizedPrompt((1, 2), ("a", "⟨F0⟩"))
    assert "Part of a character" in panel.flow.tip(1)
    session.prompt = "long"
    session.tokens = TokenizedPrompt((1,) * 1024, ("a",) * 1024, 37)
    assert panel.surplus.text() == "37 too many"
    assert "position 1023" in panel.surplus.toolTip()


def test_hovering_and_leaving_a_chip_and_clicks_select_add_and_extend(panel, session, qtbot):
    show_adam(session)
    with qtbot.waitSignal(panel.hoverRequested, check_params_cb=lambda p: p == 3):
        QTest.mouseMove(panel.flow.viewport(), panel.flow.box_on_screen(3).center())
    with qtbot.waitSignal(panel.hoverRequested, check_params_cb=lambda p: p is None):
        QTest.mouseMove(panel.field)
    assert session.hover is None
    click(panel, 1)
    assert session.selection == (1,)
    click(panel, 3, Qt.KeyboardModifier.ShiftModifier)
    assert session.selection == (1, 3)
    click(panel, 1, Qt.KeyboardModifier.ShiftModifier)
    assert session.selection == (3,)
    click(panel, 5, Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier)
    assert session.selection == (3, 4, 5)
    QTest.mouseClick(
        panel.flow.viewport(),
        Qt.MouseButton.LeftButton,
        pos=panel.flow.viewport().rect().bottomLeft() - QPoint(0, 2),
    )
    assert session.selection == (3, 4, 5)  # beside the chips


def test_arrow_keys_walk_and_tint_tokens(panel, session):
    show_adam(session)
    panel.flow.setFocus()
    walked = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Left):
        QTest.keyClick(panel.flow, key)
        walked.append(session.selection)
    assert walked == [(0,), (1,), (0,), (0,)]
    QTest.keyClick(panel.flow, Qt.Key.Key_End)
    assert session.selection == (5,)
    QTest.keyClick(panel.flow, Qt.Key.Key_Home)
    assert session.selection == (0,)
    inside = panel.flow.box_on_screen(4).topLeft() + QPoint(4, 11)
    for theme in (LIGHT, DARK):
        panel.set_theme(theme)
        session.selection, session.hover = (), None
        plain = color_at(panel.flow.viewport(), inside)
        assert plain.name() == theme.field
        session.selection = (4,)
        selected = color_at(panel.flow.viewport(), inside)
        session.hover = 4
        hovered = color_at(panel.flow.viewport(), inside)
        assert len({plain.name(), selected.name(), hovered.name()}) == 3
        assert hovered.red() > hovered.green()


def test_a_thousand_tokens_scroll_and_chips_wrap_inside_the_width(panel, session):
    session.prompt = "x"
    session.tokens = TokenizedPrompt(tuple(range(1024)), tuple(f" token{i}" for i in range(1024)))
    assert panel.flow.verticalScrollBar().maximum() > 1000
    session.selection = (900,)
    box = panel.flow.box_on_screen(900)
    assert panel.flow.viewport().rect().contains(box)
    click(panel, 901 if panel.flow.box_on_screen(901).top() == box.top() else 899)
    assert session.selection[0] in (899, 901)
    texts = ("[CLS]", "東京", " مرحبا", "\n\n", "x" * 300, " ", "", "a", "[SEP]")
    session.tokens = TokenizedPrompt(tuple(range(9)), texts)
    for width in (240, 280, 420):
        panel.resize(width, 260)
        QGuiApplication.processEvents()
        boxes = [chip.box for chip in panel.flow.chips]
        assert all(box.right() < panel.flow.viewport().width() for box in boxes)
        assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[:i])
        assert panel.flow.chips[4].runs[-1][0].endswith("…")
        assert panel.flow.tip(4).count("x") == 300


def test_a_real_tokenizer(make, session, gpt2_folder):
    session.model = open_model(gpt2_folder)
    panel = make(session)
    QTest.keyClicks(panel.field, "Hello my name is Adam")
    QTest.keyClick(panel.field, Qt.Key.Key_Return)
    session.tokens = session.model.tokenize(session.prompt)
    assert [chip.runs for chip in panel.flow.chips][1:3] == [
        (("Hello", False),),
        (("·", True), ("my", False)),
    ]
    assert session.tokens == ADAM
    assert panel.flow.chips[0].special
