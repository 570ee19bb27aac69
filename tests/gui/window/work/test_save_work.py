"""Saving work from the window, and opening it in a fresh one."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from geometry.models.sources import opening
from geometry.models.sources.source import Source
from gui.export.save_picture import PictureOptions
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfOther, OfStep
from gui.state.work import OtherView
from gui.window.settings.settings import Settings
from gui.window.work.save_work import SLOT
from gui.window.work.unsaved_work import SLOT as UNSAVED
from gui.window.work.unsaved_work import UnsavedWork
from tests.gui.dialogs import answer_file, press_key
from tests.gui.services.work_files.test_work_file import same
from tests.gui.training_stage import write_trained
from tests.small_models import write_small_gpt2

CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def pixels(application):
    """The viewport as it would be saved."""
    image = application.window.pictures.picture(PictureOptions(scale=1))
    image = image.convertToFormat(image.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def check_same(after, before):
    assert after.shape == before.shape
    assert np.abs(after - before).max() <= 3


def save(application, path):
    application.window.work._write(path)
    application.jobs.deliver(f"{SLOT} {path}", 60_000)
    return path


@pytest.fixture
def fresh_settings(tmp_path):
    return Settings(tmp_path / "fresh" / "settings.json")


@pytest.fixture
def three(start_application, write_gpt2, write_table, helix, wait_until_idle):
    """Open a window of its own with "long", tiny-gpt2 and "short" in it, and the key of "long"."""

    def opened():
        application = start_application(write_gpt2())
        add = application.controller.comparing.add
        long = add(str(write_table(helix(300, 20, seed=11), "long")), (20, 250), (2, 1, 3))
        add(str(write_table(helix(120, 16, seed=9), "short")))
        wait_until_idle(application)
        application.controller.comparing.move(0, 1)
        return application, long

    return opened


@pytest.mark.slow
@pytest.mark.parametrize("linked", [True, False])
def test_a_fresh_window_shows_the_same_pixels(
    start_application, three, tmp_path, wait_until_idle, qtbot, monkeypatch, linked, fresh_settings
):
    application, long = three()
    session, window = application.session, application.window
    session.change(selection=(20, 21), color_by="norm", outside="faint", prompt="hello my name")
    session.change(positions=(4, 120), cameras_linked=linked)
    wait_until_idle(application)
    window.viewport.camera.view("isometric")
    wait_until_idle(application)
    window.viewport.camera.zoom(1.6)
    window.grid.cells[long].viewport.camera.zoom(1.4)
    window.bring("spectra")
    wait_until_idle(application)
    before = pixels(application)
    path = tmp_path / "three.helix"
    answer_file(monkeypatch, path)
    press_key(qtbot, window, Qt.Key.Key_S, CONTROL_ALT)
    wait_until_idle(application)
    assert session.status == f"Saved {path}"
    application.close()
    fresh = start_application(path, settings=fresh_settings)
    wait_until_idle(fresh)
    names = [cell.name.text() for cell in fresh.window.grid.shown_cells]
    assert names == ["long", "tiny-gpt2", "short"]
    other = fresh.session.others[0].session
    assert (other.positions, other.components) == ((20, 250), (2, 1, 3))
    assert fresh.session.cameras_linked is linked
    check_same(pixels(fresh), before)
    assert fresh.window.panels["spectra"].isVisible()
    assert fresh.session.notice is None


@pytest.mark.slow
def test_save_asks_path_once(application, settle, qtbot, tmp_path, monkeypatch, write_table):
    session, work = application.session, application.window.work

    def press(key):
        press_key(qtbot, application.window, key, CONTROL_ALT)
        settle()

    answer_file(monkeypatch, tmp_path / "nowhere" / "mine.helix")
    press(Qt.Key.Key_S)
    assert "cannot be written" in session.notice.text
    assert work.file is None
    answer_file(monkeypatch, path := tmp_path / "mine.helix")
    press(Qt.Key.Key_S)
    assert read_work(path).fields["selection"] == ()
    session.selection = (9,)
    with monkeypatch.context() as unasked:
        unasked.setattr(QFileDialog, "exec", lambda _: pytest.fail("it asked"))
        press(Qt.Key.Key_S)
    assert read_work(path).fields["selection"] == (9,)
    application.controller.open(str(write_table()))
    application.jobs.deliver("open", 20_000)
    assert work.file is None
    press(Qt.Key.Key_O)
    assert session.selection == (9,)
    assert work.file == path
    assert Source.parse(str(path)) in session.recent


@pytest.fixture
def slow(monkeypatch):
    """Let every model but tiny-gpt2 wait until this is set."""
    gate, open_model = threading.Event(), opening.open_model

    def open_later(source, **how):
        assert "tiny-gpt2" in source.text or gate.wait(60)
        return open_model(source, **how)

    monkeypatch.setattr(opening, "open_model", open_later)
    yield gate
    gate.set()


@pytest.mark.slow
def test_saving_while_models_are_still_being_read_forgets_none(
    start_application, three, tmp_path, wait_until_idle, slow, qtbot, fresh_settings
):
    slow.set()
    application, long = three()
    application.session.alignment = CurveAlignment(OfOther(long))
    wait_until_idle(application)
    path = save(application, tmp_path / "three.helix")
    before = read_work(path)
    assert len(before.others) == 2
    application.close()
    slow.clear()
    fresh = start_application(path, settings=fresh_settings, wait=False)
    qtbot.waitUntil(lambda: fresh.session.work is not None)
    assert fresh.controller.comparing.opened == ()
    fresh.window.work.save()
    fresh.jobs.deliver(f"{SLOT} {path}", 60_000)
    fresh.findChild(UnsavedWork).keep()
    fresh.jobs.deliver(UNSAVED, 60_000)
    assert fresh.session.notice is None
    (kept,) = fresh.settings.unsaved.glob("*.helix")
    for file in (path, kept):
        work = read_work(file)
        assert (work.alignment, work.main_at) == (before.alignment, before.main_at)
        where = [one.beside for one in before.others] if file == path else ["", ""]
        for one, other, there in zip(work.others, before.others, where, strict=True):
            assert same(one, replace(other, beside=there))
    slow.set()
    wait_until_idle(fresh)
    fresh.window.work.save()
    fresh.jobs.deliver(f"{SLOT} {path}", 60_000)
    for one, other in zip(read_work(path).others, before.others, strict=True):
        assert (one.source, one.positions) == (other.source, other.positions)
        np.testing.assert_allclose(one.place.pose.position, other.place.pose.position)


def test_loading_model_is_saved_as_asked(application, write_table, tmp_path, settle, slow):
    table = str(write_table())
    application.controller.comparing.add(table, in_grid=False, components=(2, 3, 1))
    path = tmp_path / "mine.helix"
    save(application, path)
    assert application.session.notice is None
    (other,) = read_work(path).others
    beside = os.path.basename(table)
    assert same(other, OtherView(Source.parse(table), None, (2, 3, 1), beside, in_grid=False))
    application.findChild(UnsavedWork).keep()
    application.jobs.deliver(UNSAVED, 60_000)
    (kept,) = application.settings.unsaved.glob("*.helix")
    assert same(read_work(kept).others[0], replace(other, beside=""))
    slow.set()
    settle()
    application.window.work.save()
    settle()
    (read,) = read_work(path).others
    assert (read.source.text, read.components, read.positions) == (table, (2, 3, 1), (1, 199))
    application.controller.comparing.clear()
    save(application, tmp_path / "alone.helix")
    assert read_work(tmp_path / "alone.helix").others == ()


def test_a_project_with_another_current_model_opens_the_same(
    application, write_table, helix, tmp_path, settle
):
    session, comparing = application.session, application.controller.comparing
    keys = [comparing.add(str(write_table(helix(n), f"of {n}"))) for n in (60, 80)]
    settle()
    assert comparing.make_current(keys[0])

    def shown():
        models = [(one.name, one.color, one.session.positions) for one in session.open_models]
        return models, session.model.name

    before = shown()
    save(application, tmp_path / "three.helix")
    comparing.make_current(keys[1])
    comparing.clear()
    application.controller.open(str(tmp_path / "three.helix"))
    settle()
    assert shown() == before
    assert not application.window.work.changes.any


@pytest.mark.slow
def test_the_view_that_fills_the_grid_does_so_again(application, write_table, tmp_path, settle):
    grid, comparing = application.window.grid, application.controller.comparing
    first = application.session.current_key
    other = comparing.add(str(write_table(name="other")))
    settle()
    files = {key: tmp_path / f"{key}.helix" for key in (first, other, None)}
    for key, file in files.items():
        grid.show_alone(key)
        save(application, file)
    assert [read_work(file).alone for file in files.values()] == [0, 1, None]
    for key, file in files.items():
        application.controller.open(str(file))
        settle()
        (compared,) = application.session.others
        current = application.session.current_key
        assert grid.alone == {first: current, other: compared.key, None: None}[key]


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


def show(application, name, wait_until_idle, **options):
    """Bring a panel to the front, and choose in it."""
    application.window.bring(name)
    wait_until_idle(application)
    application.window.panels[name].configure(**options)
    wait_until_idle(application)
    return application.window.panels[name]


@pytest.mark.slow
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
    session.alignment = CurveAlignment(OfOther(key), "scaled", mirrored=False)
    wait_until_idle(application)
    assert session.guides.keys() == {"shape", "lookback", "laid"}
    before = pixels(application)
    assert np.abs(before - bare).max() > 30
    path = save(application, tmp_path / "drawn.helix")
    fresh = reopen(path)
    after = pixels(fresh)
    check_same(after, before)
    assert fresh.session.guides.keys() == {"shape", "lookback", "laid"}
    shown = [after]
    for name in ("shape", "lookback"):  # each can be seen in it
        fresh.window.panels[name].configure(in_view=False)
        wait_until_idle(fresh)
        shown.append(pixels(fresh))
        assert np.abs(shown[-1] - shown[-2]).max() > 30


@pytest.mark.slow
def test_panel_restores_when_first_seen(show_model, tmp_path, wait_until_idle, reopen):
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
    kept = read_work(path).panels
    assert (kept["kernels"], kept["lookback"]) == (chosen, lookback)
    window.bring("kernels")
    wait_until_idle(fresh)
    panel = window.panels["kernels"]
    assert panel.options() == chosen
    assert (panel.result.of.layer, panel.result.head) == (1, 1)
    assert list(fresh.session.guides) == ["kernels"]
    # What the model found lacks is left out.
    lacked = {**chosen, "layer": 7, "head": 9}
    write_work(replace(window.work.take(), panels={"kernels": lacked}), path)
    panel = reopen(path).window.panels["kernels"]
    assert panel.options() == {**chosen, "layer": 0, "head": None}
    assert panel.result is not None


@pytest.mark.slow
def test_open_panels_restore_at_once(show_model, tmp_path, wait_until_idle, reopen, write_table):
    application = show_model(write_table())
    show(application, "similarity", wait_until_idle, rows="projected")
    shape = show(application, "shape", wait_until_idle, curve="line", plotted="turning")
    path, chosen = save(application, tmp_path / "a.helix"), shape.options()
    shape.configure(curve="", plotted="distance", in_view=False)
    application.controller.open(str(path))
    wait_until_idle(application)
    assert shape.options() == chosen
    fresh = reopen(path)
    assert "similarity" not in fresh.window.panels
    fresh.controller.open(str(write_table(None, "another")))
    wait_until_idle(fresh)
    fresh.window.bring("similarity")
    assert fresh.window.panels["similarity"].options()["rows"] == "raw"


@pytest.mark.slow
@pytest.mark.parametrize("snapshot", [None, 3], ids=["laid", "shown"])
def test_training_step_is_restored(show_model, tmp_path, wait_until_idle, reopen, snapshot):
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
    check_same(pixels(fresh), before)


@pytest.mark.slow
def test_a_bookmark_has_what_is_laid_over(
    show_model, write_gpt2, write_table, helix, tmp_path, wait_until_idle
):
    application = show_model(write_gpt2())
    session, window = application.session, application.window
    add = application.controller.comparing.add
    keys = [add(str(write_table(helix(120, 16, seed), f"b{seed}"))) for seed in (9, 11)]
    wait_until_idle(application)
    session.alignment = CurveAlignment(OfOther(keys[1]), "scaled")
    wait_until_idle(application)
    window.bookmarks.add()
    wait_until_idle(application)
    (bookmark,) = session.bookmarks
    assert [other.source.text for other in bookmark.work.others] == [str(tmp_path / "b11.npy")]
    (tmp_path / "folder").mkdir()
    (in_file,) = read_work(save(application, tmp_path / "folder" / "a.helix")).bookmarks
    assert in_file.work.others[0].beside == "../b11.npy"
    session.alignment = None
    window.bookmarks.go_to(bookmark.key)
    wait_until_idle(application)
    assert session.alignment == CurveAlignment(OfOther(keys[1]), "scaled")
    application.controller.comparing.remove(keys[1])
    window.bookmarks.go_to(bookmark.key)
    wait_until_idle(application)
    assert session.notice is None
    one, added = session.others
    assert one.key == keys[0]
    assert session.alignment == CurveAlignment(OfOther(added.key), "scaled")
    assert session.aligned.above.name == "b11"
    assert added.key not in window.grid.cells, "the views stay as they are"
