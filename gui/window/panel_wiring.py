"""Connections of panels to their handlers, by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.side_panels.inspector import InspectorPanel
from gui.side_panels.models.models import ModelPanel
from gui.side_panels.positions import PositionsPanel
from gui.side_panels.prompt import PromptPanel
from gui.side_panels.view import ViewPanel
from gui.widgets.panel import Panel

if TYPE_CHECKING:
    from gui.window.host import HostWindow


def connect_panel(panel: Panel, window: HostWindow) -> None:
    """Connect a panel that is built with the window."""
    controller = window.controller
    match panel:
        case ModelPanel():
            panel.folderRequested.connect(window.open_folder)
            panel.fileRequested.connect(window.open_file)
            panel.openRequested.connect(controller.open)
            panel.compareRequested.connect(controller.comparing.add_source)
            panel.searchRequested.connect(controller.hub_search.search)
            panel.updateRequested.connect(controller.opening.check_for_update)
            panel.cancelRequested.connect(controller.opening.cancel)
        case PositionsPanel():
            panel.rangeRequested.connect(controller.request_positions)
            panel.dragStarted.connect(lambda: window.set_field("dragging", True))
            panel.dragFinished.connect(lambda: window.set_field("dragging", False))
            panel.componentsRequested.connect(lambda three: window.set_field("components", three))
        case ViewPanel():
            panel.colorByRequested.connect(controller.color_by)
            panel.columnRequested.connect(controller.color_by_column)
            panel.columnFileRequested.connect(window.open_columns)
            panel.colorSpanRequested.connect(lambda span: window.set_field("color_span", span))
            panel.outsideRequested.connect(lambda how: window.set_field("outside", how))
            panel.projectionRequested.connect(lambda how: window.set_field("projection", how))
            panel.lookRequested.connect(window.set_field)
            panel.keepTurnedRequested.connect(lambda on: window.set_field("keep_turned", on))
        case PromptPanel():
            panel.promptRequested.connect(lambda text: window.set_field("prompt", text))
            panel.tokenizerRequested.connect(controller.prompting.fetch)
            panel.runRequested.connect(controller.prompt_running.run)
            panel.stopRequested.connect(controller.prompt_running.cancel)
            panel.selectionRequested.connect(controller.select)
            panel.hoverRequested.connect(controller.hover)
        case InspectorPanel():
            panel.measureRequested.connect(lambda on: window.set_field("measure", on))
            panel.selectionRequested.connect(controller.select)
            panel.go_to.typed.connect(lambda _: window.viewport.interactor.setFocus())
            panel.hoverRequested.connect(controller.hover)
        case _:
            raise TypeError(f"unknown panel {type(panel).__name__}")
