"""The panels of results: one line each.

A line names the class of a :class:`gui.panels.kit.PanelSpec`, which is imported when it is first
needed: the window shows its docks and its menu before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module

from gui.panels.kit import AnyPanel


@dataclass(frozen=True, slots=True)
class PanelEntry:
    """A panel of results.

    Attributes
    ----------
    name
        Its key, the same as its spec's.
    title
        Of its dock and in menus.
    spec_class
        "module:class" below :mod:`gui.panels`.
    """

    name: str
    title: str
    spec_class: str

    @property
    def spec(self) -> AnyPanel:
        """The panel's spec, imported when first asked for."""
        return _load(self.spec_class)


@cache
def _load(spec_class: str) -> AnyPanel:
    module, _, name = spec_class.partition(":")
    spec: AnyPanel = getattr(import_module(f"gui.panels.{module}"), name)()
    return spec


PANELS = {
    entry.name: entry
    for entry in (
        PanelEntry("norms", "Norms", "norms:NormsPanel"),
        PanelEntry("spectra", "Spectra", "spectra:SpectraPanel"),
        PanelEntry("capture", "Capture", "capture:CapturePanel"),
        PanelEntry("overlaps", "Overlaps", "overlaps.spec:OverlapsPanel"),
        PanelEntry("directions", "Directions", "directions:DirectionsPanel"),
        PanelEntry("similarity", "Similarity", "similarity:SimilarityPanel"),
        PanelEntry("dimensions", "Dimensions", "dimensions:DimensionsPanel"),
        PanelEntry("layernorm", "LayerNorm", "layernorm.spec:LayerNormPanel"),
        PanelEntry("shape", "Shape", "shape.spec:ShapePanel"),
        PanelEntry("lookback", "Look back", "lookback.spec:LookBackPanel"),
        PanelEntry("kernels", "Kernels", "kernels.spec:KernelsPanel"),
        PanelEntry("experiment", "Line or helix", "experiment.spec:ExperimentPanel"),
        PanelEntry("training", "Training", "training.spec:TrainingPanel"),
        PanelEntry("compare", "Compare", "compare.spec:ComparePanel"),
        PanelEntry("claims", "Claims", "claims.spec:ClaimsPanel"),
    )
}
"""By name, in the order of the docks."""
