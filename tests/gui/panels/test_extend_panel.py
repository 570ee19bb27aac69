"""The panel Extend: its curves against the measure, the 3D view, what it opens, what it refuses."""

import numpy as np
import pytest

from geometry.measures.extension import extension, resample_rows
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.panels.kit.intents import ShowBeside
from gui.plots.spec import Plot
from tests.scripts import run_script

N, KEPT = 90, 68


@pytest.fixture
def panel(stage_of, tmp_path):
    """A panel with a noisy helix of 90 positions open."""
    t = np.arange(N) / N
    points = np.column_stack([np.cos(12 * t), np.sin(12 * t), 3 * t])
    random = np.random.default_rng(0)
    frame = np.linalg.qr(random.normal(size=(8, 3)))[0].T
    table = 2 + points @ frame + random.normal(scale=0.02, size=(N, 8))
    np.save(tmp_path / "mine.npy", table)
    return stage_of("extend", tmp_path / "mine.npy", size=(1000, 320)).panel


def plot_of(panel) -> Plot:
    (plot,) = panel.spec.plots(panel.view())
    return plot


def test_three_quarters_are_kept_and_errors_are_those_of_the_measure(panel):
    view, found = panel.view(), extension(panel.view().model.W_pos, KEPT)
    assert view.result.kept == KEPT == panel.controls.widgets["kept"].value
    helix, *others, last = plot_of(panel).curves
    np.testing.assert_array_equal(helix.x, np.arange(N))
    np.testing.assert_allclose(helix.y, found.errors["helix"])
    assert [one.label for one in others] == ["Fourier", "interpolated"]
    np.testing.assert_allclose(others[1].y, found.errors["interpolate"])
    np.testing.assert_array_equal(last.x, np.arange(KEPT, N))
    np.testing.assert_allclose(last.y, found.last)
    caption = panel.caption()
    assert "positions 0–67 kept, 68–89 held out" in caption
    assert f"helix {found.totals['helix']:.2f}" in caption
    assert plot_of(panel).rules[1].at == KEPT


def test_the_chosen_method_is_first_and_hovered(panel):
    panel.configure(method="fourier")
    plot = plot_of(panel)
    assert [(c.label, c.silent) for c in plot.curves][:2] == [("Fourier", False), ("helix", True)]
    assert plot.hover(0, 70).startswith("position 70, held out · helix ")
    assert "last row" in plot.hover(0, 70)
    assert "last row" not in plot.hover(0, 20)


def test_more_rows_are_kept_than_there_are_only_until_the_last(panel):
    panel.configure(kept=5000)
    assert panel.view().result.kept == N - 1
    panel.configure(kept=4)
    assert panel.view().result.kept == 4


@pytest.mark.parametrize("method", ["helix", "fourier", "interpolate"])
def test_what_is_made_is_drawn_over_the_real_curve(panel, method):
    panel.configure(method=method)
    view = panel.view()
    pca, P = view.scope.pca, view.model.W_pos
    guide, (first, last) = panel.spec.guide(view, None), pca.positions
    if method == "interpolate":
        made = pca.project(resample_rows(P[:KEPT], N))
    else:
        made = pca.project(view.result.continued[method].rows())
    (further,), (fitted,) = guide.lines, guide.dashed
    np.testing.assert_allclose(further, made[KEPT - 1 : last + 1, :3])
    np.testing.assert_allclose(fitted, made[first:KEPT, :3])
    at = np.arange(KEPT, last + 1)
    np.testing.assert_allclose(guide.segments[:, 0], made[at, :3])
    np.testing.assert_allclose(guide.segments[:, 1], pca.project(P[at])[:, :3])
    panel.configure(in_view=False)
    assert panel.spec.guide(panel.view(), None) is None


def test_the_menu_opens_what_is_made_beside(panel):
    panel.configure(method="interpolate", kept=40)
    intents = [intent for _, intent in panel.spec.acts(panel.view())]
    source = panel.view().model.source
    assert intents == [
        ShowBeside(Source.derive("extended", "interpolate:40:90", source)),
        ShowBeside(Source.derive("extended", "interpolate:90:180", source)),
    ]
    assert [open_model(one.source).n_positions for one in intents] == [90, 180]


def test_numbers_and_script_agree(panel):
    tables = panel.spec.tables(panel.view())
    held = tables[""]["held_out"]
    assert held.sum() == N - KEPT
    assert np.isnan(tables[""]["error_last_row"][~held]).all()
    assert np.isfinite(tables[""]["error_last_row"][held]).all()
    assert list(tables["totals"]["method"]) == ["helix", "fourier", "interpolate", "last", "mean"]
    printed = run_script(panel.python())
    total = tables["totals"]["error_held_out"][0]
    assert f"'helix': {total:.4f}"[:-1] in printed


def test_rows_with_labels_and_tables_that_are_too_short_have_a_reason(stage_of, tmp_path):
    days = tmp_path / "days.csv"
    days.write_text("day,x0,x1,x2\n" + "".join(f"d{i},{i},{i % 3},1\n" for i in range(12)))
    assert "labels of their own" in stage_of("extend", days).answer.why
    np.save(tmp_path / "short.npy", np.eye(4, 6))
    assert "too few to hold any out" in stage_of("extend", tmp_path / "short.npy").answer.why
