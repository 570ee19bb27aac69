"""The parts of the main window: the viewport, panels, menus, and their connections.

They are built when the empty window is shown already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QTabWidget, QVBoxLayout, QWidget

from gui.export.save_film import FilmSaver
from gui.export.save_picture import PictureSaver
from gui.panels.table import GROUPS
from gui.services.loading import has_versions
from gui.services.undo import Undo
from gui.viewport.central_widget import CentralWidget
from gui.viewport.viewport import Viewport
from gui.widgets.boxes import vbox
from gui.widgets.label import without_keys
from gui.window import dialogs, exports
from gui.window.actions import FIELDS, Actions
from gui.window.arrangement.docks import BOTTOM, DOCKS, LEFT, RIGHT, Dock, DockTitle, EdgedDock
from gui.window.arrangement.focus_navigation import focus_next_panel, focus_view
from gui.window.arrangement.layout import apply_layout
from gui.window.arrangement.result_docks import ResultDocks
from gui.window.arrangement.side_by_side import SideBySide
from gui.window.arrangement.side_columns import SideColumns
from gui.window.arrangement.workspaces import WORKSPACES, Workspaces
from gui.window.bookmark_keeper import BookmarkKeeper
from gui.window.empty_state import EmptyState
from gui.window.guide.opener import GuideOpener
from gui.window.lesson_player import DOCK as LESSON
from gui.window.lesson_player import SHIPPED, LessonPlayer
from gui.window.measure_inside import InsideMeasurer
from gui.window.notice_bar import NoticeBar
from gui.window.save_turntable import TurntableSaver
from gui.window.settings.key_changer import KeyChanger
from gui.window.status_bar import StatusBar
from gui.window.summary import Summary
from gui.window.survey.opener import SurveyOpener
from gui.window.toolbar import ToolBar
from gui.window.work.recent_menu import RecentMenu
from gui.window.work.save_work import WorkSaver
from gui.window.work.work_changes import work_title

if TYPE_CHECKING:
    from gui.services.controller import Controller
    from gui.state.session import Session
    from gui.state.values import Notice
    from gui.style.listening import Listening
    from gui.style.theme import ThemeChoice
    from gui.viewport.marquee import Shape
    from gui.window.main_window import MainWindow

STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}
"""Steps to the right and upwards, by arrow key."""
DRAWING = "Drag a {} around points. Shift adds to the selection, Ctrl removes from it. Esc ends it."
TWO_FIRST = "Select the two positions to measure between: click one, Shift-click the other."
MESSAGE_MS = 8_000


def build_parts(
    window: MainWindow,
    session: Session,
    controller: Controller,
    choose_theme: Callable[[ThemeChoice], None],
) -> None:
    """Build the content of a window.

    Parameters
    ----------
    session, controller
        The state to show, and the controller.
    choose_theme
        Called with the user's choice of theme; the application then calls
        :meth:`gui.window.main_window.MainWindow.set_theme`.
    """
    window.session, window.controller, window.choose_theme = session, controller, choose_theme
    theme, settings = window.theme, window.settings
    window.viewport = Viewport(session, theme)
    window.empty_state = EmptyState(session, theme)
    window.notice_bar = NoticeBar(session, theme)
    window.side_by_side = SideBySide(window, theme)
    window.grid = window.side_by_side.grid
    window.pictures = PictureSaver(window, window.grid, controller)
    window.work = WorkSaver(window, lambda: window.bookmarks.bookmarks.current)
    window.films = FilmSaver(window, window.viewport, session, controller)
    window.turntables = TurntableSaver(window)
    window.inside = InsideMeasurer(window)
    centre = _build_centre(window)
    for dock in DOCKS:
        _build_dock(window, dock)
    window.results = ResultDocks(
        window,
        window.docks,
        window.built_panels,
        controller,
        window.films,
        window.side_by_side.choose_at,
    )
    centre.addWidget(window.results.tabs.closed_bar)
    window.bookmarks = BookmarkKeeper(window, settings.bookmarks)
    camera = window.viewport.camera
    window.undo = Undo(session, controller.comparing, lambda: camera.place, camera.return_to)
    window.guide = GuideOpener(window)
    window.surveys = SurveyOpener(window, window.side_by_side)
    controller.open_survey = window.surveys.open
    window.commands = Actions(window, handlers(window))
    window.keys = KeyChanger(window)
    window.lesson_player = LessonPlayer(window, (SHIPPED, settings.lessons))
    _build_panel_menu(window)
    window.workspaces = Workspaces(
        window, window.lesson_player, window.commands.menus["Workspaces"]
    )
    maximized = window.workspaces.maximized
    window.results.tabs.maximize = maximized.toggle
    window.results.tabs.restore_maximized = maximized.restore
    window.lesson_player.restore_maximized = maximized.restore
    window.lesson_player.is_covered = lambda: maximized.hides(window.docks[LESSON])
    _build_recent_menu(window)
    window.status_bar = StatusBar(session, theme)
    window.setStatusBar(window.status_bar)
    window.summary = Summary(session, theme, window.menuBar())
    window.toolbar = ToolBar(window.commands)
    window.addToolBar(window.toolbar)
    window.workspaces.changed.connect(lambda: window.toolbar.show_own(window.workspaces))
    window.toolbar.show_own(window.workspaces)
    # Qt's own menu of docks and toolbars has the toolbar, too.
    window.toolbar.toggleViewAction().triggered.connect(window.show_toolbar)
    window.show_toolbar(settings.toolbar)
    window.side_columns = SideColumns(window)
    connect_centre(window)
    connect_undo(window)
    window.results.on_choices = window.work.changes.look
    window.listening.to(session.events.model, partial(show_model, window))
    window.work.changes.changed.connect(partial(show_title, window))
    show_model(window)
    connect_switches(session, window.commands, window.listening)
    _arrange(window)
    window.setAcceptDrops(True)
    window.is_built = True


def _build_centre(window: MainWindow) -> QVBoxLayout:
    centre = QWidget()
    central = CentralWidget(window.grid, window.empty_state)
    column = vbox(window.notice_bar, (central, 1), parent=centre, spacing=0)
    window.setCentralWidget(centre)
    return column


def _build_dock(window: MainWindow, dock: Dock) -> None:
    widget = EdgedDock(dock.title, window)
    widget.setObjectName(dock.name)
    title = DockTitle(dock.title, widget)
    title.maximizeRequested.connect(lambda: window.workspaces.maximized.toggle(widget))
    widget.setTitleBarWidget(title)
    window.docks[dock.name] = widget
    window.addDockWidget(dock.area, widget)


def _build_recent_menu(window: MainWindow) -> None:
    window.recent_menu = RecentMenu(window)
    before = window.commands.by_name["find_model"]
    window.commands.menus["File"].insertMenu(before, window.recent_menu)


def _build_panel_menu(window: MainWindow) -> None:
    panels = window.commands.menus["Panels"]
    first = panels.actions()[0]
    groups: dict[str, QMenu] = {}
    for dock in DOCKS:
        action = window.docks[dock.name].toggleViewAction()
        if dock.name == LESSON:  # its action does more than show a panel
            action = window.lesson_player.action
        action.setText(f"{dock.title}\t{dock.key}" if dock.key else dock.title)
        if dock.group and not groups:
            panels.insertSeparator(first)
        if len(GROUPS.get(dock.group, ())) < 2:
            panels.insertAction(first, action)
            continue
        if dock.group not in groups:  # a menu with all panels would be higher than small screens
            groups[dock.group] = QMenu(dock.group, panels)
            panels.insertMenu(first, groups[dock.group])
        groups[dock.group].addAction(action)
    panels.insertSeparator(first)


def _arrange(window: MainWindow) -> None:
    """Restore the docks' arrangement of the last session, or the initial one."""
    window.setCorner(Qt.Corner.BottomLeftCorner, LEFT)
    window.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
    window.setTabPosition(BOTTOM, QTabWidget.TabPosition.North)
    window.setTabPosition(LEFT, QTabWidget.TabPosition.North)
    window.setTabPosition(RIGHT, QTabWidget.TabPosition.North)
    window.arrange()
    if window.stored_layout is not None:
        apply_layout(window, window.stored_layout)
        window.workspaces.restore(*window.settings.workspaces)
    window.docks[LESSON].hide()  # an interrupted lesson is not continued
    window.commands.by_name["full_screen"].setChecked(window.isFullScreen())


# ---- changes of the session ----------------------------------------------------------------


def show_model(window: MainWindow) -> None:
    """Update commands and title for the open model, if any."""
    model = window.session.model
    window.commands.set_model_open(model is not None)
    by_name = window.commands.by_name
    by_name["switch_side"].setEnabled(model is not None and bool(model.sides))
    chosen = model is not None and model.table_choice not in (None, *model.sides)
    by_name["forget_table"].setEnabled(chosen)
    by_name["check_update"].setEnabled(model is not None and has_versions(model))
    show_title(window)


def show_title(window: MainWindow) -> None:
    """Show the work's name, and whether it has unsaved changes."""
    window.setWindowTitle(work_title(window.session))
    window.setWindowModified(bool(window.session.work_file) and window.work.changes.marked)


# ---- handlers of commands and connections of parts -----------------------------------------


def handlers(window: MainWindow) -> dict[str, Callable[..., object]]:
    """Return the handler of each command, by its name in :data:`gui.window.actions.COMMANDS`."""
    view, controller = window.viewport.camera, window.controller
    return {
        **{name: _switch(window, *field) for name, field in FIELDS.items()},
        "open_folder": window.open_folder,
        "open_file": window.open_file,
        "open_tokens": window.open_tokens,
        "open_hub": lambda: window.start_in("models"),
        "find_model": lambda: window.start_in("models"),
        "check_update": controller.opening.check_for_update,
        "work_offline": window.work_offline,
        "switch_side": controller.opening.switch_side,
        "choose_table": lambda: _ask_for_open_model(window),
        "forget_table": controller.opening.forget_table,
        "save_picture": window.pictures.ask,
        "copy_picture": window.pictures.copy,
        "export_scene": partial(exports.export_scene, window),
        "save_turntable": window.turntables.ask,
        "export_data": partial(exports.export_data, window),
        "measure_inside": lambda: window.inside.ask(),
        "copy_window": partial(exports.copy_window, window),
        "open_work": window.work.open,
        "open_survey": window.surveys.ask,
        "save_work": lambda: window.work.save(),
        "save_work_as": lambda: window.work.save_as(),
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
        **{f"turn_{name}": partial(view.turn, *step) for name, step in STEPS.items()},
        **{f"move_{name}": partial(view.shift, *step) for name, step in STEPS.items()},
        "roll_left": lambda: view.turn(0, 0, -1),
        "roll_right": lambda: view.turn(0, 0, 1),
        "bookmark": window.bookmarks.add,
        "bookmarks": window.bookmarks.show,
        "theme_system": lambda _: window.choose_theme("system"),
        "theme_light": lambda _: window.choose_theme("light"),
        "theme_dark": lambda _: window.choose_theme("dark"),
        "toolbar": window.show_toolbar,
        "full_screen": lambda on: window.showFullScreen() if on else window.showNormal(),
        "view_3d": lambda: show_view(window),
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
        "lay_over": lambda: window.start_in("compare"),
        "compare_clear": controller.comparing.clear,
        "guide": window.guide.open,
        "change_keys": lambda: window.keys.show(),
        "shortcuts": lambda: dialogs.show_shortcuts(window, window.commands.commands.values()),
        "about": lambda: dialogs.show_about(window),
    }


def _switch(window: MainWindow, field: str, on: object, off: object) -> Callable[[bool], None]:
    return lambda checked: window.set_field(field, on if checked else off)


def arm(window: MainWindow, shape: Shape | None) -> None:
    """Set whether the next drag in a view draws a shape or rotates the curve."""
    window.grid.arm(shape)
    window.viewport.interactor.setFocus()


def show_view(window: MainWindow) -> None:
    """Focus the 3D view; restore it first if a maximised panel hides it."""
    window.workspaces.maximized.show_view()
    focus_view(window)


def measure(window: MainWindow, on: bool) -> None:
    """Show the line between the last two selected positions, or explain how to select them."""
    window.set_field("measure", on)
    if on and window.session.pair is None:
        window.status_bar.showMessage(TWO_FIRST, MESSAGE_MS)


def _show_palette(window: MainWindow) -> None:
    from gui.window.palette import Palette

    Palette(window, [*window.bookmarks.items(), *window.lesson_player.items()]).popup()


def connect_switches(session: Session, commands: Actions, listening: Listening) -> None:
    """Keep the check marks of switches in sync with the session."""

    def show(name: str, field: str, on: object) -> None:
        commands.by_name[name].setChecked(getattr(session, field) == on)

    for name, (field, on, _) in FIELDS.items():
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
        partial(_ask_table, window, window.side_by_side.choose_table)
    )
    window.notice_bar.insideRequested.connect(window.inside.ask)
    window.notice_bar.retryRequested.connect(controller.retry)
    window.notice_bar.wholeRequested.connect(lambda: controller.retry(whole=True))


def _ask_table(window: MainWindow, choose: Callable[[Notice, str], None], notice: Notice) -> None:
    from gui.window.table_choice import ask_table

    ask_table(window, choose, notice)


def _ask_for_open_model(window: MainWindow) -> None:
    from gui.window.table_choice import ask_for_open_model

    ask_for_open_model(window)


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
