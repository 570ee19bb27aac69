"""Connections of panels to their handlers, by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.panels.base import Panel
from gui.panels.inspector import InspectorPanel
from gui.panels.models.models import ModelPanel
from gui.panels.norms.norms import NormsPanel
from gui.panels.positions import PositionsPanel
from gui.panels.prompt import PromptPanel
from gui.panels.view import ViewPanel

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
            panel.compareRequested.connect(controller.comparing.add)
            panel.searchRequested.connect(controller.search_hub)
            panel.updateRequested.connect(controller.check_for_update)
            panel.cancelRequested.connect(controller.cancel_opening)
        case PositionsPanel():
            panel.rangeRequested.connect(controller.request_positions)
            panel.dragStarted.connect(lambda: window.set_field("dragging", True))
            panel.dragFinished.connect(lambda: window.set_field("dragging", False))
            panel.componentsRequested.connect(lambda three: window.set_field("components", three))
        case ViewPanel():
            panel.colorByRequested.connect(controller.color_by)
            panel.colormapRequested.connect(lambda name: window.set_field("colormap", name))
            panel.outsideRequested.connect(lambda how: window.set_field("outside", how))
            panel.projectionRequested.connect(lambda how: window.set_field("projection", how))
            panel.keepTurnedRequested.connect(lambda on: window.set_field("keep_turned", on))
        case PromptPanel():
            panel.promptRequested.connect(lambda text: window.set_field("prompt", text))
            panel.tokenizerRequested.connect(controller.fetch_tokenizer)
            panel.selectionRequested.connect(controller.select)
            panel.hoverRequested.connect(controller.hover)
        case InspectorPanel():
            panel.measureRequested.connect(lambda on: window.set_field("measure", on))
            panel.selectionRequested.connect(controller.select)
            panel.hoverRequested.connect(controller.hover)
        case NormsPanel():
            _connect_norms(panel, window)
        case _:
            raise TypeError(f"nobody answers {type(panel).__name__}")


def _connect_norms(norms: NormsPanel, window: HostWindow) -> None:
    controller, overlays = window.controller, window.controller.overlays
    norms.saver = window.results.saver
    norms.quantityRequested.connect(lambda what: window.set_field("norms_quantity", what))
    norms.centredRequested.connect(lambda on: window.set_field("norms_centred", on))
    norms.afterRequested.connect(lambda first: window.set_field("norms_after", first))
    norms.relativeRequested.connect(lambda on: window.set_field("norms_relative", on))
    norms.sphereRequested.connect(lambda on: window.set_field("sphere", on))
    norms.overlayRequested.connect(overlays.add)
    norms.overlayRemoved.connect(overlays.remove)
    norms.overlayToggled.connect(overlays.show)
    norms.overlayAsked.connect(
        lambda key, question, _: controller.compared_answers.ask("norms", key, question)
    )
    norms.hiddenRequested.connect(lambda hidden: window.set_field("hidden_curves", hidden))
    norms.selectionRequested.connect(controller.select)
    norms.hoverRequested.connect(controller.hover)
