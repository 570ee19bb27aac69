"""The form of the overlaps panel: the matrices, and the look of their picture."""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QSizePolicy, QSpinBox, QWidget

from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Subject
from gui.panels.kit.body import PanelForm
from gui.panels.kit.subject_text import TABLES
from gui.panels.overlaps.picture import GREY, MAX_BLUR, Choices, Look
from gui.panels.overlaps.question import WITH_HEADS, side_of
from gui.panels.overlaps.spec import MANY
from gui.style.sentences import as_sentence
from gui.style.theme import COLORMAPS, GRID, Theme
from gui.widgets.boxes import grid, hbox
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

AROUND = (148, 36)
"""Width and height of axes and colour bar, in pixels."""
BAR = 80
"""Width of a figure's colour bar, in pixels."""
_WHAT = {
    "P": "The position table, row i for position i",
    "E": "The token embeddings",
    "W_Q": "Attention's query weights",
    "W_K": "Attention's key weights",
    "W_V": "Attention's value weights",
    "W_O": "Attention's output projection into the residual stream (“proj”)",
    "W_in": "The MLP's fan-out weights (W₁)",
}
_SIDES = {
    "input": "The directions that a matrix reads (right singular vectors)",
    "output": "The directions that a matrix writes (left singular vectors); for W_O these lie in "
    "the residual stream",
}
FOLD_TIP = (
    "Multiply the inputs of W_Q, W_K, W_V and W_in by the gain of the preceding LayerNorm. The "
    "articles do not do this; interpretability libraries do, and it can change the result."
)
CENTRE_TIP = "Subtract the mean row of P and of E first. The articles do not do this."
BLUR_TIP = (
    "Gaussian blur of the image, in pixels of one cell each. For display only: hover values, "
    "saved data and the caption are never blurred."
)


class OverlapsForm(PanelForm):
    """A form of four rows: down, across, switches, and the picture's look."""

    def __init__(self) -> None:
        super().__init__()
        self._choices = Choices()
        self._offered: tuple[PositionalModel | None, Theme] | None = None
        self.rows = SubjectPicker("Rows", self._choices.rows)
        self.columns = SubjectPicker("Columns", self._choices.columns)
        self.fold = _check("Fold LayerNorm gain", FOLD_TIP)
        self.centre = _check("Centre P, E", CENTRE_TIP)
        self.blur, self.colormap = QDoubleSpinBox(), DropDown()
        self.scale = Segmented(
            (
                ("linear", "Linear", "Colours proportional to the overlap"),
                ("log", "Log", "Colours proportional to the logarithm of the overlap"),
            ),
            "Colour scale",
        )
        self._fill()
        self._down, self._across = label("Down", "muted"), label("Across", "muted")
        self._lay_out()
        for picker in (self.rows, self.columns):
            picker.changed.connect(self._on_pair_changed)
        for box in (self.fold, self.centre):
            box.toggled.connect(self._on_pair_changed)
        for signal in (self.blur.valueChanged, self.colormap.activated, self.scale.chosen):
            signal.connect(self._on_look_changed)

    def set_choices(self, choices: Choices, model: PositionalModel | None, theme: Theme) -> None:
        self._choices = choices
        if self._offered != (model, theme):
            self._offered = model, theme
            self.rows.show_model(model, theme)
            self.columns.show_model(model, theme)
        self.rows.show_subject(choices.rows)
        self.columns.show_subject(choices.columns)
        (both, _), look = choices.pair, choices.look
        for box, on in ((self.fold, both.fold_ln), (self.centre, both.centred)):
            with QSignalBlocker(box):
                box.setChecked(on)
        with QSignalBlocker(self.blur):
            self.blur.setValue(look.blur)
        self.colormap.setCurrentIndex(self.colormap.findData(look.colormap))
        self.scale.show_value("log" if look.log else "linear")
        figure = choices.view != "pair"
        self.rows.show_layer_only(figure, heads=choices.view == "attention")
        self._down.setText("Weights" if figure else "Down")
        for widget in (self._across, self.columns):
            if widget.isHidden() != figure:
                widget.setVisible(not figure)

    def stands_beside(self, room: QSize) -> bool:
        """Return whether cells are larger with the form beside them than above."""
        taken = self.sizeHint()
        beside = self._cell_size(room.width() - taken.width(), room.height())
        return beside >= self._cell_size(room.width(), room.height() - taken.height())

    def _cell_size(self, width: int, height: int) -> int:
        if self._choices.view == "pair":
            return min(width - AROUND[0], height - AROUND[1])
        cells = (8, 2) if self._choices.view == "attention" else (2, 2)
        return arrange(*cells, (width - BAR, height), (2 * GRID, GRID), 2 * GRID)[1]

    def _on_pair_changed(self) -> None:
        fold, centred = self.fold.isChecked(), self.centre.isChecked()
        rows, columns = (
            replace(picker.subject, fold_ln=fold, centred=centred)
            for picker in (self.rows, self.columns)
        )
        self.changed.emit({"view": self._choices.view, "rows": rows, "columns": columns})

    def _on_look_changed(self) -> None:
        log = self.scale.value() == "log"
        look = Look(self.blur.value(), self.colormap.currentData(), log)
        self.changed.emit({"look": look})

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
        self.colormap.setAccessibleName("Colours")
        self.colormap.setToolTip("Colour map; grey as in the article")
        for name in (GREY, *COLORMAPS):
            self.colormap.add_colormap("grey" if name == GREY else name, name)

    def _lay_out(self) -> None:
        cells = grid(self, GRID, GRID // 2, margins=(0, 0, GRID, 0))
        titles, pickers = (self._down, self._across), (self.rows, self.columns)
        for row, (title, picker) in enumerate(zip(titles, pickers, strict=True)):
            cells.addWidget(title, row, 0)
            cells.addWidget(picker, row, 1)
        look = hbox(self.blur, self.colormap, self.scale, 1, spacing=GRID)
        cells.addLayout(hbox(self.fold, self.centre, 1, spacing=GRID), 2, 0, 1, 2)
        cells.addLayout(look, 3, 0, 1, 2)
        cells.setRowStretch(4, 1)
        cells.setColumnMinimumWidth(0, self.fontMetrics().horizontalAdvance("Weights"))


class SubjectPicker(QWidget):
    """The choice of a matrix; of weights also the layer, the head and the side.

    Its parts are in a row without a layout, to avoid layouts of the whole window. ``name`` is its
    accessible name, such as "Rows".
    """

    changed = Signal()
    """The subject has changed."""

    def __init__(self, name: str, subject: Subject) -> None:
        super().__init__()
        self._subject = subject
        self._whole = False
        self.name, self.side = DropDown(), DropDown()
        self.layer, self.head = QSpinBox(), QSpinBox()
        self._fill(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # The controls of weights are shown and hidden together.
        self._of_weights = _kept_row(self.layer, self.head, self.side)
        self._row = _kept_row(self.name, self._of_weights)
        self._row.setParent(self)
        self.show_subject(subject)
        self.name.activated.connect(self._on_name)
        for signal in (self.layer.valueChanged, self.head.valueChanged, self.side.activated):
            signal.connect(self._on_changed)

    # Geometry.

    def sizeHint(self) -> QSize:
        return self._row.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._row.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._row.setGeometry(self.rect())

    def event(self, event: QEvent) -> bool:
        """Pass on layout requests only if the row's size hint has changed."""
        if event.type() == QEvent.Type.LayoutRequest and self._row.sizeHint() != self._asked:
            self._asked = self._row.sizeHint()
            self.updateGeometry()
        return super().event(event)

    _asked = QSize()

    # The choice.

    @property
    def subject(self) -> Subject:
        """The chosen matrix, within the model's layers and heads."""
        return self._subject

    def show_subject(self, subject: Subject) -> None:
        """Show a choice, without a signal."""
        self._subject = subject
        self.name.setCurrentIndex(self.name.findData(subject.name))
        for spin, value in (
            (self.layer, subject.layer),
            (self.head, -1 if subject.head is None else subject.head),
        ):
            if spin.value() != value:  # avoids a repaint
                with QSignalBlocker(spin):
                    spin.setValue(value)
        self.side.setCurrentIndex(self.side.findData(side_of(subject)))
        self._show_parts()

    def show_model(self, model: PositionalModel | None, theme: Theme) -> None:
        """Offer a model's matrices; missing ones are grey, with the reason as tooltip."""
        missing = {} if model is None else model.missing
        for index, name in enumerate(NAMES):
            why = missing.get("W_E" if name == "E" else name)
            self.name.setItemData(
                index,
                wrapped(_WHAT[name] if why is None else f"{_WHAT[name]}. {as_sentence(why)}"),
                Qt.ItemDataRole.ToolTipRole,
            )
            color = None if why is None else QColor(theme.muted)
            self.name.setItemData(index, color, Qt.ItemDataRole.ForegroundRole)
        layers = 1 if model is None else model.n_layers or MANY
        heads = 0 if model is None else model.n_heads or 0
        for spin, last in ((self.layer, layers - 1), (self.head, heads - 1)):
            with QSignalBlocker(spin):
                spin.setMaximum(max(last, spin.minimum()))
        self._subject = replace(self._subject, layer=self.layer.value(), head=self._head())
        self._show_parts()

    def show_layer_only(self, whole: bool, *, heads: bool) -> None:
        """Hide name and side for a figure, and the head unless ``heads``."""
        self._whole, self._with_heads = whole, heads
        for widget in (self.name, self.side):
            _keep_room(widget, not whole)
        self._show_parts()

    def _fill(self, name: str) -> None:
        for option in NAMES:
            self.name.addItem(option, option)
        for value, tip in _SIDES.items():
            self.side.addItem(f"{value} side", value)
            self.side.setItemData(self.side.count() - 1, wrapped(tip), Qt.ItemDataRole.ToolTipRole)
        self.layer.setPrefix("layer ")
        self.head.setPrefix("head ")
        self.head.setMinimum(-1)
        self.head.setMaximum(-1)
        self.head.setSpecialValueText("all heads")
        self.head.setFixedWidth(72)
        self.layer.setFixedWidth(64)
        for widget, what, tip in (
            (self.name, "matrix", "Matrix; greyed out if not in this checkpoint"),
            (self.layer, "layer", "Layer, from 0: type, or use the arrow keys or the wheel"),
            (self.head, "head", "One head, or all heads together (one step below head 0)"),
            (self.side, "side", "The input or the output side of the matrix"),
        ):
            widget.setAccessibleName(f"{name}: {what}")
            widget.setToolTip(wrapped(tip))
        for spin in (self.layer, self.head):
            spin.setAlignment(Qt.AlignmentFlag.AlignCenter)
            # No question for each typed digit.
            spin.setKeyboardTracking(False)

    def _head(self) -> int | None:
        return self.head.value() if self.head.value() >= 0 else None

    def _show_parts(self) -> None:
        name = self._subject.name
        weight = self._whole or name not in TABLES
        heads = self._with_heads if self._whole else name in WITH_HEADS
        shown = {self.name: not self._whole, self._of_weights: weight}
        if weight:
            shown |= {self.head: heads and self.head.maximum() >= 0, self.side: not self._whole}
        for widget, seen in shown.items():
            if widget.isHidden() == seen:
                widget.setVisible(seen)

    _with_heads = True

    def _on_name(self) -> None:
        # Another matrix starts with its side in the residual stream.
        self._subject = replace(self._subject, name=self.name.currentData(), side=None)
        self.side.setCurrentIndex(self.side.findData(side_of(self._subject)))
        self._show_parts()
        self.changed.emit()

    def _on_changed(self) -> None:
        layer, side = self.layer.value(), self.side.currentData()
        self._subject = replace(self._subject, layer=layer, head=self._head(), side=side)
        self.changed.emit()


def _kept_row(*widgets: QWidget) -> QWidget:
    """Return a row of widgets that keep their space while hidden."""
    row = QWidget()
    for widget in widgets:
        _keep_room(widget, True)
    hbox(*widgets, 1, parent=row, spacing=GRID // 2)
    return row


def _keep_room(widget: QWidget, kept: bool) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(kept)
    widget.setSizePolicy(policy)


def _check(text: str, tip: str) -> QCheckBox:
    box = QCheckBox(text)
    box.setToolTip(wrapped(tip))
    box.setCursor(Qt.CursorShape.ArrowCursor)
    return box


def arrange(
    count: int, columns: int, room: tuple[float, float], gap: tuple[float, float], title: float
) -> tuple[int, int]:
    """Place square cells with titles as large as they can be.

    Parameters
    ----------
    count, columns
        Number of cells of a figure, and its columns in the article.
    room, gap
        Available width and height, and gaps between cells.
    title
        Height of the title above each cell.

    Returns
    -------
    Number of columns, and size of a cell
    """
    options = []
    # As in the article, transposed, or in one line.
    for across in dict.fromkeys((columns, count // columns, count, 1)):
        down = math.ceil(count / across)
        width = (room[0] - (across - 1) * gap[0]) / across
        height = (room[1] - (down - 1) * gap[1]) / down - title
        options.append((across, max(1, math.floor(min(width, height)) - 1)))
    return max(options, key=lambda option: option[1])
