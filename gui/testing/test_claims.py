"""The contract of claims about a model, tested on those that installed plugins add."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.claims import CLAIMS, all_claims
from geometry.claims.measurements import Measurements, Scope
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.opening import open_model


@pytest.fixture(params=[claim for claim in all_claims() if claim not in CLAIMS], ids=lambda c: c.id)
def claim(request):
    """Return each installed claim in turn."""
    return request.param


def test_it_says_what_it_is(claim):
    """Its statement is a sentence; quantity, bound and reason go on in the middle of one."""
    assert claim.statement.endswith((".", ".”", "!”", "…”"))
    assert claim.quantity
    assert not claim.quantity.endswith(".")
    assert claim.reason
    assert not claim.reason.endswith(".")
    topic, _, what = claim.id.partition(".")
    assert topic
    assert what


@pytest.mark.parametrize("source", [SAMPLE, "sinusoidal:40x8"])
def test_it_has_a_number_or_a_reason(claim, source):
    """Its number is finite and the same each time; or there is a reason why there is none."""
    found: list[float | str] = []
    for _ in range(2):
        measured = Measurements(open_model(source), Scope(nulls=False))
        try:
            if claim.requires is not None:
                claim.requires(measured)
            found.append(float(claim.measure(measured)))
        except HelixscopeError as error:
            found.append(str(error))
    first, second = found
    assert first == second
    if isinstance(first, str):
        assert not first.startswith("The plugin"), first
    else:
        assert math.isfinite(first)
