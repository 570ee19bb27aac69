"""The rotary panel: its numbers against closed forms, scaling, compared models, its script."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.measures.rotary import turning_rates
from tests.scripts import run_script

BASE = 10_000.0
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


def write_llama(folder, **changes):
    """Write a rotary model of the least size: a configuration, and one tensor."""
    folder.mkdir()
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
              "num_hidden_layers": 2, "max_position_embeddings": 256, "vocab_size": 99,
              **changes}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    save_file({"model.norm.weight": np.ones(64, "f4")}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return write_llama(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    return write_llama(tmp_path_factory.mktemp("models") / "scaled", rope_scaling=YARN)


@pytest.fixture
def panel(stage_of, llama):
    return stage_of("rotary", llama, size=(1100, 280)).panel


@pytest.fixture
def scaled_panel(stage_of, scaled):
    return stage_of("rotary", scaled, size=(1100, 280)).panel


def parts(panel):
    return panel.spec.plots(panel.view())


def choose(panel, **choices):
    panel.configure(**choices)


def test_turns_and_kernel_are_those_of_the_formula(panel):
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
    choose(panel, count="positions")
    by_pair, _, _ = parts(panel)
    np.testing.assert_allclose(by_pair.curves[0].y, 2 * np.pi / turning_rates(BASE, 16))
    assert by_pair.rules[0].at == 256
    assert by_pair.hover(0, 0) == "llama · pair 0 · one turn in 6.3 positions"


def test_the_pair_is_chosen_by_its_number_and_clipped_to_those_there_are(panel):
    choose(panel, pair=3)
    by_pair, _, pair = parts(panel)
    assert by_pair.rules[1].at == 3
    assert pair.name == "Pair 3 over positions"
    rate = turning_rates(BASE, 16)[3]
    np.testing.assert_allclose(pair.curves[0].y, np.cos(np.arange(1, 256) * rate), atol=1e-12)
    choose(panel, pair=500)
    assert parts(panel)[2].name == "Pair 7 over positions"


def test_scaling_stands_beside_the_rates_without_it(panel, scaled_panel):
    by_pair, kernel, _ = parts(scaled_panel)
    assert [curve.style for curve in by_pair.curves] == ["solid", "dashed"]
    assert (by_pair.curves[0].y <= by_pair.curves[1].y).all()
    assert by_pair.curves[0].y[-1] == pytest.approx(by_pair.curves[1].y[-1] / 4)
    assert [curve.style for curve in kernel.curves] == ["solid", "dashed"]
    choose(scaled_panel, unscaled=False)
    assert len(parts(scaled_panel)[0].curves) == 1
    view = scaled_panel.view()
    assert "scaling yarn" in scaled_panel.spec.caption(view)
    assert "8 pairs turn at least once within 256 positions" in panel.spec.caption(panel.view())


def test_a_model_with_a_table_says_that_it_does_not_turn(stage_of, small_gpt2):
    stage = stage_of("rotary", small_gpt2())
    assert "does not turn queries and keys" in str(stage.answer.error)


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
    np.testing.assert_array_equal(by_pair.curves[1].y, other.result.turns)
    assert kernel.hover(1, 0) == "scaled · Δ = 0 · 1.00"
