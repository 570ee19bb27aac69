"""Positions inside a model, in the window: layers stand where a training has steps."""

import json
from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.errors import HelixscopeError
from geometry.inside.positions_run import measure_positions
from geometry.inside.published import Compared
from geometry.inside.record import read_description
from geometry.inside.settings import PositionsSettings
from gui.panels.training.layers import NO_AMOUNTS, NO_COUNTERS, NO_DESCRIPTION
from tests.command_line import ROOT
from tests.gui.result_stage import LEFT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "inside"
    texts = str(ROOT / "resources" / "guide")
    settings = PositionsSettings(
        "sample", texts, length=64, texts_at_most=240, counters=("position", "word"),
        control_seeds=2,
    )  # fmt: skip
    measure_positions(settings, out)
    return out


@pytest.fixture
def inside(show_model, folder, wait_until_idle):
    application = show_model(folder)
    application.window.focus_on("training")
    wait_until_idle(application)
    return application


@pytest.mark.slow
def test_the_slider_goes_through_the_layers(inside, wait_until_idle):
    window, session = inside.window, inside.session
    assert session.model.name == "sample · layer 0"
    player = window.panels["training"].content.player
    assert (player.first.text(), player.last.text()) == ("0", "2")
    assert player.readout.text() == "layer 0"
    assert player.slider.accessibleName() == "Layer"
    before = window.viewport.scene.displayed.copy()
    QTest.keyClick(player.slider, Qt.Key.Key_End)
    wait_until_idle(inside)
    assert session.snapshot == 2
    caption = window.viewport.scene.state.caption
    assert caption[0].startswith("sample · positions ")
    assert caption[1] == "layer 2"
    assert caption[2].startswith("PC 1–3 of layer 0 explain ")
    assert not np.allclose(window.viewport.scene.displayed, before)
    QTest.mouseClick(player.now, LEFT)
    wait_until_idle(inside)
    assert session.snapshot is None
    np.testing.assert_array_equal(window.viewport.scene.displayed, before)


@pytest.mark.slow
def test_the_plots_show_amounts_controls_and_the_halves(inside, folder):
    panel = inside.window.panels["training"]
    view = panel.content._view
    titles = [plot.name for plot in panel.spec.plots(view)]
    assert titles[:4] == [
        "share of variance by layer",
        "energy by layer",
        "probe’s error by layer",
        "halves’ cosine by layer",
    ]
    share, amounts, probe, agreement, *_ = panel.spec.plots(view)
    pos, noise = share.curves
    tables = inside.session.model.store.tables
    np.testing.assert_array_equal(pos.y, tables.share)
    np.testing.assert_array_equal(noise.y, tables.share_noise)
    told = json.loads((folder / "positions.json").read_text("utf-8"))
    for bands, name in ((share.bands, "share"), (probe.bands, "probe_error")):
        for band, kind in zip(bands, ("random", "shuffled"), strict=True):
            of_kind = [
                [layer[name] for layer in control["layers"]]
                for control in told["controls"]
                if control["kind"] == kind
            ]
            assert len(of_kind) == 2
            np.testing.assert_array_equal(band.low, np.min(of_kind, axis=0))
            np.testing.assert_array_equal(band.high, np.max(of_kind, axis=0))
    np.testing.assert_array_equal(amounts.curves[0].y, tables.energy)
    np.testing.assert_array_equal(amounts.curves[0].y / amounts.curves[1].y, tables.share)
    np.testing.assert_array_equal(probe.curves[0].y, tables.probe_error)
    (rule,) = [rule for rule in agreement.rules if rule.axis == "y"]
    assert rule.at == 0.9
    assert "from 240 windows of text" in panel.spec.caption(view)
    assert "of 3 layers, with 240 windows" in panel.content.verdict.text().replace("\n", " ")
    numbers = panel.spec.numbers(view)
    assert numbers["layer"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(numbers["halves_cosine"], tables.halves_cosine)
    assert "last_norm" not in numbers


@pytest.mark.slow
def test_the_script_prints_what_the_panel_shows(inside, run_python):
    panel = inside.window.panels["training"]
    view = panel.content._view
    lines = run_python(panel.spec.script(view)).splitlines()
    numbers = panel.spec.numbers(view)
    layers = [line.split() for line in lines if line[0] != " "]
    amounts = [line.split()[2:] for line in lines if line.startswith("  energy, probe:")]
    shapes = [line.split()[1:] for line in lines if line.startswith("  shape:")]
    for layer, printed in enumerate(zip(layers, amounts, strict=True)):
        assert int(printed[0][0]) == layer
        names = ("share", "share_noise", "halves_cosine", "energy", "probe_error")
        for text, name in zip([*printed[0][1:], *printed[1]], names, strict=True):
            assert float(text) == pytest.approx(numbers[name][layer], rel=1e-9)
    resolved = np.flatnonzero(numbers["halves_cosine"] >= 0.9)
    assert 0 < len(resolved) < 3
    assert np.isnan(np.delete(numbers["variance_top3"], resolved)).all()
    for layer, printed in zip(resolved, shapes, strict=True):
        for text, name in zip(printed, ("variance_top3", "helix_r2", "helix_turns"), strict=False):
            assert float(text) == pytest.approx(numbers[name][layer], rel=1e-9)


@pytest.mark.slow
def test_runs_of_earlier_versions_show_no_shape_of_noise(inside, tmp_path):
    noise = {**LAYER, "halves_cosine": 0.5}
    (tmp_path / "positions.json").write_text(json.dumps(WHOLE | {"layers": [LAYER, noise, noise]}))
    panel = inside.window.panels["training"]
    view = panel.content._view
    view = replace(view, result=replace(view.result, described=read_description(tmp_path, 3)))
    numbers = panel.spec.numbers(view)
    np.testing.assert_array_equal(numbers["stable_rank"], [2.5, np.nan, np.nan])
    assert np.isnan(numbers["rank"]).all(), "by another rule"


@pytest.mark.slow
def test_layers_that_are_not_resolved_have_no_shape(inside):
    panel = inside.window.panels["training"]
    view = panel.content._view
    resolved = np.flatnonzero(view.result.layers.halves_cosine >= 0.9)
    at = int(np.setdiff1d(np.arange(3), resolved)[0])
    shares = panel.spec.plots(replace(view, choices=replace(view.choices, snapshot=at)))[4]
    assert shares.name == "share, R² by layer"
    assert {int(x) for curve in shares.curves for x in curve.x} <= set(resolved.tolist())
    assert {reading.text for reading in shares.readings} == {"–"}


@pytest.mark.slow
def test_layers_side_by_side(inside, folder, wait_until_idle):
    inside.controller.comparing.add_all([f"{folder}/layer 1", f"{folder}/layer 2"])
    wait_until_idle(inside)
    names = [one.session.model.name for one in inside.session.others]
    assert names == ["sample · layer 1", "sample · layer 2"]


def test_counters_have_a_page_with_their_angles(inside, wait_until_idle, folder):
    panel = inside.window.panels["training"]
    control = panel.controls.widgets["page"]
    assert control.isVisible()
    QTest.mouseClick(control.buttons["counters"], LEFT)
    wait_until_idle(inside)
    shares, cosines, angles = panel.spec.plots(panel.content._view)
    told = json.loads((folder / "positions.json").read_text("utf-8"))["counters"]
    known = [name for name, entry in told.items() if len(entry["share"]) == 3]
    assert len(known) > 1
    assert [one.label for one in shares.curves] == known
    for curve, name in zip(shares.curves, known, strict=True):
        np.testing.assert_array_equal(curve.y, told[name]["share"])
    assert [rule.at for rule in cosines.rules if rule.axis == "y"] == [0.9]
    first, second = known[:2]
    expected = min(told[first]["angles"][second][0])
    assert angles.values[0, 1] == angles.values[1, 0] == pytest.approx(expected)
    chance = told[first]["chance_of_smallest_angle"][second]
    assert angles.hover(0, 1) == (
        f"{first} and {second}: {expected:.0f}° in layer 0; random directions "
        f"{chance['p5']:.0f}–{chance['p95']:.0f}°"
    )
    QTest.keyClick(panel.content.player.slider, Qt.Key.Key_End)
    wait_until_idle(inside)
    last = panel.spec.plots(panel.content._view)[2]
    assert last.values[0, 1] == pytest.approx(min(told[first]["angles"][second][2]))
    numbers = panel.spec.numbers(panel.content._view)
    np.testing.assert_array_equal(numbers[f"{second}_norms_cv"], told[second]["norms_cv"])


def test_the_decomposition_stands_beside_published_numbers(inside, wait_until_idle, folder):
    panel = inside.window.panels["training"]
    QTest.mouseClick(panel.controls.widgets["page"].buttons["decomposition"], LEFT)
    wait_until_idle(inside)
    told = json.loads((folder / "positions.json").read_text("utf-8"))["layers"]

    def by_layer(name):
        return [layer[name] for layer in told]

    shares, ranks, relative, norms = panel.spec.plots(panel.content._view)
    assert [curve.label for curve in shares.curves] == ["pos", "context", "rest", "noise"]
    total = sum(curve.y for curve in shares.curves)
    np.testing.assert_allclose(total, 1)
    np.testing.assert_array_equal(shares.curves[1].y, by_layer("share_context"))
    assert [curve.label for curve in ranks.curves] == ["rank", "stable rank"]
    np.testing.assert_array_equal(ranks.curves[0].y, by_layer("rank"))
    assert all(layer["stable_rank"] is None for layer in told if layer["halves_cosine"] < 0.9)
    np.testing.assert_array_equal(relative.curves[0].y, by_layer("relative_norm"))
    np.testing.assert_array_equal(norms.curves[-1].y, by_layer("standard_error"))
    numbers = panel.spec.numbers(panel.content._view)
    np.testing.assert_array_equal(
        numbers["stable_rank"], np.array(by_layer("stable_rank"), np.float64)
    )


def test_published_numbers_are_points_of_the_layers_that_have_them(inside, wait_until_idle):
    panel = inside.window.panels["training"]
    QTest.mouseClick(panel.controls.widgets["page"].buttons["decomposition"], LEFT)
    wait_until_idle(inside)
    view = panel.content._view
    described = replace(
        view.result.described,
        published=(
            Compared("stable rank", 0, 2.05, 2.5, 2.6),
            Compared("stable rank", 2, 1.91, 2.5, 2.6),
        ),
    )
    view = replace(view, result=replace(view.result, described=described))
    _, ranks, relative, _ = panel.spec.plots(view)
    published = [curve for curve in ranks.curves if curve.style == "dashed"]
    assert [(curve.x.tolist(), curve.y.tolist()) for curve in published] == [
        ([0], [2.05]),
        ([2], [1.91]),
    ]
    assert "published" in [reading.name for reading in ranks.readings]
    assert "published" not in [reading.name for reading in relative.readings]
    assert panel.spec.caption(view).endswith(
        "published: Song and Zhong, arXiv:2310.04861; OpenWebText, windows of 512 tokens, "
        "position 0 left out"
    )
    numbers = panel.spec.numbers(view)
    np.testing.assert_array_equal(numbers["published_stable_rank"], [2.05, np.nan, 1.91])
    assert "published_relative_norm" not in numbers


def test_positions_are_shown_without_their_description(inside, wait_until_idle):
    panel = inside.window.panels["training"]
    view = panel.content._view
    view = replace(view, result=replace(view.result, described=None))
    for page, empty in (("decomposition", NO_DESCRIPTION), ("counters", NO_COUNTERS)):
        first = panel.spec.plots(replace(view, choices=replace(view.choices, page=page)))[0]
        assert [reading.name for reading in first.readings] == [empty]
        assert not first.curves
    share, amounts, *_ = panel.spec.plots(view)
    assert [curve.label for curve in share.curves] == ["pos", "noise", "random"]
    assert [reading.name for reading in amounts.readings] == [NO_AMOUNTS]
    assert "stable_rank" not in panel.spec.numbers(view)


LAYER = {
    "stable_rank": 2.5,
    "rank": 7,
    "relative_norm": None,
    "share": 0.2,
    "share_noise": 0.01,
    "share_context": 0.1,
    "share_rest": 0.69,
    "halves_cosine": 0.9,
    "standard_error": 0.05,
    "top3": 1.0,
    "outliers": [63],
    "texts_needed": None,
}
COUNTER = {
    "share": [1, 2, 3],
    "halves_cosine": [1, 2, 3],
    "norms_cv": [1, 2, 3],
    "angles": {},
    "chance_of_smallest_angle": {},
}
PUBLISHED = {
    "quantity": "stable rank",
    "layer": 1,
    "published": 2.05,
    "ours": 2.5,
    "as_there": None,
}
WHOLE = {
    "layers": [LAYER] * 3,
    "counters": {"word": COUNTER, "line": COUNTER | {"share": [], "halves_cosine": []}},
    "published": [PUBLISHED],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"counters": "none"},
        {"counters": {"word": {"share": [1, 2, 3]}}},
        {"counters": {"word": COUNTER | {"halves_cosine": [1, 2]}}},
        {"counters": {"word": COUNTER | {"norms_cv": [1, 2, float("nan")]}}},
        {"counters": {"word": COUNTER | {"angles": {"line": [[1], [2], [3]]}}}},
        {"layers": [LAYER] * 2},
        {"layers": None},
        {"layers": [LAYER, LAYER, {**LAYER, "rank": "many"}]},
        {"layers": [LAYER, LAYER, {"rank": 7}]},
        {"published": [PUBLISHED | {"layer": 3}]},
        {"published": [PUBLISHED | {"quantity": "colour"}]},
        {"controls": [{"kind": "random", "seed": 0, "layers": [LAYER] * 2}]},
        {"controls": [{"kind": "random", "layers": [LAYER] * 3}]},
    ],
)
def test_a_damaged_description_is_a_sentence(tmp_path, wrong):
    (tmp_path / "positions.json").write_text(json.dumps(WHOLE | wrong))
    with pytest.raises(HelixscopeError):
        read_description(tmp_path, 3)


@pytest.mark.slow
def test_a_whole_description_is_read(tmp_path):
    (tmp_path / "positions.json").write_text(json.dumps(WHOLE))
    found = read_description(tmp_path, 3)
    assert [one.name for one in found.counters] == ["word"]
    assert found.published == (Compared("stable rank", 1, 2.05, 2.5, ANY),)
    assert np.isnan(found.published[0].as_there)
    assert found.layers[2].outliers == (63,)
    assert np.isnan(found.layers[0].relative_norm)
    assert np.isnan(found.layers[0].energy), "of a version without it"
    assert found.controls == ()
    with pytest.raises(HelixscopeError, match="3 layers of 4"):
        read_description(tmp_path, 4)
