"""Claims about what positions do: each outcome, by constructed effects."""

import json
from dataclasses import replace

import numpy as np
import pytest

from geometry.claims.effect_claims import EFFECT_CLAIMS, NEEDED, NEEDS, check_effects
from geometry.claims.report import report
from geometry.inside.effects import Control, Effect, Effects
from geometry.inside.interventions import USUAL
from geometry.inside.resampling import FEWEST_FILES
from geometry.models.sources.opening import open_model

#: Nats per token that changes and their controls cost.
COSTS = {
    "top 0": 1.18, "top 3": 0.05, "top 3 | random directions": 0.4,
    "fitted helix": 0.06, "fitted helix | same directions": 0.23,
    "fitted helix | polynomial as close": 0.12,
    "scrambled norms": 0.9, "scrambled norms | norms kept": 0.3,
    "scrambled norms | norms kept by row": 0.5,
    "into E": 1.62, "into E | random turn": 1.38,
    "without position 0": 0.004, "without position 0 | random directions": 0.03,
}  # fmt: skip
IDS = [claim.id for claim in EFFECT_CLAIMS]


def effects(costs=COSTS, *, files=16, windows=64, noise=0.3, shared=1.0, seed=0):
    """Effects with these means, and noise of files, a share of which all changes have in common."""
    rng = np.random.default_rng(seed)
    of = np.arange(windows) % files
    common, made = rng.standard_normal(files), {}
    for key, cost in costs.items():
        name, _, control = key.partition(" | ")
        drawn = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.standard_normal(files)
        values = cost * (1 + noise * (drawn - drawn.mean()))[of]
        numbers = {"by_window": tuple(values.tolist())}
        if control:
            one = Control(control, *3 * (cost,), difference=3 * (0.0,), **numbers)
            made[name] = replace(made[name], controls=(*made[name].controls, one))
        else:
            made[name] = Effect(name, *3 * (cost,), **numbers)
    names = tuple(f"{one}.txt" for one in of)
    return Effects(4.31, tuple(made.values()), windows, files=names)


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


def test_costs_as_shares_of_what_positions_are_worth():
    found = by_id(effects())
    assert {one.outcome for one in found.values()} == {"holds"}
    assert found["effects.helix"].value == pytest.approx(0.06 / 1.18)
    assert found["effects.norms"].value == pytest.approx((0.9 - 0.5) / 1.18), "the least favourable"
    assert found["effects.orthogonal"].value == pytest.approx((1.62 - 1.38) / 1.18)
    for one in found.values():
        assert one.interval[0] <= one.value <= one.interval[1]
    assert np.median(found["effects.helix"].null.values) == pytest.approx(0.12 / 1.18)
    assert "polynomial as close" in found["effects.helix"].null.meaning


@pytest.mark.parametrize(
    ("claim", "change", "cost", "outcome"),
    [
        ("effects.three", "top 3", 0.3, "does not hold"),
        ("effects.three", "top 3 | random directions", 0.05, "as any smooth curve"),
        ("effects.helix", "fitted helix", 0.3, "does not hold"),
        ("effects.helix", "fitted helix | polynomial as close", 0.06, "as any smooth curve"),
        ("effects.helix", "fitted helix | same directions", 0.02, "as any smooth curve"),
        ("effects.norms", "scrambled norms", 0.2, "does not hold"),
        # Of two controls it costs more than one alone.
        ("effects.norms", "scrambled norms", 0.55, "cannot tell"),
        ("effects.norms", "scrambled norms | norms kept by row", 1.2, "cannot tell"),
        ("effects.norms", "scrambled norms | norms kept", 1.2, "cannot tell"),
        ("effects.orthogonal", "into E", 1.4, "does not hold"),
        ("effects.orthogonal", "into E | random turn", 1.9, "does not hold"),
        ("effects.first", "without position 0", 0.2, "does not hold"),
        ("effects.first", "without position 0 | random directions", 0.001, "as any smooth curve"),
    ],
)
def test_what_a_change_costs_decides_its_claim_and_no_other(claim, change, cost, outcome):
    found = outcomes(effects({**COSTS, change: cost}, noise=0.05))
    assert found.pop(claim) == outcome
    assert set(found.values()) == {"holds"}


@pytest.mark.slow
def test_an_interval_with_the_bound_tells_nothing_and_more_texts_do():
    costs = {**COSTS, "fitted helix": 0.085 * COSTS["top 0"]}
    few, many = (
        by_id(effects(costs, files=n, windows=n, noise=1.0, shared=0.0))["effects.helix"]
        for n in (16, 4000)
    )
    assert few.value == pytest.approx(0.085)
    low, high = few.interval
    assert low < 0.1 < high
    assert (few.outcome, few.holds) == ("cannot tell", None)
    assert "measure more texts" in few.why_null
    assert (many.outcome, many.why_null) == ("holds", None)
    assert many.interval[1] - many.interval[0] < (high - low) / 8


def test_changes_are_compared_in_the_same_windows():
    """Noise that both have does not hide a difference; nor does it in a mean alone."""
    paired = effects(noise=0.6)
    assert by_id(paired)["effects.orthogonal"].outcome == "holds"
    turn = paired.of("into E")
    (control,) = turn.controls
    moved = (*control.by_window[1:], control.by_window[0])  # to the next file
    mixed = without(paired, "into E", controls=(replace(control, by_window=moved),))
    found = by_id(mixed)["effects.orthogonal"]
    assert found.value == pytest.approx(by_id(paired)["effects.orthogonal"].value)
    assert found.outcome == "cannot tell"


def test_windows_of_one_file_are_no_independent_texts():
    """Four times as many windows of the same files tell no more."""
    few, many = (by_id(effects(windows=n))["effects.norms"].interval for n in (16, 64))
    assert many == pytest.approx(few, rel=1e-6)


def test_what_is_missing_or_impossible():
    whole = effects()
    encoder = by_id(replace(whole, baseline=None))
    assert {one.outcome for one in encoder.values()} == {"not applicable"}
    for name in ("into E", "scrambled norms"):  # as written by an earlier version
        found = by_id(without(whole, name, controls=()))
        (lacking,) = (one for one in found.values() if one.claim.change == name)
        assert lacking.outcome == "cannot tell"
        assert "no displacement of the same size" in lacking.why_null
    alone = by_id(without(whole, "top 3", controls=()))["effects.three"]
    assert (alone.outcome, alone.null) == ("holds", None)
    # Of a partial result, in which not all windows are done.
    assert outcomes(without(whole, "top 3", by_window=()))["effects.three"] == "cannot tell"
    special = "Position 0 holds a special token, which stays as it is."
    found = by_id(without(whole, "without position 0", by_window=(), why=special))
    assert found["effects.first"].outcome == "not applicable"
    assert found["effects.first"].why_null == special[:-1]
    assert found["effects.three"].outcome == "holds"


def test_few_files_tell_nothing_but_the_number():
    few = by_id(effects(files=FEWEST_FILES - 1))
    assert {one.outcome for one in few.values()} == {"cannot tell"}
    assert few["effects.first"].why_null.startswith("7 files of texts are too few")
    assert few["effects.helix"].value == pytest.approx(0.06 / 1.18, rel=0.1)
    unknown = by_id(replace(effects(), files=()))
    assert {one.outcome for one in unknown.values()} == {"cannot tell"}
    assert unknown["effects.helix"].value == pytest.approx(0.06 / 1.18)


def test_shares_of_nothing_are_no_shares():
    found = by_id(effects({**COSTS, "top 0": 0.01}, noise=10.0, shared=0.0))
    assert {one.outcome for one in found.values()} == {"cannot tell"}
    assert "loses nothing" in found["effects.three"].why_null


def test_a_report_has_them():
    model = open_model("synthetic:helix,n=60,d=8,turns=3")
    found = {one["id"]: one for one in report(model, effects=effects(), nulls=False)["claims"]}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(IDS) <= set(found)
    helix = found["effects.helix"]
    assert (helix["outcome"], helix["holds"], helix["null"]["name"]) == ("holds", True, "displaced")
    assert helix["interval"] == list(by_id(effects())["effects.helix"].interval)
    assert found["pca.three"]["interval"] is None
    alone = {one["id"]: one for one in report(model, nulls=False)["claims"]}
    assert alone["effects.helix"]["why_null"] == NEEDS
