"""The main window: viewport, panels and menus, connected to the controller.

User intents go to the controller or into the session; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QDockWidget, QMenu, QTabWidget, QWidget

from gui.export.save_film import FilmSaver
from gui.export.save_picture import PictureSaver
from gui.panels.base import Panel
from gui.services.controller import Controller
from gui.services.loading import has_versions
from gui.services.undo import Undo
from gui.state.layout import Layout, WindowPlace
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, Theme, ThemeChoice
from gui.viewport.central_widget import CentralWidget
from gui.viewport.marquee import Shape
from gui.viewport.viewport import Viewport
from gui.widgets.boxes import vbox
from gui.widgets.label import without_keys
from gui.window import dialogs, exports
from gui.window.actions import Actions, is_typing
from gui.window.bookmark_keeper import BookmarkKeeper
from gui.window.docks import BOTTOM, DOCKS, KEYS, LEFT, RIGHT, Dock, DockTitle
from gui.window.empty_state import EmptyState
from gui.window.focus_navigation import focus_next_panel, focus_view, past_hidden
from gui.window.guide.opener import GuideOpener
from gui.window.host import HostWindow
from gui.window.layout import apply_layout, put, resize_docks, take_place
from gui.window.lesson_player import DOCK as LESSON
from gui.window.lesson_player import SHIPPED, LessonPlayer
from gui.window.notice_bar import NoticeBar
from gui.window.recent_menu import RecentMenu
from gui.window.result_docks import ResultDocks
from gui.window.save_turntable import TurntableSaver
from gui.window.save_work import WorkSaver
from gui.window.settings.key_changer import KeyChanger
from gui.window.settings.settings import Settings
from gui.window.side_by_side import SideBySide
from gui.window.status_bar import StatusBar
from gui.window.summary import Summary
from gui.window.toolbar import ToolBar
from gui.window.work_changes import work_title
from gui.window.workspaces import WORKSPACES, Workspaces

DEFAULT_SIZE = QSize(1440, 900)
TITLE_BAR = 5 * GRID
"""Estimated height of the window manager's title bar, which is known only later."""
MINIMUM_WIDTHS = {LEFT: 264, RIGHT: 224}
"""Minimum widths of the columns in logical pixels."""


SWITCHES: dict[str, tuple[str, object]] = {
    "parallel": ("projection", "parallel"),
    "faint": ("outside", "faint"),
    "color_range": ("color_span", "range"),
    "sphere": ("sphere", True),
    "measure": ("measure", True),
    "work_offline": ("offline", True),
    "cameras_linked": ("cameras_linked", True),
    "ranges_linked": ("ranges_linked", True),
}
"""Commands that are switches: their session field, and its value when on."""
STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}
"""Steps to the right and upwards, by arrow key."""
DRAWING = (
    "Drag a {} around points. Shift adds to the selection, Ctrl removes from it, Esc ends this "
    "mode."
)
TWO_FIRST = "Select the two positions to measure between: click one, Shift-click the other."
MESSAGE_MS = 8_000


def first_size(available: QSize) -> QSize:
    """Return the window's initial size, which fits the available size."""
    return DEFAULT_SIZE.boundedTo(available - QSize(0, TITLE_BAR))


class MainWindow(HostWindow):
    """The application's window.

    Parameters
    ----------
    session, controller, settings
        The state it shows, the controller, the stored settings.
    choose_theme
        Called with the user's choice of theme; the application then calls :meth:`set_theme`.
    restore
        Whether to arrange it as it was when last closed.

    Attributes
    ----------
    may_close
        Called when the window is to close; returns False if it stays open.
    """

    settingsRequested = Signal()  # The user wants to see the settings

    def __init__(
        self,
        session: Session,
        controller: Controller,
        settings: Settings,
        theme: Theme,
        choose_theme: Callable[[ThemeChoice], None],
        *,
        restore: bool = True,
    ) -> None:
        super().__init__()
        self.session, self.controller, self.settings = session, controller, settings
        self.choose_theme = choose_theme
        self.may_close: Callable[[], bool] = lambda: True
        self._listening = Listening()
        self.setWindowTitle("Helixscope")
        self.setAcceptDrops(True)
        self.viewport = Viewport(session, theme)
        self.empty_state = EmptyState(session, theme)
        self.notice_bar = NoticeBar(session, theme)
        self.side_by_side = SideBySide(self, theme)
        self.grid = self.side_by_side.grid
        self.pictures = PictureSaver(self, self.grid, controller)
        self.work = WorkSaver(self, lambda path: self.bookmarks.for_file(path))
        self.films = FilmSaver(self, self.viewport, session, controller)
        self.turntables = TurntableSaver(self)
        self._build_centre()
        self._theme = theme
        self._panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        for dock in DOCKS:
            self._build_dock(dock)
        self.results = ResultDocks(
            self, self.docks, self._panels, controller, self.films, self.side_by_side.choose_at
        )
        self._centre.addWidget(self.results.tabs.closed_bar)
        self.bookmarks = BookmarkKeeper(self, settings.bookmarks)
        camera = self.viewport.camera
        self.undo = Undo(
            session, lambda: camera.place, camera.return_to, comparing=controller.comparing
        )
        self.guide = GuideOpener(self)
        self.commands = Actions(self, handlers(self))
        self.keys = KeyChanger(self)
        self.lesson_player = LessonPlayer(self, (SHIPPED, settings.lessons))
        self._build_panel_menu()
        self.workspaces = Workspaces(self, self.lesson_player, self.commands.menus["Workspaces"])
        self.results.tabs.maximize = self.workspaces.maximized.toggle
        self.lesson_player.before_start = self.workspaces.maximized.restore
        self._build_recent_menu()
        self._build_status()
        self.toolbar = ToolBar(self.commands)
        self.addToolBar(self.toolbar)
        self.show_toolbar(settings.toolbar)
        connect_centre(self)
        connect_undo(self)
        self.results.on_choices = self.work.changes.look
        self._listen_to_session()
        self._restore_layout(settings.layout if restore else None)

    # ---- construction ------------------------------------------------------------------

    def _build_centre(self) -> None:
        centre = QWidget()
        central = CentralWidget(self.grid, self.empty_state)
        self._centre = vbox(self.notice_bar, (central, 1), parent=centre, spacing=0)
        self.setCentralWidget(centre)

    def _build_dock(self, dock: Dock) -> None:
        widget = QDockWidget(dock.title, self)
        widget.setObjectName(dock.name)
        title = DockTitle(dock.title, widget)
        title.maximizeRequested.connect(lambda: self.workspaces.maximized.toggle(widget))
        widget.setTitleBarWidget(title)
        self.docks[dock.name] = widget
        self.addDockWidget(dock.area, widget)

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels by their docks' names, built on first use, after the first frame.

        So the curve appears sooner.
        """
        self._build_panels()
        return self._panels

    def _build_panels(self) -> None:
        if self._panels:
            return
        from gui.window.panel_wiring import connect_panel

        for dock in (dock for dock in DOCKS if not dock.lazy):
            panel = self._panels[dock.name] = dock.make(self.session, self._theme)
            connect_panel(panel, self)
        self._set_minimum_widths()
        # Visible panels ask at once, so they must be connected.
        for name, panel in self._panels.items():
            self.docks[name].setWidget(panel)
        self.results.begin(self._theme)
        self.bookmarks.begin()

    def _build_recent_menu(self) -> None:
        self._recent = RecentMenu(self)
        before = self.commands.by_name["find_model"]
        self.commands.menus["File"].insertMenu(before, self._recent)

    def _build_panel_menu(self) -> None:
        menu = self.commands.menus["Panels"]
        first = menu.actions()[0]
        group = ""
        for dock in DOCKS:
            action = self.docks[dock.name].toggleViewAction()
            if dock.name == LESSON:  # it does more than show a panel
                action = self.lesson_player.action
            if dock.group != group:
                menu.insertSeparator(first)
                group = dock.group
            action.setText(f"{dock.title}\t{dock.key}" if dock.key else dock.title)
            menu.insertAction(first, action)
        menu.insertSeparator(first)

    def _build_status(self) -> None:
        self.status_bar = StatusBar(self.session, self._theme)
        self.setStatusBar(self.status_bar)
        self._summary = Summary(self.session, self._theme, self.menuBar())

    def _listen_to_session(self) -> None:
        self._listening.to(self.session.events.model, self._on_model_changed)
        self.work.changes.changed.connect(self._show_title)
        self._on_model_changed()
        connect_switches(self.session, self.commands, self._listening)

    # ---- layout ------------------------------------------------------------------------

    def _restore_layout(self, stored: tuple[WindowPlace, Layout] | None) -> None:
        self.setCorner(Qt.Corner.BottomLeftCorner, LEFT)
        self.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        self.setTabPosition(BOTTOM, QTabWidget.TabPosition.North)
        self.setTabPosition(RIGHT, QTabWidget.TabPosition.North)
        self.resize(first_size(self.screen().availableSize()))
        self.arrange()
        self._layout = None if stored is None else stored[1]
        if stored is not None:
            put(self, stored[0])
            apply_layout(self, stored[1])
            self.workspaces.restore(*self.settings.workspaces)
        self.docks[LESSON].hide()  # an interrupted lesson is not continued
        self.commands.by_name["full_screen"].setChecked(self.isFullScreen())

    def arrange(self) -> None:
        """Arrange the current workspace as at first; an active lesson goes on."""
        self.workspaces.reset()

    def arrangement(self) -> Layout:
        return self.workspaces.layout()

    def set_theme(self, theme: Theme, choice: ThemeChoice) -> None:
        """Set the colours, and check the theme in the menu."""
        self._theme = theme
        self.results.set_theme(theme)
        self.grid.set_theme(theme)
        self.guide.set_theme(theme)
        for panel in self._themed():
            panel.set_theme(theme)
        self._set_minimum_widths()
        for name in ("system", "light", "dark"):
            self.commands.by_name[f"theme_{name}"].setChecked(name == choice)

    def _set_minimum_widths(self) -> None:
        """Let the columns grow with the size of text."""
        for dock in DOCKS:
            if dock.name in self._panels and not dock.lazy:
                width = self._theme.px(MINIMUM_WIDTHS.get(dock.area, 0))
                self._panels[dock.name].setMinimumWidth(width)

    def _themed(self) -> tuple[Panel | StatusBar, ...]:
        return (*self._panels.values(), self.empty_state, self.notice_bar, self.status_bar)

    # ---- intents -----------------------------------------------------------------------

    def work_offline(self, on: bool) -> None:
        """Disable or enable the network; stored in the settings."""
        self.settings.offline = self.session.offline = on

    def focus_on_selection(self) -> None:
        """Centre the selected position in the viewport, or show all selected ones."""
        if self.session.selection:
            self.viewport.camera.focus_on(*self.session.selection)

    def show_toolbar(self, on: bool) -> None:
        """Show or hide the toolbar; stored in the settings."""
        self.toolbar.setVisible(on)
        self.commands.by_name["toolbar"].setChecked(on)
        self.settings.toolbar = on

    def maximize(self) -> None:
        """Maximise the panel that has the focus, or the 3D view; or put all back."""
        focus = QApplication.focusWidget()
        docks = self.docks.values()
        self.workspaces.maximized.toggle(
            next((dock for dock in docks if focus is not None and dock.isAncestorOf(focus)), None)
        )

    def cancel(self) -> None:
        """Cancel drawing, downloads or motion; or close the notice; or clear the selection."""
        spin = self.commands.by_name["spin"]
        if self.viewport.marquee.armed is not None:
            self.viewport.marquee.arm(None)
        elif self.controller.cancel() or self.viewport.camera.end_round():
            pass
        elif spin.isChecked():
            spin.setChecked(False)
            self.viewport.camera.set_spinning(False)
        elif self.session.snapshot is not None:
            self.session.snapshot = None
        elif self.session.notice is not None:
            self.session.notice = None
        else:
            self.controller.comparing.marks.select(())  # including positions beyond the open table
        self.viewport.interactor.setFocus()

    def show_menu(self, at: QPoint) -> None:
        """Show the viewport's context menu at a point of the screen."""
        menu = QMenu(self)
        names = ("view_side", "view_article", "frame", "spin", "", "select_box", "select_lasso",
                 "focus_on_selection", "measure", "", "parallel", "faint", "sphere", "",
                 "save_picture", "copy_picture", "export_scene")  # fmt: skip
        for name in names:
            if name:
                menu.addAction(self.commands.by_name[name])
            else:
                menu.addSeparator()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    # ---- changes of the session --------------------------------------------------------

    def _on_model_changed(self) -> None:
        model = self.session.model
        self.commands.set_model_open(model is not None)
        by_name = self.commands.by_name
        by_name["switch_side"].setEnabled(model is not None and bool(model.sides))
        by_name["check_update"].setEnabled(model is not None and has_versions(model))
        self._show_title()

    def _show_title(self) -> None:
        self.setWindowTitle(work_title(self.session))
        self.setWindowModified(bool(self.session.work_file) and self.work.changes.marked)

    def make_panel(self, dock: str) -> Panel:
        (found,) = (one for one in DOCKS if one.name == dock)
        panel = self.panels[dock] = found.make(self.session, self._theme)
        self.docks[dock].setWidget(panel)
        return panel

    def build_panels(self) -> None:
        """Build what was not needed for the first frame."""
        if self.isVisible():  # not if it was closed meanwhile
            self._build_panels()
            if self._layout is not None:
                resize_docks(self, self._layout)

    # ---- events ------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # Another program, such as a training run, may have been at work.
            self.controller.changed_files.look()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Run the commands of plain keys that the focused widget did not use."""
        digit = QKeySequence(event.keyCombination().key()).toString()
        if is_typing(self.focusWidget()):  # text fields do not use Esc and some arrow keys
            if event.key() == Qt.Key.Key_Escape and not self.controller.cancel():
                focus_view(self)
        elif digit in KEYS and not event.modifiers():
            dock = KEYS[digit]
            self.focus_on(self.results.next_of(dock.group) if dock.group else dock.name)
        elif not self.commands.press(event.key(), event.modifiers()):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool, /) -> bool:
        return past_hidden(self, partial(super().focusNextPrevChild, forward))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._dropped(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = self._dropped(event)
        if path is not None:
            event.acceptProposedAction()
            self.controller.open(str(path))

    def _dropped(self, event: QDropEvent) -> Path | None:
        urls = event.mimeData().urls()
        return Path(urls[0].toLocalFile()) if len(urls) == 1 and urls[0].isLocalFile() else None

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.may_close():
            event.ignore()
            return
        self.may_close = lambda: True  # it is closed once more at the end
        self.lesson_player.stop()
        self.settings.layout = take_place(self), self.arrangement()
        self.settings.workspaces = self.workspaces.kept()
        self.settings.save_session(self.session)
        self.settings.sync()
        self._listening.stop()
        self.guide.close()
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


# ---- handlers of commands and connections of parts ----


def handlers(window: MainWindow) -> dict[str, Callable[..., object]]:
    """Return the handler of each command, by its name in :data:`gui.window.actions.COMMANDS`."""
    view, controller = window.viewport.camera, window.controller
    return {
        "open_folder": window.open_folder,
        "open_file": window.open_file,
        "open_hub": lambda: window.start_in("models"),
        "find_model": lambda: window.start_in("models"),
        "check_update": controller.check_for_update,
        "work_offline": window.work_offline,
        "switch_side": controller.switch_side,
        "save_picture": window.pictures.ask,
        "copy_picture": window.pictures.copy,
        "export_scene": partial(exports.export_scene, window),
        "save_turntable": window.turntables.ask,
        "export_data": partial(exports.export_data, window),
        "copy_window": partial(exports.copy_window, window),
        "open_work": window.work.open,
        "save_work": window.work.save,
        "save_work_as": window.work.save_as,
        "settings": window.settingsRequested.emit,
        "quit": window.close,
        "undo": window.undo.undo,
        "redo": window.undo.redo,
        "go_to": lambda: window.start_in("inspector"),
        "next": lambda: controller.walk(1),
        "previous": lambda: controller.walk(-1),
        "next_10": lambda: controller.walk(10),
        "previous_10": lambda: controller.walk(-10),
        "clear_selection": window.cancel,
        "select_box": lambda on: arm(window, "box" if on else None),
        "select_lasso": lambda on: arm(window, "lasso" if on else None),
        "focus_on_selection": window.focus_on_selection,
        "measure": lambda on: measure(window, on),
        "label_tokens": lambda: window.start_in("prompt"),
        "view_side": lambda: view.view("side"),
        "view_article": lambda: view.view("article"),
        "view_isometric": lambda: view.view("isometric"),
        "view_xy": lambda: view.look_along(2),
        "view_xz": lambda: view.look_along(1),
        "view_yz": lambda: view.look_along(0),
        "frame": view.frame,
        "zoom_in": lambda: view.zoom(1.25),
        "zoom_out": lambda: view.zoom(0.8),
        "spin": view.set_spinning,
        **{f"turn_{way}": partial(view.turn, *step) for way, step in STEPS.items()},
        **{f"move_{way}": partial(view.shift, *step) for way, step in STEPS.items()},
        "roll_left": lambda: view.turn(0, 0, -1),
        "roll_right": lambda: view.turn(0, 0, 1),
        "parallel": lambda on: window.set_field("projection", "parallel" if on else "perspective"),
        "faint": lambda on: window.set_field("outside", "faint" if on else "hidden"),
        "color_range": lambda on: window.set_field("color_span", "range" if on else "table"),
        "sphere": lambda on: window.set_field("sphere", on),
        "bookmark": window.bookmarks.add,
        "bookmarks": window.bookmarks.show,
        "theme_system": lambda _: window.choose_theme("system"),
        "theme_light": lambda _: window.choose_theme("light"),
        "theme_dark": lambda _: window.choose_theme("dark"),
        "toolbar": window.show_toolbar,
        "full_screen": lambda on: window.showFullScreen() if on else window.showNormal(),
        "view_3d": lambda: focus_view(window),
        "next_panel": lambda: focus_next_panel(window, 1),
        "previous_panel": lambda: focus_next_panel(window, -1),
        "reset_layout": window.arrange,
        **{
            f"workspace_{name}": lambda _, name=name: window.workspaces.choose(name)
            for name in WORKSPACES
        },
        "workspace_save": lambda: window.workspaces.save(),
        "workspace_delete": lambda: window.workspaces.delete(),
        "maximize": window.maximize,
        "panels_below": lambda: window.results.tabs.toggle(),
        "side_panels": lambda: window.workspaces.toggle_side(),
        "lesson": lambda: window.lesson_player.open(),
        "lesson_previous": lambda: window.lesson_player.go_on(-1),
        "lesson_next": lambda: window.lesson_player.go_on(1),
        "palette": lambda: _show_palette(window),
        "compare_add": window.side_by_side.choose,
        "compare_nine": window.side_by_side.show_nine,
        "compare_next": lambda: window.side_by_side.go_on(1),
        "compare_previous": lambda: window.side_by_side.go_on(-1),
        "compare_alone": window.side_by_side.toggle_alone,
        "cameras_linked": window.grid.link_cameras,
        "ranges_linked": lambda on: window.set_field("ranges_linked", on),
        "lay_over": lambda: window.start_in("compare"),
        "compare_clear": controller.comparing.clear,
        "guide": window.guide.open,
        "change_keys": lambda: window.keys.show(),
        "shortcuts": lambda: dialogs.show_shortcuts(window, window.commands.commands.values()),
        "about": lambda: dialogs.show_about(window),
    }


def arm(window: MainWindow, shape: Shape | None) -> None:
    """Set what the next drag in a view does: draw a shape, or rotate the curve."""
    window.grid.arm(shape)
    window.viewport.interactor.setFocus()


def measure(window: MainWindow, on: bool) -> None:
    """Show the line between the last two selected positions, or explain how to select them."""
    window.set_field("measure", on)
    if on and window.session.pair is None:
        window.status_bar.showMessage(TWO_FIRST, MESSAGE_MS)


def _show_palette(window: MainWindow) -> None:
    from gui.window.palette import Palette

    Palette(window, window.bookmarks.items()).popup()


def connect_switches(session: Session, commands: Actions, listening: Listening) -> None:
    """Keep the check marks of switches in sync with the session."""

    def show(name: str, field: str, on: object) -> None:
        commands.by_name[name].setChecked(getattr(session, field) == on)

    for name, (field, on) in SWITCHES.items():
        listening.to(session.events[field], partial(show, name, field, on))
        show(name, field, on)


def connect_centre(window: MainWindow) -> None:
    """Connect the viewport and the widgets over it."""
    controller, viewport = window.controller, window.viewport
    window.empty_state.folderRequested.connect(window.open_folder)
    window.empty_state.fileRequested.connect(window.open_file)
    window.empty_state.hubRequested.connect(lambda: window.start_in("models"))
    window.empty_state.lessonRequested.connect(window.lesson_player.begin_with_sample)
    window.empty_state.cancelRequested.connect(controller.cancel)
    window.status_bar.cancelRequested.connect(controller.cancel)
    viewport.hoverRequested.connect(lambda position: window.set_field("hover", position))
    viewport.menuRequested.connect(window.show_menu)
    viewport.marquee.armedChanged.connect(lambda shape: _on_armed(window, shape))
    viewport.firstFrame.connect(window.build_panels, Qt.ConnectionType.QueuedConnection)
    window.notice_bar.dismissed.connect(lambda: setattr(window.session, "notice", None))
    window.notice_bar.tableRequested.connect(
        lambda source, table: controller.open(source, table=table)
    )
    window.notice_bar.retryRequested.connect(controller.retry)
    window.notice_bar.wholeRequested.connect(lambda: controller.retry(whole=True))


def _on_armed(window: MainWindow, armed: Shape | None) -> None:
    if armed is None:
        window.status_bar.clearMessage()
    else:
        window.status_bar.showMessage(DRAWING.format(armed))
    for shape in ("box", "lasso"):
        window.commands.by_name[f"select_{shape}"].setChecked(shape == armed)


def connect_undo(window: MainWindow) -> None:
    """Connect undo with the mouse and the menu."""
    undo, actions = window.undo, window.commands.by_name
    window.viewport.camera.left.connect(undo.camera_left)
    undo.show_choices = window.results.show_choices
    titles = {dock.name: dock.title for dock in DOCKS}
    window.results.on_chosen = lambda name, before, after: undo.choices_changed(
        name, titles[name], before, after
    )

    def show() -> None:
        for name, title, what in (("undo", "Undo", undo.undoes), ("redo", "Redo", undo.redoes)):
            actions[name].setEnabled(bool(what))
            shown = without_keys(f"{title}: {what}") if what else title
            window.commands.set_title(name, shown)

    undo.on_changed = show
    show()
