"""A cell of the grid: a viewport with a header that describes it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.sentences import chosen_table, titled
from gui.style.theme import GRID, format_percent
from gui.viewport.viewport import Viewport
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import ElidedLabel, label
from gui.widgets.shapes import shape_pixmap
from gui.widgets.tooltips import wrapped

MARK = 16
"""Width of a piece of a model's curve, in logical pixels."""
NARROW = 280
"""In narrower views the header shows only the essentials; the rest is in the menu."""
MIN_SIZE = (152, 120)
"""Minimum size of a view in logical pixels."""
MAIN_TIP = "The panels analyse this model"
OTHER_TIP = "Click to analyse this model in the panels; drag it onto another view to swap places"
FILL_TIP, FILLED_TIP = "Maximise this view", "Show all views again"
DRAG_SLACK = 8
"""A press that moves less than this (logical pixels) before its release is a click."""


class ViewHeader(QWidget):
    """The header of a view, for the style sheet."""


class GridCell(QWidget):
    """A viewport with its header, which is hidden if there is only one view.

    Parameters
    ----------
    viewport
        The viewport; closed by the caller.
    key
        The model's key, which changes when its session shows another one.
    main
        Whether it shows the current model.
    """

    mainRequested = Signal()  # Make this the open model
    largerRequested = Signal()  # Let the view fill the grid, or show all views
    closeRequested = Signal()  # Remove the view
    retryRequested = Signal()  # Open the model again, after a failure
    moveRequested = Signal(int)  # Move the view by some places
    dragged = Signal(object)  # The header is dragged to this QPoint of the screen; None at the end
    dropped = Signal(QPoint)  # The header was dragged to this point of the screen

    def __init__(self, viewport: Viewport, key: int, *, main: bool) -> None:
        super().__init__()
        self.viewport, self.key, self._main = viewport, key, main
        self._press: QPoint | None = None
        self._neighbours = (False, False)
        self._failed = ""
        self.header = ViewHeader()
        self.header.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.header.setProperty("main", main)
        self.header.setToolTip(MAIN_TIP if main else wrapped(OTHER_TIP))
        self.header.installEventFilter(self)
        self.mark = label()
        self.name, self.facts = ElidedLabel(), label(role="small")
        self.name.setProperty("role", "view name")
        self.larger = self._button("⤢", FILL_TIP)
        self.larger.setCheckable(True)
        self.menu_button = self._button(
            "⋯", "Menu of this view: move, close, analyse in the panels"
        )
        self.close_button = self._button("✕", "Close this view")
        self.larger.clicked.connect(self.largerRequested)
        self.menu_button.clicked.connect(lambda: self.show_menu(self._under_button()))
        self.close_button.clicked.connect(self.closeRequested)
        buttons = (self.larger, self.menu_button, self.close_button)
        row = hbox(
            self.mark,
            self.name,
            (self.facts, 1),
            *buttons,
            parent=self.header,
            spacing=GRID // 2,
            margins=(GRID, 1, GRID // 2, 1),
        )
        row.insertSpacing(1, GRID // 4)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._column = vbox(self.header, (viewport, 1), parent=self, spacing=0)
        self.setMinimumSize(*MIN_SIZE)
        self.header.hide()
        self._listening = Listening()
        for name in ("model", "curve", "opening", "transfer"):
            self._listening.to(self.session.events[name], self._on_changed)
        self._on_changed()

    @property
    def session(self) -> Session:
        """The session shown in its viewport."""
        return self.viewport.session

    def set_mark(self, color: str) -> None:
        """Show the colour, ``#rrggbb``, of this model's curves in the panels, and its shape."""
        self.mark.setPixmap(shape_pixmap(color, self.devicePixelRatioF(), line=MARK))

    def set_title(self, name: str) -> None:
        """Show a name while the model is loading."""
        if self.session.model is None:
            self.name.setText(name)

    def set_failed(self, why: str) -> None:
        """Show why the model could not be opened; "" if it could."""
        if why != self._failed:
            self._failed = why
            self._on_changed()

    def set_framed(self, on: bool) -> None:
        """Show the header and a border, as one of several views."""
        self.header.setVisible(on)
        self._column.setContentsMargins(0, 0, int(on), 0)

    def set_neighbours(self, before: bool, after: bool) -> None:
        """Set whether there are neighbours to swap with, for the menu."""
        self._neighbours = (before, after)

    def set_target(self, on: bool) -> None:
        """Highlight this as the target of a drop."""
        if on != self.header.property("target"):
            self.header.setProperty("target", on)
            self.header.style().polish(self.header)

    def set_alone(self, on: bool) -> None:
        """Set whether this fills the grid, for the header."""
        self.larger.setChecked(on)
        self.larger.setToolTip(FILLED_TIP if on else FILL_TIP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._on_changed()

    def release(self) -> None:
        """Stop listening; called by the owner before deletion."""
        self._listening.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Distinguish clicks on the header from drags."""
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.RightButton:
            if event.type() == QEvent.Type.MouseButtonRelease:
                self.show_menu(event.globalPosition().toPoint())
            return True
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            at = event.globalPosition().toPoint()
            if event.type() == QEvent.Type.MouseButtonPress:
                self._press = at
            elif event.type() == QEvent.Type.MouseButtonDblClick:
                self.largerRequested.emit()
            elif event.type() == QEvent.Type.MouseButtonRelease and self._press is not None:
                dragged = self._is_dragged(at)
                self._press = None
                self.header.unsetCursor()
                self.dragged.emit(None)
                self.dropped.emit(at) if dragged else self.mainRequested.emit()
            return True
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            at = event.globalPosition().toPoint()
            if self._is_dragged(at):
                self.header.setCursor(Qt.CursorShape.ClosedHandCursor)
                self.dragged.emit(at)
        return super().eventFilter(watched, event)

    def _is_dragged(self, at: QPoint) -> bool:
        return self._press is not None and (at - self._press).manhattanLength() >= DRAG_SLACK

    def make_menu(self) -> QMenu:
        """Create the context menu."""
        # Not a child of the cell, which is in a native child window: Qt cannot place menus there.
        menu = QMenu(self.window())
        self.destroyed.connect(menu.deleteLater)
        main = menu.addAction("Analyse in the panels")
        main.setEnabled(not self._main and self.session.model is not None)
        main.triggered.connect(self.mainRequested)
        if self._failed:
            menu.addAction("Try again").triggered.connect(self.retryRequested)
        larger = "Show all views" if self.larger.isChecked() else "Maximise"
        menu.addAction(larger).triggered.connect(self.largerRequested)
        menu.addSeparator()
        steps = (("Move back", -1), ("Move forward", 1))
        for (text, step), possible in zip(steps, self._neighbours, strict=True):
            move = menu.addAction(text)
            move.setEnabled(possible)
            move.triggered.connect(lambda _=False, step=step: self.moveRequested.emit(step))
        menu.addSeparator()
        menu.addAction("Close").triggered.connect(self.closeRequested)
        return menu

    def show_menu(self, at: QPoint) -> None:
        """Show the context menu at a point of the screen."""
        menu = self.make_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _under_button(self) -> QPoint:
        return self.menu_button.mapToGlobal(self.menu_button.rect().bottomLeft())

    def _button(self, sign: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(sign)
        button.setToolTip(wrapped(tip))
        button.setProperty("role", "title button")
        return button

    def _on_changed(self) -> None:
        session, narrow = self.session, self.width() < NARROW
        model, curve = session.model, session.curve
        self.larger.setVisible(not narrow)
        self.close_button.setVisible(not narrow)
        for button, what in (
            (self.larger, "Maximise"),
            (self.menu_button, "Menu of"),
            (self.close_button, "Close"),
        ):
            button.setAccessibleName(f"{what} {self.name.text()}")
        if session.opening:
            self.facts.setText("opening…" if narrow else session.status)
        elif model is None or curve is None:
            self.facts.setText("could not be opened" if self._failed else "")
            self.facts.setToolTip(wrapped(self._failed) if self._failed else "")
        else:
            first, last = curve.pca.positions
            total = format_percent(sum(curve.explained_variance_ratio))
            self.name.setText(titled(model))
            self.facts.setText(total if narrow else f"{first}–{last} · {total}")
            shares = zip(curve.components, curve.explained_variance_ratio, strict=True)
            each = ", ".join(
                f"PC {k} {format_percent(share)}" for k, share in shares if k not in curve.absent
            )
            lacking = f" Here {curve.shortage}." if curve.shortage else ""
            chosen = chosen_table(model)
            table = f" The table: {chosen}." if chosen else ""
            self.facts.setToolTip(
                wrapped(
                    f"Positions {first}–{last}, centred. Of their variance: {each}.{lacking}{table}"
                )
            )
