"""The attention over the prompt's tokens in the kernels panel, by mouse, in words and in files."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest

from geometry.inside.prompt import correlation, run_prompt
from gui.style.theme import format_number
from gui.style.token_text import token_label
from tests.gui.result_stage import LEFT, NONE, hover, named
from tests.scripts import run_script

TEXT = "The curve of positions is a helix. The curve of the"


@pytest.fixture(scope="module")
def run():
    return run_prompt("sample", TEXT)


@pytest.fixture
def stage(stage_of, run):
    stage = stage_of("kernels", "sample", (1, 200), size=(1000, 300))
    stage.session.prompt = TEXT
    stage.session.tokens = stage.session.model.tokenize(TEXT)
    return stage


@pytest.fixture
def panel(stage, run):
    """The panel with the attention over the prompt beside that by position."""
    stage.session.prompt_run = run
    click_box(stage.panel)
    return stage.panel


def box(panel):
    return panel.controls.widgets["tokens"]


def click_box(panel):
    QTest.mouseClick(box(panel), LEFT, NONE, QPoint(8, box(panel).height() // 2))


def token_map(panel):
    return named(panel, "Attention over the prompt’s tokens")


def n_images(panel):
    return len([one for one in panel.spec.plots(panel.view()) if hasattr(one, "colormap")])


def test_it_is_offered_only_beside_a_result(stage, run):
    panel, session = stage.panel, stage.session
    assert not box(panel).isVisible()
    session.prompt_run = run
    assert box(panel).isVisible()
    assert n_images(panel) == 1
    click_box(panel)
    assert panel.choices.tokens
    assert n_images(panel) == 2
    session.prompt = "another text"
    assert session.prompt_run is None
    assert not box(panel).isVisible()
    assert n_images(panel) == 1
    assert "correlation" not in panel.caption()
    session.prompt_run = run
    assert n_images(panel) == 2  # the choice stays
    stage.open("synthetic:helix,n=90,d=16,turns=2,climb=0.3")
    assert session.prompt_run is None
    assert not box(panel).isVisible()


def test_the_real_attention_of_the_chosen_head_and_layer(panel, run):
    for layer, head in ((0, 2), (0, 1), (1, 3)):
        panel.configure(layer=layer, head=head)
        shown = panel.spec.plots(panel.view())[2]
        np.testing.assert_array_equal(shown.values, run.attention[layer, head])
        assert shown.first == (0, 0)
        written = panel.tables()["tokens"][f"attention_of_head_{head}_over_tokens"]
        np.testing.assert_array_equal(written, run.attention[layer, head])


def test_tokens_are_named_where_the_mouse_is(panel, run):
    panel.configure(layer=0, head=2)
    texts, weights = run.texts, panel.result.weights
    said = panel.spec.plots(panel.view())[2].hover(6, 5)
    real = format_number(float(run.attention[0, 2, 6, 5]))
    alone = format_number(float(weights[5, 4]))
    assert said == (
        f"6 {token_label(texts[6])} → 5 {token_label(texts[5])}\n"
        f"attention {real}, {alone} by position alone · Δ = 1"
    )
    assert "alone" not in panel.spec.plots(panel.view())[2].hover(6, 0)  # outside the range
    image = token_map(panel)
    center = image.viewport().rect().center()
    hover(image.viewport(), center)
    assert any(token_label(text) in image.hover_text() for text in texts)
    assert "attention " in image.hover_text()


def test_the_correlation_is_stated_over_the_causal_triangle(panel, run):
    panel.configure(layer=0, head=2)
    for first in (1, 12):
        panel.session.positions = (first, 200)
        n = len(run.ids) - first
        both = run.attention[0, 2, first:, first:], panel.result.weights[:n, :n]
        expected = np.corrcoef([matrix[np.tril_indices(n)] for matrix in both])[0, 1]
        said = f"correlation {expected:.2f} with the attention over the prompt’s tokens "
        assert f"{said}({n * (n + 1) // 2} pairs)" in panel.caption()
    panel.session.positions = (100, 200)
    assert "too few tokens in this range" in panel.caption()


def test_a_pattern_with_itself_another_and_a_constant():
    random = np.random.default_rng(0)
    one, noise = random.random((2, 8, 8))
    upper = np.triu(noise, 1)  # is not compared
    assert correlation(one, one + upper, causal=True, first=1) == (pytest.approx(1), 36)
    assert correlation(one, 2 - 3 * one, causal=True, first=0) == (pytest.approx(-1), 35)
    found, pairs = correlation(one, one + upper, causal=False)
    assert pairs == 64
    assert found < 0.99
    assert correlation(one, np.ones((8, 8)), causal=True) == (None, 35)
    assert correlation(one[:1, :1], one[:1, :1], causal=True, first=5) == (None, 1)
    assert correlation(one[:0, :0], one[:0, :0], causal=True, first=5) == (None, 0)


def test_another_network_than_the_panels_is_not_shown(stage, run):
    """As of an encoder beside its decoder."""
    panel = stage.panel
    few = np.ascontiguousarray(run.attention[:1, :3])
    stage.session.prompt_run = type(run)(
        run.text, run.ids, run.texts, True, None, run.next_tokens, None, few
    )
    click_box(panel)
    assert n_images(panel) == 1


@pytest.mark.slow
def test_figure_and_script(stage, panel, run, monkeypatch, tmp_path):
    panel.configure(layer=0, head=2)
    drawn = stage.save(monkeypatch, "Save figure…", tmp_path / "kernels.svg").read_text("utf-8")
    assert "Token j of the prompt" in drawn
    assert "correlation 0." in drawn
    script = panel.python()
    assert "run_prompt('sample'" in script
    numbers = run_script(script).rpartition("[[")[2].replace("[", "").replace("]", "").split()
    n = len(run.ids)
    printed = np.array(numbers, float).reshape(n, n)
    np.testing.assert_allclose(printed, run.attention[0, 2], atol=1e-6)
    click_box(panel)
    assert "run_prompt" not in panel.python()
