"""The position table is chosen in the window, by mouse and keys, for the open model and others."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from tests.bare_models import CHOICE, NAME, write_bare

LEFT = Qt.MouseButton.LeftButton


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


@pytest.fixture
def bare(tmp_path):
    return [write_bare(tmp_path / f"{name}.safetensors", seed) for seed, name in enumerate("ab")]


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
    assert other.session.model.table_choice == f"{NAME}[0:]"
    assert "rows from 0" in window.grid.cells[other.key].facts.toolTip()
    assert session.model.table_choice == CHOICE
    window.undo.undo()
    assert session.others == ()


def test_what_waited_for_the_choice_is_shown_beside(window, settle, choose, bare, write_table):
    session, table = window.session, str(write_table())
    window.side_by_side.show_several([Source.parse(bare[0]), Source.parse(table)])
    settle()
    choose(2)
    assert session.model.source.text == bare[0]
    assert [one.session.model.source.text for one in session.others] == [table]


def test_what_waited_is_forgotten_with_its_notice(window, settle, choose, bare, write_table):
    session = window.session
    window.side_by_side.show_several([Source.parse(bare[0]), Source.parse(str(write_table()))])
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
    assert window.session.model.table_choice == f"{NAME}[0:]"
    window.controller.open("sinusoidal:40x16")
    settle()
    assert not forget.isEnabled()
