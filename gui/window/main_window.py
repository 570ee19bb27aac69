"""The window: puts viewport, panels and menus together and connects intents to the controller.

Constructors wire; what the user wants goes to the controller or into the session, and nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QFileDialog,
    QMainWindow,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from gui.export.save_film import FilmSaver
from gui.export.save_picture import PictureSaver
from gui.export.save_scene import SceneSaver
from gui.services.controller import Controller
from gui.services.loading import has_versions
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, Theme, ThemeChoice
from gui.viewport.viewport import Viewport
from gui.window.actions import Actions, is_typing
from gui.window.bookmark_keeper import BookmarkKeeper
from gui.window.central_widget import Stage
from gui.window.docks import DOCKS, LEFT, RIGHT, Dock, DockTitle
from gui.window.empty_state import EmptyState
from gui.window.focus_navigation import focus_view, past_hidden
from gui.window.lesson_player import DOCK as LESSON
from gui.window.lesson_player import SHIPPED, Teaching
from gui.window.notice_bar import NoticeBar
from gui.window.result_docks import ResultDocks
from gui.window.save_data import DataSaver
from gui.window.save_turntable import TurntableSaver
from gui.window.save_work import WorkSaver
from gui.window.settings import Settings
from gui.window.side_by_side import SideBySide
from gui.window.status_bar import StatusBar
from gui.window.summary import Summary
from gui.window.undo_keys import Undo
from gui.window.window_wiring import (
    connect_centre,
    connect_panels,
    connect_switches,
    connect_undo,
    handlers,
)

FILE_FILTER = "Tensor files (*.safetensors *.bin *.pt *.pth *.npy *.npz);;All files (*)"
DEFAULT_SIZE = QSize(1440, 900)
TITLE_BAR = 5 * GRID
"""Room for what the window manager puts above a window; how much, it tells only later."""
COLUMN_WIDTH, BOTTOM_HEIGHT = 280, 280
KEYS = 9
"""Panels that a number key opens."""
MINIMUM_WIDTHS = {LEFT: 264, RIGHT: 224}
"""What the columns need for nothing to be cut off, in logical pixels."""


def first_size(available: QSize) -> QSize:
    """Return the window's first size on a screen with so much room: all of it is in sight."""
    return DEFAULT_SIZE.boundedTo(available - QSize(0, TITLE_BAR))


class MainWindow(QMainWindow):
    """The application's window.

    Parameters
    ----------
    session, controller, settings
        What it shows, what answers it, what it remembers.
    theme
        Colours to start with.
    choose_theme
        Called with the user's choice of theme; the application answers with :meth:`set_theme`.

    Signals
    -------
    settingsRequested()
        The user wants to see the settings.
    """

    settingsRequested = Signal()

    def __init__(
        self,
        session: Session,
        controller: Controller,
        settings: Settings,
        theme: Theme,
        choose_theme: Callable[[ThemeChoice], None],
    ) -> None:
        super().__init__()
        self.session, self.controller, self.settings = session, controller, settings
        self.choose_theme = choose_theme
        self._listening = Listening()
        self.setWindowTitle("Helixscope")
        self.setAcceptDrops(True)
        self.viewport = Viewport(session, theme)
        self.empty_state = EmptyState(session, theme)
        self.notice_bar = NoticeBar(session, theme)
        self.beside = SideBySide(self, theme)
        self.grid = self.beside.grid
        self.pictures = PictureSaver(self, self.grid, session, controller.in_background)
        self.scenes = SceneSaver(self, self.viewport, controller)
        self.data = DataSaver(self)
        self.work = WorkSaver(self)
        self.films = FilmSaver(self, self.viewport, session, controller)
        self.turntables = TurntableSaver(self)
        self._build_centre()
        self._theme = theme
        self._panels: dict[str, Any] = {}
        self.docks: dict[str, QDockWidget] = {}
        for dock in DOCKS:
            self._build_dock(dock)
        self.results = ResultDocks(self, self.docks, self._panels, session, controller, self.films)
        self.bookmarks = BookmarkKeeper(self, settings.bookmarks)
        camera = self.viewport.camera
        self.undo = Undo(session, lambda: camera.place, camera.return_to)
        self.commands = Actions(self, handlers(self))
        self.teaching = Teaching(self, (SHIPPED, settings.lessons))
        self._build_panel_menu()
        self._build_status()
        connect_centre(self)
        connect_undo(self)
        self._listen_to_session()
        self._restore_layout()

    # ---- building ----------------------------------------------------------------------

    def _build_centre(self) -> None:
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.notice_bar)
        layout.addWidget(Stage(self.grid, self.empty_state), 1)
        self.setCentralWidget(centre)

    def _build_dock(self, dock: Dock) -> None:
        widget = QDockWidget(dock.title, self)
        widget.setObjectName(dock.name)
        widget.setTitleBarWidget(DockTitle(dock.title, widget))
        self.docks[dock.name] = widget
        self.addDockWidget(dock.area, widget)

    @property
    def panels(self) -> dict[str, Any]:
        """The panels by their docks' names; built when first wanted, after the first frame.

        The curve is on the screen sooner when it need not wait for them.
        """
        self._build_panels()
        return self._panels

    def _build_panels(self) -> None:
        if self._panels:
            return
        for dock in (dock for dock in DOCKS if not dock.lazy):
            self._panels[dock.name] = dock.make(self.session, self._theme)
            self._panels[dock.name].setMinimumWidth(MINIMUM_WIDTHS.get(dock.area, 0))
        self._panels["norms"].saver = self.results.saver
        connect_panels(self, self._panels)
        # A panel that can be seen asks at once: somebody has to hear it.
        for name, panel in self._panels.items():
            self.docks[name].setWidget(panel)
        self.results.begin(self._theme)
        self.bookmarks.begin(self._theme)

    def _build_panel_menu(self) -> None:
        menu = self.commands.menus["Panels"]
        first = menu.actions()[0]
        for number, dock in enumerate(DOCKS, start=1):
            action = self.docks[dock.name].toggleViewAction()
            if dock.name == LESSON:  # it does more than to show a panel
                action = self.teaching.action
            action.setText(f"{dock.title}\t{number}" if number <= KEYS else dock.title)
            menu.insertAction(first, action)
        menu.insertSeparator(first)

    def _build_status(self) -> None:
        self.status_bar = StatusBar(self.session, self._theme)
        self.setStatusBar(self.status_bar)
        self._summary = Summary(self.session, self._theme, self.menuBar())

    def _listen_to_session(self) -> None:
        self._listening.to(self.session.events.model, self._on_model_changed)
        self._on_model_changed()
        connect_switches(self.session, self.commands, self._listening)

    # ---- layout ------------------------------------------------------------------------

    def _restore_layout(self) -> None:
        self.resize(first_size(self.screen().availableSize()))
        self.arrange()
        layout = self.settings.layout
        if layout is not None:
            self.restoreGeometry(layout[0])
            self.restoreState(layout[1])
        self.docks[LESSON].hide()  # one that was cut off is not gone on with
        self.commands.by_name["full_screen"].setChecked(self.isFullScreen())

    def arrange(self) -> None:
        """Put all docks where they are at first; a lesson goes on."""
        goes_on = self.teaching.on
        self.teaching.leave()
        for dock in DOCKS:
            widget = self.docks[dock.name]
            if widget.isFloating():  # or Qt hides and shows it for nothing
                widget.setFloating(False)
            self.addDockWidget(dock.area, widget)
            widget.setHidden(dock.closed)
        self.results.arrange()
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        columns = [self.docks["models"], self.docks["inspector"]]
        self.resizeDocks(columns, [COLUMN_WIDTH, COLUMN_WIDTH], horizontal)
        self.resizeDocks([self.docks["norms"]], [BOTTOM_HEIGHT], vertical)
        left = [self.docks[name] for name in ("models", "positions", "view")]
        self.resizeDocks(left, [400, 260, 160], vertical)
        self.resizeDocks([self.docks["inspector"], self.docks["prompt"]], [500, 240], vertical)
        if goes_on:
            self.teaching.open()

    def set_theme(self, theme: Theme, choice: ThemeChoice) -> None:
        """Take new colours and tick the menu's choice."""
        self._theme = theme
        self.results.set_theme(theme)
        self.bookmarks.set_theme(theme)
        self.grid.set_theme(theme)
        for panel in self._themed():
            panel.set_theme(theme)
        for name in ("system", "light", "dark"):
            self.commands.by_name[f"theme_{name}"].setChecked(name == choice)

    def _themed(self) -> tuple[Any, ...]:
        return (*self._panels.values(), self.empty_state, self.notice_bar, self.status_bar)

    # ---- intents -----------------------------------------------------------------------

    def open_folder(self) -> None:
        """Ask for a model folder and open it."""
        folder = QFileDialog.getExistingDirectory(self, "Open a Hugging Face model folder")
        if folder:
            self.controller.open(folder)

    def open_file(self) -> None:
        """Ask for a tensor file and open it."""
        file, _ = QFileDialog.getOpenFileName(self, "Open a tensor file", "", FILE_FILTER)
        if file:
            self.controller.open(file)

    def work_offline(self, on: bool) -> None:
        """Use no network from now on, or use it again; remembered."""
        self.settings.offline = self.session.offline = on

    def set_field(self, field: str, value: object) -> None:
        """Set what the user wants, a field of the session."""
        setattr(self.session, field, value)

    def focus_on(self, dock: str, method: str = "setFocus") -> None:
        """Bring a panel to the front and call its method that takes the focus."""
        self.bring(dock)
        getattr(self.panels[dock], method)()

    def bring(self, dock: str) -> None:
        """Bring a panel to the front; the focus stays where it is."""
        self.docks[dock].show()
        self.docks[dock].raise_()
        self.results.need(dock)

    def focus_on_selection(self) -> None:
        """Bring the selected position to the middle of the viewport, or all into sight."""
        if self.session.selection:
            self.viewport.camera.focus_on(*self.session.selection)

    def cancel(self) -> None:
        """Stop what is drawn, fetched or moves; else close the notice; else select nothing."""
        spin = self.commands.by_name["spin"]
        if self.viewport.marquee.armed is not None:
            self.viewport.marquee.arm(None)
        elif self.controller.cancel():
            pass
        elif spin.isChecked():
            spin.setChecked(False)
            self.viewport.camera.set_spinning(False)
        elif self.session.snapshot is not None:
            self.session.snapshot = None
        elif self.session.notice is not None:
            self.session.notice = None
        else:
            self.controller.comparing.marks.select(())  # in tables longer than the open one, too
        self.viewport.interactor.setFocus()

    def show_menu(self, at: QPoint) -> None:
        """Show the viewport's menu at a point of the screen."""
        menu = QMenu(self)
        names = ("view_article", "frame", "spin", "", "select_box", "select_lasso",
                 "focus_on_selection", "measure", "", "parallel", "faint", "sphere", "",
                 "save_picture", "copy_picture", "export_scene")  # fmt: skip
        for name in names:
            if name:
                menu.addAction(self.commands.by_name[name])
            else:
                menu.addSeparator()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    # ---- what the session says ---------------------------------------------------------

    def _on_model_changed(self) -> None:
        model = self.session.model
        self.commands.set_model_open(model is not None)
        by_name = self.commands.by_name
        by_name["switch_side"].setEnabled(model is not None and bool(model.sides))
        by_name["check_update"].setEnabled(model is not None and has_versions(model))
        self.setWindowTitle(f"{model.name} – Helixscope" if model else "Helixscope")

    def make_lesson_panel(self) -> Any:
        """Make the panel of lessons, in its dock; the teaching connects it."""
        (dock,) = (dock for dock in DOCKS if dock.name == LESSON)
        panel = self.panels[LESSON] = dock.make(self.session, self._theme)
        self.docks[LESSON].setWidget(panel)
        return panel

    def build_panels(self) -> None:
        """Build what was not needed for the first frame."""
        if self.isVisible():  # and not closed meanwhile
            self._build_panels()

    # ---- events ------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Run the commands of plain keys that the focused widget did not want."""
        number = event.key() - Qt.Key.Key_1
        if is_typing(self.focusWidget()):  # a field leaves over Esc and some arrow keys
            if event.key() == Qt.Key.Key_Escape and not self.controller.cancel():
                focus_view(self)
        elif 0 <= number < min(len(DOCKS), KEYS) and not event.modifiers():
            self.focus_on(DOCKS[number].name)
        elif not self.commands.press(event.key(), event.modifiers()):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool, /) -> bool:
        """Let Tab go to the next control that can be seen."""
        return past_hidden(self, partial(super().focusNextPrevChild, forward))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take folders and files of this machine."""
        if self._dropped(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped."""
        path = self._dropped(event)
        if path is not None:
            event.acceptProposedAction()
            self.controller.open(str(path))

    def _dropped(self, event: QDropEvent) -> Path | None:
        urls = event.mimeData().urls()
        return Path(urls[0].toLocalFile()) if len(urls) == 1 and urls[0].isLocalFile() else None

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout and let go of everything."""
        self.teaching.stop()
        self.settings.layout = (self.saveGeometry(), self.saveState())
        self.settings.save_session(self.session)
        self.settings.sync()
        self._listening.stop()
        self._summary.release()
        self.results.stop()
        self.films.close()
        self.work.release()
        self.bookmarks.release()
        self.undo.close()
        for panel in self._themed():
            panel.release()
        self.grid.release()
        super().closeEvent(event)
