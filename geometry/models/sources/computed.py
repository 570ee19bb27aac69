"""Tables in memory, opened as models without tokens and layers."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.stores import FloatArray, OnThisMachine, TensorInfo
from geometry.models.families.stack import ALONE
from geometry.models.model import PositionalModel
from geometry.models.notes import Making
from geometry.models.recognition.architecture import Architecture
from geometry.models.sources.catalogue import with_entry
from geometry.models.sources.formulas import find_computed
from geometry.models.sources.source import Source


def open_computed(source: Source) -> PositionalModel:
    """Compute a table, and open it as a model without tokens and layers.

    Raises
    ------
    SourceError
        The size or the curve after the name is invalid.
    """
    table = find_computed(source.text)
    assert table is not None, "the source is of this kind"
    source = replace(source, text=table.source)
    return model_of_table(table.family, table.make(), source=source, name=table.name)


def model_of_table(
    family: str,
    values: npt.NDArray[np.float64],
    *,
    source: Source | None = None,
    name: str = "",
) -> PositionalModel:
    """Open a table in memory as a model without tokens and layers.

    Parameters
    ----------
    family
        Its family, which is also the table's name.
    values : (n_positions, d_model) float64
        Its numbers.
    source, name
        Of the model; the family by default.
    """
    place = Architecture(family, ALONE, table=family)
    return PositionalModel(
        OneTable(family, values),
        place,
        source=source or Source.parse(family),
        name=name or family,
        making=with_entry(Making(), family),
    )


def model_derived_from(
    model: PositionalModel,
    source: Source,
    table: npt.NDArray[np.float64],
    place: Architecture,
    beside: FolderFiles | None = None,
) -> PositionalModel:
    """Open a table that is made of a model, as one without tokens and layers.

    Parameters
    ----------
    model
        The model; its choice of table opens it again.
    source
        Of the table.
    table : (n_positions, d_model) float64
        Its numbers.
    place
        How it is read.
    beside
        Files that it was made of as well.
    """
    choice = model.table_choice
    chosen = "" if choice is None or choice in model.sides[:1] else choice
    return PositionalModel(
        OneTable(place.table, table, of=model),
        replace(place, chosen=chosen),
        source=source,
        name=source.name_with(model.name),
        commit=model.commit,
        beside=beside,
        making=Making() if place.rows else Making(model.notes),
    )


class OneTable(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` of a single table in memory.

    Parameters
    ----------
    name
        The table's name.
    values : (n_positions, d_model) float64
        Its numbers.
    of
        The model that it was made of, if any: its files are those of the table.
    """

    def __init__(
        self, name: str, values: npt.NDArray[np.float64], of: PositionalModel | None = None
    ) -> None:
        self._values, self._of = values, of
        info = TensorInfo(name, values.shape, "F64", values.nbytes)
        self.tensors = MappingProxyType({name: info})

    def check_files(self) -> None:
        """Compare the files of the model that it was made of with those that were opened."""
        if self._of is not None:
            self._of.check_files()

    def read(self, name: str) -> FloatArray:
        """Return the table; KeyError for any other name."""
        return self._values.reshape(self.tensors[name].shape)
