"""The table of result panels.

An entry names the class of a :class:`gui.panels.kit.spec.PanelSpec`, which is imported on first
use, after the window has shown its docks and menu.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.panels.kit.spec import AnyPanel


@dataclass(frozen=True, slots=True)
class PanelEntry:
    """A result panel."""

    name: str  # Its key, the same as its spec's
    title: str  # Title of its dock, also in menus
    group: str  # Title of the group of panels that share a tab
    spec_class: str  # "module:class" below :mod:`gui.panels`
    # Its figures in a report, with descriptions
    figures: Mapping[str, str] = field(default_factory=dict)
    section: bool = False  # Whether a report's numbers have a section of this panel

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
        PanelEntry(
            "norms", "Norms", "Table", "norms:NormsPanel", {"norms": "of P's rows, by position"}
        ),
        PanelEntry(
            "similarity",
            "Similarity",
            "Table",
            "similarity:SimilarityPanel",
            {
                "similarity": "of positions",
                "similarity-projected": "of positions, in three components",
            },
        ),
        PanelEntry(
            "dimensions",
            "Dimensions",
            "Table",
            "dimensions:DimensionsPanel",
            {
                "dimensions": "single entries over position",
                "dimensions-projected": "single entries, of three components alone",
            },
        ),
        PanelEntry(
            "fourier",
            "Fourier",
            "Table",
            "fourier:FourierPanel",
            {"fourier": "frequencies of P over position"},
            section=True,
        ),
        PanelEntry(
            "shape",
            "Shape",
            "Shape",
            "shape.spec:ShapePanel",
            {"shape": "the curve that the positions follow"},
        ),
        PanelEntry("experiment", "Line or helix", "Shape", "experiment.spec:ExperimentPanel"),
        PanelEntry(
            "lookback",
            "Look back",
            "Shape",
            "lookback.spec:LookBackPanel",
            {"lookback": "looking back N tokens as a rotation and a shift"},
        ),
        PanelEntry("extend", "Extend", "Shape", "extend:ExtendPanel"),
        PanelEntry("artefact", "PCA artefact", "Shape", "artefact.spec:ArtefactPanel"),
        PanelEntry(
            "spectra",
            "Spectra",
            "Spaces",
            "spectra:SpectraPanel",
            {
                "spectra": "singular values of P and E",
                "spectra-weights": "singular values of the layer's weights",
            },
        ),
        PanelEntry(
            "capture",
            "Capture",
            "Spaces",
            "capture:CapturePanel",
            {"capture": "of E's directions by P's strongest"},
        ),
        PanelEntry(
            "overlaps",
            "Overlaps",
            "Spaces",
            "overlaps.spec:OverlapsPanel",
            {
                "overlaps-P-E": "of P's directions with E's",
                "overlaps-attention": "of the layer's attention weights with P and E",
                "overlaps-mlp": "of the layer's MLP with P and E",
            },
        ),
        PanelEntry(
            "directions",
            "Directions",
            "Spaces",
            "directions:DirectionsPanel",
            {"directions": "P's strongest, over position and over entries"},
        ),
        PanelEntry(
            "layernorm",
            "LayerNorm",
            "Spaces",
            "layernorm.spec:LayerNormPanel",
            {
                "layernorm": "the error of treating token and position separately",
                "interference": "two sums of token and position among random ones",
            },
        ),
        PanelEntry(
            "kernels",
            "Kernels",
            "Attention",
            "kernels.spec:KernelsPanel",
            {"kernels": "attention by position alone of the layer's heads"},
        ),
        PanelEntry("rotary", "Rotary", "Attention", "rotary:RotaryPanel"),
        PanelEntry("effects", "Effects", "Attention", "effects.spec:EffectsPanel"),
        PanelEntry("training", "Training", "Training", "training.spec:TrainingPanel"),
        PanelEntry("compare", "Compare", "Models", "compare.spec:ComparePanel"),
        PanelEntry("change", "Before and after", "Models", "change:ChangePanel"),
        PanelEntry(
            "claims",
            "Claims",
            "Claims",
            "claims.spec:ClaimsPanel",
            {"claims": "the ledger; also as .md and .csv"},
        ),
    )
}
"""By name, in the order of the docks."""

GROUPS: Mapping[str, tuple[PanelEntry, ...]] = {
    title: tuple(entry for entry in PANELS.values() if entry.group == title)
    for title in dict.fromkeys(entry.group for entry in PANELS.values())
}
"""The panels of each group, by its title, in the order of the tabs."""
