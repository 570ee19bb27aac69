"""The table of result panels.

An entry names the class of a :class:`gui.panels.kit.spec.PanelSpec`, which is imported on first
use, after the window has shown its docks and menu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from geometry.checkpoints.plugins import Plugin, Registry

if TYPE_CHECKING:
    from gui.panels.kit.spec import AnyPanel

V = TypeVar("V")


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
    plugin: Plugin | None = None  # The installed package that adds it; None if it is built in

    @property
    def spec(self) -> AnyPanel:
        """The panel's spec, imported when first asked for.

        Raises PluginError: It is a plugin's, and cannot be used.
        """
        if self.plugin is not None:
            return self.plugin.load(partial(_made, self.name))
        return _load(self.spec_class)

    def contained(self) -> AbstractContextManager[None]:
        """Return a context in which errors of a plugin's code are raised as PluginError."""
        return nullcontext() if self.plugin is None else self.plugin.contained()

    @property
    def ready(self) -> bool:
        """Whether :attr:`spec` neither waits for a plugin nor fails."""
        return self.plugin is None or self.plugin.loaded


@cache
def _load(spec_class: str) -> AnyPanel:
    module, _, name = spec_class.partition(":")
    spec: AnyPanel = getattr(import_module(f"gui.panels.{module}"), name)()
    return spec


def _made(name: str, spec_class: type[AnyPanel]) -> AnyPanel:
    """Return the spec of a plugin's panel, of its own name.

    Raises TypeError: It is no class of one.
    """
    from gui.panels.kit.spec import PanelSpec

    if not (isinstance(spec_class, type) and issubclass(spec_class, PanelSpec)):
        raise TypeError(f"{spec_class!r} is not a subclass of PanelSpec")
    if getattr(spec_class, "name", name) != name:
        raise TypeError(f"the panel of the entry point {name!r} is named {spec_class.name!r}")
    return spec_class()


def _of_plugin(plugin: Plugin) -> PanelEntry:
    title = plugin.name.replace("_", " ").replace("-", " ")
    title = f"{title[:1].upper()}{title[1:]}"
    figures = {plugin.name: f"of the installed panel {title}"}
    return PanelEntry(plugin.name, title, PLUGINS, plugin.value, figures, plugin=plugin)


PLUGINS = "Plugins"
"""Title of the group of panels that plugins add."""
OTHERS = ("models", "positions", "view", "inspector", "prompt", "lesson", "bookmarks")
"""Names of panels without results."""
_BUILT_IN = {
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

BUILT_IN_FIGURES: Mapping[str, str] = {
    "helix": "the curve in 3D; the .png is the window's 3D view",
    "spectrum": "singular values of P",
    **{name: text for entry in _BUILT_IN.values() for name, text in entry.figures.items()},
}
"""Figures of a report without those of plugins."""

PANELS = Registry(_BUILT_IN, "panels", _of_plugin, (*OTHERS, *BUILT_IN_FIGURES))
"""By name, in the order of the docks; those of plugins are the last."""


class _Lazy(Mapping[str, V]):
    """A mapping that is made of :data:`PANELS` when it is used, as this looks for plugins."""

    def __init__(self, make: Callable[[], Mapping[str, V]]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> V:
        return self._make()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())


def _grouped() -> Mapping[str, tuple[PanelEntry, ...]]:
    groups: dict[str, tuple[PanelEntry, ...]] = {}
    for entry in PANELS.values():
        groups[entry.group] = (*groups.get(entry.group, ()), entry)
    return groups


def _figures() -> Mapping[str, str]:
    own = (entry.figures for entry in PANELS.values() if entry.plugin is not None)
    return {**BUILT_IN_FIGURES, **{name: text for one in own for name, text in one.items()}}


GROUPS: Mapping[str, tuple[PanelEntry, ...]] = _Lazy(_grouped)
"""The panels of each group, by its title, in the order of the tabs."""
FIGURES: Mapping[str, str] = _Lazy(_figures)
"""File names of a report's figures, without suffixes, and their content, in drawing order."""
