"""The panel of models: search, catalogue, recent sources, and progress of opening."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLabel, QLineEdit, QMenu, QStackedWidget, QWidget

from geometry.models.sources.source import Source
from gui.services.loading import has_versions
from gui.services.work_files.projects import is_work
from gui.side_panels.models.model_line import ModelLine, identity, identity_of, parsed
from gui.side_panels.models.model_list import ModelList
from gui.side_panels.models.model_rows import list_groups
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.opening_row import OpeningRow
from gui.widgets.panel import Panel
from gui.widgets.tooltips import wrapped

_EMPTY = "No models are listed. Open a folder or file with your own checkpoint."


class ModelPanel(Panel):
    """The catalogue with search and state, recent sources, and the buttons to open other sources.

    Signals
    -------
    openRequested(Source)
        A source: a model's id on the Hub, perhaps with "@revision", or a path.
    compareRequested(Source)
        A source to show beside the open model.
    searchRequested(str)
        A text to search the Hub for; "" cancels a running search.
    updateRequested()
        Check whether the open model has a newer version.
    folderRequested(), fileRequested()
        Choose a folder or a file.
    cancelRequested()
        Cancel opening.
    """

    openRequested = Signal(Source)
    compareRequested = Signal(Source)
    searchRequested = Signal(str)
    updateRequested = Signal()
    folderRequested = Signal()
    fileRequested = Signal()
    cancelRequested = Signal()

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._opened = self._requested = ""
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search, or enter an id or a path")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search models")
        self.search.setToolTip(
            wrapped(
                "Search by name, id or group; Enter opens the highlighted row. You can also enter "
                "the id of a model on the Hub, with @revision for a branch, tag, commit or "
                "refs/pr/N, the address of its page, or the path of a folder or file."
            )
        )
        self.search.installEventFilter(self)
        self.list = ModelList(theme)
        self.message = self._make_note("muted")
        self.explanation = self._make_note("small")
        self.folder = push_button(
            "Open folder…", "Open a folder with a checkpoint, as a training script leaves it"
        )
        self.file = push_button(
            "Open file…",
            "Open a file of weights, such as .safetensors, .pt or .gguf, or a table (.csv)",
        )
        self.working = OpeningRow(theme)
        # Room for two lines of the list.
        self.setMinimumHeight(116)
        self._arrange()
        self._connect()
        self.set_theme(theme)
        self._on_model_changed()
        self._on_opening_changed()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.list.set_theme(theme)
        self.working.set_theme(theme)

    def take_focus(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go from the search field to the list on Down, and clear the field on Esc.

        Undo is left to the window while the field has nothing to undo.
        """
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.matches(QKeySequence.StandardKey.Undo)
            and not self.search.isUndoAvailable()
        ):
            event.ignore()
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down:
                self.list.enter()
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    # -- building ---------------------------------------------------------------------------

    def _make_note(self, role: str) -> QLabel:
        note = label(role=role, wrap=True)
        note.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        return note

    def _arrange(self) -> None:
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.message)
        buttons = hbox(self.folder, self.file, spacing=GRID)
        self._column = vbox(
            self.search,
            (self._stack, 1),
            self.explanation,
            self.working,
            buttons,
            parent=self,
            spacing=GRID // 2,
            margins=(GRID, GRID // 2, GRID, GRID),
        )
        self.explanation.hide()

    def _connect(self) -> None:
        self.search.textChanged.connect(self._on_search_changed)
        self.search.returnPressed.connect(self._on_search_entered)
        self.list.chosen.connect(self._on_line_chosen)
        self.list.menuRequested.connect(self._show_menu)
        self.list.copyRequested.connect(self._copy)
        self.folder.clicked.connect(self.folderRequested)
        self.file.clicked.connect(self.fileRequested)
        self.working.cancel.clicked.connect(self.cancelRequested)
        events = self.session.events
        for signal in (
            events.models,
            events.recent,
            events.searching,
            events.hub_results,
            events.hub_query,
            events.search_failed,
        ):
            self.listen(signal, self._on_list_changed)
        self.listen(events.offline, self._on_offline_changed)
        self.listen(events.model, self._on_model_changed)
        self.listen(events.opening, self._on_opening_changed)
        self.listen(events.transfer, self.working.show_transfer)

    # -- what the user wants ----------------------------------------------------------------

    def _on_line_chosen(self, line: ModelLine) -> None:
        self._explain(line.refusal)
        if line.kind == "search":
            self.searchRequested.emit(line.source)
        # After the second click of a double-click the model is open or opening already.
        elif not line.refusal and not line.is_open and not self._is_opening(line.source):
            self._requested = line.source
            self.openRequested.emit(parsed(line.source))

    def _on_search_entered(self) -> None:
        if self.search.text().strip():
            self.list.choose_preferred()

    def _on_search_changed(self) -> None:
        self._explain("")
        if self.session.searching:
            self.searchRequested.emit("")
        self._show_lines(searched=True)

    def _show_menu(self, line: ModelLine, at: QPoint) -> None:
        menu = QMenu(self)
        act = menu.addAction("Search the Hub" if line.kind == "search" else "Open")
        act.triggered.connect(lambda: self._on_line_chosen(line))
        act.setEnabled(not line.is_open and not self._is_opening(line.source))
        if line.kind == "source":
            beside = menu.addAction("Add for comparison")
            possible = not line.refusal and not is_work(line.source)
            beside.setEnabled(self.session.model is not None and possible)
            beside.triggered.connect(lambda: self.compareRequested.emit(parsed(line.source)))
            what = "path" if parsed(line.source).address is None else "id"
            menu.addAction(f"Copy {what}").triggered.connect(lambda: self._copy(line))
        model = self.session.model
        if line.is_open and model is not None and has_versions(model):
            menu.addSeparator()
            update = menu.addAction("Check for a newer version")
            update.setEnabled(not self.session.offline)
            update.triggered.connect(self.updateRequested)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _copy(self, line: ModelLine) -> None:
        if line.kind == "source":
            QGuiApplication.clipboard().setText(line.source)

    # -- the session has changed ------------------------------------------------------------

    def _is_opening(self, source: str) -> bool:
        opening = self.session.opening
        return opening is not None and identity_of(source) == identity(opening)

    def _on_list_changed(self) -> None:
        self._show_lines()

    def _on_model_changed(self) -> None:
        model = self.session.model
        self._opened = model.source.id if model is not None else ""
        requested, self._requested = self._requested, ""
        if model is not None and requested and identity_of(requested) == identity(model.source):
            # Otherwise the search would hide the catalogue. Unlike clear, this cannot be undone.
            self.search.setText("")
        self._show_lines()

    def _on_offline_changed(self) -> None:
        self._explain("")
        self._show_lines()

    def _on_opening_changed(self) -> None:
        source = self.session.opening
        if source is not None:
            self._explain("")
            self.working.show_source(source.name, source.text)
        self._show_or_hide(self.working, source is not None)

    def _show_lines(self, *, searched: bool = False) -> None:
        search = self.search.text()
        groups = list_groups(self.session, search, self._opened)
        self.list.show_groups(groups, searched=searched)
        if groups:
            self._stack.setCurrentWidget(self.list)
            return
        name = search.strip()
        self.message.setText(
            f"No model matches “{name}”. Search by name, id or group." if name else _EMPTY
        )
        self._stack.setCurrentWidget(self.message)

    def _explain(self, text: str) -> None:
        self.explanation.setText(text)
        self._show_or_hide(self.explanation, bool(text))

    def _show_or_hide(self, part: QWidget, shown: bool) -> None:
        """Show or hide a part below the list without scrolling."""
        with self.list.held():
            part.setVisible(shown)
            self._column.activate()
