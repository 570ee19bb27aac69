"""report.json: its shape, its numbers, and what it says about absent tensors."""

import json

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.claims.report import report
from geometry.models.sources import open_source

SECTIONS = {
    "model", "missing", "pca", "norms", "spectrum", "capture", "overlaps", "directions",
    "similarity", "dimensions", "layernorm", "shape", "lookback", "kernels", "claims",
}  # fmt: skip


@pytest.fixture(scope="module")
def gpt2(gpt2_folder):
    return open_source(gpt2_folder)


@pytest.fixture(scope="module")
def measured(gpt2):
    """The report of GPT-2 without options."""
    return report(gpt2)


@pytest.fixture
def bare_table(tmp_path):
    def save(table):
        np.save(tmp_path / "table.npy", table)
        return open_source(tmp_path / "table.npy")

    return save


def test_gpt2(measured, gpt2, gpt2_folder):
    assert set(measured) == SECTIONS
    assert measured["model"] == {
        "source": str(gpt2_folder), "family": "gpt2", "fingerprint": gpt2.fingerprint,
        "n_positions": 1024, "d_model": 768, "d_vocab": 50257, "n_layers": 12, "n_heads": 12,
    }  # fmt: skip
    pca = measured["pca"]
    assert pca["positions"] == [1, 1023]
    assert pca["centred"] is True
    assert len(pca["explained_variance_ratio"]) >= 10
    assert round(100 * sum(pca["explained_variance_ratio"][:3]), 2) == 91.06
    assert len(pca["off_subspace_residual"]) == 1023
    assert measured["norms"]["outliers"] == [0, 1023]
    assert round(measured["norms"]["mean"], 3) == 3.376
    assert len(measured["norms"]["values"]) == 1024
    assert round(measured["spectrum"]["P"][0], 2) == 61.95
    assert round(100 * measured["spectrum"]["energy_top30"]["P"], 2) == 99.91


def test_what_the_partial_checkpoint_lacks(measured):
    missing = measured["missing"]
    assert missing["overlaps.E_P"] == "no token embeddings in this checkpoint"
    assert missing["spectrum.E"] == "no token embeddings in this checkpoint"
    assert "h.0.mlp.c_fc.weight" in missing["overlaps.W_in_P"]
    assert "overlaps.W_Q_P" not in missing
    assert "kernels" not in missing
    assert measured["spectrum"]["E"] is None


def test_where_heads_look(measured):
    kernels = measured["kernels"]
    assert kernels["layer"] == 0
    near = [head["mass_lag_0_10"] for head in kernels["heads"]]
    assert [number for number, mass in enumerate(near) if mass > 0.9] == [3, 4, 7]
    assert set(kernels["heads"][0]) == {"previous_token", "self", "mass_lag_0_10"}
    assert kernels["heads"][7]["previous_token"] == pytest.approx(0.2517, abs=5e-5)
    assert kernels["heads"][7]["self"] == pytest.approx(0.4453, abs=5e-5)


def test_a_layer_that_is_not_there(gpt2):
    measured = report(gpt2, layer=3)
    assert measured["kernels"] is None
    assert measured["missing"]["kernels"] == "h.3.ln_1.weight is not in this checkpoint"


def test_a_complete_checkpoint_lacks_nothing(minilm_folder):
    measured = report(open_source(minilm_folder))
    assert measured["missing"] == {}
    assert measured["model"]["family"] == "bert"
    assert round(100 * sum(measured["pca"]["explained_variance_ratio"][:3]), 1) == 36.3
    assert measured["norms"]["outliers"] == [0, 127, 510, 511]


def test_it_is_json_as_it_is_and_looks_back(gpt2):
    measured = report(gpt2, positions=(100, 1022))
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured
    assert measured["pca"]["positions"] == [100, 1022]
    section = measured["lookback"]
    assert section["components"] == 3
    assert list(section["fit_r2"]) == ["1", "5", "10", "20", "50", "100", "200"]
    fifty = section["fit_r2"]["50"]
    assert set(fifty) == {"screw", "translation", "rotation", "halves", "angles_deg"}
    assert round(fifty["screw"], 3) == 0.983
    assert round(fifty["translation"], 3) == 0.726
    assert round(fifty["halves"]["screw"], 3) == 0.942
    assert fifty["angles_deg"] == pytest.approx([33.54], abs=0.01)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 1), (12, 4)])
def test_tiny_tables(bare_table, shape):
    for table in (np.zeros(shape, np.float32), np.ones(shape), np.arange(np.prod(shape)) + 0.5):
        model = bare_table(np.reshape(table, shape))
        measured = report(model)
        json.dumps(measured, allow_nan=False)
        last = shape[0] - 1
        assert measured["pca"]["positions"] == [min(1, last), last]
        assert measured["model"]["family"] is None


def test_a_bare_table_lacks_everything_for_one_reason(bare_table):
    missing = report(bare_table(np.eye(40)))["missing"]
    assert missing["overlaps.W_Q_P"] == "the source is a bare table of positions"
    assert "capture" in missing


def test_ranges_and_ranks_that_are_none(gpt2):
    with pytest.raises(RangeError, match="0–1023"):
        report(gpt2, positions=(1, 1024))
    with pytest.raises(RangeError, match="768 directions"):
        report(gpt2, rank=769)
