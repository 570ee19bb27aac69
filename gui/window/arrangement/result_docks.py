"""Docks of results, whose panels are built and connected when they first become visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow

from geometry.checkpoints.plugins import PluginError
from gui.export.save_film import FilmSaver
from gui.export.save_result import ResultSaver
from gui.panels.kit.intents import (
    AddModel,
    AlignCurve,
    CancelCheckpoints,
    ChangeShared,
    DownloadCheckpoints,
    HideCurves,
    LookForCheckpoints,
    MakeCurrent,
    OpenSource,
    PlanCheckpoints,
    RemoveModel,
    SaveCoordinates,
    SaveTimelapse,
    ShowBeside,
    ShowPanel,
)
from gui.panels.table import GROUPS, PANELS
from gui.services.controller import Controller
from gui.state.values import Fields
from gui.style.listening import Listening
from gui.style.theme import Theme
from gui.widgets.panel import Panel
from gui.window.arrangement.dock_panel import DockPanel
from gui.window.arrangement.dock_tabs import DockTabs
from gui.window.arrangement.docks import BOTTOM, DOCKS, Dock

if TYPE_CHECKING:
    from gui.panels.kit.spec import AnyPanel


class ResultDocks:
    """Builds and connects the panels in the docks under the viewport.

    Parameters
    ----------
    panels
        The window's panels by name; those built here are added.
    films
        Saves the viewport's timeline.
    choose_model
        Shows a menu of models to add, with a view or without, at a point of the screen.

    Attributes
    ----------
    on_choices
        Called when the options of a panel have changed.
    on_chosen
        Called with a dock's name, and a panel's options before and after the user changed them.
    """

    def __init__(
        self,
        window: QMainWindow,
        docks: dict[str, QDockWidget],
        panels: dict[str, Panel],
        controller: Controller,
        films: FilmSaver,
        choose_model: Callable[[QPoint, bool], None],
    ) -> None:
        self._window, self._docks, self._panels = window, docks, panels
        self._films, self._choose_model = films, choose_model
        session = controller.session
        self._session, self._controller = session, controller
        self._theme: Theme | None = None
        self.saver = ResultSaver(controller)
        self._table = {dock.name: dock for dock in DOCKS if dock.lazy and dock.area == BOTTOM}
        self._in_front = dict.fromkeys(self._table, False)
        self._pending: dict[str, Fields] = {}
        self.on_choices: Callable[[], None] = lambda: None
        self.on_chosen: Callable[[str, Fields, Fields], None] = lambda *_: None
        self._listening = Listening()
        self._listening.to(session.events.model, self._drop_pending)
        self.tabs = DockTabs(window, {name: docks[name] for name in self._table})
        for dock in self._table.values():
            self._watch(dock)

    def bring(self, name: str) -> None:
        """Bring a panel to the front, without changing the focus."""
        if name in self._table:
            self.tabs.show(name)
            self.need(name)
        else:
            if self._docks[name].isHidden():
                self.tabs.restore_maximized()  # there is no room beside a maximised panel
            self._docks[name].show()
            self._docks[name].raise_()

    def next_of(self, group: str) -> str:
        """Return a group's panel that was last in front; the next one, if that has the focus."""
        names = [entry.name for entry in GROUPS[group]]
        latest = self.tabs.latest(group) or names[0]
        focus = QApplication.focusWidget()
        if focus is not None and self._docks[latest].isAncestorOf(focus):
            return names[(names.index(latest) + 1) % len(names)]
        return latest

    def begin(self, theme: Theme) -> None:
        """Build visible panels now, and others when they become visible."""
        self._theme = theme
        for name, in_front in self._in_front.items():
            if in_front:
                self.need(name)

    def need(self, name: str) -> None:
        """Build a result panel, if it is not built yet."""
        if name not in self._table or name in self._panels or self._theme is None:
            return
        if PANELS[name].ready:
            self._put(name, self._table[name].make(self._session, self._theme))
        else:
            self._load(name, self._theme)

    def _put(self, name: str, panel: Panel) -> None:
        self._panels[name] = panel
        self._connect(name, panel)
        panel.configure(**self._pending.pop(name, {}))
        self._docks[name].setWidget(DockPanel(panel))
        panel.set_in_front(self._in_front[name])

    def _load(self, name: str, theme: Theme) -> None:
        """Import a plugin's panel on a thread, and put it into its dock then."""
        from gui.panels.kit.loading import LoadingPanel
        from gui.panels.kit.saved_choices import usable
        from gui.services.jobs.jobs import Job

        entry = PANELS[name]
        loading = LoadingPanel(self._session, theme, entry)
        loading.header.panelRequested.connect(lambda other: self._show(other, {}))
        self._put(name, loading)

        def show(spec: AnyPanel) -> None:
            model, options = self._session.model, loading.options()
            try:
                with entry.contained():
                    chosen = {} if model is None else usable(spec, options, model)
                    panel = self._table[name].make(self._session, self._theme or theme)
            except PluginError as error:
                fail(error)
                return
            self._pending[name] = chosen
            former, focused = self._docks[name].widget(), loading.hasFocus()
            loading.release()
            self._put(name, panel)
            if focused:
                panel.setFocus(Qt.FocusReason.OtherFocusReason)
            if former is not None:
                former.deleteLater()

        def fail(error: Exception) -> None:
            loading.show_failure(str(error), getattr(error, "advice", ""))

        # On a thread of its own: it may wait for as long as an import may take.
        job: Job[AnyPanel, None] = Job(lambda: entry.spec, show, fail, stop=lambda: None)
        self._controller.jobs.start(f"plugin {name}", job)

    def options(self) -> dict[str, Fields]:
        """Return the options of all panels, built or not."""
        built = {name: self._panels[name].options() for name in self._table if name in self._panels}
        return {**self._pending, **{name: options for name, options in built.items() if options}}

    def choices(self) -> dict[str, object]:
        """Return all choices of the panels that are built, also those that no file has."""
        built = [name for name in self._table if name in self._panels]
        choices = {name: self._panels[name].all_choices() for name in built}
        return {name: chosen for name, chosen in choices.items() if chosen is not None}

    def chosen(self) -> dict[str, Fields]:
        """Return the options chosen in the panels, where they differ from the initial ones."""
        model, chosen = self._session.model, dict[str, Fields]()
        if model is None:
            return chosen
        from gui.panels.kit.saved_choices import saved
        from gui.panels.kit.spec import changed

        for name, options in self.options().items():
            if name in PANELS and PANELS[name].ready:
                spec = PANELS[name].spec
                first = spec.choices_for(model, spec.defaults)
                if name not in self._panels:
                    options = saved(spec, changed(spec, first, options))
                initial = saved(spec, first)
                options = {field: v for field, v in options.items() if v != initial.get(field)}
            if options:
                chosen[name] = options
        return chosen

    def show_choices(self, name: str, options: Fields) -> Fields:
        """Show other options in a panel, and return the previous ones."""
        panel = self._panels.get(name)
        if panel is None:
            return options
        before = panel.options()
        panel.restore(options)
        return before

    def restore(self, options: Mapping[str, Fields]) -> None:
        """Restore the panels' options; those of panels not built yet, when they are built.

        Missing options, also of whole panels, and layers or heads that the open model lacks, are
        the initial ones. Options not applied yet are dropped when another model is opened.
        """
        model = self._session.model
        if model is None:
            return
        from gui.panels.kit.saved_choices import usable

        self._pending.clear()
        for name in self._table:
            chosen = options.get(name, {})
            if name in self._panels:
                self._panels[name].restore(chosen)
            elif not PANELS[name].ready:  # checked once it is imported
                self._pending[name] = dict(chosen)
            elif valid := usable(PANELS[name].spec, chosen, model):
                self._pending[name] = valid

    def _drop_pending(self) -> None:
        self._pending.clear()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours of panels built later."""
        if self._theme is not None:
            self._theme = theme

    def stop(self) -> None:
        """Stop listening to the docks, because the window is closing."""
        self.tabs.stop()
        self._listening.stop()

    def _watch(self, dock: Dock) -> None:
        name, widget = dock.name, self._docks[dock.name]

        def on_visible(visible: bool) -> None:
            # A hidden tab that begins to float is still outside the window, where Qt put it.
            visible |= widget.isFloating() and not widget.isHidden()
            self._in_front[name] = visible
            if name in self._panels:
                self._panels[name].set_in_front(visible)
            elif visible:
                self.need(name)

        widget.visibilityChanged.connect(on_visible)

    def _connect(self, name: str, panel: Panel) -> None:
        # Imported late, so that the first frame is not delayed.
        from gui.panels.kit.panel import ResultPanel
        from gui.panels.kit.wiring import connect

        if isinstance(panel, ResultPanel):
            panel.files.saver = self.saver
            panel.choicesChanged.connect(lambda: self.on_choices())
            panel.chosen.connect(lambda before: self.on_chosen(name, before, panel.options()))
            connect(panel, self._controller, self._carry_out)

    def _carry_out(self, intent: object) -> None:
        """Carry out a panel's intent."""
        match intent:
            case ShowPanel(name, choices):
                self._show(name, choices)
            case AddModel(at, in_grid):
                self._choose_model(QPoint(*at), in_grid)
            case SaveTimelapse(name):
                self._films.ask(name)
            case SaveCoordinates(name):
                self._films.ask_numbers(name)
            case _:
                carry_out(intent, self._controller)

    def _show(self, name: str, options: Fields) -> None:
        """Bring a panel to the front, with the options of a link to it."""
        self.bring(name)
        if options:
            self._panels[name].configure(**options)
        self._panels[name].setFocus(Qt.FocusReason.OtherFocusReason)


def carry_out(intent: object, controller: Controller) -> None:
    """Carry out an intent that needs neither a panel nor a window.

    Raises TypeError: The intent is of another kind.
    """
    session = controller.session
    match intent:
        case OpenSource(source):
            controller.open(source)
        case ShowBeside(source):
            controller.comparing.add_source(source)
        case HideCurves(hidden):
            session.hidden_curves = hidden
        case ChangeShared(field, value):
            session.want(**{field: value})
        case AlignCurve(alignment):
            session.alignment = alignment
        case MakeCurrent(key):
            controller.comparing.make_current(key)
        case RemoveModel(key):
            controller.comparing.remove(key)
        case LookForCheckpoints():
            controller.gatherer.look()
        case PlanCheckpoints(count):
            controller.gatherer.choose(count)
        case DownloadCheckpoints(count, whole):
            controller.gatherer.gather(count, whole=whole)
        case CancelCheckpoints():
            controller.gatherer.cancel()
        case _:
            raise TypeError(f"unknown intent {intent!r}")
