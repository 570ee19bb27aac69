"""The files of `helixscope report`: report.json, the figures, and the ledger as text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import PackageMissing, RangeError, TensorUnavailable
from geometry.checkpoints.plugins import PluginError
from geometry.checkpoints.whole_files import whole_text, write_text, writing
from geometry.claims.claim import Verdict
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import NOT_HERE, check_all, describe, shape_distances
from geometry.hub.faults import Offline
from geometry.inside.effects_file import read_effects
from geometry.models.model import PositionalModel
from gui.panels.table import FIGURES, PANELS, PanelEntry
from gui.style.system_libraries import check_pictures

if TYPE_CHECKING:
    from gui.panels.kit.views import Reported

FORMATS = ("png", "svg")
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, indent=1)


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Options of a report."""

    folder: Path | None  # Output folder, created if necessary; None to write no files
    positions: tuple[int, int] | None = None  # Inclusive range, or None for 1 to the last
    layer: int = 0  # Layer of overlaps and kernels
    rank: int | None = None  # This and `after`: as in :func:`geometry.claims.report.report`
    after: int = 100
    fold_ln: bool = False  # Whether LayerNorm's gain is folded into weights
    figures: bool = True  # Whether to draw the figures
    effects: Path | None = None  # What `helixscope intervene --out` wrote for this model

    @property
    def n_steps(self) -> int:
        """Number of steps of :meth:`ReportFiles.steps`."""
        return 1 + len(FIGURES) * self.figures

    @property
    def scope(self) -> Scope:
        """Settings of the measurements."""
        return Scope(self.positions, self.layer, self.rank, self.after, self.fold_ln)


class ReportFiles:
    """Measures a model and writes the report.

    Attributes
    ----------
    written
        Names of the drawn files, in order.
    skipped
        Reasons for omitted figures.

    Raises
    ------
    RangeError
        The model has no such layer.
    HelixscopeError
        The file of effects cannot be read, or is another model's, or the 3D view cannot be drawn.
    """

    def __init__(
        self,
        model: PositionalModel,
        request: ReportRequest,
        beside: Sequence[PositionalModel] = (),
    ) -> None:
        if model.n_layers is not None and request.layer >= model.n_layers:
            raise RangeError(f"{model.name} has layers 0–{model.n_layers - 1}, got {request.layer}")
        if request.figures and not model.no_table and has_pictures():
            check_pictures()
        self._model, self._request, self._beside = model, request, beside
        self._effects = None if request.effects is None else read_effects(request.effects, model)
        self._json: dict[str, object] = {}
        self._verdicts: tuple[Verdict, ...] = ()
        self.written: list[str] = []
        self.skipped: dict[str, str] = {}

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the steps: a message and the work.

        Raises RangeError: The model has no such range or rank.
        Raises HelixscopeError: A file cannot be written.
        """
        yield "Measuring", self._measure
        if not self._request.figures:
            return
        # Matplotlib and VTK are imported only for figures.
        for name in FIGURES:
            yield f"Drawing {name.replace('-', ' ')}", partial(self._draw, name)
        self._json["figures"] = {"written": self.written, "skipped": self.skipped}
        self._write_json()

    @property
    def content(self) -> dict[str, object]:
        """What is in report.json."""
        return self._json

    @property
    def text(self) -> str:
        """The text of report.json, without the end of its last line."""
        return _ENCODER.encode(self._json)

    @cached_property
    def _measured(self) -> Measurements:
        return Measurements(self._model, self._request.scope)

    def _measure(self) -> None:
        self._json = describe(self._measured, self._check)
        if self._beside:
            self._json["distances"] = shape_distances(self._measured, self._beside)
        for entry in PANELS.values():
            if entry.section:
                self._json[entry.name] = self._section(entry)
        if installed := [entry for entry in PANELS.values() if entry.plugin is not None]:
            self._json["panels"] = {entry.name: self._numbers(entry) for entry in installed}
        if self._request.folder is not None:
            with writing(self._request.folder):
                self._request.folder.mkdir(parents=True, exist_ok=True)
            self._write_json()

    def _section(self, entry: PanelEntry) -> Mapping[str, object] | None:
        """Return a panel's section; None, with the reason in ``missing``, if there is none."""
        return self._without(entry.name, lambda: entry.spec.section(self._reported))

    def _numbers(self, entry: PanelEntry) -> Mapping[str, object] | None:
        """Return the numbers of a plugin's panel, as :meth:`_section`."""

        def numbers() -> dict[str, list[object]]:
            import numpy as np

            from gui.panels.kit.outputs import report_view

            with entry.contained():
                view = report_view(entry.spec, self._reported, entry.name)
                columns = entry.spec.numbers(view).items()
                return {
                    name: [
                        None if isinstance(value, float) and not math.isfinite(value) else value
                        for value in np.atleast_1d(column).tolist()
                    ]
                    for name, column in columns
                }

        return self._without(f"panels.{entry.name}", numbers)

    def _without(
        self, name: str, measure: Callable[[], Mapping[str, object]]
    ) -> Mapping[str, object] | None:
        try:
            if why := self._model.no_table:
                raise TensorUnavailable(why)
            return measure()
        except (TensorUnavailable, RangeError, PluginError) as error:
            missing = self._json["missing"]
            assert isinstance(missing, dict)
            missing[name] = str(error).rstrip(".")
            return None

    @cached_property
    def _reported(self) -> Reported:
        from gui.panels.kit.views import Reported

        request = self._request
        return Reported(self._measured, self._verdicts, request.layer, request.fold_ln)

    def _check(self, measured: Measurements) -> tuple[Verdict, ...]:
        self._verdicts = check_all(measured, self._beside, self._effects)
        return self._verdicts

    def _write_json(self) -> None:
        self._write("report.json", self._write_numbers)

    def _write_numbers(self, path: Path) -> None:
        """Write the numbers while they are encoded: the whole text would take twice the memory."""
        with whole_text(path) as file:
            file.writelines(_ENCODER.iterencode(self._json))
            file.write("\n")

    def _draw(self, name: str) -> None:
        """Write a figure in all formats, or record why it is skipped."""
        from gui.commands.report_figures import figure
        from gui.plots.figure_base import save_figure

        if why := self._model.no_table:
            self.skipped[name] = why
            return
        reported = self._reported
        try:
            drawn, texts = figure(name, reported)
        except Offline:
            self.skipped[name] = NOT_HERE
            return
        except (TensorUnavailable, RangeError, PluginError) as error:
            self.skipped[name] = str(error).rstrip(".")
            return
        for ending in FORMATS:
            viewport = (name, ending) == ("helix", "png")
            if viewport and not has_pictures():
                self.skipped[f"{name}.{ending}"] = str(PackageMissing("pyvista")).rstrip(".")
                continue
            self._keep(
                f"{name}.{ending}", self._render if viewport else partial(save_figure, drawn)
            )
            # The layout is final; computing it again would take half the drawing time.
            drawn.set_layout_engine(None)
        for ending, write in texts.items():
            self._keep(f"{name}.{ending}", partial(write_text, write()))

    def _render(self, path: Path) -> None:
        """Draw the 3D view, like `helixscope render`."""
        from gui.export.pictures import render_picture

        measured = self._measured
        render_picture(
            self._model,
            path,
            positions=measured.positions,
            pca=measured.pca,
            norms=measured.norms,
        )

    def _keep(self, name: str, write: Callable[[Path], object]) -> None:
        self._write(name, write)
        self.written.append(name)

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        assert self._request.folder is not None
        path = self._request.folder / name
        with writing(path):
            write(path)


def has_pictures() -> bool:
    """Return whether the package that draws the 3D view is installed."""
    return find_spec("pyvista") is not None


def skipped_text(skipped: dict[str, str]) -> str:
    """Describe omitted figures and the reasons in one sentence; "" for none."""
    by_reason: dict[str, list[str]] = {}
    for name, why in skipped.items():
        by_reason.setdefault(why, []).append(name)
    parts = [f"{', '.join(names)} ({why})" for why, names in by_reason.items()]
    return f"Not drawn: {'; '.join(parts)}." if parts else ""
