"""Recent sources and saved work in the File menu."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.models.sources.source import Source
from geometry.survey.parts import SurveyFile
from geometry.survey.rows import RowSettings
from gui.widgets.tooltips import wrapped
from tests.gui.window.survey.survey_table import entries, row

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def menu(application):
    return application.window.recent_menu


def texts(menu):
    return [action.text() for action in menu.actions() if not action.isSeparator()]


def test_recent_menu_and_clearing(application, menu, qtbot, settle, write_table, helix, tmp_path):
    session = application.session
    table = str(write_table(helix(60, 8, seed=3), "other"))
    gone, work = str(tmp_path / "gone & away.npy"), str(tmp_path / "gone.helix")
    session.recent = tuple(map(Source.parse, (table, gone, work, "gpt2")))
    menu.aboutToShow.emit()
    settle()
    missing = ["&2 gone && away.npy (missing)", "&3 gone.helix (missing)"]
    assert texts(menu) == ["&1 other.npy", *missing, "&4 gpt2", "Clear this list"]
    assert [a.isEnabled() for a in menu.actions()[:4]] == [True, False, False, True]
    assert menu.actions()[0].toolTip() == wrapped(table)
    assert menu.menuAction() in application.window.commands.menus["File"].actions()
    menu.popup(application.window.mapToGlobal(application.window.rect().center()))
    qtbot.waitUntil(menu.isVisible)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(menu.actions()[0]).center())
    settle()
    assert session.model.n_positions == 60
    menu.aboutToShow.emit()
    menu.actions()[-1].trigger()
    assert session.recent == ()
    menu.aboutToShow.emit()
    assert texts(menu) == ["Nothing has been opened yet"]
    assert not menu.actions()[0].isEnabled()


def test_surveys_stand_below_models(application, menu, tmp_path, qtbot, settle):
    session, surveys = application.session, application.window.surveys
    running, gone = (tmp_path / name for name in ("runs.parquet", "gone.parquet"))
    session.recent, session.surveys = (Source.parse("gpt2"),), (str(gone), str(running))
    with SurveyFile(running, RowSettings()) as file:
        file.add(row(entries()[0], 0))
        file.flush()
        menu.aboutToShow.emit()
        settle()
        surveys_only = ["&2 gone.parquet (missing)", "&3 runs.parquet"]
        assert texts(menu) == ["&1 gpt2", *surveys_only, "Clear this list"]
        assert menu.actions()[1].isSeparator()
        menu.actions()[3].trigger()
        qtbot.waitUntil(lambda: surveys.shown is not None)
        assert surveys.shown.survey.path == running
        surveys.close()
    assert session.surveys == (str(running), str(gone))
    menu.aboutToShow.emit()
    menu.actions()[-1].trigger()
    assert session.surveys == ()
