"""The ledger as statistics: nulls of every kind, sequential draws, corrections, notes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from geometry.claims import ledger
from geometry.claims.claim import Curves, ModelClaim, adjust_verdicts, at_least, at_most, judge
from geometry.claims.claim_nulls import PROCESSES, CurveDraws
from geometry.claims.claims import CLAIMS, check_claims
from geometry.claims.effect_claims import EFFECT_CLAIMS
from geometry.claims.group_claims import GROUP_CLAIMS
from geometry.claims.ledger import check, check_in_steps, check_together
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import report
from geometry.evidence.drawn_tables import CURVES
from geometry.evidence.null import least_favourable, null_of, weigh
from geometry.hub.faults import Offline
from geometry.models.notes import Note
from geometry.models.sources.computed import model_of_table
from tools.ledger_rates import MOST_OF_ALL, MOST_OF_ONE, noise_table, outcomes_of, rates


def claim(name="a.b", value=1.0, expected=None, null=None):
    return ModelClaim(
        id=name,
        article="An article",
        statement="It is so.",
        quantity="number",
        expected=expected or at_least(0.5),
        reason="a reason",
        measure=lambda _: value,
        null=null,
    )


@pytest.fixture
def measured():
    return Measurements(model_of_table("rows", np.random.default_rng(0).standard_normal((60, 8))))


@pytest.fixture(scope="module")
def helix():
    t = np.linspace(0, 6 * np.pi, 160)
    rows = np.random.default_rng(1).standard_normal((160, 24)) / 50
    rows[:, :3] += np.stack([np.cos(t), np.sin(t), t / 9], axis=1)
    return model_of_table("helix", rows)


def test_the_least_favourable_kind_decides():
    easy = null_of("walk", "walks", np.linspace(0.0, 0.4, 399))
    hard = null_of("process", "curves", np.linspace(0.0, 2.0, 399))
    verdict = judge(claim(), 1.0, (easy, hard))
    assert verdict.null is hard
    assert verdict.nulls == (easy, hard)
    assert verdict.p == pytest.approx(hard.p_value(1.0))
    assert verdict.outcome == "as any smooth curve"
    assert judge(claim(), 1.0, easy).outcome == "holds"
    assert least_favourable((easy, hard), 0.2, "below") is easy


@pytest.mark.parametrize("side", ["above", "below"])
def test_worse_than_every_kind_is_an_outcome_of_its_own(side):
    sign = 1.0 if side == "above" else -1.0
    walks, curves = (null_of(name, name, sign * np.linspace(low, 3.0, 59))
                     for name, low in (("walk", 1.0), ("process", 2.0)))  # fmt: skip
    for holds in (True, False):
        assert weigh(holds, sign * 0.9, side, (walks, curves)) == "worse than any such curve"
        assert weigh(holds, sign * 1.9, side, curves) == "worse than any such curve"
    # Within the band of any kind, whichever decides.
    for value in (1.9, 2.2):
        assert weigh(True, sign * value, side, (walks, curves)) == "as any smooth curve"
        assert weigh(False, sign * value, side, (walks, curves)) == "does not hold"
    assert judge(claim(), 0.0, null_of("walk", "", np.ones(39))).holds is False


def test_p_values_are_corrected_as_scipy_corrects_them():
    reached = (0, 0, 0, 8, 20, 30, 50, 90, 120, 150, 160, 190)
    verdicts = [
        judge(claim(f"a.{k}"), 1.0, null_of("walk", "walks", np.arange(199) >= 199 - k))
        for k in reached
    ]
    raw = [one.p for one in verdicts]
    adjusted = adjust_verdicts([*verdicts, judge(claim(), 1.0, None)])
    assert [one.p_adjusted for one in adjusted[:-1]] == pytest.approx(
        false_discovery_control(raw).tolist()
    )
    assert adjusted[-1].p_adjusted is adjusted[-1].p is None
    for one in adjusted[:-1]:
        assert (one.outcome == "holds") == (one.p_adjusted <= 0.05)
    assert any(one.p <= 0.05 < one.p_adjusted for one in adjusted[:-1])
    # Adjusted again they are the same, and alone as they were.
    assert adjust_verdicts(adjusted) == adjusted
    assert [adjust_verdicts([one])[0].p_adjusted for one in adjusted[:-1]] == raw
    # Claims of a plugin are corrected among themselves, and change nothing of the others.
    own = [replace(one, claim=replace(one.claim, plugin="theirs")) for one in verdicts[3:6]]
    both = [one.p_adjusted for one in adjust_verdicts([own[0], *verdicts, *own[1:]])]
    assert [both[0], *both[-2:]] == [one.p_adjusted for one in adjust_verdicts(own)]
    assert both[1:-2] == [one.p_adjusted for one in adjusted[:-1]]


def test_draws_stop_where_a_claim_fails_and_go_on_where_it_may_hold(measured):
    asked = {}

    def null(values):
        def draw(claim, measured, draws):
            asked.setdefault(claim.id, []).append(draws)
            return null_of("turned", "tables", np.resize(values, draws))

        return draw

    reached, never = null([0.9, 1.1]), null([0.0])
    many = [claim(f"fails.{i}", null=reached) for i in range(9)]
    missed = claim("missed", expected=at_most(0.5), null=never)
    (*failed, misses, alone) = check_together([*many, missed, claim("holds", null=never)], measured)
    assert {one.outcome for one in failed} == {"as any smooth curve"}
    assert misses.outcome == "worse than any such curve"
    assert asked["missed"] == [ledger.FIRST]
    assert {tuple(asked[name]) for name in asked if name.startswith("fails")} == {(ledger.FIRST,)}
    # One of eleven holds only if hardly any of more than eleven times as many draws reaches it.
    assert alone.outcome == "holds"
    assert asked["holds"] == [ledger.FIRST, ledger.TIMES * 11 * 20 - 1]
    assert alone.p_adjusted == pytest.approx(0.05 / ledger.TIMES)


def test_no_outcome_is_shown_that_more_draws_may_change(measured):
    def null(claim, measured, draws):
        return null_of("turned", "tables", np.resize([0.0, 0.1], draws))

    each = [claim(f"a.{i}", null=null) for i in range(3)]
    each += [
        claim("high", expected=at_least(2.0), null=null),
        claim("usual", 0.05, at_least(0.0), null),
    ]
    steps = [[one.outcome for one in step.verdicts] for step in check_in_steps(each, measured)]
    assert steps[-1] == ["holds"] * 3 + ["does not hold", "as any smooth curve"]
    assert len(steps) > 4
    for step in steps[:-1]:
        assert all(shown in (None, final) for shown, final in zip(step, steps[-1], strict=True))


def test_claims_are_not_decided_by_few_draws_that_do_not_reach_them(measured):
    """Of numbers as usual as the random ones, as many hold as the level says."""
    random = np.random.default_rng(0)

    def null(claim, measured, draws):
        values = np.random.default_rng(int(claim.id[2:])).uniform(size=ledger.MOST)
        return null_of("turned", "tables", values[:draws])

    each = [claim(f"a.{i}", random.uniform(), at_least(0.0), null) for i in range(4000)]
    held = sum(check(one, measured).outcome == "holds" for one in each)
    assert held <= 200 + 2 * np.sqrt(200)


def test_a_null_that_cannot_be_had_for_now_is_drawn_again(measured):
    def null(claim, measured, draws):
        if not asked:
            asked.append(draws)
            raise Offline("no network", "Connect.")
        return null_of("turned", "tables", np.zeros(draws))

    asked = []
    one = claim(null=null)
    assert check(one, measured).outcome == "cannot tell"
    assert check(one, measured).outcome == "holds"
    assert check(claim("a.c", null=lambda *_: ()), measured).outcome == "cannot tell"


def test_more_draws_continue_fewer(helix):
    one = next(claim for claim in CLAIMS if claim.id == "outlier.first")
    few, many = ({} for _ in range(2))
    curves, never = Measurements(helix), {one: lambda: False}
    drawn = CurveDraws(curves)
    for count in (3, 7):
        list(drawn.up_to(count, {one: few}, never))
    list(CurveDraws(curves).up_to(7, {one: many}, never))
    assert few == many
    assert set(few) == set(CURVES)
    assert {len(values) for values in few.values()} == {7}


def test_claims_are_beside_every_kind_of_curve_of_their_question():
    of_curves = [claim for claim in CLAIMS if isinstance(claim.null, Curves)]
    assert len(of_curves) > 15
    for one in of_curves:
        assert one.null.kinds in (CURVES, PROCESSES), one.id
        # Curves of few dimensions are no null for there being few.
        few = one.id.startswith("pca.t") or one.id in {
            "pca.first_hundred", "pca.not_a_line", "entries.explained", "similarity.explained",
        }  # fmt: skip
        assert (one.null.kinds is PROCESSES) == few, one.id


def test_every_claim_has_a_null_or_an_interval_and_a_fact():
    assert all(claim.null is not None for claim in (*CLAIMS, *GROUP_CLAIMS))
    facts = [claim.fact for claim in (*CLAIMS, *EFFECT_CLAIMS, *GROUP_CLAIMS)]
    assert all(facts)
    assert 5 < len(set(facts)) < len(facts) / 3


def test_a_claim_of_which_the_model_was_made_says_so(helix, monkeypatch):
    notes = (Note("Its rows were kept in three dimensions.", ("pca.three",)),)
    monkeypatch.setattr(type(helix), "notes", notes)
    found = {one["id"]: one for one in report(helix, nulls=False)["claims"]}
    assert found["pca.three"]["by_construction"] == notes[0].sentence
    assert found["shape.helix"]["by_construction"] is None


@pytest.mark.slow
def test_the_ledger_of_a_report_is_complete(helix):
    measured = Measurements(helix)
    verdicts = {one.claim.id: one for one in check_claims(measured)}
    for entry in report(helix)["claims"]:
        if (null := entry["null"]) is None:
            assert entry["p"] is entry["p_adjusted"] is None
            assert entry["nulls"] == {}
            continue
        assert entry["p"] == max(one["p"] for one in entry["nulls"].values())
        assert entry["p"] == entry["nulls"][null["name"]]["p"] == verdicts[entry["id"]].p
        assert entry["p"] <= entry["p_adjusted"] <= 1.0
        if entry["outcome"] == "holds":
            assert entry["p_adjusted"] <= 0.05
            assert min(one["draws"] for one in entry["nulls"].values()) >= 59
    assert verdicts["shape.helix"].outcome == "holds"
    assert check(verdicts["pca.three"].claim, measured).p_adjusted == pytest.approx(
        check(verdicts["pca.three"].claim, Measurements(helix, Scope())).p
    )


@pytest.mark.slow
def test_few_claims_hold_for_noise():
    found = [outcomes_of(noise_table(number)[1]) for number in range(12)]
    assert min(map(len, found)) > 15
    rated = rates(found)
    assert rated.of_all <= MOST_OF_ALL
    assert max(rated.by_claim.values(), default=0.0) <= 2 * MOST_OF_ONE  # one of twelve is 8 %
    assert rated.tables == 12
