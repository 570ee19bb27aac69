"""Artefact of PCA: components over position beside those of smooth random tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geometry.measures.pca_artefact import ComponentWaves, PCAArtefact, pca_artefact
from gui.panels.kit.choices import Choice, Option
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Reading
from gui.services.questions import QuestionContext
from gui.services.snippets import python_script
from gui.style.sentences import ranged
from gui.style.theme import SERIES, format_number, format_percent


@dataclass(frozen=True, slots=True)
class ArtefactOf:
    """The components of a range of positions, beside those of random tables."""

    positions: tuple[int, int]

    def answer(self, context: QuestionContext) -> PCAArtefact:
        context.report(None, "Drawing random tables")
        first, last = self.positions
        return pca_artefact(context.model.W_pos[first : last + 1], check=context.pause)


@dataclass(frozen=True, slots=True)
class Choices:
    """The random table that is drawn beside the model's."""

    random: Literal["process", "walk"] = "process"


ArtefactView = View[Choices, PCAArtefact]


class ArtefactPanel(PanelSpec[Choices, PCAArtefact]):
    """The components of the model, those of a random table, and the answer in sentences."""

    name = "artefact"
    formula = "(P − m) vₖ"
    meaning = "could this be an artefact of PCA?"
    explanation = (
        "The first principal components of the shown positions and, beside them, those of a random "
        "table of the same size and smoothness, each with its best-fitting sinusoid (dashed): PCA "
        "shows waves in any smooth curve, of about half a cycle, one, and one and a half. What "
        "random curves lack is two components of one frequency, a quarter of a cycle apart, and "
        "often as much variance in three components; the sentences compare both."
    )
    empty = "Open a model to see whether the waves of its components may be an artefact of PCA."
    instead = "Norms and Spectra need no components."
    defaults = Choices()
    controls = (
        Choice(
            field="random",
            label="Random",
            options=(
                Option(
                    "process", "Smooth", "Show a random table as smooth and as noisy as the model’s"
                ),
                Option("walk", "Walk", "Show a random walk with the model’s step lengths"),
            ),
        ),
    )
    body = "gui.panels.artefact.body:ArtefactBody"

    def question(self, scope: Scope, choices: Choices) -> ArtefactOf:
        return ArtefactOf(scope.positions)

    def plots(self, view: ArtefactView) -> Sequence[Part]:
        random = view.result.random[view.choices.random].example
        name = "random walk" if view.choices.random == "walk" else "random table"
        return [
            _plot(view, view.result.own, view.name or view.model.name, over=True),
            _plot(view, random, name, over=False),
        ]

    def heading(self, view: ArtefactView) -> tuple[str, str]:
        where = f"{ranged(view.model, view.question.positions)}, centred"
        return f"{view.model.name} · {view.result.title}", where

    def caption(self, view: ArtefactView) -> str:
        own, draws = view.result.own, len(view.result.random[view.choices.random].r2)
        where = f"{view.model.name} · {ranged(view.model, view.question.positions)}, centred"
        return (
            f"{where} · {format_percent(own.three)} in {len(own.shares)} components · B "
            f"{format_number(view.result.turning.b)} · {draws} random tables of each kind"
        )

    def tables(self, view: ArtefactView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by component, one by position, and one by random table."""
        own, random = view.result.own, view.result.random
        number = np.arange(1, len(own.shares) + 1)
        components = {"component": number, **_columns(own)}
        positions = {"position": view.question.positions[0] + own.at}
        positions |= {f"PC{k}": own.scores[:, k - 1] for k in number}
        draws: dict[str, np.ndarray] = {}
        for kind, each in random.items():
            components |= {
                f"{name}_of_{kind}": values for name, values in _columns(each.example).items()
            }
            draws |= {
                f"variance_of_{kind}": each.three.values,
                f"mean_r2_of_{kind}": each.mean_r2.values,
            }
            draws[f"turning_share_of_{kind}"] = each.b.values
        return {"": components, "positions": positions, "random": draws}

    def script(self, view: ArtefactView) -> str:
        first, last = view.question.positions
        lines = f"""
found = pca_artefact(model.W_pos[{first} : {last + 1}])
print(found.title, *found.sentences, sep="\\n")
for part in (found.own, *(random.example for random in found.random.values())):
    print(part.shares, part.waves.cycles, part.waves.r2, part.b)
"""
        return python_script(lines, view.model)


def _plot(view: ArtefactView, waves: ComponentWaves, name: str, *, over: bool) -> Plot:
    colors, first = SERIES[view.theme.name], view.question.positions[0]
    x = first + waves.at
    curves = [Curve(x, scores, colors[k]) for k, scores in enumerate(waves.scores.T)]
    curves += [
        Curve(x, waves.waves.values(k), colors[k], "dashed", silent=True)
        for k in range(len(curves))
    ]

    def hover(curve: int, at: int) -> str:
        score = format_number(float(waves.scores[at, curve]))
        where = f"{view.row} {view.at(int(x[at]))}" if over else f"row {x[at] - first}"
        return f"{where} · PC {curve + 1} {score}"

    readings = [
        Reading(
            f"PC {k + 1}",
            f"{format_percent(waves.shares[k])}, {format_number(waves.waves.cycles[k], 2)} cycles, "
            f"R² {format_number(waves.waves.r2[k], 2)}",
            colors[k],
        )
        for k in range(len(waves.shares))
    ]
    return Plot(
        f"Components of {name}" if over else f"Components of a {name}",
        Axis(view.along if over else f"row, {name}", whole=True),
        Axis("score (units of P)", printed="score (units of P); dashed: best sinusoid"),
        curves,
        hover=hover,
        over="position" if over else "",
        readings=readings,
    )


def _columns(waves: ComponentWaves) -> dict[str, np.ndarray]:
    return {"share": waves.shares, "cycles": waves.waves.cycles, "r2": waves.waves.r2}
