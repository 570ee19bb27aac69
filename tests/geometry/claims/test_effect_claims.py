"""Claims about what positions do: each outcome, by constructed effects."""

import json
from dataclasses import replace

import numpy as np
import pytest

from geometry.claims.effect_claims import EFFECT_CLAIMS, FEWEST, NEEDED, NEEDS, check_effects
from geometry.claims.report import report
from geometry.inside.intervene import Effect, Effects
from geometry.inside.interventions import USUAL
from geometry.models.sources.opening import open_model

#: Nats per token that changes of the bundled model cost, as in docs/findings.md.
BUNDLED = {
    "top 0": 1.182, "top 3": 0.0, "fitted helix": 0.07, "scrambled norms": 0.732,
    "equal norms": 0.025, "into E": 1.622, "random turn": 1.38, "without position 0": 0.004,
}  # fmt: skip
IDS = [claim.id for claim in EFFECT_CLAIMS]


def effects(costs=BUNDLED, *, windows=64, noise=0.3, shared=1.0, seed=0):
    """Effects with these means, and noise of which a share is the same for all changes."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(windows)
    made = []
    for name, cost in costs.items():
        own = rng.standard_normal(windows)
        drawn = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
        values = cost * (1 + noise * (drawn - drawn.mean()))
        made.append(Effect(name, cost, cost, cost, by_window=tuple(values.tolist())))
    return Effects(4.31, tuple(made), windows)


def without(found, name, **changes):
    """Effects with one change replaced; left out where nothing is given."""
    kept = [
        replace(one, **changes) if one.name == name else one
        for one in found.effects
        if one.name != name or changes
    ]
    return replace(found, effects=tuple(kept))


def by_id(found):
    return {one.claim.id: one for one in check_effects(found)}


def outcomes(found):
    return {name: one.outcome for name, one in by_id(found).items()}


def test_the_claims_need_what_is_usually_measured():
    assert set(NEEDED) == set(BUNDLED)
    assert set(NEEDED) <= set(USUAL)
    assert len(set(IDS)) == len(IDS)
    for claim in EFFECT_CLAIMS:
        assert claim.statement.endswith(".")
        assert claim.reason
        assert not claim.reason.endswith(".")


def test_without_forward_passes_nothing_is_told():
    for verdict in check_effects(None):
        assert (verdict.outcome, verdict.why_null) == ("cannot tell", NEEDS)
        assert verdict.value is verdict.interval is None


def test_the_bundled_model():
    found = by_id(effects())
    assert {one.outcome for one in found.values()} == {"holds"}
    assert found["effects.helix"].value == pytest.approx(0.07 / 1.182)
    assert found["effects.norms"].value == pytest.approx((0.732 - 0.025) / 1.182)
    assert found["effects.orthogonal"].value == pytest.approx((1.622 - 1.38) / 1.182)
    for one in found.values():
        assert one.interval[0] <= one.value <= one.interval[1]
        assert one.null is None


@pytest.mark.parametrize(
    ("claim", "change", "cost"),
    [
        ("effects.three", "top 3", 0.3),
        ("effects.helix", "fitted helix", 0.3),
        ("effects.norms", "scrambled norms", 0.05),
        ("effects.norms", "equal norms", 0.73),
        ("effects.orthogonal", "into E", 1.38),
        ("effects.orthogonal", "random turn", 1.9),
        ("effects.first", "without position 0", 0.2),
    ],
)
def test_what_a_change_costs_decides_its_claim_and_no_other(claim, change, cost):
    found = outcomes(effects({**BUNDLED, change: cost}, noise=0.05))
    assert found.pop(claim) == "does not hold"
    assert set(found.values()) == {"holds"}


@pytest.mark.slow
def test_an_interval_with_the_bound_tells_nothing_and_more_windows_do():
    costs = {**BUNDLED, "fitted helix": 0.085 * BUNDLED["top 0"]}
    few, many = (
        by_id(effects(costs, windows=n, noise=1.0, shared=0.0))["effects.helix"] for n in (16, 4000)
    )
    assert few.value == pytest.approx(0.085)
    low, high = few.interval
    assert low < 0.1 < high
    assert (few.outcome, few.holds) == ("cannot tell", None)
    assert "measure more windows" in few.why_null
    assert (many.outcome, many.why_null) == ("holds", None)
    assert many.interval[1] - many.interval[0] < (high - low) / 8


def test_changes_are_compared_in_the_same_windows():
    """Noise that both have does not hide a difference; nor does it in a mean alone."""
    paired = effects(noise=0.6)
    assert by_id(paired)["effects.orthogonal"].outcome == "holds"
    (control,) = (one for one in paired.effects if one.name == "random turn")
    order = np.random.default_rng(1).permutation(64)
    mixed = without(
        paired, "random turn", by_window=tuple(np.array(control.by_window)[order].tolist())
    )
    found = by_id(mixed)["effects.orthogonal"]
    assert found.value == pytest.approx(by_id(paired)["effects.orthogonal"].value)
    assert found.outcome == "cannot tell"


def test_intervals_hold_the_true_share_about_as_often_as_they_say():
    rng, held = np.random.default_rng(0), 0
    for _ in range(200):
        worth = 1 + 0.5 * rng.standard_normal(32)
        cost = 0.1 + 0.1 * rng.standard_normal(32)
        made = [
            Effect(name, 0, 0, 0, by_window=tuple(values.tolist()))
            for name, values in (("top 0", worth), ("fitted helix", cost))
        ]
        low, high = by_id(Effects(4.0, tuple(made), 32))["effects.helix"].interval
        held += low <= 0.1 <= high
    assert 0.88 < held / 200 < 0.99


def test_what_is_missing_or_impossible():
    whole = effects()
    encoder = by_id(replace(whole, baseline=None))
    assert {one.outcome for one in encoder.values()} == {"not applicable"}
    found = by_id(without(whole, "random turn"))["effects.orthogonal"]
    assert (found.outcome, found.why_null) == (
        "cannot tell", "the change “random turn” is not measured",
    )  # fmt: skip
    # Of a partial result, in which not all windows are done.
    assert outcomes(without(whole, "top 3", by_window=()))["effects.three"] == "cannot tell"
    special = "Position 0 holds a special token, which stays as it is."
    found = by_id(without(whole, "without position 0", by_window=(), why=special))
    assert found["effects.first"].outcome == "not applicable"
    assert found["effects.first"].why_null == special[:-1]
    assert found["effects.three"].outcome == "holds"
    few = by_id(effects(windows=FEWEST - 1))
    assert {one.outcome for one in few.values()} == {"cannot tell"}
    assert few["effects.first"].why_null.startswith("15 windows of text are too few")


def test_shares_of_nothing_are_no_shares():
    found = by_id(effects({**BUNDLED, "top 0": 0.01}, noise=10.0, shared=0.0))
    assert {one.outcome for one in found.values()} == {"cannot tell"}
    assert "loses nothing" in found["effects.three"].why_null


def test_a_report_has_them():
    model = open_model("synthetic:helix,n=60,d=8,turns=3")
    found = {one["id"]: one for one in report(model, effects=effects(), nulls=False)["claims"]}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(IDS) <= set(found)
    helix = found["effects.helix"]
    assert (helix["outcome"], helix["holds"], helix["null"]) == ("holds", True, None)
    assert helix["interval"] == list(by_id(effects())["effects.helix"].interval)
    assert found["pca.three"]["interval"] is None
    alone = {one["id"]: one for one in report(model, nulls=False)["claims"]}
    assert alone["effects.helix"]["why_null"] == NEEDS
