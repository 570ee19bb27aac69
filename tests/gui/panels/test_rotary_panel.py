"""The rotary panel: its numbers against closed forms, scaling, compared models, its script."""

from dataclasses import replace

import numpy as np
import pytest

from geometry.measures.rotary import lag_kernel, turning_rates
from geometry.models.pair_use import pair_use
from tests.scripts import run_script
from tests.small_models import write_small_llama

BASE = 10_000.0
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return write_small_llama(folder / "llama", n_positions=256)


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return write_small_llama(folder / "scaled", n_positions=256, rope_scaling=YARN)


@pytest.fixture
def panel(stage_of, llama):
    return stage_of("rotary", llama, size=(1100, 280)).panel


@pytest.fixture
def scaled_panel(stage_of, scaled):
    return stage_of("rotary", scaled, size=(1100, 280)).panel


def parts(panel):
    return panel.spec.plots(panel.view())


def test_the_pair_shown_first_turns_some_times(panel):
    rates = turning_rates(BASE, 16)
    pair = parts(panel)[2]
    at = int(np.abs(rates * 254 / (2 * np.pi) - 6).argmin())
    np.testing.assert_allclose(pair.curves[0].y, np.cos(np.arange(1, 256) * rates[at]))
    assert panel.controls.widgets["pair"].value == at


def test_turns_and_kernel_are_those_of_the_formula(panel):
    panel.configure(pair=0)
    by_pair, kernel, pair = parts(panel)
    rates = turning_rates(BASE, 16)
    np.testing.assert_allclose(by_pair.curves[0].y, rates * 255 / (2 * np.pi))
    lags = np.arange(255)
    expected = np.cos(np.outer(lags, rates)).mean(axis=1)
    np.testing.assert_allclose(kernel.curves[0].y, expected)
    assert kernel.curves[0].y[0] == 1.0
    x = np.arange(1, 256)
    np.testing.assert_allclose(pair.curves[0].y, np.cos(x), atol=1e-12)
    np.testing.assert_allclose(pair.curves[1].y, np.sin(x), atol=1e-12)
    assert len(by_pair.curves) == len(kernel.curves) == 1
    assert by_pair.hover(0, 2).startswith("llama · pair 2 · ")


def test_lengths_of_a_turn_in_place_of_turns(panel):
    panel.configure(count="positions")
    by_pair, _, _ = parts(panel)
    np.testing.assert_allclose(by_pair.curves[0].y, 2 * np.pi / turning_rates(BASE, 16))
    assert by_pair.rules[0].at == 256
    assert by_pair.hover(0, 0) == "llama · pair 0 · one turn in 6.3 positions"


def test_the_pair_is_chosen_by_its_number_and_clipped_to_those_there_are(panel):
    panel.configure(pair=3)
    by_pair, _, pair = parts(panel)
    assert by_pair.rules[1].at == 3
    assert "pair 3" in pair.readings[2].name
    rate = turning_rates(BASE, 16)[3]
    np.testing.assert_allclose(pair.curves[0].y, np.cos(np.arange(1, 256) * rate), atol=1e-12)
    panel.configure(pair=500)
    assert "pair 7" in parts(panel)[2].readings[2].name


def test_scaling_stands_beside_the_rates_without_it(panel, scaled_panel):
    by_pair, kernel, _ = parts(scaled_panel)
    assert [curve.style for curve in by_pair.curves] == ["solid", "dashed"]
    assert (by_pair.curves[0].y <= by_pair.curves[1].y).all()
    assert by_pair.curves[0].y[-1] == pytest.approx(by_pair.curves[1].y[-1] / 4)
    assert [curve.style for curve in kernel.curves] == ["solid", "dashed"]
    scaled_panel.configure(unscaled=False)
    assert len(parts(scaled_panel)[0].curves) == 1
    view = scaled_panel.view()
    assert "scaling yarn" in scaled_panel.spec.caption(view)
    assert "8 pairs turn at least once within 256 positions" in panel.spec.caption(panel.view())


def test_kinds_of_layers_have_their_own_rates(stage_of, tmp_path):
    kinds = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "default", "rope_theta": BASE},
    }
    folder = write_small_llama(
        tmp_path / "gemma",
        n_positions=256,
        model_type="gemma3_text",
        head_dim=16,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters=kinds,
    )
    panel = stage_of("rotary", folder, size=(1100, 280)).panel
    by_pair, kernel, _ = parts(panel)
    sliding, full = (turning_rates(base, 16) for base in (100.0, BASE))
    np.testing.assert_allclose(by_pair.curves[0].y, full * 255 / (2 * np.pi))
    np.testing.assert_allclose(by_pair.curves[1].y, sliding * 255 / (2 * np.pi))
    lags = panel.view().result.lags
    np.testing.assert_allclose(kernel.curves[1].y, lag_kernel(sliding, lags) / 8)
    assert [one.name for one in by_pair.readings] == ["full attention", "sliding attention"]
    assert "base 10,000, sliding attention 100 ·" in panel.spec.caption(panel.view())
    assert by_pair.hover(1, 0).startswith("sliding attention · pair 0")
    tables = panel.spec.tables(panel.view())
    np.testing.assert_allclose(tables["sliding attention"]["radians_per_position"], sliding)
    numbers = panel.spec.numbers(panel.view())
    np.testing.assert_allclose(numbers["radians_per_position_of_sliding attention"], sliding)
    panel.configure(count="positions")
    np.testing.assert_allclose(parts(panel)[0].curves[1].y, 2 * np.pi / sliding)
    for layer, rates in enumerate((sliding, full)):
        panel.configure(heads=True, layer=layer)
        view = panel.view()
        share = pair_use(view.model, layer).share
        expected = lag_kernel(rates, lags, share)
        np.testing.assert_allclose(view.result.head_kernels, expected)
        kind = ("sliding", "full")[layer]
        assert f"layer {layer} has {kind} attention" in panel.spec.caption(view)


def test_a_model_with_a_table_says_that_it_does_not_turn(stage_of, small_gpt2):
    stage = stage_of("rotary", small_gpt2())
    assert "does not turn queries and keys" in stage.answer.why
    for widget in stage.panel.controls.widgets.values():
        assert not widget.isEnabled()


def test_numbers_and_script_agree(panel):
    view = panel.view()
    tables = panel.spec.tables(view)
    assert list(tables) == ["", "by_lag"]
    assert list(tables[""]["pair"]) == list(range(8))
    printed = run_script(panel.spec.script(view))
    assert "10000.0 none" in printed


def test_compared_models_have_a_curve_each(panel, scaled_panel):
    other = scaled_panel.view()
    view = replace(panel.view(), others=(replace(other, name="scaled", color="#123456"),))
    by_pair, kernel, _ = panel.spec.plots(view)
    assert [curve.name for curve in by_pair.curves] == ["", "scaled"]
    np.testing.assert_array_equal(by_pair.curves[1].y, other.result.own.turns)
    assert kernel.hover(1, 0) == "scaled · Δ = 0 · 1.000"


def test_the_heads_use_of_pairs_takes_the_place_of_one_pair(panel):
    panel.configure(heads=True, layer=1)
    view = panel.view()
    _, kernel, use = parts(panel)
    found = pair_use(view.model, 1)
    np.testing.assert_allclose(use.values, found.share)
    assert "of its use" in use.hover(1, 3)
    assert len(kernel.curves) == 3
    expected = lag_kernel(view.model.rotary.rates, view.result.lags, found.share)
    np.testing.assert_allclose(kernel.curves[1].y, expected[1])
    columns = panel.spec.numbers(view)
    np.testing.assert_allclose(columns["use_of_head_1"], found.use[1])
    np.testing.assert_allclose(columns["kernel_of_head_0"], expected[0])
    assert "[[" in run_script(panel.spec.script(view))
