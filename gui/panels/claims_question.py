"""What the claims panel asks: every claim of the articles, checked on the open model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.claims import CLAIMS, Verdict, check, known_verdict
from geometry.claims.measurements import Measurements, Scope
from geometry.hub.faults import HubError
from geometry.models.matrices import WeightName
from geometry.models.residual_stream import Subject
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of

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
        In the order of the articles; one that is not there yet has neither value nor reason.
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

    def steps(self, about: QuestionContext) -> Iterator[Progress | Ledger]:
        """Check one claim after another, telling what is known; yield the :class:`Ledger` last.

        Raises
        ------
        HubError
            A tensor is on the Hub and cannot be fetched: that is no finding about the model.
        """
        for name, layer in self.tensors():
            yield Progress(0.0, f"Reading {name}")
            about.once(("read", name, layer), partial(_read, about, name, layer))
        done, verdicts = 0, {claim: Verdict(claim, None, None, None) for claim in CLAIMS}

        def so_far() -> Ledger:
            return Ledger(self.positions, tuple(verdicts.values()))

        def tell(share: float, message: str) -> None:
            about.tell((done + share) / len(CLAIMS), message, so_far())

        scope = Scope(self.positions, LAYER)
        measured = Measurements(about.model, scope, about.measured(tell))
        # What depends on no range is known from the range before.
        order = sorted(CLAIMS, key=lambda claim: known_verdict(claim, measured) is None)
        for done, claim in enumerate(order):
            yield Progress(done / len(order), f"Claim {done + 1} of {len(order)}", so_far())
            verdicts[claim] = check(claim, measured)
        # One that was given up half-way is no verdict.
        about.check()
        yield so_far()


def _read(about: QuestionContext, name: str, layer: int) -> bool:
    """Fetch a tensor that is on the Hub; whatever else is wrong with it, its claims will say."""
    try:
        if name == "W_E":
            _ = about.model.W_E
        else:
            about.model.weight(cast(WeightName, name), layer)
    except HubError:
        raise
    except HelixscopeError:
        return False
    return True
