"""Extend: a table extrapolated from its first rows, compared with its held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.extension import FEWEST, Extension, Method, extension, resample_rows
from geometry.models.model import PositionalModel
from geometry.models.sources.extended import extended_source, why_not_extended
from gui.panels.kit.choices import Choice, Number, Option, Toggle
from gui.panels.kit.intents import ShowBeside
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Reading, Rule, highest
from gui.services.questions import QuestionContext
from gui.services.snippets import python_script
from gui.state.fields import integer
from gui.state.guides import Guide
from gui.style.theme import SERIES, format_count, format_number

KEPT = 3 / 4
"""Initial share of kept rows."""
JOINED = 60
"""Approximate number of positions that are joined to their extrapolations in 3D."""
HOME = 2.5
"""Maximum of the initial error axis: an error of 1 is that of the mean."""
NAMES: Mapping[Method, str] = {
    "helix": "helix",
    "fourier": "Fourier",
    "interpolate": "interpolated",
}
"""Names of the methods, in the order of their colours."""


@dataclass(frozen=True, slots=True)
class ExtensionOf:
    """A table compared with the extrapolation of its first rows, by default three quarters."""

    kept: int | None = None

    def answer(self, context: QuestionContext) -> Extension:
        """Compute it; raises TensorUnavailable if the rows are not consecutive positions."""
        model = context.model
        if why := why_not_extended(model):
            raise TensorUnavailable(why, "Open a model with a table of positions, such as GPT-2.")
        n = model.n_positions
        if n <= FEWEST:
            raise TensorUnavailable(
                f"The table of {model.name} has {n} positions, too few to hold any out.",
                f"Open one of more than {FEWEST}.",
            )
        return extension(model.W_pos, _kept(self.kept, n), check=context.raise_if_cancelled)


@dataclass(frozen=True, slots=True)
class Choices:
    """The method shown in 3D, the number of rows to keep, and whether it is shown."""

    method: Method = "helix"
    kept: int | None = None
    in_view: bool = True


ExtendView = View[Choices, Extension]


class ExtendPanel(PanelSpec[Choices, Extension]):
    """The error of each method at every position."""

    name = "extend"
    formula = "‖qᵢ − pᵢ‖ / ‖pᵢ − m‖"
    meaning = "the table continued, against its real rows"
    explanation = (
        "The first rows are kept and taken to all positions: by the helix that is fitted to their "
        "first three components, by the mean, a trend and at most three waves of each of their "
        "first eight components, or stretched, as models are taken to longer texts. The error of "
        "a row qᵢ that is made is its distance from the real one, pᵢ, over the distance of that "
        "from the mean m of the kept rows, so that the mean itself has 1."
    )
    empty = "Open a model to see how well its positions can be continued from the first of them."
    defaults = Choices()
    controls = (
        Choice(
            field="method",
            label="Method",
            options=(
                Option("helix", "Helix", "Continue the helix that is fitted to the kept rows"),
                Option("fourier", "Fourier", "Continue a few waves of each of their components"),
                Option("interpolate", "Interpolate", "Stretch the kept rows over all positions"),
            ),
        ),
        Number(
            field="kept",
            text="Keep",
            tip="How many rows are kept, from position 0; the others are held out",
            minimum=FEWEST,
            maximum=lambda result: _count(result) - 1,
            shown=lambda choice, result: _kept(choice, _count(result)),
            chosen=lambda number: number,
            kind=integer(FEWEST) | None,
        ),
        Toggle(
            field="in_view",
            text="Show in 3D",
            tip="Draw what is made as a thin line, dashed where rows are kept, with some of its "
            "positions joined to the real ones",
        ),
    )

    def concerns(self, model: PositionalModel) -> bool:
        return not why_not_extended(model) and model.n_positions > FEWEST

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Reset to the initial share of another model's rows."""
        return replace(choices, kept=None)

    def question(self, scope: Scope, choices: Choices) -> ExtensionOf:
        return ExtensionOf(choices.kept)

    def plots(self, view: ExtendView) -> Sequence[Part]:
        result, n = view.result, _count(view.result)
        colors, chosen = _colors(view), view.choices.method
        methods = sorted(NAMES, key=lambda method: method != chosen)  # the chosen one is first
        curves = [
            Curve(
                np.arange(n),
                result.errors[method],
                colors[method],
                width=2.0 if method == chosen else 1.0,
                silent=method != chosen,
                label=NAMES[method],
            )
            for method in methods
        ]
        held = np.arange(result.kept, n)
        curves.append(
            Curve(held, result.last, view.theme.muted, "dotted", silent=True, label="last kept row")
        )
        top = 1.05 * highest(curves, 1.0)

        def hover(_: int, at: int) -> str:
            where = "kept" if at < result.kept else "held out"
            values = [f"{NAMES[m]} {format_number(result.errors[m][at], 2)}" for m in NAMES]
            if at >= result.kept:
                values.append(f"last row {format_number(result.last[at - result.kept], 2)}")
            return " · ".join([f"position {view.at(at)}, {where}", *values])

        readings = [
            Reading(NAMES[method], format_number(result.totals[method], 2), colors[method])
            for method in NAMES
        ]
        last = format_number(result.totals["last"], 2)
        readings.append(Reading("last kept row", last, view.theme.muted, "dotted"))
        return [
            Plot(
                "Error at each position",
                Axis("position (tokens)", whole=True, span=(-0.5, n - 0.5)),
                Axis(
                    "relative error",
                    span=(0.0, top),
                    home=(0.0, min(top, HOME)),
                    printed="error / distance from the mean",
                ),
                curves,
                [
                    Rule(1.0, label="mean"),
                    Rule(
                        result.kept,
                        axis="x",
                        label="held out",
                        drags="kept",
                        bounds=(FEWEST, n - 1),
                        back=_kept(None, n),
                        tip="Positions from here on are held out; drag it to keep more or fewer",
                    ),
                ],
                hover,
                over="position",
                readings=readings,
            )
        ]

    def acts(self, view: ExtendView) -> Sequence[tuple[str, object]]:
        method, kept, n = view.choices.method, view.result.kept, _count(view.result)
        sizes = ((kept, n), (n, 2 * n))
        sources = [extended_source(method, *size, view.model) for size in sizes]
        return tuple(
            (
                f"Show {NAMES[method]} beside, {format_count(first)} → {format_count(length)}",
                ShowBeside(source),
            )
            for (first, length), source in zip(sizes, sources, strict=True)
            if source is not None
        )

    def guide(self, view: ExtendView, current: int | None) -> Guide | None:
        pca, components = view.scope.pca, view.scope.components
        if not view.choices.in_view or pca is None or max(components) > len(pca.components):
            return None
        shown, kept = [number - 1 for number in components], view.result.kept
        method, n = view.choices.method, _count(view.result)
        width = len(view.result.continued["helix"].mean)
        if (n, width) != (view.model.n_positions, view.model.d_model):  # still another model's
            return None
        caption = f"{NAMES[method]}, from positions 0–{kept - 1} to {n - 1}"
        if method == "interpolate":
            rows = resample_rows(pca.project(view.model.W_pos[:kept])[:, shown], n)
        else:
            rows = pca.project(view.result.continued[method].rows())[:, shown]
        first, last = pca.positions
        at = np.arange(max(first, kept), last + 1)[:: max(1, (last - first + 1) // JOINED)]
        real = pca.project(view.model.W_pos[at])[:, shown]
        fitted, further = rows[first : min(kept, last + 1)], rows[max(kept - 1, first) : last + 1]
        return Guide(
            pca,
            components,
            lines=(further,) if len(further) > 1 else (),
            dashed=(fitted,) if len(fitted) > 1 else (),
            segments=np.stack([rows[at], real], axis=1) if len(at) else None,
            caption=f"{caption[0].upper()}{caption[1:]}",
        )

    def heading(self, view: ExtendView) -> tuple[str, str]:
        return f"{view.model.name} · positions continued, against the real ones", _scope(view)

    def caption(self, view: ExtendView) -> str:
        totals = view.result.totals
        errors = ", ".join(f"{NAMES[m]} {format_number(totals[m], 2)}" for m in NAMES)
        last = format_number(totals["last"], 2)
        return (
            f"{view.model.name} · {_scope(view)} · error there: {errors}, last row {last}, mean 1"
        )

    def tables(self, view: ExtendView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by position, and the errors over all held-out rows."""
        result, n = view.result, _count(view.result)
        last = np.full(n, np.nan)
        last[result.kept :] = result.last
        by_position = {
            "position": np.arange(n),
            "held_out": np.arange(n) >= result.kept,
            **{f"error_{method}": result.errors[method] for method in NAMES},
            "error_last_row": last,
        }
        names: tuple[str, ...] = (*NAMES, "last")
        totals = {
            "method": np.array([*names, "mean"]),
            "error_held_out": np.array([*(result.totals[name] for name in names), 1.0]),
        }
        return {"": by_position, "totals": totals}

    def script(self, view: ExtendView) -> str:
        kept, n, method = view.result.kept, _count(view.result), view.choices.method
        lines = f"""
found = extension(model.W_pos, {kept})
print("errors over positions {kept} to {n - 1}", dict(found.totals))
for position, error in enumerate(found.errors[{method!r}]):
    print(position, error)
print(extend_table(model.W_pos[:{kept}], {n}, {method!r})[{kept}:])
"""
        return python_script(lines, view.model)


def _count(result: Extension) -> int:
    return len(result.errors["helix"])


def _kept(choice: int | None, n: int) -> int:
    """Return how many of n rows are kept; at least one row is held out."""
    return max(FEWEST, min(round(KEPT * n) if choice is None else choice, n - 1))


def _colors(view: ExtendView) -> dict[Method, str]:
    return dict(zip(NAMES, SERIES[view.theme.name], strict=False))


def _scope(view: ExtendView) -> str:
    kept, n = view.result.kept, _count(view.result)
    return f"positions 0–{kept - 1} kept, {kept}–{n - 1} held out"
