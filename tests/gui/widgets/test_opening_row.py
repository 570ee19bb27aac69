"""What the model panel shows while a model is opened and fetched, through real events."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.transfer import TransferProgress
from geometry.models.sources.catalogue import read_catalogue
from geometry.models.sources.source import Source
from gui.side_panels.models.models import ModelPanel
from gui.state.session import Session
from gui.state.values import ModelRow
from gui.style.theme import DARK, LIGHT, SMALL
from gui.widgets.opening_row import FixedText
from tests.gui.on_screen import put_on_screen

TAIL = Qt.TextElideMode.ElideRight
MEDIUM = "openai-community/gpt2-medium"


@pytest.fixture
def panel(qtbot):
    rows = (ModelRow(entry, "online") for entry in read_catalogue())
    recent = map(Source.parse, ("/home/x/run-7", "someone/theirs@v1"))
    session = Session(models=tuple(rows), recent=tuple(recent))
    return put_on_screen(qtbot, ModelPanel(session, LIGHT), 264, 420)


def progress(done=0, total=0, speed=None, waiting=""):
    return TransferProgress("wpe.weight", done, total, speed, waiting)


WAIT = "The Hub is out of order: it answered 503. Trying again in 4 seconds."
STAGES = (
    None,
    progress(),
    progress(98_304, 98_304),
    progress(0, 3_145_728),
    progress(1_230_000, 3_145_728, 2_300_000.0),
    progress(1_230_000, 3_145_728, None, WAIT),
    progress(1_230_000, 3_145_728, 86_400.0),
    progress(0, 9, None, "Trying again."),
    progress(3_145_728, 3_145_728, 2_300_000.0),
    None,
)


def test_opening_shows_what_and_can_be_cancelled(panel, qtbot):
    working = panel.working
    assert not working.isVisible()
    panel.session.opening = Source.parse(MEDIUM)
    assert working.isVisible()
    assert working.name.text() == "Opening gpt2-medium…"
    assert working.bar.maximum() == 0  # nobody knows yet how far it is
    with qtbot.waitSignal(panel.cancelRequested):
        QTest.mouseClick(working.cancel, Qt.MouseButton.LeftButton)
    panel.session.opening = None
    assert not working.isVisible()


def test_a_transfer_tells_how_far_and_how_fast(panel):
    bar, details = panel.working.bar, panel.working.details
    panel.session.opening = Source.parse(MEDIUM)
    shown = []
    for stage in STAGES:
        panel.session.transfer = stage
        text = details.text().replace("\N{NO-BREAK SPACE}", " ")
        shown.append((bar.value() / bar.maximum() if bar.maximum() else None, text))
    assert shown == [
        (None, ""),
        (None, "Requesting wpe.weight…"),
        (None, "Reading wpe.weight…"),
        (0.0, "0.0 of 3.1 MB"),
        (0.391, "1.2 of 3.1 MB · 2.3 MB/s"),
        (0.391, "The Hub is out of order: it answered 503.\nTrying again in 4 seconds."),
        (0.391, "1.2 of 3.1 MB · 86 kB/s"),
        (None, "Trying again."),
        (1.0, "3.1 of 3.1 MB"),
        (None, ""),
    ]
    assert details.accessibleName() == details.text() == ""


def test_nothing_moves_while_a_model_is_fetched(panel):
    """Neither the lines under the mouse nor the buttons, whatever is said of the transfer."""
    session = panel.session
    session.model = SimpleNamespace(source=Source.parse(session.models[-1].entry.id), commit=None)
    bar = panel.list.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0  # the open model is the last one

    def places():
        rects = [panel.list.rect_of(line.source) for line in panel.list.lines()]
        below = [w.geometry() for w in (panel.search, panel.folder, panel.file)]
        return rects, below, panel.minimumSizeHint().width()

    def row():
        working = panel.working
        return [w.geometry() for w in (working, working.name, working.bar, working.cancel)]

    before = places()
    session.opening = Source.parse(MEDIUM)
    rows = []
    for stage in STAGES:
        session.transfer = stage
        QApplication.processEvents()
        assert places() == before
        rows.append(row())
    assert all(one == rows[0] for one in rows)
    session.change(opening=None, transfer=None)
    QApplication.processEvents()
    assert places() == before


def test_open_row_stays_in_sight(panel):
    source, list_ = "distilbert/distilgpt2", panel.list
    panel.session.model = SimpleNamespace(source=Source.parse(source), commit=None)
    assert list_.viewport().rect().contains(list_.rect_of(source))
    list_.verticalScrollBar().setValue(0)
    panel.resize(264, 360)
    panel.session.recent = tuple(Source.parse(f"/home/x/run-{k}") for k in range(4))
    assert list_.viewport().rect().contains(list_.rect_of(source))
    panel.resize(264, 240)
    list_.verticalScrollBar().setValue(0)
    panel.session.recent = panel.session.recent[:1]
    assert list_.verticalScrollBar().value() == 0


def test_digits_do_not_move_what_follows_them(panel):
    """Figures of one width, and spaces as wide where a number is shorter."""
    panel.session.opening = Source.parse(MEDIUM)
    metrics = panel.working.details.fontMetrics()
    widths = set()
    for done in range(0, 19_660_800, 234_567):
        panel.session.transfer = progress(done, 19_660_800, 2_300_000.0)
        widths.add(metrics.horizontalAdvance(panel.working.details.text().split("·")[0]))
    assert len(widths) == 1


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_row_is_painted_in_the_themes_colours(panel, theme):
    panel.set_theme(theme)
    panel.session.opening = Source.parse(MEDIUM)
    panel.session.transfer = STAGES[4]
    for part, color in ((panel.working.name, theme.text), (panel.working.details, theme.muted)):
        image = part.grab().toImage()
        pixels = {image.pixelColor(x, y).name() for x in range(90) for y in range(image.height())}
        assert color in pixels


def test_waiting_row_has_two_lines(panel):
    width, details = panel.minimumSizeHint().width(), panel.working.details
    panel.session.opening = Source.parse(f"someone/{'x' * 90}@{'y' * 90}")

    def lower_half():
        image = details.grab().toImage()
        return image.copy(0, image.height() // 2, image.width(), image.height())

    panel.session.transfer = progress(waiting="It is busy.")
    empty = lower_half()
    panel.session.transfer = progress(waiting="It is busy. Trying again in 4 seconds.")
    assert lower_half() != empty
    panel.session.transfer = progress(waiting=f"{'z' * 300}. Trying again in 4 seconds.")
    QApplication.processEvents()
    assert panel.minimumSizeHint().width() == width <= 264


def test_lines_of_fixed_height_wrap_where_there_is_room_for_more(qtbot):
    text = FixedText(1, SMALL)
    qtbot.addWidget(text)
    metrics = QFontMetrics(text._font())
    words = "one two three four five six"
    text.resize(metrics.horizontalAdvance("one two three fo"), 40)
    text.set_text(words)
    assert text.rows(metrics) == [metrics.elidedText(words, TAIL, text.width())]
    assert text.rows(metrics)[0].endswith("…")
    low = text.sizeHint().height()
    text.set_room(2)
    assert text.sizeHint().height() == 2 * low
    assert text.rows(metrics) == ["one two three", "four five six"]
    text.set_text(words, "and another line")
    assert len(text.rows(metrics)) == 2
    assert text.rows(metrics)[0].endswith("…")
    text.set_text("w" * 100)
    (row,) = text.rows(metrics)
    assert row.endswith("…")
    text.set_text(" ".join([words] * 3))
    assert text.rows(metrics)[0] == "one two three"
    assert text.rows(metrics)[1].startswith("four five")
    assert text.rows(metrics)[1].endswith("…")
    assert text.text() == " ".join([words] * 3)
