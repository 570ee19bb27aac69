"""The bar over the grid: add models, link them, return to one view."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from gui.state.fields import MAX_MODELS
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID
from gui.widgets.boxes import hbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped


class GridBar(QWidget):
    """Shows the number of models, and how they are linked."""

    addRequested = Signal()  # The user wants to add a model
    camerasLinked = Signal(bool)  # Link or unlink the cameras
    rangesLinked = Signal(bool)  # Link or unlink positions and components
    clearRequested = Signal()  # Remove all models but the open one

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._listening = Listening()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.count = label(role="muted")
        self.add = QPushButton("Add model…")
        self.add.setToolTip("Add another model for comparison")
        self.cameras = QCheckBox("Link cameras")
        self.cameras.setToolTip(
            wrapped("Show all curves from the same direction: rotating one rotates the others.")
        )
        self.ranges = QCheckBox("Link positions and components")
        self.ranges.setToolTip(
            wrapped(
                "Show the range and components chosen in the panels for every model, as far as it "
                "has them."
            )
        )
        self.clear = QPushButton("Close others")
        self.clear.setToolTip("Close all views except the one that the panels analyse")
        parts = (self.count, self.add, self.cameras, self.ranges, 1, self.clear)
        row = hbox(*parts, parent=self, spacing=GRID, margins=(GRID, GRID // 2, GRID, GRID // 2))
        row.insertSpacing(3, GRID)
        row.insertSpacing(2, GRID)
        self.add.clicked.connect(lambda: self.addRequested.emit())
        self.clear.clicked.connect(lambda: self.clearRequested.emit())
        self.cameras.clicked.connect(self.camerasLinked)
        self.ranges.clicked.connect(self.rangesLinked)
        for name in ("open_models", "cameras_linked", "ranges_linked"):
            self._listening.to(session.events[name], self._on_changed)
        self._alone = False
        self._on_changed()

    def release(self) -> None:
        """Stop listening to the session."""
        self._listening.stop()

    def set_alone(self, alone: bool) -> None:
        """Set whether one model fills the grid, or all are visible."""
        self._alone = alone
        self._on_changed()

    def _on_changed(self) -> None:
        count = sum(model.in_grid for model in self.session.open_models)
        self.count.setText(f"1 of {count} models" if self._alone else f"{count} models")
        self.add.setEnabled(count < MAX_MODELS)
        self.cameras.setChecked(self.session.cameras_linked)
        self.ranges.setChecked(self.session.ranges_linked)
        self.setVisible(count > 1)
