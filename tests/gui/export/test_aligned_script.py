"""Scripts and data of a curve that is laid over the shown one say the same as the window."""

import numpy as np
import pytest

from gui.export import window_script
from gui.export.window_data import WindowData
from gui.export.window_script import Sight
from gui.scene.scene_state import resolve_scene
from gui.services.alignment_text import script
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange
from gui.state.camera import CameraPose
from tests.gui.aligned_stage import KEY, Beside, lines
from tests.gui.conftest import D_MODEL
from tests.scripts import run_script

SIGHT = Sight(CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0), (80, 60), "dark")


@pytest.fixture
def beside(opened, controller, write_table):
    return Beside(controller, write_table)


def test_the_script_prints_the_same(opened, beside, helix):
    other = beside(helix(120, D_MODEL, 9), (10, 80))
    opened.alignment = CurveAlignment(OfOther(KEY), "scaled")
    aligned = opened.aligned
    first, whole = run_script(script(aligned, opened.model, other.session.model)).splitlines()
    found = aligned.alignment
    numbers = [float(number) for number in first.split()[:3]]
    assert numbers == pytest.approx([found.disparity, found.rms, found.scale])
    assert first.split()[3] == str(found.mirrors)
    assert float(whole) == pytest.approx(aligned.more.whole)


def test_the_script_of_the_same_components(opened):
    opened.alignment = CurveAlignment(OfRange((100, 150)), "basis")
    aligned = opened.aligned
    *_, shares, angles = run_script(script(aligned, opened.model, None)).splitlines()
    expected = [aligned.more.held, aligned.more.own]
    assert [float(n) for n in shares.split()] == pytest.approx(expected)
    read = np.array(angles.strip("[]").split(), float)
    np.testing.assert_allclose(read, aligned.more.angles, atol=1e-6)


@pytest.mark.parametrize(
    "alignment",
    [
        CurveAlignment(OfOther(KEY), "scaled"),
        CurveAlignment(OfRange((100, 190)), "basis", coloring="matched"),
        CurveAlignment(OfRange((100, 190)), coloring="grey"),
    ],
    ids=["model", "range", "grey"],
)
def test_windows_script_and_data(opened, beside, helix, tmp_path, monkeypatch, alignment):
    beside(helix(120, D_MODEL, 9), (10, 80))
    opened.positions = (1, 99)
    opened.alignment = alignment
    text = window_script.script(opened, SIGHT)
    line, names = lines(opened), {}
    monkeypatch.chdir(tmp_path)
    # The compared model's part, which follows, has names of its own.
    printed = run_script(text.rpartition("\n\nimport numpy")[0], names)
    np.testing.assert_allclose(names["laid"], line, atol=1e-9)
    fit = opened.aligned.alignment
    assert str(opened.aligned.more.held if fit is None else fit.disparity)[:12] in printed
    scene, state = names["scene"], resolve_scene(opened)
    assert (scene.caption, scene.legend) == (state.caption, state.legend)
    (drawn,), (guide,) = scene.guides, state.guides
    np.testing.assert_allclose(drawn.points, guide.points, atol=1e-9)
    np.testing.assert_array_equal(drawn.matched, guide.matched)
    assert (drawn.colormap, drawn.pale) == (guide.colormap, guide.pale)
    assert (tmp_path / "helix.png").stat().st_size > 2000
    arrays = WindowData.of(opened).arrays()
    np.testing.assert_array_equal(arrays["laid_coordinates"], line)
    assert len(arrays["laid_position"]) == len(arrays["laid_matched"]) == len(line)
    opened.alignment = None
    assert "laid_position" not in WindowData.of(opened).arrays()
