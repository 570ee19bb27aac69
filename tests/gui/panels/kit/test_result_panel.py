"""Panels of results with the least spec: four states, when they ask, what can be taken away."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from geometry.checkpoints.errors import HelixscopeError, TensorUnavailable
from geometry.models.sources.source import Source
from gui.panels.kit.panel import CANCELLED
from gui.services.questions import Progress
from gui.style.theme import DARK, LIGHT
from gui.widgets.working_strip import CANCELLED as STOPPED
from tests.gui.on_screen import ask_menu
from tests.gui.panels.kit.sum_panel import FAILURES, SumBody, SumOf, SumPanel
from tests.gui.result_stage import LEFT, ResultStage

SUM = SumPanel()


@pytest.fixture(autouse=True)
def no_failures():
    FAILURES.clear()


@pytest.fixture
def stage(qtbot):
    return ResultStage(qtbot, SUM)


@pytest.fixture
def opened(stage_of, helix_table):
    """The panel with the small helix open."""
    return stage_of(SUM, helix_table)


@pytest.fixture
def slow(qtbot, hand_jobs, write_table, dress):
    """A panel with the small helix open, whose answers come when the test says so."""
    dress(LIGHT)
    stage = ResultStage(qtbot, SUM, hand_jobs)
    stage.open(write_table())
    return stage


def words(panel):
    return panel.words.message.text() if panel.words.message.isVisible() else ""


def test_opening_says_so_and_there_is_no_menu_without_a_result(stage):
    stage.session.opening = Source.parse("somebody/gpt2")
    assert words(stage.panel) == "Opening gpt2…"
    stage.session.opening = None
    assert words(stage.panel) == SumPanel.empty
    assert ask_menu(stage.panel, QPoint(5, 5)) is None


def test_a_result_is_shown_with_its_caption_whatever_other_slots_answer(opened, helix):
    panel = opened.panel
    assert panel.content.label.isVisible()
    assert panel.content.label.text() == f"{helix()[:, 0].sum():.3f}"
    assert panel.caption() == "column 0"
    assert not panel.words.message.isVisible()
    assert not panel.strip.isVisible()
    opened.answers.ask("other", SumOf(7))
    assert opened.panel.view().question == SumOf(0)


def covers_nothing(panel):
    """Whether the progress is off the result and all controls, and the caption ends before it."""
    strip, header = panel.strip.geometry(), panel.header
    others = [header.more, header.help, panel.parts.holder, *panel.controls.widgets.values()]
    places = [
        QRect(one.mapTo(panel, QPoint(0, 0)), one.size()) for one in others if one.isVisible()
    ]
    assert not any(strip.intersects(place) for place in places)
    end = header.caption.mapTo(panel, QPoint(header.caption.width() - header.caption.kept, 0))
    return end.x() <= strip.left() and panel.rect().contains(strip)


def test_work_is_told_of_once_it_takes_a_moment(slow, hand_jobs):
    (job,) = hand_jobs.waiting
    panel = slow.panel
    assert not panel.strip.isVisible()
    hand_jobs.drag_on(job)
    assert panel.strip.isVisible()
    assert panel.strip.message.text() == "Computing…"
    assert panel.strip.bar.maximum() == 0
    hand_jobs.tell(job, Progress(0.25, "Adding up"))
    assert panel.strip.message.text() == "Adding up…"
    assert panel.strip.bar.value() == panel.strip.bar.maximum() / 4
    middle = panel.parts.holder.geometry().center()
    assert (panel.strip.geometry().center() - middle).manhattanLength() <= 2
    hand_jobs.deliver_all()
    assert not panel.strip.isVisible()
    assert panel.content.label.isVisible()


def test_what_is_known_of_a_result_is_shown_but_not_taken_away(slow, hand_jobs):
    (job,) = hand_jobs.waiting
    hand_jobs.drag_on(job)
    hand_jobs.tell(job, Progress(0.5, "Adding up", np.array([1.5, 0.0])))
    panel = slow.panel
    assert panel.content.label.isVisible()
    assert panel.content.label.text() == "1.500"
    assert panel.strip.isVisible()
    panel.header.add(QLabel("a wide control " * 4))
    heights = set()
    for width in (1200, 480, 1200):  # the header has fewer and more rows
        panel.resize(width, 300)
        QApplication.processEvents()
        assert covers_nothing(panel), width
        caption = panel.header.caption
        row = caption.mapTo(panel, caption.rect().center())
        assert abs(panel.strip.geometry().center().y() - row.y()) <= 2
        heights.add(panel.header.height())
    assert len(heights) > 1
    assert not panel.header.more.isEnabled()
    assert ask_menu(panel, QPoint(5, 5)) is None
    hand_jobs.deliver_all()
    assert panel.content.label.text() != "1.500"
    assert panel.header.more.isEnabled()


@pytest.mark.parametrize("by_key", [True, False])
def test_cancel_and_compute_again(slow, hand_jobs, by_key):
    """Here in a window of its own, as a panel that floats is."""
    slow.panel.setFocus()
    QTest.keyClick(slow.panel, Qt.Key.Key_Escape)  # before there is anything to see
    assert hand_jobs.waiting
    hand_jobs.drag_on(next(iter(hand_jobs.waiting)))
    if by_key:
        QTest.keyClick(slow.panel, Qt.Key.Key_Escape)
    else:
        QTest.mouseClick(slow.panel.strip.cancel, LEFT)
    assert not hand_jobs.waiting
    assert words(slow.panel) == CANCELLED
    assert slow.panel.words.button.text() == "Compute"
    slow.panel.ask()  # a listener that fires does not begin it anew
    assert not hand_jobs.waiting
    QTest.mouseClick(slow.panel.words.button, LEFT)
    hand_jobs.deliver_all()
    assert slow.panel.content.label.isVisible()


def test_cancelling_keeps_what_was_shown(slow, hand_jobs):
    panel = slow.panel
    (job,) = hand_jobs.waiting
    hand_jobs.drag_on(job)
    hand_jobs.tell(job, Progress(0.5, "Adding up", np.array([1.5, 0.0])))
    QTest.mouseClick(panel.strip.cancel, LEFT)
    assert panel.content.label.isVisible()
    assert panel.content.label.text() == "1.500"
    assert panel.strip.message.text() == STOPPED
    assert not panel.header.more.isEnabled()  # partial results are not saved
    panel.setFocus()
    QTest.keyClick(panel, Qt.Key.Key_Escape)  # there is nothing left to give up
    assert panel.content.label.isVisible()
    QTest.mouseClick(panel.strip.again, LEFT)
    hand_jobs.drag_on(next(iter(hand_jobs.waiting)))
    assert panel.strip.bar.isVisible()
    assert not panel.strip.again.isVisible()
    hand_jobs.deliver_all()
    assert not panel.strip.isVisible()
    before = panel.content.label.text()
    panel.configure(column=3)
    hand_jobs.drag_on(next(iter(hand_jobs.waiting)))
    assert slow.controller.cancel()
    assert panel.content.label.text() == before
    assert panel.strip.isVisible()
    assert panel.header.more.isEnabled()
    panel.configure(column=0)  # of which the answer is known
    assert not panel.strip.isVisible()


def test_not_possible_says_why_and_whether_it_can_be_tried_again(stage, write_table):
    FAILURES.append(TensorUnavailable("no such column in this checkpoint", "Open the full one."))
    stage.open(write_table())
    assert words(stage.panel) == "No such column in this checkpoint."
    assert stage.panel.words.advice.text() == "Open the full one. Other columns still work."
    assert not stage.panel.words.button.isVisible()
    assert not stage.panel.header.more.isEnabled()
    FAILURES.append(HelixscopeError("The line is down."))
    stage.open(write_table())
    assert stage.panel.words.button.text() == "Try again"
    FAILURES.clear()
    QTest.mouseClick(stage.panel.words.button, LEFT)
    assert stage.panel.content.label.isVisible()


def test_a_large_download_is_agreed_to(stage, write_table, monkeypatch):
    monkeypatch.setattr(SumOf, "tensors", lambda self: (("W_E", 0),), raising=False)
    asked = []

    def nbytes(matrices):
        asked.extend(matrices)
        return 154_389_504

    path = write_table()
    stage.panel.hide()
    stage.open(path)
    stage.session.model.bytes_to_fetch_for = nbytes
    stage.panel.show()
    assert words(stage.panel) == "This needs 154 MB from the Hub.".replace(" MB", "\xa0MB")
    assert asked == [("W_E", 0)]
    QTest.mouseClick(stage.panel.words.button, LEFT)
    assert stage.panel.content.label.isVisible()


def test_a_hidden_panel_asks_nothing_until_it_is_shown(qtbot, hand_jobs, write_table):
    stage = ResultStage(qtbot, SUM, hand_jobs, show=False)
    stage.open(write_table())
    assert not hand_jobs.started
    stage.panel.show()
    assert len(hand_jobs.started) == 1


@pytest.mark.parametrize("behind_a_tab", [False, True])
def test_a_hidden_panel_is_drawn_once_it_is_shown(opened, monkeypatch, behind_a_tab):
    panel, drawn = opened.panel, []

    def show(seen):
        (panel.set_in_front if behind_a_tab else panel.setVisible)(seen)

    draw = panel.content.draw
    monkeypatch.setattr(panel.content, "draw", lambda view: (drawn.append(view.theme), draw(view)))
    show(False)
    panel.set_theme(DARK)
    panel.set_theme(LIGHT)
    panel.set_theme(DARK)
    assert not drawn
    show(True)
    assert drawn == [DARK]
    assert panel.content.theme is DARK
    show(False)
    show(True)
    assert drawn == [DARK]  # nothing has changed meanwhile
    # A theme that was chosen while there was no result is that of the next one.
    FAILURES.append(HelixscopeError("No sum.", ""))
    panel.configure(column=1)
    show(False)
    panel.set_theme(LIGHT)
    show(True)
    assert panel.content.theme is LIGHT


def test_the_old_result_stays_until_there_is_another(slow, hand_jobs):
    hand_jobs.deliver_all()
    slow.panel.configure(column=3)
    hand_jobs.drag_on(next(iter(hand_jobs.waiting)))
    panel = slow.panel
    assert panel.content.label.isVisible()
    assert panel.strip.isVisible()
    assert covers_nothing(panel)
    assert panel.view().question == SumOf(0)
    hand_jobs.deliver_all()
    assert panel.view().question == SumOf(3)
    assert panel.caption() == "column 3"


def test_it_asks_only_when_its_question_changes(slow, hand_jobs):
    slow.panel.set_in_front(False)
    slow.panel.set_in_front(True)  # it goes on, and does not begin anew
    hand_jobs.deliver_all()
    slow.panel.ask()
    slow.panel.set_in_front(False)
    slow.panel.set_in_front(True)
    assert len(hand_jobs.started) == 1
    slow.panel.configure(column=1)
    assert len(hand_jobs.started) == 2


def test_another_model_is_asked_about_and_the_old_result_goes(slow, hand_jobs, write_table, helix):
    hand_jobs.deliver_all()
    slow.open(write_table(helix(50), "short"))
    assert slow.panel.result is None
    assert not slow.panel.content.label.isVisible()
    hand_jobs.deliver_all()
    assert slow.panel.content.label.text() == f"{helix(50)[:, 0].sum():.3f}"
    assert len(slow.panel.findChildren(SumBody)) == 1


def test_the_header_explains_and_gives_way(stage, write_table, qtbot):
    stage.open(write_table())
    header = stage.panel.header
    assert header.formula.text() == SumPanel.formula
    assert header.help.toolTip() == "One sentence. Another one."
    assert header.meaning.isVisible()
    control = QLabel("a control of some width")
    header.add(control)
    QApplication.processEvents()
    beside = control.mapTo(header, QPoint(0, 0)).y()
    stage.panel.resize(240, 240)
    qtbot.waitUntil(lambda: not header.meaning.isVisible())
    assert header.formula.isVisible()
    assert header.more.isVisible()
    qtbot.waitUntil(lambda: control.mapTo(header, QPoint(0, 0)).y() > beside + 10)


def test_a_menu_opened_over_another_leaves_none_behind(opened):
    panel = opened.panel
    for _ in range(3):
        panel.header.menuRequested.emit(panel.mapToGlobal(QPoint(5, 5)))
    assert len(panel.findChildren(QMenu)) == 3
    while (shown := QApplication.activePopupWidget()) is not None:
        shown.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert panel.findChildren(QMenu) == []


def test_menu_and_copied_figure_in_any_theme(opened):
    panel = opened.panel
    shown = ask_menu(panel.content.label, QPoint(5, 5))
    assert isinstance(shown, QMenu)
    widths = [f"Save figure as wide as a {part}…" for part in ("column", "page")]
    texts = ["Save figure…", *widths, "Save numbers…", "Copy figure", "Copy as Python"]
    assert [action.text() for action in shown.actions()] == texts
    shown.close()
    QTest.mouseClick(panel.header.more, LEFT)
    shown = QApplication.activePopupWidget()
    assert isinstance(shown, QMenu)
    shown.close()
    QApplication.clipboard().clear()
    opened.choose("Copy figure")
    image: QImage = QApplication.clipboard().image()
    assert image.width() > 1000
    assert opened.session.status == "Copied the figure"
    opened.panel.set_theme(DARK)
    assert opened.panel.strip.message._color.name() == DARK.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_figures_are_saved_by_their_ending(opened, monkeypatch, tmp_path, ending, begins):
    path = opened.save(monkeypatch, "Save figure…", tmp_path / f"sum.{ending}")
    assert path.read_bytes().startswith(begins)
    assert opened.session.status == f"Saved {path}"
    again = opened.save(monkeypatch, "Save figure…", tmp_path / f"again.{ending}")
    assert again.read_bytes() == path.read_bytes()


def test_figure_endings_and_unwritable_folder(opened, monkeypatch, tmp_path):
    opened.save(monkeypatch, "Save figure…", tmp_path / "sum.docx")
    assert (tmp_path / "sum.docx.png").exists()
    opened.save(monkeypatch, "Save figure…", tmp_path / "nowhere" / "sum.png")
    assert "cannot be written" in opened.session.notice.text


def test_numbers_as_csv_and_npz_or_a_notice(opened, monkeypatch, tmp_path):
    path = opened.save(monkeypatch, "Save numbers…", tmp_path / "sum.csv")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    total = opened.panel.result[0]
    assert rows[0] == ["sum", "both_1", "both_2"]
    assert [float(cell) for cell in rows[1]] == [total, total, 0.0]
    assert rows[2] == ["", repr(float(-total)), "-0.0"]
    path = opened.save(monkeypatch, "Save numbers…", tmp_path / "sum.npz")
    with np.load(path) as file:
        assert set(file) == {"sum", "both"}
        assert file["both"].shape == (2, 2)
    opened.save(monkeypatch, "Save numbers…", tmp_path / "nowhere" / "sum.csv")
    assert "cannot be written" in opened.session.notice.text


def test_suggested_name_and_cancelled_dialog(opened, monkeypatch):
    monkeypatch.setattr(opened.session.model, "name", "gpt2@refs/pr/1")
    names = []
    monkeypatch.setattr(
        "gui.export.save_result.QFileDialog.selectFile",
        lambda dialog, name: names.append(Path(name)),
    )
    monkeypatch.setattr("gui.export.save_result.QFileDialog.exec", lambda dialog: 0)
    opened.choose("Save figure…")
    assert names == [Path("gpt2@refs-pr-1 sum.png")]
    assert "Saved" not in opened.session.status
