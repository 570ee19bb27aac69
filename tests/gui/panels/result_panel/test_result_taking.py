"""What result panels look like, and what can be taken away of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from gui.style.theme import DARK
from tests.gui.panels.result_panel.sum_panel import LEFT, SumPanel

# The header.


def test_the_header_explains_and_gives_way(opened, qtbot):
    header = opened.panel.header
    assert header.formula.text() == SumPanel.formula
    assert header.help.toolTip() == "One sentence. Another one."
    assert header.meaning.isVisible()
    opened.panel.resize(240, 240)
    qtbot.waitUntil(lambda: not header.meaning.isVisible())
    assert header.formula.isVisible()
    assert header.more.isVisible()


def test_controls_move_below_the_formula_when_it_is_narrow(opened, qtbot):
    control = QLabel("a control of some width")
    header = opened.panel.header
    header.add(control)
    QApplication.processEvents()
    beside = control.mapTo(header, QPoint(0, 0)).y()
    opened.panel.resize(240, 240)
    qtbot.waitUntil(lambda: control.mapTo(header, QPoint(0, 0)).y() > beside + 10)


def test_themes(opened):
    opened.panel.set_theme(DARK)
    assert DARK.panel in opened.panel.strip.styleSheet()


# What can be taken away.


def test_right_click_and_button_show_the_menu(opened):
    panel = opened.panel
    at = QPoint(5, 5)
    QApplication.sendEvent(
        panel.content.label,
        QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, panel.content.label.mapToGlobal(at)),
    )
    shown = QApplication.activePopupWidget()
    assert isinstance(shown, QMenu)
    assert [action.text() for action in shown.actions()] == [
        "Save figure…", "Save numbers…", "Copy figure", "Copy as Python",
    ]  # fmt: skip
    shown.close()
    QTest.mouseClick(panel.header.more, LEFT)
    shown = QApplication.activePopupWidget()
    assert isinstance(shown, QMenu)
    shown.close()


def test_no_menu_without_a_result(stage):
    at = QPointF(5, 5).toPoint()
    QApplication.sendEvent(stage.panel, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, at))
    assert QApplication.activePopupWidget() is None


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_figures_are_saved_by_their_ending(opened, monkeypatch, tmp_path, ending, begins):
    path = opened.save(monkeypatch, "Save figure…", tmp_path / f"sum.{ending}")
    assert path.read_bytes().startswith(begins)
    assert opened.session.status == f"Saved {path}"
    again = opened.save(monkeypatch, "Save figure…", tmp_path / f"again.{ending}")
    assert again.read_bytes() == path.read_bytes()


def test_another_ending_gets_one_that_is_known(opened, monkeypatch, tmp_path):
    opened.save(monkeypatch, "Save figure…", tmp_path / "sum.docx")
    assert (tmp_path / "sum.docx.png").exists()


def test_a_figure_that_cannot_be_written_says_why(opened, monkeypatch, tmp_path):
    opened.save(monkeypatch, "Save figure…", tmp_path / "nowhere" / "sum.png")
    assert "cannot be written" in opened.session.notice.text


def test_numbers_are_saved_as_csv_in_full_precision(opened, monkeypatch, tmp_path):
    path = opened.save(monkeypatch, "Save numbers…", tmp_path / "sum.csv")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    total = opened.panel.result[0]
    assert rows[0] == ["sum", "both_1", "both_2"]
    assert [float(cell) for cell in rows[1]] == [total, total, 0.0]
    assert rows[2] == ["", repr(float(-total)), "-0.0"]


def test_numbers_are_saved_as_npz(opened, monkeypatch, tmp_path):
    path = opened.save(monkeypatch, "Save numbers…", tmp_path / "sum.npz")
    with np.load(path) as file:
        assert set(file) == {"sum", "both"}
        assert file["both"].shape == (2, 2)


def test_numbers_that_cannot_be_written_say_why(opened, monkeypatch, tmp_path):
    opened.save(monkeypatch, "Save numbers…", tmp_path / "nowhere" / "sum.csv")
    assert "cannot be written" in opened.session.notice.text


def test_a_cancelled_dialog_saves_nothing(opened, monkeypatch):
    monkeypatch.setattr("gui.export.save_result.QFileDialog.exec", lambda dialog: 0)
    opened.choose("Save figure…")
    assert "Saved" not in opened.session.status


def test_the_figure_is_copied_as_a_picture(opened):
    QApplication.clipboard().clear()
    opened.choose("Copy figure")
    image: QImage = QApplication.clipboard().image()
    assert image.width() > 1000
    assert opened.session.status == "Copied the figure"


def test_python_on_the_clipboard_runs(opened, run_python: Callable[[str], str]):
    printed = run_python(opened.python())
    assert float(printed) == pytest.approx(opened.panel.result[0])


def test_the_suggested_name_is_no_folder(opened, monkeypatch):
    opened.session.model.name = "gpt2@refs/pr/1"
    names = []
    monkeypatch.setattr(
        "gui.export.save_result.QFileDialog.selectFile",
        lambda dialog, name: names.append(Path(name)),
    )
    monkeypatch.setattr("gui.export.save_result.QFileDialog.exec", lambda dialog: 0)
    opened.choose("Save figure…")
    assert names == [Path("gpt2@refs-pr-1 sum.png")]
