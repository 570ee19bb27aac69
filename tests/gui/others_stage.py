"""Models beside the current one in a panel."""

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from gui.panels.kit.panel import ResultPanel
from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import Curve, Plot
from gui.state.session import OpenModel
from tests.gui.open_models import add_beside
from tests.gui.result_stage import ResultStage
from tests.small_models import write_small_gpt2


class Beside:
    """A result panel with a small GPT-2 open, and two others to show beside it."""

    def __init__(
        self,
        qtbot: Any,
        panel: str,
        folder: Path,
        size: tuple[int, int] = (1000, 320),
    ) -> None:
        self.stage = ResultStage(qtbot, panel, size=size)
        self.panel, self.session = self.stage.panel, self.stage.session
        self.panel.intended.connect(
            lambda wanted: setattr(self.session, "hidden_curves", wanted.hidden)
        )
        sizes = {"open": (64, 16), "long": (80, 24), "short": (48, 16)}
        folders = [
            write_small_gpt2(folder / name, n_positions=n, d_model=d)
            for name, (n, d) in sizes.items()
        ]
        self.stage.open(folders[0])
        self.sources = folders[1:]

    def add(self, source: Path | str, positions: tuple[int, int] | None = None) -> OpenModel:
        """Show a model beside the others; its name is that of the model."""
        return add_beside(self.stage.controller, source, positions)

    def add_both(self) -> Any:
        """Show "long" and "short", with the keys 1 and 2; return the panel."""
        for source, positions in zip(self.sources, ((2, 70), (0, 40)), strict=True):
            self.add(source, positions)
        QApplication.processEvents()
        return self.panel

    @property
    def chips(self) -> Any:
        """The buttons of the legend, by the models' keys."""
        return self.legend.chips

    @property
    def legend(self) -> Any:
        """The row of the other models' names."""
        return self.panel.legend

    def lines(self, plot: str) -> dict[str, Any]:
        """Return what is drawn of the other models, by their names."""
        return {one.name: one for one in other_curves(self.panel, plot)}


def curve_plots(panel: ResultPanel) -> list[CurvePlot]:
    """The widgets of a panel's plots."""
    return panel.findChildren(CurvePlot)


def other_curves(panel: ResultPanel, plot: str = "") -> list[Curve]:
    """What is drawn of the other models, in one of the plots or in all."""
    parts = [one for one in panel.spec.plots(panel.view()) if isinstance(one, Plot)]
    named = [one for one in parts if plot in ("", one.name)]
    return [curve for one in named for curve in one.curves if curve.name]


def drawn_names(panel: Any) -> set[str]:
    """The names of what is on the screen behind the own curves, in all plots of a panel."""
    shown = [plot for plot in curve_plots(panel) if plot.isVisibleTo(panel)]
    return {curve.name for plot in shown for curve in plot.curves if curve.name}
