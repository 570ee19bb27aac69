"""All measurements of a model, each computed once, on demand."""

from __future__ import annotations

from dataclasses import replace

from geometry.claims.measured_model import DEFAULT_RANK, LEADING, MeasuredModel, Scope
from geometry.claims.measured_range import N_COMPONENTS, MeasuredRange
from geometry.evidence.drawn_tables import CurveKind
from geometry.measures.heads import HeadProjections
from geometry.measures.kernels import HeadKernels, average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.model import PositionalModel

__all__ = ["DEFAULT_RANK", "LEADING", "N_COMPONENTS", "Measurements", "Scope"]


class Measurements(MeasuredRange, MeasuredModel):
    """The measurements of one model in one scope.

    Parameters
    ----------
    model
        The open model; tensors are read on demand.
    scope
        See :class:`Scope`.
    of_model
        Earlier measurements of the model, whose settings except for the positions are used, and
        what they have cached; new ones if None.

    Raises
    ------
    RangeError
        When the range leaves the table, the model has no such layer, or P no such rank.
    """

    def __init__(
        self,
        model: PositionalModel,
        scope: Scope | None = None,
        of_model: MeasuredModel | None = None,
    ) -> None:
        scope = scope or Scope()
        MeasuredRange.__init__(self, model, scope.positions or model.usual_positions)
        of_model = of_model or MeasuredModel(model, scope)
        MeasuredModel.__init__(
            self,
            model,
            replace(of_model.scope, positions=scope.positions, nulls=scope.nulls),
            stream=of_model.stream,
            once=of_model.cache,
            tell=of_model.tell,
        )
        self.nulls = scope.nulls
        self.drawn: dict[str, dict[CurveKind, list[float]]] = {}
        """Numbers of random curves that depend on the range, by the claim's id and the kind."""
        self._heads: dict[int, HeadProjections] = {}
        self._kernels: dict[tuple[int, bool], HeadKernels] = {}

    def heads(self, layer: int) -> HeadProjections:
        """All heads' queries and keys of all positions; TensorUnavailable without their weights."""
        if layer not in self._heads:
            self._heads = {layer: project_heads(self.model, layer)}  # they are large
        return self._heads[layer]

    def kernels(self, layer: int | None = None, *, averaged: bool = False) -> HeadKernels:
        """Attention of a layer's heads by position alone, for the queries of the range.

        Parameters
        ----------
        layer
            The scope's layer if None.
        averaged
            Average P in blocks of ten neighbours first.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family lacks the required weights.
        """
        key = (self.scope.layer if layer is None else layer, averaged)
        positions = self.positions
        if key not in self._kernels:
            if averaged:
                heads = project_heads(self.model, key[0], rows=average_blocks(self.model.W_pos))
            else:
                heads = self.heads(key[0])
            self._kernels[key] = head_kernels(heads, positions)
        return self._kernels[key]
