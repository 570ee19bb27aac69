"""The position table is chosen in the window, by mouse and keys, for the open model and others."""

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from gui.window import table_choice
from tests.bare_models import NAME, write_bare
from tests.small_models import write_model

LEFT = Qt.MouseButton.LeftButton
CHOICE = f"{NAME};first-rows=2"


@pytest.fixture
def choose(window, settle, qtbot):
    """Click the notice’s button, and choose rows in the dialog by keys; with None leave it."""

    def chosen(first):
        def act():
            dialog = QApplication.activeModalWidget()
            if first is None:
                QTest.keyClick(dialog, Qt.Key.Key_Escape)
                return
            QTest.keyClick(dialog.rows.button(first), Qt.Key.Key_Space)
            QTest.keyClick(dialog.rows.button(first), Qt.Key.Key_Return)

        QTimer.singleShot(0, act)
        qtbot.mouseClick(window.notice_bar.tables_button, LEFT)
        settle()

    return chosen


def picture_in(dialog):
    """The picture of the first tensor, which is transparent before it is drawn."""
    return dialog.list.topLevelItem(0).icon(0).pixmap(dialog.list.iconSize()).toImage()


@pytest.fixture
def bare(tmp_path):
    return [write_bare(tmp_path / f"{name}.safetensors", seed) for seed, name in enumerate("ab")]


@pytest.mark.slow
def test_the_open_model_and_those_beside_it(window, settle, choose, bare, qtbot):
    session, bar = window.session, window.notice_bar
    before = session.model
    window.controller.open(bare[0])
    settle()
    assert bar.tables_button.isVisible()
    choose(None)
    assert session.model is before
    assert bar.tables_button.isVisible()  # it can be asked again
    choose(2)
    assert (session.model.source.text, session.model.table_choice) == (bare[0], CHOICE)
    assert not bar.tables_button.isVisible()
    window.add_beside(bare[1])
    settle()
    assert bar.tables_button.isVisible()
    choose(0)
    (other,) = session.others
    assert other.session.model.table_choice == f"{NAME};first-rows=0"
    assert "rows from 0" in window.grid.cells[other.key].facts.toolTip()
    assert session.model.table_choice == CHOICE
    window.undo.undo()
    assert session.others == ()


def test_what_waited_for_the_choice_is_shown_beside(window, settle, choose, bare, write_table):
    session, table = window.session, str(write_table())
    window.side_by_side.show_several("comparing", [Source.parse(bare[0]), Source.parse(table)])
    settle()
    choose(2)
    assert session.model.source.text == bare[0]
    assert [one.session.model.source.text for one in session.others] == [table]


def test_what_waited_is_forgotten_with_its_notice(window, settle, choose, bare, write_table):
    session = window.session
    window.side_by_side.show_several(
        "comparing", [Source.parse(bare[0]), Source.parse(str(write_table()))]
    )
    settle()
    session.notice = None
    window.controller.open(bare[0])
    settle()
    choose(2)
    assert session.model.source.text == bare[0]
    assert session.others == ()


def test_the_command_asks_again(window, settle, choose, bare):
    forget = window.commands.by_name["forget_table"]
    window.controller.open(bare[0])
    settle()
    choose(2)
    assert forget.isEnabled()
    forget.trigger()
    settle()
    choose(0)
    assert window.session.model.table_choice == f"{NAME};first-rows=0"
    window.controller.open("sinusoidal:40x16")
    settle()
    assert not forget.isEnabled()


def test_the_open_model_is_read_as_another_family(window, settle, bare, qtbot):
    """By the command, with what was chosen before; a curve is drawn for each tensor in view."""
    window.controller.open(bare[0], table="family=roberta")
    settle()
    assert window.session.model.n_positions == 40
    seen = []

    def act():
        dialog = QApplication.activeModalWidget()
        if dialog is None or not picture_in(dialog).pixelColor(1, 1).alpha():
            QTimer.singleShot(10, act)  # it is drawn on a thread
            return
        seen.append((dialog.family.text(), dialog.list.topLevelItem(0).text(0)))
        dialog.family.clear()
        QTest.keyClicks(dialog.family, "bert")
        QTest.mouseClick(dialog.choose, LEFT)

    QTimer.singleShot(0, act)
    window.commands.by_name["choose_table"].trigger()
    settle()
    qtbot.waitUntil(lambda: bool(seen))
    settle()
    assert seen == [("roberta", NAME)]
    assert window.session.model.table_choice == f"{NAME};family=bert"
    assert window.session.model.n_positions == 42


def test_the_command_asks_only_about_the_open_model(window, settle, bare, tmp_path, monkeypatch):
    """Of one without matrices it says so; one that was replaced meanwhile is not asked about."""
    asked = []
    monkeypatch.setattr(table_choice, "_ask", lambda *about: asked.append(about))
    config = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2}
    rotary = write_model(tmp_path / "rotary", config, {"model.norm.weight": np.ones(8)})
    window.controller.open(bare[0], table="family=roberta")
    settle()
    table_choice.ask_for_open_model(window)
    window.controller.open(rotary)
    settle()
    assert window.session.model.rotary is not None
    window.session.notice = None
    window.commands.by_name["choose_table"].trigger()
    settle()
    assert asked == []
    assert "no tensor" in window.session.notice.text


def test_a_family_chosen_before_is_kept_when_the_rows_are_asked(window, settle, bare):
    window.controller.open(bare[0], table="family=vit")
    settle()
    seen = []

    def act():
        dialog = QApplication.activeModalWidget()
        seen.append(dialog.family.text())
        QTest.keyClick(dialog.rows.button(1), Qt.Key.Key_Space)
        QTest.keyClick(dialog.rows.button(1), Qt.Key.Key_Return)

    QTimer.singleShot(0, act)
    QTest.mouseClick(window.notice_bar.tables_button, LEFT)
    settle()
    assert seen == ["vit"]
    assert window.session.model.table_choice == f"{NAME};family=vit;first-rows=1"
