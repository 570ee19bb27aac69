"""Positions inside a model, in the window: layers stand where a training has steps."""

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.errors import HelixscopeError
from geometry.emergent.positions_run import measure_positions
from geometry.emergent.record import read_counters
from geometry.emergent.settings import PositionsSettings
from tests.command_line import ROOT
from tests.gui.result_stage import LEFT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "inside"
    texts = str(ROOT / "resources" / "guide")
    measure_positions(PositionsSettings("sample", texts, length=64, texts_at_most=60), out)
    return out


@pytest.fixture
def inside(show_model, folder, wait_until_idle):
    application = show_model(folder)
    application.window.focus_on("training")
    wait_until_idle(application)
    return application


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


def test_the_plots_show_the_floor_and_the_halves(inside):
    panel = inside.window.panels["training"]
    view = panel.content._view
    titles = [plot.name for plot in panel.spec.plots(view)]
    assert titles[:3] == [
        "share of variance by layer", "halves’ cosine by layer", "share, R² by layer",
    ]  # fmt: skip
    pos, noise, random = panel.spec.plots(view)[0].curves
    tables = inside.session.model.store.tables
    np.testing.assert_array_equal(pos.y, tables.share)
    np.testing.assert_array_equal(noise.y, tables.share_noise)
    np.testing.assert_array_equal(random.y, tables.random_share)
    (rule,) = [rule for rule in panel.spec.plots(view)[1].rules if rule.axis == "y"]
    assert rule.at == 0.9
    assert "from 60 windows of text" in panel.spec.caption(view)
    assert "of 3 layers, with 60 windows of text" in panel.content.verdict.text().replace("\n", " ")
    numbers = panel.spec.numbers(view)
    assert numbers["layer"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(numbers["halves_cosine"], tables.halves_cosine)
    assert "last_norm" not in numbers


def test_the_script_prints_what_the_panel_shows(inside, run_python):
    panel = inside.window.panels["training"]
    view = panel.content._view
    lines = run_python(panel.spec.script(view)).splitlines()
    numbers = panel.spec.numbers(view)
    assert len(lines) == 3
    for layer, line in enumerate(lines):
        printed = line.split()
        assert int(printed[0]) == layer
        for text, name in zip(printed[1:5], ("share", "share_noise", "halves_cosine",
                                             "variance_top3"), strict=True):  # fmt: skip
            assert float(text) == pytest.approx(numbers[name][layer], rel=1e-9)


def test_layers_side_by_side(inside, folder, wait_until_idle):
    inside.controller.comparing.add_all([f"{folder}/layer 1", f"{folder}/layer 2"])
    wait_until_idle(inside)
    names = [one.session.model.name for one in inside.session.compared]
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


WHOLE = {
    "share": [1, 2, 3], "halves_cosine": [1, 2, 3], "norms_cv": [1, 2, 3], "angles": {},
    "chance_of_smallest_angle": {},
}  # fmt: skip


@pytest.mark.parametrize(
    "counters",
    [
        "none",
        {"word": {"share": [1, 2, 3]}},
        {"word": WHOLE | {"halves_cosine": [1, 2]}},
        {"word": WHOLE | {"norms_cv": [1, 2, float("nan")]}},
        {"word": WHOLE | {"angles": {"line": [[1], [2], [3]]}}},
    ],
)
def test_a_damaged_description_is_a_sentence(tmp_path, counters):
    (tmp_path / "positions.json").write_text(json.dumps({"counters": counters}))
    with pytest.raises(HelixscopeError):
        read_counters(tmp_path, 3)


def test_a_whole_description_is_read(tmp_path):
    (tmp_path / "positions.json").write_text(
        json.dumps({"counters": {"word": WHOLE, "line": WHOLE}})
    )
    assert [one.name for one in read_counters(tmp_path, 3)] == ["word", "line"]
    assert read_counters(tmp_path, 4) == ()
