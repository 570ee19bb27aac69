"""What panels show and draw, and what is laid over the curve, are there again in a fresh window."""

from dataclasses import replace

import numpy as np
import pytest

from gui.export.save_picture import PictureOptions
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfCompared, OfStep
from tests.gui.result_stage import write_small_gpt2
from tests.gui.training_stage import write_trained


@pytest.fixture
def reopen(shared_window, wait_until_idle):
    """Open saved work in a window that is as after a start, and remembers nothing."""

    def opened(path):
        fresh = shared_window.get(wait_until_idle)
        fresh.controller.open(str(path))
        wait_until_idle(fresh)
        assert fresh.session.notice is None
        return fresh

    return opened


def save(application, path):
    application.window.work._write(path)
    return path


def pixels(application) -> np.ndarray:
    """All views as they would be saved."""
    image = application.window.pictures.picture(PictureOptions(scale=1))
    image = image.convertToFormat(image.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def show(application, name, wait_until_idle, **options):
    """Bring a panel to the front, and choose in it."""
    application.window.bring(name)
    wait_until_idle(application)
    application.window.panels[name].configure(**options)
    wait_until_idle(application)
    return application.window.panels[name]


def test_what_is_drawn_beside_the_curve_has_the_same_pixels(
    show_model, write_gpt2, write_table, helix, tmp_path, wait_until_idle, reopen
):
    application = show_model(write_gpt2())
    session, window = application.session, application.window
    key = application.controller.comparing.add(
        str(write_table(helix(120, 16, seed=9), "short")), (0, 119)
    )
    wait_until_idle(application)
    show(application, "lookback", wait_until_idle, lag=9, scoring="halves")
    window.docks["lookback"].setFloating(True)
    show(application, "shape", wait_until_idle, curve="circle", plotted="turning")
    bare = pixels(application)
    session.alignment = CurveAlignment(OfCompared(key), "scaled", mirrored=False)
    wait_until_idle(application)
    assert session.guides.keys() == {"shape", "lookback", "laid"}
    before = pixels(application)
    assert np.abs(before - bare).max() > 30
    path = save(application, tmp_path / "drawn.helix")
    fresh = reopen(path)
    after = pixels(fresh)
    assert after.shape == before.shape
    assert np.abs(after - before).max() <= 3
    assert fresh.session.guides.keys() == {"shape", "lookback", "laid"}
    shown = [after]
    for name in ("shape", "lookback"):  # each can be seen in it
        fresh.window.panels[name].configure(in_view=False)
        wait_until_idle(fresh)
        shown.append(pixels(fresh))
        assert np.abs(shown[-1] - shown[-2]).max() > 30


def test_a_panel_shows_what_it_did_when_it_is_first_seen(
    show_model, tmp_path, wait_until_idle, reopen
):
    application = show_model(write_small_gpt2(tmp_path / "small"))
    application.session.selection = (30,)
    kernels = {"layer": 1, "head": 1, "sort": "self", "averaged": True}
    chosen = show(application, "kernels", wait_until_idle, **kernels).options()
    lookback = show(application, "lookback", wait_until_idle, space="6", lag=7).options()
    path = save(application, tmp_path / "a.helix")
    fresh = reopen(path)
    window = fresh.window
    assert "kernels" not in window.panels
    assert window.panels["lookback"].options() == lookback
    # Saved again, it is not forgotten.
    again = save(fresh, tmp_path / "b.helix")
    assert read_work(again).panels == read_work(path).panels
    assert read_work(path).panels == {"kernels": chosen, "lookback": lookback}
    window.bring("kernels")
    wait_until_idle(fresh)
    panel = window.panels["kernels"]
    assert panel.options() == chosen
    assert (panel.result.of.layer, panel.result.head) == (1, 1)
    assert list(fresh.session.guides) == ["kernels"]


def test_another_model_is_shown_as_if_nothing_had_been_chosen(
    show_model, tmp_path, wait_until_idle, reopen, write_table
):
    application = show_model(write_table())
    show(application, "similarity", wait_until_idle, rows="projected")
    application.window.bring("norms")
    fresh = reopen(save(application, tmp_path / "a.helix"))
    assert "similarity" not in fresh.window.panels
    fresh.controller.open(str(write_table(None, "another")))
    wait_until_idle(fresh)
    fresh.window.bring("similarity")
    assert fresh.window.panels["similarity"].options() == {"rows": "raw"}


def test_panels_that_are_there_show_it_at_once(show_model, tmp_path, wait_until_idle, write_table):
    application = show_model(write_table())
    shape = show(application, "shape", wait_until_idle, curve="line", plotted="turning")
    path, chosen = save(application, tmp_path / "a.helix"), shape.options()
    shape.configure(curve="", plotted="distance", in_view=False)
    application.controller.open(str(path))
    wait_until_idle(application)
    assert shape.options() == chosen


def test_what_the_model_found_lacks_is_left_out(show_model, tmp_path, wait_until_idle, reopen):
    application = show_model(write_small_gpt2(tmp_path / "small"))
    panel = show(application, "kernels", wait_until_idle, sort="self")
    work = application.window.work.take()
    there = {**panel.options(), "layer": 7, "head": 9}
    write_work(replace(work, panels={"kernels": there}), path := tmp_path / "a.helix")
    panel = reopen(path).window.panels["kernels"]
    assert panel.options() == {**there, "layer": 0, "head": None}
    assert panel.result is not None


@pytest.mark.parametrize("snapshot", [None, 3], ids=["laid", "shown"])
def test_a_step_of_the_training_is_there_again(
    show_model, tmp_path, wait_until_idle, reopen, snapshot
):
    application = show_model(write_trained(tmp_path / "trained"))
    session = application.session
    show(application, "training", wait_until_idle)
    if snapshot is None:
        session.alignment = CurveAlignment(OfStep(int(session.history.steps[-4])))
        application.window.bring("norms")  # what is laid over stays, unlike what is shown
    session.snapshot = snapshot
    wait_until_idle(application)
    before = pixels(application)
    fresh = reopen(save(application, tmp_path / "a.helix"))
    assert "training" in read_work(tmp_path / "a.helix").panels
    assert fresh.session.alignment == session.alignment
    assert (fresh.session.aligned is None) is (snapshot is not None)
    assert (fresh.session.snapshot, fresh.session.timeline is None) == (snapshot, False)
    assert np.abs(pixels(fresh) - before).max() <= 3


def test_a_bookmark_has_what_is_laid_over(
    show_model, write_gpt2, write_table, helix, tmp_path, wait_until_idle
):
    application = show_model(write_gpt2())
    session, window = application.session, application.window
    add = application.controller.comparing.add
    keys = [add(str(write_table(helix(120, 16, seed), f"b{seed}"))) for seed in (9, 11)]
    wait_until_idle(application)
    session.alignment = CurveAlignment(OfCompared(keys[1]), "scaled")
    wait_until_idle(application)
    window.bookmarks.add()
    (bookmark,) = window.bookmarks.all()
    assert [other.source for other in bookmark.work.others] == [str(tmp_path / "b11.npy")]
    (in_file,) = window.bookmarks.for_file(tmp_path / "folder" / "a.helix")
    assert in_file.work.others[0].beside == "../b11.npy"
    session.alignment = None
    window.bookmarks.go_to(bookmark.key)
    wait_until_idle(application)
    assert session.alignment == CurveAlignment(OfCompared(keys[1]), "scaled")
    application.controller.comparing.remove(keys[1])
    window.bookmarks.go_to(bookmark.key)
    wait_until_idle(application)
    assert (session.alignment, session.aligned, session.notice) == (None, None, None)
    assert len(session.compared) == 1
