"""The main window: empty until its parts are built, so that it is shown while VTK is imported.

User intents go to the controller or into the session; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu

from geometry.models.sources.source import Source
from gui.services.jobs.jobs import gui_first
from gui.style.listening import Listening
from gui.style.theme import Theme, ThemeChoice
from gui.window.actions import is_typing
from gui.window.arrangement.dock_panel import DockPanel
from gui.window.arrangement.docks import DOCKS, KEYS, LEFT, RIGHT
from gui.window.arrangement.focus_navigation import focus_view, past_hidden
from gui.window.arrangement.layout import TITLE_BAR, apply_layout, put, resize_docks, take_place
from gui.window.host import HostWindow

if TYPE_CHECKING:
    from gui.export.save_picture import PictureSaver
    from gui.state.layout import Layout
    from gui.widgets.panel import Panel
    from gui.window.arrangement.side_by_side import SideBySide
    from gui.window.arrangement.side_columns import SideColumns
    from gui.window.arrangement.workspaces import Workspaces
    from gui.window.bookmark_keeper import BookmarkKeeper
    from gui.window.empty_state import EmptyState
    from gui.window.guide.opener import GuideOpener
    from gui.window.lesson_player import LessonPlayer
    from gui.window.measure_inside import InsideMeasurer
    from gui.window.notice_bar import NoticeBar
    from gui.window.save_turntable import TurntableSaver
    from gui.window.settings.key_changer import KeyChanger
    from gui.window.settings.settings import Settings
    from gui.window.status_bar import StatusBar
    from gui.window.summary import Summary
    from gui.window.survey.opener import SurveyOpener
    from gui.window.work.recent_menu import RecentMenu
    from gui.window.work.save_work import WorkSaver

DEFAULT_SIZE = QSize(1440, 900)
MINIMUM_WIDTHS = {LEFT: 272, RIGHT: 220}
"""Minimum widths of the columns in logical pixels."""
CONTEXT_MENU = (
    ("view_side", "view_article", "frame", "spin"),
    ("select_box", "select_lasso", "focus_on_selection", "measure"),
    ("parallel", "faint", "sphere"),
    ("save_picture", "copy_picture", "export_scene"),
)
"""Groups of commands in the viewport's context menu."""


def first_size(available: QSize) -> QSize:
    """Return the window's initial size, which fits the available size."""
    return DEFAULT_SIZE.boundedTo(available - QSize(0, TITLE_BAR))


class MainWindow(HostWindow):
    """The application's window: initially empty, so that it can be shown at once.

    Parameters
    ----------
    settings, theme
        The stored settings; the colours.
    restore
        Whether to restore the arrangement of the last session.

    Attributes
    ----------
    is_built
        Whether :func:`gui.window.parts.build_parts` has built its parts.
    built_panels
        The panels built so far.
    stored_layout
        The arrangement of the docks in the last session; None for the initial one.
    may_close
        Called before the window closes; returns False to keep it open.
    """

    settingsRequested = Signal()  # The user wants to see the settings

    choose_theme: Callable[[ThemeChoice], None]
    # The parts, once they are built.
    empty_state: EmptyState
    notice_bar: NoticeBar
    side_by_side: SideBySide
    side_columns: SideColumns
    pictures: PictureSaver
    work: WorkSaver
    turntables: TurntableSaver
    inside: InsideMeasurer
    bookmarks: BookmarkKeeper
    guide: GuideOpener
    surveys: SurveyOpener
    keys: KeyChanger
    lesson_player: LessonPlayer
    workspaces: Workspaces
    recent_menu: RecentMenu
    summary: Summary

    def __init__(self, settings: Settings, theme: Theme, *, restore: bool = True) -> None:
        super().__init__()
        self.settings, self.theme = settings, theme
        self.may_close: Callable[[], bool] = lambda: self.is_built
        self.is_built = False
        self.built_panels: dict[str, Panel] = {}
        self.docks = {}
        self.listening = Listening()
        self.setWindowTitle("Helixscope")
        self.resize(first_size(self.screen().availableSize()))
        stored = settings.layout if restore else None
        self.stored_layout = None if stored is None else stored[1]
        if stored is not None:
            put(self, stored[0])

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels by their docks' names, built on first use.

        This is after the first frame, so that the curve appears sooner.
        """
        self._build_panels()
        return self.built_panels

    def _build_panels(self) -> None:
        if self.built_panels:
            return
        # Questions import its modules, each on its own thread. If the package itself is not
        # imported before, this may deadlock (https://github.com/python/cpython/issues/83065).
        import scipy  # noqa: F401

        from gui.window.panel_wiring import connect_panel

        for dock in (dock for dock in DOCKS if not dock.lazy):
            panel = self.built_panels[dock.name] = dock.make(self.session, self.theme)
            connect_panel(panel, self)
        # Visible panels ask questions at once, so they must be connected.
        for name, panel in self.built_panels.items():
            self.docks[name].setWidget(DockPanel(panel))
        self._set_minimum_widths()
        self.side_columns.fit()
        self.results.begin(self.theme)
        self.bookmarks.begin()

    # ---- layout ------------------------------------------------------------------------

    def keep_settings(self) -> None:
        """Store the settings and the layout, but not what a lesson has set."""
        if self.lesson_player.on:
            return
        self.settings.layout = take_place(self), self.arrangement()
        self.settings.workspaces = self.workspaces.kept()
        camera = self.viewport.camera
        if (outlook := camera.outlook) is not None:
            self.settings.camera = None if camera.place.framed else outlook
        self.settings.save_session(self.session)
        self.settings.sync()

    def arrange(self) -> None:
        """Restore the initial arrangement of the current workspace; an active lesson continues."""
        self.workspaces.reset()

    def arrangement(self) -> Layout:
        return self.workspaces.layout()

    def arrange_as(self, layout: Layout) -> None:
        self.workspaces.maximized.restore()
        apply_layout(self, layout)

    def restore_docks(self, state: QByteArray) -> None:
        hidden = self.toolbar.isHidden()
        with gui_first():
            self.restoreState(state)
        self.toolbar.setHidden(hidden)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours and the size of text."""
        self.theme = theme
        self.results.set_theme(theme)
        self.grid.set_theme(theme)
        self.guide.set_theme(theme)
        self.surveys.set_theme()
        for panel in self._themed():
            panel.set_theme(theme)
        self._set_minimum_widths()

    def check_theme(self, choice: ThemeChoice) -> None:
        """Check the chosen theme in the menu."""
        for name in ("system", "light", "dark"):
            self.commands.by_name[f"theme_{name}"].setChecked(name == choice)

    def _set_minimum_widths(self) -> None:
        """Let the columns grow with the size of text."""
        for dock in DOCKS:
            if dock.name in self.built_panels and not dock.lazy:
                width = self.theme.px(MINIMUM_WIDTHS.get(dock.area, 0))
                panel = self.docks[dock.name].widget()
                assert panel is not None
                panel.setMinimumWidth(width)

    def _themed(self) -> tuple[Panel | StatusBar, ...]:
        return (*self.built_panels.values(), self.empty_state, self.notice_bar, self.status_bar)

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
        """Maximise the panel that has the focus, or the 3D view; or restore all."""
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
        for group in CONTEXT_MENU:
            menu.addSeparator()  # Qt shows none at the top
            menu.addActions([self.commands.by_name[name] for name in group])
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def make_panel(self, dock: str) -> Panel:
        (entry,) = (entry for entry in DOCKS if entry.name == dock)
        panel = self.panels[dock] = entry.make(self.session, self.theme)
        self.docks[dock].setWidget(DockPanel(panel))
        return panel

    def build_panels(self) -> None:
        """Build the parts that the first frame does not need."""
        if self.isVisible():  # not if it was closed meanwhile
            self._build_panels()
            if self.stored_layout is not None:
                resize_docks(self, self.stored_layout)

    # ---- events ------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        activation = event.type() == QEvent.Type.ActivationChange and self.isActiveWindow()
        if activation and self.is_built:
            # Another program, such as a training run, may have changed files.
            self.controller.changed_files.look()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Run the commands of plain keys that the focused widget does not use."""
        if not self.is_built:
            return
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
        if _dropped(event):
            _accept_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        sources = [*dict.fromkeys(map(Source.parse, _dropped(event)))]
        if sources:
            _accept_copy(event)
        if len(sources) == 1:
            self.controller.open(sources[0])
        elif sources:
            self.side_by_side.show_several("dropped models", sources)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.may_close():
            event.ignore()
            return
        self.may_close = lambda: True  # close() is called again at the end
        self.lesson_player.stop()
        self.side_columns.stop()
        self.keep_settings()
        self.workspaces.maximized.stop()
        self.listening.stop()
        self.guide.close()
        self.surveys.close()
        self.summary.release()
        self.recent_menu.release()
        self.results.stop()
        self.films.close()
        self.pictures.close()
        self.inside.close()
        self.work.release()
        self.bookmarks.release()
        self.undo.close()
        for panel in self._themed():
            panel.release()
        self.grid.release()
        super().closeEvent(event)


def _dropped(event: QDropEvent) -> list[str]:
    """Return the paths of the files and folders that are dropped, and the pages of models."""
    urls = event.mimeData().urls()
    pages = (url.toString() for url in urls if not url.isLocalFile())
    return [
        *(url.toLocalFile() for url in urls if url.isLocalFile()),
        *(page for page in pages if Source.parse(page).kind == "hub"),
    ]


def _accept_copy(event: QDropEvent) -> None:
    """Accept a file as a copy: a file manager deletes a moved one."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()
