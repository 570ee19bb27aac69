"""Overlaps: how far the directions of two matrices coincide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.claims.report import NOT_HERE
from geometry.hub.faults import Offline
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Name, Subject
from gui.panels.kit.choices import Choice, Option, Saved, Toggle, is_of, matrix
from gui.panels.kit.nulls import Finding
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.subject_text import TABLES
from gui.panels.kit.views import Reported, Scope
from gui.panels.overlaps.picture import (
    GREY,
    TIMES,
    Choices,
    Look,
    OverlapsView,
    Shown,
    caption_of,
    cell_text,
    cells_of,
    figure_caption,
    home_levels,
    levels_of,
    pictures_of,
    sum_text,
    title_of,
)
from gui.panels.overlaps.question import (
    FigureOf,
    Missing,
    Overlap,
    OverlapFigure,
    OverlapNullsOf,
    OverlapsOf,
    article_figure,
    overlap_of,
    plain,
)
from gui.plots.spec import Axis, Image, Part
from gui.services.snippets import python_script, written
from gui.state.values import Fields
from gui.style.sentences import as_sentence
from gui.style.theme import COLORMAPS, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 1000
"""Layers on offer if their number is unknown."""
CLAIMED: tuple[tuple[str, Name, Name], ...] = (
    ("P_E.strong_weak", "P", "E"),
    ("P_E.weak_strong", "P", "E"),
    ("P_E.strong", "P", "E"),
    ("W_Q_P", "W_Q", "P"),
    ("W_K_P", "W_K", "P"),
    ("W_V_P", "W_V", "P"),
    ("W_O_P", "W_O", "P"),
    ("W_Q_E", "W_Q", "E"),
    ("W_K_E", "W_K", "E"),
    ("W_V_E", "W_V", "E"),
    ("W_O_E", "W_O", "E"),
    ("W_in_P", "W_in", "P"),
    ("W_in_E", "W_in", "E"),
)
"""Claims of the ledger about overlaps, each with its two matrices."""
APART: tuple[set[Name], ...] = ({"P", "E"}, {"W_in", "P"}, {"W_O", "E"})
"""Matrices whose strong directions differ according to the articles; all others' coincide."""


RANDOM_SCRIPT = """\
    m, d = contrast.corner, one.vectors.shape[1]
    random = shared_energy(m, m, d).scaled(d, m**2)
    print("random corners", *random.band)
    print(weigh(contrast.TL {relation} 1, contrast.TL, {side!r}, random))
"""
"""Part of the script about random matrices, within its loop."""


def _apart(overlap: Overlap) -> bool:
    """Return whether two matrices' strong directions differ according to the articles."""
    return {overlap.rows.name, overlap.columns.name} in APART


def _matrix(field: str) -> Saved:
    return Saved(field=field, kind=Subject, suits=is_of, short=matrix)


def _pair(rows: Name, columns: Name, *, fold_ln: bool = False) -> Fields:
    return {"rows": Subject(rows, fold_ln=fold_ln), "columns": Subject(columns)}


def _compares_weights(choices: Choices) -> bool:
    pair = choices.rows.name, choices.columns.name
    return choices.view == "pair" and not set(pair) <= set(TABLES)


class OverlapsPanel(PanelSpec[Choices, Shown]):
    """Squared overlaps of any two matrices, and the article's figures of them."""

    name = "overlaps"
    formula = "(uᵢ·vⱼ)²"
    meaning = "squared overlaps"
    explanation = (
        "uᵢ and vⱼ are the singular directions of two matrices, strongest first: (uᵢ·vⱼ)² is 1 "
        "where two coincide, 0 where they are orthogonal, and 1/d by chance. TL, TR, BL and BR "
        "are the means of the 30 × 30 corners divided by chance; strong directions are at the top "
        "and left."
    )
    empty = "Open a model to see how much the directions of its matrices overlap."
    defaults = Choices()
    controls = (
        Choice(
            field="view",
            label="What to compare",
            options=(
                Option("pair", "Pair", "Any two matrices"),
                Option(
                    "attention",
                    "Attention figure",
                    "The article's eight panels: W_Q, W_K, W_V and W_O with P and E",
                ),
                Option(
                    "mlp", "MLP figure", "The article's two panels: the MLP's fan-out with E and P"
                ),
            ),
        ),
        _matrix("rows"),
        _matrix("columns"),
        Saved(field="look", kind=Look, check=lambda look: look.colormap in (GREY, *COLORMAPS)),
        Saved(field="ends", kept=False, kind=type(None)),
        Toggle(
            field="layers",
            text="Other layers",
            tip="Also compare the same weights of all other layers on this machine, to see whether "
            "the result is specific to this layer",
            when=_compares_weights,
        ),
    )
    form = "gui.panels.overlaps.form:OverlapsForm"
    body = "gui.panels.overlaps.body:OverlapsBody"
    figures = {
        "overlaps-P-E": _pair("P", "E"),
        "overlaps-attention": {"view": "attention"},
        "overlaps-mlp": {"view": "mlp"},
    }
    claims = {f"overlap.{claim}": _pair(rows, columns) for claim, rows, columns in CLAIMED}

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Limit layers and heads to those of another model."""
        layers, heads = model.n_layers or MANY, model.n_heads or 0

        def kept(subject: Subject) -> Subject:
            head = None if subject.head is None or not heads else min(subject.head, heads - 1)
            return replace(subject, layer=min(subject.layer, layers - 1), head=head)

        return replace(choices, rows=kept(choices.rows), columns=kept(choices.columns), ends=None)

    def concerns(self, model: PositionalModel) -> bool:
        return len(model.missing) < len(NAMES[1:])

    def agreeing(self, choices: Choices, changes: Set[str]) -> Choices:
        """Show the pair if matrices are chosen without a view."""
        named = {"rows", "columns"} & changes and "view" not in changes
        return replace(choices, view="pair") if named else choices

    def question(self, scope: Scope, choices: Choices) -> OverlapsOf | FigureOf:
        rows, columns = choices.pair
        if choices.view == "pair":
            return OverlapsOf(plain(rows), plain(columns))
        return article_figure(choices.view, replace(rows, centred=False), centred=rows.centred)

    def nulls_question(self, scope: Scope, choices: Choices) -> OverlapNullsOf | None:
        if choices.view != "pair":
            return None
        rows, columns = choices.pair
        layers = choices.layers and _compares_weights(choices)
        return OverlapNullsOf(plain(rows), plain(columns), layers)

    def finding(self, view: OverlapsView) -> Finding:
        assert isinstance(view.result, Overlap)
        nulls, contrast = view.nulls, view.result.contrast
        low, _, high = nulls.corner.band
        apart = _apart(view.result)
        words = (
            f"TL {format_number(contrast.TL, 2)} × chance (expected {'<' if apart else '>'} 1); "
            f"90 % of random corners {format_number(low, 2)}–{format_number(high, 2)}, "
            f"3{TIMES}3 sums up to {sum_text(nulls.top3.band[2])}"
        )
        if nulls.layers:
            tops = [layer.TL for layer in nulls.layers]
            words += (
                f"; TL of {_layers(len(tops), 'other ')} {format_number(min(tops), 2)}–"
                f"{format_number(max(tops), 2)}"
            )
        elif view.choices.layers and view.model.n_layers == 1:
            words += "; there are no other layers"
        if nulls.elsewhere:
            words += f"; {_layers(nulls.elsewhere)} not on this machine"
        holds = contrast.TL < 1.0 if apart else contrast.TL > 1.0
        return Finding.of(words, holds, contrast.TL, "below" if apart else "above", nulls.corner)

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        choices = super().choices_for_report(reported, figure)
        if choices.view == "pair":
            return choices
        return replace(choices, rows=reported.measured.subject("W_Q"))

    def result_for_report(
        self, reported: Reported, choices: Choices
    ) -> tuple[OverlapsOf | FigureOf, Shown]:
        """Count matrices that are not on this machine as missing."""
        question = self.question(reported.scope, choices)
        if isinstance(question, OverlapsOf):
            return question, question.answer(reported.context)
        # The report's subjects, whose decompositions are cached.
        rows, columns = (
            [reported.measured.subject(subject.name) for subject in some]
            for some in (question.rows, question.columns)
        )
        cells = tuple(_cell(reported, row, column) for row in rows for column in columns)
        shown = OverlapFigure(cells, len(question.columns))
        if not shown.overlaps:
            whys = dict.fromkeys(cell.why for cell in cells if isinstance(cell, Missing))
            raise TensorUnavailable(" ".join(whys))
        return question, shown

    def plots(self, view: OverlapsView) -> Sequence[Part]:
        overlap, look = view.result, view.choices.look
        if not isinstance(overlap, Overlap):
            return []
        (picture,) = pictures_of((overlap,), look.blur)
        assert picture is not None
        return [
            Image(
                "Squared overlaps of two matrices",
                Axis(f"{overlap.columns.name} direction j"),
                Axis(f"{overlap.rows.name} direction i"),
                picture,
                look.colormap,
                home_levels((overlap,), look.blur, log=look.log),
                drags="ends",
                ends=levels_of(view),
                first=(1, 1),
                log=look.log,
                unit="squared overlap",
                hover=lambda i, j: cell_text(overlap, i, j),
            )
        ]

    def heading(self, view: OverlapsView) -> tuple[str, str]:
        result, caption = view.result, self.caption(view)
        if isinstance(result, Overlap):
            return title_of(result.rows, result.columns), caption
        return "Squared overlaps", caption

    def caption(self, view: OverlapsView) -> str:
        result, blur = view.result, view.choices.look.blur
        if isinstance(result, Overlap):
            return caption_of(view.model, result, blur)
        return figure_caption(view.model, result, blur)

    def figure(self, view: OverlapsView) -> Figure:
        from gui.panels.overlaps.figure import draw_cells, draw_pair

        draw = draw_pair if isinstance(view.result, Overlap) else draw_cells
        return draw(view, self.caption(view))

    def tables(self, view: OverlapsView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table for each matrix of overlaps, one of random frames, and one by layer."""
        result = view.result
        if not isinstance(result, Overlap):
            named = (
                (f"{overlap.rows.name}_{overlap.columns.name}", overlap.values)
                for overlap in result.overlaps
            )
            return {name if i else "": {name: values} for i, (name, values) in enumerate(named)}
        tables = {"": {"overlap": result.values}}
        if view.nulls is not None:
            tables["random"] = {
                "random_corner_over_chance": view.nulls.corner.values,
                "random_top3": view.nulls.top3.values,
            }
        if view.nulls is not None and view.nulls.layers:
            layers = view.nulls.layers
            tables["layers"] = {
                "layer": np.array([layer.layer for layer in layers]),
                "layer_TL": np.array([layer.TL for layer in layers]),
                "layer_top3": np.array([layer.top3 for layer in layers]),
            }
        return tables

    def script(self, view: OverlapsView) -> str:
        listed = "".join(
            f"    ({written(cell.rows)}, {written(cell.columns)}),\n"
            for cell in cells_of(view.result)
        )
        random = ""
        if isinstance(view.result, Overlap):
            relation, side = ("<", "below") if _apart(view.result) else (">", "above")
            random = RANDOM_SCRIPT.format(relation=relation, side=side)
        lines = f"""
stream = ResidualStream(model)
pairs = [
{listed}]
for rows, columns in pairs:
    try:
        one, other = stream.pair(rows, columns)
    except TensorUnavailable as error:
        print(rows.name, columns.name, error)
        continue
    overlaps = squared_overlaps(one, other)
    contrast = corner_contrast(overlaps, 1 / one.vectors.shape[1])
    print(rows.name, columns.name, contrast, top3(overlaps))
{random}{self._layers_script(view)}"""
        return python_script(lines, view.model)

    def _layers_script(self, view: OverlapsView) -> str:
        """Return the part of the script about other layers, as far as they are shown."""
        if view.nulls is None or not view.nulls.layers:
            return ""
        (cell,) = cells_of(view.result)
        pair = ", ".join(
            written(one) if one.name in TABLES else f"replace({written(one)}, layer=layer)"
            for one in (cell.rows, cell.columns)
        )
        return f"""
for layer in {[one.layer for one in view.nulls.layers]}:
    one, other = stream.pair({pair})
    overlaps = squared_overlaps(one, other)
    print(layer, corner_contrast(overlaps, 1 / one.vectors.shape[1]).TL, top3(overlaps))
"""


def _layers(count: int, which: str = "") -> str:
    return f"{count} {which}layer{'s' * (count != 1)}"


def _cell(reported: Reported, rows: Subject, columns: Subject) -> Overlap | Missing:
    try:
        return overlap_of(reported.context, rows, columns)
    except TensorUnavailable as error:
        return Missing(rows, columns, as_sentence(str(error)))
    except Offline:
        return Missing(rows, columns, as_sentence(NOT_HERE))
