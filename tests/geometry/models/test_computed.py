"""The sinusoidal encodings opened as models: their formulas, and what is said of the rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.history.origins import find_history
from geometry.measures.lookback import look_back
from geometry.measures.synthetic import KINDS, MAX_NUMBERS, SyntheticCurve, parse_curve
from geometry.models.matrices import WEIGHTS
from geometry.models.sources.catalogue import find_entry
from geometry.models.sources.formulas import DEFAULT_SIZE, is_computed
from geometry.models.sources.local_models import state
from geometry.models.sources.locating import is_here, may_ask_hub
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source

NAMES = ("sinusoidal", "sinusoidal-fairseq")


def of_size(name, n_positions, d_model):
    return open_model(f"{name}:{n_positions}x{d_model}").W_pos


def test_the_formulas_of_the_paper_and_of_fairseq():
    P = of_size("sinusoidal", 50, 16)
    angles = np.outer(np.arange(50), 10_000.0 ** (-np.arange(8) / 8))
    np.testing.assert_allclose(P[:, ::2], np.sin(angles), atol=1e-12)
    np.testing.assert_allclose(P[:, 1::2], np.cos(angles), atol=1e-12)
    P = of_size("sinusoidal-fairseq", 50, 16)
    angles = np.outer(np.arange(50), 10_000.0 ** (-np.arange(8) / 7))
    np.testing.assert_allclose(P, np.hstack([np.sin(angles), np.cos(angles)]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(P, axis=1), np.sqrt(8), rtol=1e-12)


@pytest.mark.parametrize(
    ("source", "shape", "name", "canonical"),
    [
        ("sinusoidal", DEFAULT_SIZE, "sinusoidal", "sinusoidal"),
        ("sinusoidal:1024x768", DEFAULT_SIZE, "sinusoidal", "sinusoidal"),
        ("sinusoidal:512x128", (512, 128), "sinusoidal-512x128", "sinusoidal:512x128"),
        (" sinusoidal: 8 × 5 ", (8, 5), "sinusoidal-8x5", "sinusoidal:8x5"),
        ("sinusoidal:3X1", (3, 1), "sinusoidal-3x1", "sinusoidal:3x1"),
        ("sinusoidal-fairseq:9x4", (9, 4), "sinusoidal-fairseq-9x4", "sinusoidal-fairseq:9x4"),
    ],
)
def test_a_size_may_follow(source, shape, name, canonical):
    model = open_model(source)
    assert model.W_pos.shape == (model.n_positions, model.d_model) == shape
    assert (model.name, model.source.text) == (name, canonical)
    assert model.W_pos.dtype == np.float64
    assert not model.W_pos.flags.writeable
    np.testing.assert_array_equal(open_model(canonical).W_pos, model.W_pos)


@pytest.mark.parametrize(
    "source",
    ["sinusoidal:", "sinusoidal:512", "sinusoidal:0x4", "sinusoidal:-1x4", "sinusoidal:4x4x4",
     "sinusoidal:axb", "sinusoidal-fairseq:1e3x4", f"sinusoidal:{MAX_NUMBERS}x2"],
)  # fmt: skip
def test_what_is_no_size_is_said(source):
    assert Source.parse(source).kind == "computed"
    assert not may_ask_hub(Source.parse(source))
    with pytest.raises(SourceError) as caught:
        open_model(source)
    assert str(caught.value).endswith(".")
    assert caught.value.advice.endswith(".")


@pytest.mark.parametrize(
    "source", ["sinusoid", "sinusoidals", "Sinusoidal", "x/sinusoidal", "", "synthetic"]
)
def test_other_names_are_no_computed_tables(source):
    assert not is_computed(source)


def test_it_needs_no_network_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sinusoidal").mkdir()  # which opens as ./sinusoidal
    for name in NAMES:
        entry = find_entry(name)
        assert state(entry) == "computed"
        assert is_here(Source.parse(name))
        assert is_here(Source.parse(f"{name}:8x8"))
        model = open_model(name)
        assert (entry.n_positions, entry.d_model) == model.W_pos.shape
        assert model.bytes_to_fetch_for([("W_E", 0)]) == 0


def test_a_synthetic_curve_opens_by_its_own_source():
    curve = SyntheticCurve("helix", 200, 32, 0.2, 1.85, 0.3, 0.7, noise=0.1, seed=5)
    model = open_model(curve.source)
    np.testing.assert_array_equal(model.W_pos, curve.table())
    assert (model.source.text, model.name) == (curve.source, "synthetic helix, 1.85 turns")
    assert model.computed
    assert is_here(model.source)
    assert not may_ask_hub(model.source)
    short = open_model("synthetic: line , n = 50, d=8")
    assert short.W_pos.shape == (50, 8)
    assert short.name == "synthetic line"
    assert open_model(short.source).fingerprint == short.fingerprint


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "a curve is one of line, circle, helix"), ("spiral", "not 'spiral'"),
     ("helix,turns", "expected numbers such as turns=2"), ("helix,kind=2", "not 'kind=2'"),
     ("helix,n=8,n=9", "once each"), ("helix,n=1.5", "n is not a number"),
     ("helix,turns=nan", "expected turns between"), ("line,d=5", "expected d_model between"),
     ("line,n=99999999", "more than 33,554,432 numbers"), ("line,seed=-1", "expected seed")],
)  # fmt: skip
def test_what_is_no_curve_is_said(text, why):
    with pytest.raises(SourceError, match=f"is not a synthetic curve: .*{why}") as caught:
        open_model(f"synthetic:{text}")
    assert caught.value.advice.endswith(".")
    assert Source.parse(f"synthetic:{text}").name == f"synthetic:{text}"


@given(
    st.builds(
        SyntheticCurve, st.sampled_from(KINDS), st.integers(4, 99), st.integers(6, 40),
        st.floats(1e-3, 1e3), st.floats(0.01, 1.5), st.floats(0, 1), st.floats(0, 99),
        st.floats(0, 3), st.integers(0, 2**31),
    )
)  # fmt: skip
def test_a_curves_source_is_that_curve(curve):
    assert parse_curve(curve.source.removeprefix("synthetic:")) == curve


def test_it_is_computed_and_has_neither_tokens_nor_layers():
    model = open_model("sinusoidal:40x12")
    assert model.computed
    assert (model.family, model.table) == ("sinusoidal", "sinusoidal")
    assert (model.home, model.commit) == (None, None)
    assert (model.d_vocab, model.n_layers, model.n_heads, model.causal) == (None, None, None, False)
    assert model.warnings == ()
    assert find_history(model) is None
    assert set(model.missing) == {"W_E", *WEIGHTS}
    assert all(why.startswith("these positions are computed") for why in model.missing.values())
    for ask in (lambda: model.W_E, lambda: model.weight("W_Q"), lambda: model.tokenize("Hello")):
        with pytest.raises(TensorUnavailable, match="computed") as caught:
            ask()
        assert caught.value.advice.startswith("Open a")
    assert open_model("sinusoidal:40x12").fingerprint == model.fingerprint
    assert open_model("sinusoidal-fairseq:40x12").fingerprint != model.fingerprint


@pytest.mark.slow
def test_the_report_says_what_is_impossible_and_measures_the_rest():
    made = report(open_model("sinusoidal:128x32"))
    assert made["model"]["family"] == made["model"]["source"].partition(":")[0] == "sinusoidal"
    assert all("computed" in why for why in made["missing"].values())
    assert "pca" not in made["missing"]
    for section in ("pca", "norms", "directions", "similarity", "dimensions", "shape"):
        assert made[section] is not None
    assert made["capture"] is made["layernorm"] is None
    assert made["norms"]["cv"] == pytest.approx(0, abs=1e-12)
    assert made["norms"]["mean"] == pytest.approx(4.0)  # √(32/2)
    assert made["norms"]["outliers"] == []


SIZES = st.tuples(st.integers(2, 60), st.integers(1, 20).map(lambda half: 2 * half))


@given(SIZES)
def test_every_pair_of_dimensions_is_a_circle(size):
    n_positions, d_model = size
    P = of_size("sinusoidal", n_positions, d_model)
    for k in range(d_model // 2):
        pair = P[:, 2 * k] * 1j + P[:, 2 * k + 1]
        np.testing.assert_allclose(np.abs(pair), 1.0, rtol=1e-12)
        steps = pair[1:] / pair[:-1]
        np.testing.assert_allclose(steps, np.exp(1j * 10_000.0 ** (-2 * k / d_model)), atol=1e-9)


@given(SIZES, st.data())
def test_looking_back_is_one_rotation_in_all_dimensions(size, data):
    n_positions, d_model = size
    lag = data.draw(st.integers(1, n_positions - 1))
    P = of_size("sinusoidal", n_positions, d_model)
    R = np.zeros((d_model, d_model))
    for k in range(d_model // 2):
        angle = lag * 10_000.0 ** (-2 * k / d_model)
        turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        R[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = turn
    np.testing.assert_allclose(R @ R.T, np.eye(d_model), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_allclose(P[lag:] @ R.T, P[:-lag], atol=1e-9)


@pytest.mark.parametrize("scoring", ["even_odd", "halves"])
def test_the_screw_that_is_fitted_for_looking_back_is_that_rotation(scoring):
    P = of_size("sinusoidal", 300, 12)
    found = look_back(P - P.mean(axis=0), [1, 7, 50], scoring=scoring)
    np.testing.assert_allclose(found.r2["screw"], 1, atol=1e-6)
    assert (found.r2["translation"] < 0.9).all()
