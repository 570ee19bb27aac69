"""What the claims panel asks: every claim of the articles, checked on the open model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from geometry.claims import CLAIMS, Verdict, check
from geometry.errors import HelixscopeError
from geometry.hub.faults import HubError
from geometry.matrices import WeightName
from geometry.measurements import Measurements, Scope
from geometry.residual_stream import Subject
from gui.questions import Progress, Subjects, Tensor, tensors_of

LAYER = 0
"""The articles speak of the first layer's weights."""


@dataclass(frozen=True, eq=False, slots=True)
class Ledger:
    """The claims checked on one model.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the claims that are about the shown range.
    verdicts
        In the order of the articles.
    """

    positions: tuple[int, int]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class ClaimsOf:
    """The ledger, with a range of positions for the claims that are about the shown one."""

    positions: tuple[int, int]

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read."""
        return tensors_of(
            Subject("E"),
            Subject("W_Q", LAYER),
            Subject("W_K", LAYER),
            Subject("W_V", LAYER),
            Subject("W_O", LAYER),
            Subject("W_in", LAYER),
        )

    def steps(self, about: Subjects) -> Iterator[Progress | Ledger]:
        """Check one claim after another; yield the :class:`Ledger` last.

        Raises
        ------
        HubError
            A tensor is on the Hub and cannot be fetched: that is no finding about the model.
        """
        for name, layer in self.tensors():
            yield Progress(0.0, f"Reading {name}")
            _read(about, name, layer)
        done, claims = 0, CLAIMS

        def tell(share: float, message: str) -> None:
            about.tell((done + share) / len(claims), message)

        measured = Measurements(about.model, Scope(self.positions, LAYER))
        # Each matrix is decomposed once for all panels, and tells how far that is.
        measured.stream = about.stream.told(tell)
        verdicts: list[Verdict] = []
        for done, claim in enumerate(claims):
            yield Progress(done / len(claims), f"Claim {done + 1} of {len(claims)}")
            verdicts.append(check(claim, measured))
        # One that was given up half-way is no verdict.
        about.check()
        yield Ledger(self.positions, tuple(verdicts))


def _read(about: Subjects, name: str, layer: int) -> None:
    """Fetch a tensor that is on the Hub; whatever else is wrong with it, its claims will say."""
    try:
        if name == "W_E":
            _ = about.model.W_E
        else:
            about.model.weight(cast(WeightName, name), layer)
    except HubError:
        raise
    except HelixscopeError:
        return
