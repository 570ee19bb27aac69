"""Outcomes of the whole ledger for models and tables of which one knows what to expect."""

import numpy as np
import pytest

from geometry.claims.claim import CannotTell
from geometry.claims.claims import CLAIMS, check_claims
from geometry.claims.group_claims import member
from geometry.claims.measurements import Measurements, Scope
from geometry.models.sources.opening import open_model

#: By outcome, the claims about rows and weights; those that are not listed lack tensors.
EXPECTED = {
    "gpt2": {
        "holds":
            "pca.three pca.not_a_line outlier.first outlier.last similarity.explained norms.early "
            "overlap.W_Q_P overlap.W_K_P overlap.W_O_P directions.sparse directions.few_entries "
            "kernels.local",
        "as any smooth curve":
            "shape.helix pca.fraying pca.truncated steps.early entries.waves entries.explained "
            "similarity.periodic norms.stable directions.context_waves lookback.everywhere "
            "lookback.rotation lookback.angle lookback.heads read.norm read.direction "
            "curve.curled",
        "does not hold":
            "overlap.W_V_P directions.frequencies lookback.far lookback.shift",
        "worse than any such curve":
            "pca.first_hundred heads.position_independent",
    },
    "gpt2-100": {
        "holds":
            "pca.three pca.not_a_line shape.helix outlier.first outlier.last similarity.explained "
            "norms.early overlap.W_Q_P overlap.W_K_P overlap.W_O_P directions.sparse "
            "directions.few_entries kernels.local",
        "as any smooth curve":
            "pca.truncated steps.early entries.waves entries.explained similarity.periodic "
            "norms.stable directions.context_waves lookback.everywhere lookback.rotation "
            "lookback.angle lookback.heads read.norm read.direction curve.curled",
        "does not hold":
            "overlap.W_V_P directions.frequencies lookback.far lookback.shift",
        "worse than any such curve":
            "pca.first_hundred heads.position_independent",
    },
    "minilm": {
        "holds":
            "outlier.first outlier.last pca.truncated similarity.periodic capture.weak "
            "capture.strong capture.first capture.first_is_mean overlap.P_E.strong_weak "
            "overlap.P_E.weak_strong overlap.P_E.strong overlap.W_Q_P overlap.W_K_P overlap.W_K_E "
            "overlap.W_V_E overlap.W_O_E decoding.position heads.position_independent "
            "kernels.local",
        "as any smooth curve":
            "pca.first_hundred norms.stable directions.context_waves read.norm read.direction",
        "does not hold":
            "pca.three pca.not_a_line shape.helix pca.fraying steps.early entries.waves "
            "norms.early overlap.W_O_P overlap.W_in_P.antidiagonal directions.sparse "
            "directions.few_entries directions.disjoint directions.appended "
            "directions.frequencies lookback.everywhere lookback.far lookback.rotation "
            "lookback.shift lookback.heads",
        "worse than any such curve":
            "layernorm.orthogonal layernorm.sum_of_squares overlap.W_V_P overlap.W_Q_E "
            "overlap.W_O_E.aligned overlap.W_in_E overlap.W_in_P overlap.W_in_E.diagonal",
        "not applicable":
            "entries.explained similarity.explained lookback.angle curve.curled",
    },
    "sample": {
        "holds":
            "pca.three pca.not_a_line shape.helix outlier.first outlier.last position.last_decays "
            "entries.explained similarity.explained layernorm.sum_of_squares capture.strong "
            "overlap.P_E.strong overlap.W_Q_P overlap.W_K_P overlap.W_Q_E overlap.W_K_E "
            "overlap.W_V_E overlap.W_O_E heads.position_independent",
        "as any smooth curve":
            "entries.waves similarity.periodic directions.context_waves lookback.rotation "
            "lookback.angle lookback.heads read.norm read.direction curve.curled",
        "does not hold":
            "pca.fraying pca.truncated steps.early norms.stable layernorm.orthogonal capture.weak "
            "capture.first overlap.P_E.strong_weak overlap.P_E.weak_strong overlap.W_O_P "
            "overlap.W_in_E overlap.W_in_P overlap.W_in_E.diagonal overlap.W_in_P.antidiagonal "
            "directions.sparse directions.few_entries directions.disjoint directions.appended "
            "decoding.position lookback.everywhere lookback.far lookback.shift kernels.local",
        "worse than any such curve":
            "pca.first_hundred norms.early capture.first_is_mean overlap.W_V_P "
            "overlap.W_O_E.aligned directions.frequencies",
    },
    "sinusoidal": {
        "holds":
            "entries.waves norms.stable directions.context_waves",
        "as any smooth curve":
            "pca.first_hundred directions.frequencies lookback.rotation lookback.angle "
            "read.direction",
        "does not hold":
            "pca.three pca.not_a_line shape.helix outlier.first outlier.last pca.fraying "
            "pca.truncated steps.early similarity.periodic directions.sparse "
            "directions.few_entries lookback.everywhere lookback.far lookback.shift",
        "worse than any such curve":
            "read.norm",
        "not applicable":
            "entries.explained similarity.explained norms.early curve.curled",
    },
    "line": {
        "holds":
            "pca.three lookback.everywhere lookback.far read.norm",
        "as any smooth curve":
            "outlier.first entries.waves norms.early lookback.shift read.direction",
        "does not hold":
            "shape.helix outlier.last pca.fraying pca.truncated steps.early similarity.periodic "
            "norms.stable directions.sparse directions.few_entries directions.context_waves "
            "directions.frequencies",
        "worse than any such curve":
            "pca.not_a_line lookback.rotation lookback.angle curve.curled",
        "not applicable":
            "pca.first_hundred entries.explained similarity.explained",
    },
    "walk": {
        "as any smooth curve":
            "pca.not_a_line outlier.first pca.first_hundred entries.waves norms.early "
            "directions.context_waves directions.frequencies lookback.rotation lookback.shift "
            "lookback.angle read.norm read.direction curve.curled",
        "does not hold":
            "pca.three shape.helix outlier.last pca.fraying pca.truncated steps.early "
            "similarity.periodic norms.stable directions.sparse directions.few_entries "
            "lookback.everywhere lookback.far",
        "not applicable":
            "entries.explained similarity.explained",
    },
    "shuffled": {
        "holds":
            "pca.three pca.not_a_line directions.sparse directions.few_entries",
        "as any smooth curve":
            "norms.stable",
        "does not hold":
            "shape.helix outlier.first outlier.last pca.fraying pca.truncated steps.early "
            "similarity.periodic directions.frequencies lookback.everywhere lookback.far "
            "lookback.rotation lookback.shift read.norm read.direction",
        "worse than any such curve":
            "pca.first_hundred entries.waves norms.early directions.context_waves",
        "not applicable":
            "entries.explained similarity.explained lookback.angle curve.curled",
    },
    "smooth": {
        "as any smooth curve":
            "pca.not_a_line pca.fraying pca.truncated pca.first_hundred entries.waves "
            "norms.stable directions.context_waves directions.frequencies lookback.rotation "
            "lookback.angle read.direction curve.curled",
        "does not hold":
            "pca.three outlier.first outlier.last steps.early similarity.periodic norms.early "
            "directions.sparse directions.few_entries lookback.everywhere lookback.far "
            "lookback.shift read.norm",
    },
    "synthetic:circle,n=400,d=96,turns=3,noise=0.2": {
        "holds":
            "pca.three pca.not_a_line entries.waves similarity.periodic norms.stable "
            "lookback.everywhere lookback.far lookback.rotation curve.curled",
        "as any smooth curve":
            "lookback.angle",
        "does not hold":
            "outlier.last pca.fraying pca.truncated steps.early norms.early directions.sparse "
            "directions.few_entries directions.frequencies lookback.shift read.norm "
            "read.direction",
        "worse than any such curve":
            "outlier.first pca.first_hundred directions.context_waves",
        "not applicable":
            "shape.helix entries.explained similarity.explained",
    },
    "noise": {
        "as any smooth curve":
            "pca.first_hundred norms.stable",
        "does not hold":
            "shape.helix outlier.first outlier.last pca.fraying pca.truncated steps.early "
            "similarity.periodic norms.early directions.sparse directions.few_entries "
            "directions.frequencies lookback.everywhere lookback.far lookback.rotation "
            "lookback.shift read.norm read.direction",
        "worse than any such curve":
            "pca.three pca.not_a_line entries.waves directions.context_waves",
        "not applicable":
            "entries.explained similarity.explained lookback.angle curve.curled",
    },
    "synthetic:helix,n=400,d=96,turns=5,climb=0.3,noise=0.2": {
        "holds":
            "pca.three pca.not_a_line shape.helix entries.explained similarity.explained "
            "lookback.everywhere lookback.far lookback.rotation",
        "as any smooth curve":
            "entries.waves similarity.periodic directions.context_waves lookback.shift "
            "lookback.angle read.direction curve.curled",
        "does not hold":
            "outlier.first outlier.last pca.fraying pca.truncated steps.early norms.stable "
            "norms.early directions.sparse directions.few_entries directions.frequencies "
            "read.norm",
        "worse than any such curve":
            "pca.first_hundred",
    },
    "synthetic:line,n=400,d=96,noise=0.2": {
        "holds":
            "pca.three lookback.everywhere lookback.far",
        "as any smooth curve":
            "entries.waves lookback.shift read.direction",
        "does not hold":
            "shape.helix outlier.first outlier.last pca.fraying pca.truncated steps.early "
            "similarity.periodic norms.stable norms.early directions.sparse "
            "directions.few_entries directions.context_waves directions.frequencies "
            "lookback.rotation read.norm",
        "worse than any such curve":
            "pca.not_a_line lookback.angle curve.curled",
        "not applicable":
            "pca.first_hundred entries.explained similarity.explained",
    },
    "cosines": {
        "as any smooth curve":
            "pca.not_a_line pca.truncated entries.waves similarity.periodic norms.early "
            "directions.context_waves lookback.rotation read.norm read.direction curve.curled",
        "does not hold":
            "pca.three outlier.first outlier.last pca.fraying steps.early norms.stable "
            "directions.sparse directions.few_entries directions.frequencies lookback.everywhere "
            "lookback.far lookback.shift lookback.angle",
        "worse than any such curve":
            "pca.first_hundred",
    },
}  # fmt: skip


def line_and_walk():
    rng = np.random.default_rng(0)
    line = np.outer(np.arange(400) / 40, rng.standard_normal(96))
    line += 0.01 * rng.standard_normal(line.shape)
    return {"line": line, "walk": np.cumsum(rng.standard_normal((400, 96)), axis=0)}


def families():
    """Tables of one random family each."""
    t, rng = np.linspace(0, 1, 400), np.random.default_rng(7)
    kernel = np.exp(-0.5 * ((t[:, None] - t) / 0.15) ** 2) + 1e-8 * np.eye(400)
    smooth = np.linalg.cholesky(kernel) @ rng.standard_normal((400, 96))
    rng = np.random.default_rng(7)
    cosines = np.cos(np.pi * np.outer(t, np.arange(1, 5))) @ rng.standard_normal((4, 96))
    cosines += 0.05 * rng.standard_normal((400, 96))
    rng = np.random.default_rng(7)
    rng.standard_normal((400, 96))
    return {"noise": rng.standard_normal((400, 96)), "smooth": smooth, "cosines": cosines}


def outcomes(model, positions=None):
    verdicts = check_claims(Measurements(model, Scope(positions)))
    return {one.claim.id: one.outcome for one in verdicts}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXPECTED))
def test_outcomes_of_the_whole_ledger(name, request, open_array):
    positions = None
    tables = {**line_and_walk(), **families()}
    if name.startswith("gpt2"):
        model = open_model(request.getfixturevalue("gpt2_folder"))
        positions = (100, 1022) if name == "gpt2-100" else None
    elif name == "minilm":
        model = open_model(request.getfixturevalue("minilm_folder"))
    elif name == "shuffled":
        rows = open_model(request.getfixturevalue("gpt2_folder")).W_pos
        model = open_array(rows[np.random.default_rng(0).permutation(len(rows))])
    elif name in tables:
        model = open_array(tables[name])
    else:
        model = open_model(name)
    expected = {
        claim: outcome for outcome, claims in EXPECTED[name].items() for claim in claims.split()
    }
    found = outcomes(model, positions)
    lacking = {claim for claim, outcome in found.items() if outcome == "cannot tell"}
    assert {claim: found[claim] for claim in found if claim not in lacking} == expected
    assert lacking == {claim.id for claim in CLAIMS} - set(expected)


@pytest.mark.slow
def test_three_components_of_two_columns(open_array):
    t = np.linspace(0, 1, 400)
    rows = np.column_stack([t, np.sin(9 * t)])
    measured = Measurements(
        open_array(rows + 0.01 * np.random.default_rng(0).normal(size=(400, 2)))
    )
    found = {one.claim.id: one.why_null or "" for one in check_claims(measured)}
    assert not [name for name, why in found.items() if "too few positions" in why]
    narrow = {name for name, why in found.items() if why == "this table has 2 columns"}
    assert narrow >= {
        "pca.not_a_line", "lookback.everywhere", "lookback.far",
        "lookback.rotation", "lookback.angle",
    }  # fmt: skip
    with pytest.raises(CannotTell, match="this table has 2 columns"):
        member(measured)
    # A short range is put down to its positions still.
    short = Measurements(open_array(rows @ np.eye(2, 5)), Scope((10, 12)))
    why = {one.claim.id: one.why_null for one in check_claims(short)}
    assert why["lookback.everywhere"] == "too few positions are shown"
