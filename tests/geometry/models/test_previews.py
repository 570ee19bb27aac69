"""First looks at tensors: their curves, and which are not drawn."""

import numpy as np
import pytest

from geometry.models.sources import previews
from geometry.models.sources.opening import open_model
from geometry.models.sources.previews import curve_of, open_tensors
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca
from tests.bare_models import N_ROWS, NAME, write_bare


@pytest.fixture
def store(tmp_path):
    return open_tensors(Source.parse(write_bare(tmp_path / "bare.safetensors")))


def test_the_curve_is_that_of_the_first_three_components(store):
    table = store.read(NAME).astype(np.float64)
    expected = fit_pca(table, (0, N_ROWS - 1), 3).project(table)
    np.testing.assert_allclose(curve_of(store, NAME), expected, atol=1e-9)


def test_a_long_tensor_is_thinned_from_end_to_end(store, monkeypatch):
    whole = curve_of(store, NAME)
    monkeypatch.setattr(previews, "MAX_ROWS", 10)
    some = curve_of(store, NAME)
    assert some.shape == (10, 3)
    ends = [np.linalg.norm(curve[0] - curve[-1]) for curve in (whole, some)]
    assert ends[1] == pytest.approx(ends[0], rel=0.05)


def test_a_tensor_that_is_too_large_is_not_read(store, monkeypatch):
    monkeypatch.setattr(previews, "MAX_NUMBERS", 16 * N_ROWS - 1)
    before = store.bytes_read
    assert curve_of(store, NAME) is None
    assert store.bytes_read == before


def test_numbers_that_are_not_finite_or_few_are_not_drawn(tmp_path):
    tables = {"nan": np.full((9, 4), np.nan), "row": np.ones((1, 4)), "flat": np.ones((9, 2))}
    np.savez(tmp_path / "a.npz", **tables)
    store = open_tensors(Source.parse(str(tmp_path / "a.npz")))
    assert curve_of(store, "nan") is None
    assert curve_of(store, "row") is None
    np.testing.assert_array_equal(curve_of(store, "flat"), np.zeros((9, 3)))


def test_sources_that_are_not_here_have_no_tensors(tmp_path):
    assert open_tensors(Source.parse(str(tmp_path / "none.safetensors"))) is None
    (tmp_path / "torn.safetensors").write_bytes(b"torn")
    assert open_tensors(Source.parse(str(tmp_path / "torn.safetensors"))) is None
    sample = open_tensors(Source.parse("table:family=gpt2,sample"))
    assert open_model("sample").table in sample.tensors
