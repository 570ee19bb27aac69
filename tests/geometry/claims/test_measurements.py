"""What is measured once: for which claims the shown range matters, and what is kept."""

import threading
from unittest.mock import Mock

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.memo import Memo
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.claims import CLAIMS, check, check_claims
from geometry.claims.measured_model import LEADING, MeasuredModel
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import report
from geometry.hub.faults import NoNetwork
from geometry.models.sources.opening import open_model
from tests.small_models import gpt2_config, write_model

N, D = 160, 16
ONE, OTHER = (1, N - 1), (20, 130)


@pytest.fixture
def gpt2(tmp_path):
    """A GPT-2 of two layers, of random numbers, with all that the ledger reads."""
    rng = np.random.default_rng(3)
    layer = {"attn.c_attn": (D, 3 * D), "attn.c_proj": (D, D), "mlp.c_fc": (D, 4 * D),
             "ln_1": (D,)}  # fmt: skip
    shapes = {"wpe": (N, D), "wte": (90, D)}
    shapes |= {f"h.{i}.{name}": shape for i in range(2) for name, shape in layer.items()}
    tensors = {f"{name}.weight": rng.normal(size=shape) for name, shape in shapes.items()}
    wave = 0.2 * np.arange(N)
    tensors["wpe.weight"][:, :2] += 4 * np.stack([np.cos(wave), np.sin(wave)], axis=1)
    return open_model(write_model(tmp_path, gpt2_config(N, D, n_head=2, n_layer=2), tensors))


def is_kept(claim, measured):
    return measured.known(("number", claim.id, measured.nulls)) is not None


def values(verdicts):
    return {verdict.claim.id: (verdict.value, verdict.why_null) for verdict in verdicts}


@pytest.mark.slow
def test_claims_that_are_kept_are_those_that_the_range_leaves_alone(gpt2):
    """What is kept is the same for another range; and of the rest most is another number."""
    of_model = MeasuredModel(gpt2)
    measured = Measurements(gpt2, Scope(ONE), of_model)
    first = values(check_claims(measured))
    kept = {claim.id for claim in CLAIMS if is_kept(claim, measured)}
    afresh = values(check_claims(Measurements(gpt2, Scope(OTHER))))
    reused = values(check_claims(Measurements(gpt2, Scope(OTHER), of_model)))
    assert reused == afresh
    changed = {name for name in first if first[name] != afresh[name]}
    assert not changed & kept
    assert changed >= {"pca.not_a_line", "entries.waves", "similarity.periodic", "pca.fraying"}
    assert {"norms.stable", "overlap.W_Q_P", "layernorm.orthogonal",
            "pca.three", "capture.weak"} <= kept  # fmt: skip


@pytest.mark.slow
def test_bounds_that_a_width_cannot_reach_are_not_applied(gpt2):
    found = {verdict.claim.id: verdict for verdict in check_claims(Measurements(gpt2))}
    for name in ("capture.weak", "overlap.P_E.strong_weak", "overlap.W_Q_E"):
        assert found[name].outcome == "not applicable", name
        assert "chance" in found[name].why_null
    # What everything has in common with everything is no finding either.
    assert found["overlap.P_E.strong"].outcome == found["capture.strong"].outcome
    assert found["capture.strong"].outcome == "not applicable"
    assert "capture everything" in found["capture.strong"].why_null


@pytest.mark.slow
def test_layer_and_gain_reach_the_overlaps(gpt2):
    plain, folded, deeper = (
        report(gpt2, rank=D, nulls=False, **options)["overlaps"]["W_Q_P"]["top3"]
        for options in ({}, {"fold_ln": True}, {"layer": 1})
    )
    assert len({plain, folded, deeper}) == 3
    with pytest.raises(RangeError, match="layers 0–1"):
        report(gpt2, rank=D, layer=2)


def test_a_claim_that_reads_the_range_late_is_not_kept_either(gpt2):
    measured = Measurements(gpt2, Scope(ONE))
    _ = measured.shapes  # now it is there, and reading it computes nothing
    claim = next(claim for claim in CLAIMS if claim.id == "shape.helix")
    check(claim, measured)
    assert not is_kept(claim, measured)


@pytest.mark.slow
def test_what_was_measured_before_is_not_measured_again(gpt2, monkeypatch):
    of_model = MeasuredModel(gpt2)
    check_claims(Measurements(gpt2, Scope(ONE), of_model))
    for slow in ("token_position_cosines", "sum_overlaps", "capture"):
        monkeypatch.setattr(f"geometry.claims.measured_model.{slow}", None)
    monkeypatch.setattr("geometry.models.residual_stream.singular_directions", None)
    check_claims(Measurements(gpt2, Scope(OTHER), of_model))


def test_what_the_network_kept_from_being_told_is_asked_again(gpt2, monkeypatch):
    claim = next(claim for claim in CLAIMS if claim.id == "layernorm.orthogonal")
    measured = Measurements(gpt2)

    with monkeypatch.context() as patch:
        no_network = NoNetwork("The Hub cannot be reached.")
        patch.setattr(gpt2.store, "read", Mock(side_effect=no_network))
        assert check(claim, measured).why_null == "The Hub cannot be reached."
    assert check(claim, measured).value is not None


def test_a_verdict_that_is_given_up_is_none(gpt2):
    measured = Measurements(gpt2, None, MeasuredModel(gpt2, tell=Mock(side_effect=Cancelled)))
    claim = next(claim for claim in CLAIMS if claim.id == "layernorm.orthogonal")
    with pytest.raises(Cancelled):
        check(claim, measured)
    assert not is_kept(claim, measured)


def test_cosines_tell_how_far_they_are(gpt2, monkeypatch):
    monkeypatch.setattr("geometry.measures.layernorm.BLOCK_ROWS", 40)
    told = []
    of_model = MeasuredModel(gpt2, tell=lambda share, message: told.append((share, message)))
    _ = of_model.cosines
    assert [share for share, _ in told] == pytest.approx([40 / 90, 80 / 90, 1.0])
    assert {message for _, message in told} == {"Comparing all tokens with all positions"}


def test_only_the_directions_that_a_table_has_are_over_its_positions(open_array):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12))
    vectors = Measurements(open_array(table)).contexts.vectors
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (4, 12), (40, 3)])
def test_leading_directions_over_position_are_left_singular_vectors(open_array, shape):
    table = np.random.default_rng(1).standard_normal(shape)
    found = Measurements(open_array(table)).contexts
    U, S, _ = np.linalg.svd(table, full_matrices=False)
    k = min(LEADING, *shape)
    assert found.vectors.shape == (k, shape[0])
    np.testing.assert_allclose(found.singular_values, S[:k], rtol=1e-6)
    np.testing.assert_allclose(np.abs((found.vectors * U.T[:k]).sum(axis=1)), 1.0, atol=1e-7)
    assert (found.vectors[np.arange(k), np.abs(found.vectors).argmax(axis=1)] > 0).all()


def test_threads_find_a_value_once():
    once, gate, calls = Memo(), threading.Event(), []

    def find():
        gate.wait(10)
        calls.append(threading.get_ident())
        return "found"

    got = []
    threads = [threading.Thread(target=lambda: got.append(once("key", find))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert once.known("key") is None
    assert once("other", lambda: 1) == 1  # another key waits for nobody
    gate.set()
    for thread in threads:
        thread.join(10)
    assert got == ["found"] * 4
    assert len(calls) == 1
    assert once.known("key") == "found"
    # What raises is not kept.
    with pytest.raises(ZeroDivisionError):
        once("none", lambda: 1 // 0)
    assert once("none", lambda: 2) == 2
