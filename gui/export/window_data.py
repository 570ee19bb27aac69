"""The numbers behind a window, as named arrays and as a table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.number_files import write_numbers, write_tables
from gui.scene.scene_state import resolve_scene
from gui.services.alignment import SLOT as ALIGNED
from gui.services.alignment_text import caption
from gui.state.colors import shown_column

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.aligned_curve import AlignedCurve
    from gui.state.colors import ColorScale
    from gui.state.session import Session

README = "README"
"""Name of the NPZ entry that describes the others, in JSON."""
_TABLE = "the table’s own unit"


@dataclass(frozen=True, eq=False, slots=True)
class Datum:
    """An array and its description."""

    values: np.ndarray
    meaning: str  # Its description, a sentence
    unit: str = ""  # Unit of its numbers; "" for none
    # Name of its column in a table; "" if it has none. An array of two dimensions has a name for
    # each column, separated by spaces.
    column: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class ModelData:
    """The numbers of one model."""

    model: PositionalModel
    # Range, components, colours and caption, by their names in the README.
    said: Mapping[str, object]
    data: Mapping[str, Datum]  # The arrays, by name


def model_data(session: Session) -> ModelData | None:
    """Return the numbers behind a session's curve; None if there is none.

    Arrays with a row for each position of the table: ``position``, ``in_range``, ``selected``,
    ``token``, ``coordinates``, ``norm``, ``residual``, ``color``. Of an aligned curve, if there is
    one: ``laid_position``, ``laid_matched``, ``laid_coordinates``. Of the basis: ``components``,
    ``mean``, ``explained_variance_ratio``, ``singular_values``. And ``table``, the rows themselves.
    While a snapshot of a training is shown, coordinates and norms are its, without a residual.
    """
    state, curve, model = resolve_scene(session), session.curve, session.model
    if state is None or curve is None or model is None:
        return None
    first, last = state.positions
    said = {
        "name": model.name,
        "source": model.source.id,
        "commit": model.commit,
        "positions": [first, last],
        "components": list(curve.components),
        "color_by": state.scale.title,
        "caption": list(state.caption),
    }
    data = {**_of_rows(session, state.coordinates), **_of_basis(session)}
    if session.aligned is not None and session.guides.get(ALIGNED) in state.guides:
        data.update(_of_aligned(session.aligned))
    data["color"] = Datum(
        _color_values(state.scale),
        f"the quantity that sets the colour: {state.scale.title}",
        column=_color(session),
    )
    return ModelData(model, said, data)


def _of_rows(session: Session, coordinates: np.ndarray) -> dict[str, Datum]:
    """Return the arrays by position, in the order of a table's columns."""
    model, curve, timeline = session.model, session.curve, session.shown_timeline
    assert model is not None
    assert curve is not None
    count = model.n_positions
    position = np.arange(count)
    first, last = curve.pca.positions
    texts = np.array([session.text_at(i) or "" for i in range(count)])
    labels = {
        "token": Datum(texts, "the prompt’s token at the position; empty if none", column="token")
    }
    if model.rows is not None:
        labels = {"label": Datum(texts, "the row’s label; empty if none", column="label")}
    names = " ".join(f"pc_{k}" for k in curve.components)
    rows = {
        "position": Datum(position, "row of the table, from 0", column="position"),
        "in_range": Datum(
            (position >= first) & (position <= last),
            "whether the position is in the range to which the components are fitted",
            column="in_range",
        ),
        "selected": Datum(
            np.isin(position, session.selection),
            "whether the position is selected",
            column="selected",
        ),
        **labels,
        "coordinates": Datum(
            coordinates,
            "the row minus the range’s mean, along the shown components"
            if timeline is None
            else f"coordinates at {_snapshot(session)}",
            _TABLE,
            names,
        ),
    }
    if timeline is not None:
        assert session.snapshot is not None
        norms = timeline.timelapse.norms[session.snapshot]
        return {**rows, "norm": Datum(norms, "length of the row at that step", _TABLE, "norm")}
    if session.norms is not None:
        centred = session.norms.centred
        what = "length of the row, centred over its entries" if centred else "length of the row"
        rows["norm"] = Datum(session.norms.values, what, _TABLE, "norm")
    rows["residual"] = Datum(
        curve.residual,
        "share of the centred row’s length outside the shown components",
        "0 to 1",
        "residual",
    )
    return rows


def _of_aligned(aligned: AlignedCurve) -> dict[str, Datum]:
    """Return the arrays of an aligned curve."""
    return {
        "laid_position": Datum(
            np.arange(aligned.positions[0], aligned.positions[1] + 1),
            "position in the overlaid table of each row of laid_coordinates",
        ),
        "laid_matched": Datum(aligned.matched, "matched position, whose colour it has"),
        "laid_coordinates": Datum(
            aligned.coordinates, caption(aligned).replace("\n", " · "), _TABLE
        ),
    }


def _snapshot(session: Session) -> str:
    """Describe the shown snapshot of the training."""
    timeline = session.shown_timeline
    assert timeline is not None
    assert session.snapshot is not None
    return timeline.caption(session.snapshot)


def _of_basis(session: Session) -> dict[str, Datum]:
    """Return the basis of the coordinates, unless they are those of a snapshot."""
    assert session.model is not None
    assert session.curve is not None
    pca = session.curve.pca
    return {
        "table": Datum(session.model.W_pos, "the positional embeddings", _TABLE),
        "mean": Datum(pca.mean, "mean row of the range", _TABLE),
        "components": Datum(
            pca.components,
            "principal components of the range, PC 1 first: a row minus the mean, times these",
        ),
        "explained_variance_ratio": Datum(
            pca.explained_variance_ratio, "each component’s share of the range’s variance", "0 to 1"
        ),
        "singular_values": Datum(
            pca.singular_values, "singular values of the range’s rows minus their mean", _TABLE
        ),
    }


def _color(session: Session) -> str:
    by, column = session.color_by, shown_column(session)
    if by == "component":
        return f"color_pc_{session.color_component}"
    if by == "period":
        return f"color_mod_{session.color_period:g}"
    if by == "column":
        return "color_" + ("position" if column is None else re.sub(r"\W+", "_", column.name))
    return f"color_{by}"


def _color_values(scale: ColorScale) -> np.ndarray:
    """Return what colours each position: a number, or the name of a category, "" for none."""
    if not scale.categories:
        return scale.values
    names = [*scale.categories, ""]
    return np.array([names[-1 if np.isnan(value) else int(value)] for value in scale.values])


@dataclass(frozen=True, eq=False, slots=True)
class WindowData:
    """The numbers of a window; may be written on any thread."""

    shown: tuple[ModelData, ...]  # Those of the open model, then of compared models
    panels: Mapping[str, Mapping[str, np.ndarray]]  # The panels' numbers, by the panels' names
    # The same as tables, by the panels' names and the tables'; a panel's main one is "".
    panel_tables: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]]

    @classmethod
    def of(
        cls,
        session: Session,
        panels: Mapping[str, Mapping[str, np.ndarray]] | None = None,
        panel_tables: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]] | None = None,
    ) -> WindowData:
        """Create from a session, including compared models.

        Raises HelixscopeError: no model is open.
        """
        first = model_data(session)
        if first is None:
            raise HelixscopeError("There is nothing to export yet", "Open a model first.")
        others = (model_data(one.session) for one in session.others)
        shown = (first, *(one for one in others if one is not None))
        return cls(shown, panels or {}, panel_tables or {})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, with their description as JSON under :data:`README`.

        Those of the open model have the names of :func:`model_data`, those of compared models the
        prefixes ``compared_1/``, ``compared_2/``, …, and those of panels ``panels/`` and the
        panel's name.
        """
        arrays: dict[str, np.ndarray] = {}
        meanings: dict[str, dict[str, object]] = {}
        models = []
        for number, one in enumerate(self.shown):
            folder = f"compared_{number}/" if number else ""
            models.append({**one.said, "fingerprint": one.model.fingerprint, "arrays": folder})
            for name, datum in one.data.items():
                arrays[f"{folder}{name}"] = datum.values
                meanings[f"{folder}{name}"] = {"meaning": datum.meaning, "unit": datum.unit}
        for panel, numbers in self.panels.items():
            for name, values in numbers.items():
                arrays[f"panels/{panel}/{name}"] = np.asarray(values)
                meanings[f"panels/{panel}/{name}"] = {"meaning": f"shown by the panel “{panel}”"}
        for name, said in meanings.items():
            said["shape"] = list(arrays[name].shape)
        readme = {"made_by": "Helixscope", "models": models, "arrays": meanings}
        return {README: np.array(json.dumps(readme, indent=1, ensure_ascii=False)), **arrays}

    def columns(self) -> dict[str, np.ndarray]:
        """Return a table as columns of objects, with a row per position.

        With compared models their rows follow, and the first column names the model.
        """
        tables = [_columns(one) for one in self.shown]
        counts = [len(table["position"]) for table in tables]
        if len(tables) > 1:
            for one, table, count in zip(self.shown, tables, counts, strict=True):
                table["model"] = [one.model.name] * count
        names = dict.fromkeys(("model", *(name for table in tables for name in table)))
        return {
            name: np.array(
                [
                    value
                    for table, count in zip(tables, counts, strict=True)
                    for value in table.get(name, [""] * count)
                ],
                dtype=object,
            )
            for name in names
            if any(name in table for table in tables)
        }

    def tables(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Return all tables: the curves by position, components, an aligned curve, and panels'."""
        tables: dict[str, Mapping[str, np.ndarray]] = {"": self.columns()}
        data = self.shown[0].data
        shares = data.get("explained_variance_ratio")
        if shares is not None:
            tables["components"] = {
                "component": np.arange(1, len(shares.values) + 1),
                "explained_variance_ratio": shares.values,
                "singular_value": data["singular_values"].values,
            }
        laid = [name for name in data if name.startswith("laid_")]
        if laid:
            tables["laid-over"] = {name: data[name].values for name in laid}
        for panel, own in self.panel_tables.items():
            tables |= {f"{panel}-{name}" if name else panel: table for name, table in own.items()}
        return tables

    def write(self, out: Path) -> None:
        """Write each table as a ``.csv``, or all arrays as one ``.npz``, atomically.

        Raises HelixscopeError: it cannot be written, or has another suffix.
        """
        if out.suffix.lower() == ".csv":
            write_tables(self.tables(), out)
        else:
            write_numbers(self.arrays(), out)


def _columns(shown: ModelData) -> dict[str, list[object]]:
    """Return one model's columns of a table."""
    columns: dict[str, list[object]] = {}
    for datum in shown.data.values():
        if datum.column:
            values = datum.values
            values = values.astype(np.int64) if values.dtype == bool else values
            across = values.reshape(len(values), -1).T
            for name, column in zip(datum.column.split(), across, strict=True):
                columns[name] = column.tolist()
    return columns
