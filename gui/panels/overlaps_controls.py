"""The controls beside the overlaps: which matrices, and how their picture looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QImage, QPixmap
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QGridLayout, QHBoxLayout, QWidget

from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.overlaps_look import GREY, MAX_BLUR, Look
from gui.panels.overlaps_question import FigureOf, OverlapsOf, article_figure, plain
from gui.panels.subject_picker import SubjectPicker
from gui.state.colors import lookup_table
from gui.style.theme import COLORMAPS, GRID, Theme
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

SWATCH = QSize(32, 12)
FOLD_TIP = (
    "Multiply what W_Q, W_K, W_V and W_in read by the gain of the LayerNorm before them. The"
    " articles do not; libraries for interpretability do, and it can change the answer."
)
CENTRE_TIP = "Take the mean row off P and off E first. The articles do not."
BLUR_TIP = (
    "A Gaussian blur of the picture, in pixels of one cell each. It is for display only: what you"
    " hover, save and read in the caption is never blurred."
)


class OverlapsControls(QWidget):
    """A form of four rows: down, across, switches, and the picture's look."""

    asked = Signal()
    """Something was chosen that asks another question."""
    lookChanged = Signal()
    """Only the picture is to look otherwise."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = "pair"
        self.rows = SubjectPicker("Rows", Subject("W_Q"))
        self.columns = SubjectPicker("Columns", Subject("P"))
        self.fold = _check("Fold LayerNorm gain", FOLD_TIP)
        self.centre = _check("Centre P, E", CENTRE_TIP)
        self.blur, self.colormap = QDoubleSpinBox(), DropDown()
        self.scale = Segmented(
            (
                ("linear", "Linear", "Colours follow the overlap"),
                ("log", "Log", "Colours follow the logarithm of the overlap"),
            ),
            "Colour scale",
        )
        self._fill()
        self._down, self._across = label("Down", "muted"), label("Across", "muted")
        self._lay_out()
        for picker in (self.rows, self.columns):
            picker.changed.connect(self.asked)
        for box in (self.fold, self.centre):
            box.toggled.connect(self.asked)
        self.blur.valueChanged.connect(self.lookChanged)
        self.colormap.activated.connect(self.lookChanged)
        self.scale.chosen.connect(self.lookChanged)

    def question(self) -> OverlapsOf | FigureOf:
        """Return what the choices ask."""
        rows, columns = self.pair()
        if self.view == "pair":
            return OverlapsOf(plain(rows), plain(columns))
        view: Literal["attention", "mlp"] = "attention" if self.view == "attention" else "mlp"
        return article_figure(view, replace(rows, centred=False), centred=rows.centred)

    def pair(self) -> tuple[Subject, Subject]:
        """Return both matrices as they are chosen, what the switches say on each."""
        fold, centred = self.fold.isChecked(), self.centre.isChecked()
        one, other = (
            replace(picker.subject, fold_ln=fold, centred=centred)
            for picker in (self.rows, self.columns)
        )
        return one, other

    def look(self) -> Look:
        """Return how the picture is to look."""
        return Look(self.blur.value(), self.colormap.currentData(), self.scale.value() == "log")

    def show_look(self, look: Look) -> None:
        """Show a look as chosen, without telling anybody."""
        blocked = self.blur.blockSignals(True)
        self.blur.setValue(look.blur)
        self.blur.blockSignals(blocked)
        self.colormap.setCurrentIndex(self.colormap.findData(look.colormap))
        self.scale.show_value("log" if look.log else "linear")

    def show_view(self, view: str) -> None:
        """Offer what a view has: "pair", or a figure, "attention" or "mlp"."""
        self.view = view
        figure = view != "pair"
        self.rows.show_layer_only(figure, heads=view == "attention")
        self._down.setText("Weights" if figure else "Down")
        for widget in (self._across, self.columns):
            if widget.isHidden() != figure:
                widget.setVisible(not figure)

    def show_pair(self, rows: Subject, columns: Subject) -> None:
        """Show two matrices as chosen, without telling anybody."""
        self.rows.show_subject(rows)
        self.columns.show_subject(columns)
        for box, on in (
            (self.fold, rows.fold_ln or columns.fold_ln),
            (self.centre, rows.centred or columns.centred),
        ):
            blocked = box.blockSignals(True)
            box.setChecked(on)
            box.blockSignals(blocked)

    def show_model(self, model: PositionalModel | None, theme: Theme) -> None:
        """Offer what a model has."""
        self.rows.show_model(model, theme)
        self.columns.show_model(model, theme)

    def _fill(self) -> None:
        self.blur.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.blur.setRange(0.0, MAX_BLUR)
        self.blur.setSingleStep(0.5)
        self.blur.setDecimals(1)
        self.blur.setPrefix("blur ")
        self.blur.setSuffix(" px")
        self.blur.setValue(Look().blur)
        self.blur.setToolTip(wrapped(BLUR_TIP))
        self.blur.setAccessibleName("Blur, display only")
        self.colormap.setIconSize(SWATCH)
        self.colormap.setAccessibleName("Colours")
        self.colormap.setToolTip("Colours; grey is as in the article")
        for name in (GREY, *COLORMAPS):
            self.colormap.addItem(_swatch(name), "grey" if name == GREY else name, name)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, GRID, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(GRID // 2)
        for row, (title, picker) in enumerate(
            ((self._down, self.rows), (self._across, self.columns))
        ):
            grid.addWidget(title, row, 0)
            grid.addWidget(picker, row, 1)
        grid.addLayout(_row(self.fold, self.centre), 2, 0, 1, 2)
        grid.addLayout(_row(self.blur, self.colormap, self.scale), 3, 0, 1, 2)
        grid.setRowStretch(4, 1)
        grid.setColumnMinimumWidth(0, self.fontMetrics().horizontalAdvance("Weights"))


def _row(*widgets: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(GRID)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return row


def _check(text: str, tip: str) -> QCheckBox:
    made = QCheckBox(text)
    made.setToolTip(wrapped(tip))
    made.setCursor(Qt.CursorShape.ArrowCursor)
    return made


def _swatch(colormap: str) -> QIcon:
    table = lookup_table(colormap)
    line = QImage(table.tobytes(), len(table), 1, 4 * len(table), QImage.Format.Format_RGBA8888)
    return QIcon(QPixmap.fromImage(line).scaled(SWATCH))
