"""The table of models with models beside the open one."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from gui.panels.compare.table import CompareTable
from gui.panels.compare.words import ALL, COLUMNS
from gui.panels.kit.intents import AddModel, MakeCurrent, RemoveModel
from gui.services.jobs.jobs import Jobs
from gui.state.session import OpenModel, Session
from tests.gui.open_models import LOADING, add_beside
from tests.gui.result_stage import ResultStage

TITLES = [column.title.partition("\n")[0] for column in COLUMNS]
LEFT = Qt.MouseButton.LeftButton
ALL_COLUMNS = tuple((key, 0) for key in ALL)
"""So that tests find every number; the table begins with fewer."""


class CompareStage(ResultStage):
    """The panel, with models beside the open one."""

    def __init__(self, qtbot: Any, panel: str = "compare", jobs: Jobs | None = None) -> None:
        super().__init__(qtbot, panel, jobs, size=(900, 260))
        self.session.compare_columns = ALL_COLUMNS
        self._at_first = self.panel.choices

    @property
    def told(self) -> list[tuple[str, Any]]:
        """What the user wanted of others than the panel."""
        found: list[tuple[str, Any]] = []
        for wanted in self.intents:
            match wanted:
                case AddModel():
                    found.append(("add", None))
                case MakeCurrent(key):
                    found.append(("current", key))
                case RemoveModel(key):
                    found.append(("remove", key))
        return found

    @property
    def table(self) -> CompareTable:
        found: CompareTable = self.panel.content.table
        return found

    def beside(self, source: Path | str | None, name: str) -> Session:
        """Show a model beside the open one; with no source it is still being read."""
        if source is not None:
            made = add_beside(self.controller, source)
        else:
            made = OpenModel(LOADING, Source.parse(name), name, Session())
            self.session.open_models = (*self.session.open_models, made)
        QApplication.processEvents()
        return made.session

    def column(self, title: str) -> list[str]:
        """The cells below a title, from above."""
        rows, number = self.table.rows, TITLES.index(title)
        return [rows.index(row, number).data() for row in range(rows.rowCount())]

    def click_title(self, title: str) -> None:
        number = TITLES.index(title)
        view = self.table.names if number < 2 else self.table.values
        view.scrollTo(self.table.rows.index(0, number))
        header = view.horizontalHeader()
        at = QPoint(header.sectionViewportPosition(number) + 6, header.height() // 2)
        QTest.mouseClick(header.viewport(), LEFT, pos=at)

    def click_row(self, row: int, *, twice: bool = False) -> None:
        spot = self.table.names.visualRect(self.table.rows.index(row, 1)).center()
        QTest.mouseClick(self.table.names.viewport(), LEFT, pos=spot)
        if twice:
            QTest.mouseDClick(self.table.names.viewport(), LEFT, pos=spot)

    def again(self, *of: Any, **more: Any) -> None:
        self.session.compare_columns = ALL_COLUMNS
        super().again(*of, **more)
