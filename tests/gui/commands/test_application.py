"""The application as a whole: it starts, shows what it was asked for, and goes away."""

import re
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QScreen
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QLabel

from geometry.models.sources.source import Source
from gui.commands import application as application_module
from gui.commands.run_window import _report
from gui.export.save_picture import PictureOptions
from gui.services.work_files.work_file import write_work
from gui.state.camera import CameraPose, Place
from gui.state.values import sizes_on_screen
from gui.state.work import OtherView, Work
from gui.style.theme import THEMES
from gui.viewport import viewport as viewport_module
from gui.window.empty_state import WELCOME
from gui.window.main_window import MainWindow


def test_starts_with_the_source_painted_and_leaves_nothing(application):
    session = application.session
    assert session.notice is None
    assert session.model.name == "tiny-gpt2"
    assert session.curve.pca.exact
    assert application.window.viewport.scene.state.positions == (1, 199)
    assert application.window.windowTitle() == "tiny-gpt2 – Helixscope"


def test_can_be_closed_twice_and_by_its_window(application):
    application.window.close()
    application.close()
    application.close()
    assert application.session.jobs == 0


@pytest.mark.slow
def test_models_of_all_sizes_follow_each_other(
    start_application, wait_until_idle, write_table, write_gpt2, helix
):
    """Everything is on that could keep something of the model before."""
    application = start_application(write_gpt2())
    session, controller = application.session, application.controller
    session.outside, session.prompt = "faint", "hello my name is adam"
    session.color_component, session.color_by = 5, "component"
    controller.select((199, 3, 150, 198))
    session.hover = 198
    wait_until_idle(application)
    for n_positions, d_model in ((4, 6), (1, 3), (300, 160), (2, 1), (60, 24)):
        table = np.random.default_rng(1).normal(size=(n_positions, d_model))
        folder = write_gpt2(f"m{n_positions}", table)
        controller.open(str(folder))
        wait_until_idle(application)
        assert session.notice is None
        assert session.model.n_positions == n_positions
        controller.select((0, n_positions - 1))
        session.hover = n_positions - 1
        wait_until_idle(application)
        assert application.window.viewport.scene.state.positions == session.positions


HEAPS = """
import ctypes, sys, threading
from gui.commands.application import _share_one_heap

_share_one_heap()
library = ctypes.CDLL(None)
library.fopen.restype = library.malloc.restype = ctypes.c_void_p
together = threading.Barrier(20)

def allocate():
    block = ctypes.c_void_p(library.malloc(2000))
    together.wait()
    library.free(block)

threads = [threading.Thread(target=allocate) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(library.fopen(b"/dev/stdout", b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_threads_have_no_heaps_of_their_own(run_python):
    """What they have freed would stay there in fragments."""
    assert run_python(HEAPS).count("<heap ") == 1
    # Without it nearly every thread has one.
    assert run_python(HEAPS.replace("\n_share_one_heap()\n", "\n")).count("<heap ") > 5


LARGE = """
import ctypes
from gui.commands.application import _share_one_heap

_share_one_heap()
library = ctypes.CDLL(None)
library.fopen.restype = library.malloc.restype = ctypes.c_void_p
for _ in range(2):  # glibc raises its threshold when the first one is freed
    block = ctypes.c_void_p(library.malloc(6_000_000))
    library.free(block)
file = ctypes.c_void_p(library.fopen(b"/dev/stdout", b"w"))
library.malloc_info(0, file)
library.malloc(6_000_000)
library.malloc_info(0, file)
library.fclose(file)
"""


def grown_outside(told: str) -> int:
    """By how many bytes the blocks outside the heap have grown between both reports."""
    before, after = re.findall(r'<total type="mmap" count="\d+" size="(\d+)"', told)
    return int(after) - int(before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_large_blocks_are_outside_the_heap(run_python, monkeypatch):
    """In it they would leave holes between what stays."""
    # Dask leaves it in the environment. With it glibc never raises its threshold.
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert grown_outside(run_python(LARGE)) >= 6_000_000
    # Without it they are inside once one of their size has been freed.
    assert grown_outside(run_python(LARGE.replace("\n_share_one_heap()\n", "\n"))) < 6_000_000


@pytest.mark.slow
def test_settings_layout_and_model_come_back(start_application, write_gpt2, settings, qtbot):
    folder = write_gpt2()
    first = start_application(folder)
    first.session.colormap, first.session.outside = "viridis", "faint"
    first.session.prompt = "hello adam"
    first.choose_theme("dark")
    first.window.resize(1100, 760)
    first.window.docks["inspector"].hide()
    first.window.close()
    second = start_application(None)
    session = second.session
    assert session.model.name == "tiny-gpt2"
    assert (session.colormap, session.outside, session.prompt) == ("viridis", "faint", "hello adam")
    assert session.tokens.texts[1:] == ("hello", "adam")
    assert second.theme.name == "dark"
    assert second.window.commands.by_name["theme_dark"].isChecked()
    assert not second.window.docks["inspector"].isVisible()
    assert second.window.docks["models"].isVisible()
    assert (second.window.width(), second.window.height()) == (1100, 760)


def test_the_first_start_shows_the_bundled_model(start_application, settings):
    application = start_application(None, offline=True)
    session = application.session
    assert (session.model.source.text, session.positions) == ("sample", (1, 254))
    assert session.notice is None
    assert application.window.viewport.scene.state.positions == (1, 254)
    (line,) = application.window.built_panels["models"].list.open_lines()
    assert (line.source, line.title) == ("sample", "Helixscope sample")
    application.window.close()
    assert settings.last_source == "sample"


@pytest.mark.parametrize("greets", [True, False])
def test_first_start_ever_turns_once(start_application, qtbot, greets):
    application = start_application("sample", offline=True, greets=greets, wait=False)
    with qtbot.waitSignal(application.ready):
        pass
    turn = application.window.viewport.camera._moves._round
    assert (turn.state() == turn.State.Running) is greets
    application.session.selection = (3,)
    application.window.cancel()  # with Esc what moves stops first
    assert turn.state() == turn.State.Stopped
    assert application.session.selection == ((3,) if greets else ())


@pytest.mark.parametrize("greets", [True, False])
def test_first_sizes_grow_with_the_screen(start_application, qtbot, monkeypatch, greets):
    geometry = QRect(0, 0, 2560, 1440)
    monkeypatch.setattr(QScreen, "geometry", lambda _: geometry)
    application = start_application("sample", offline=True, greets=greets, wait=False)
    with qtbot.waitSignal(application.ready):
        pass
    session = application.session
    assert (session.line_width, session.point_size) == ((1.9, 8.9) if greets else (1.5, 7.0))
    assert sizes_on_screen(800) == sizes_on_screen(900) == (1.5, 7.0)
    assert sizes_on_screen(10_000) == (2.4, 11.2)


def test_an_empty_start_explains_itself(start_application, monkeypatch):
    monkeypatch.setattr("geometry.models.sources.local_models._in_package", lambda entry: None)
    application = start_application(None)
    window = application.window
    assert application.session.model is None
    assert application.session.notice is None
    assert window.empty_state.isVisible()
    assert window.empty_state.title.text() == WELCOME
    for name in ("frame", "save_picture"):
        assert not window.commands.by_name[name].isEnabled()


def test_can_be_closed_while_a_model_is_being_opened(start_application, qtbot, monkeypatch):
    begun, released = threading.Event(), threading.Event()

    def slow(source, *, table=None, network=None):
        begun.set()
        assert released.wait(10)
        raise AssertionError("nobody hears of this")

    monkeypatch.setattr("geometry.models.sources.opening.open_model", slow)
    application = start_application("a/model", wait=False)
    assert begun.wait(10)
    assert application.window.isVisible()
    qtbot.waitUntil(lambda: application.session.opening == Source.parse("a/model"), timeout=10_000)
    threading.Timer(0.05, released.set).start()
    application.close()
    assert application.session.notice is None


@pytest.mark.slow
def test_the_theme_reaches_qt_vtk_and_the_panels(application, wait_until_idle, qapp):
    for choice in ("dark", "light"):
        application.choose_theme(choice)
        wait_until_idle(application)
        theme = THEMES[choice]
        window = application.window
        picture = window.pictures.picture(PictureOptions(scale=1)).pixelColor(2, 2).name()
        assert picture == theme.viewport
        assert qapp.palette().window().color().name() == theme.panel
        assert window.viewport.scene.theme == theme
        assert all(panel.theme == theme for panel in window.panels.values())
        assert application.settings.theme == choice
        grabbed = window.panels["inspector"].grab().toImage().pixelColor(3, 3).name()
        assert grabbed == theme.panel


def test_the_theme_that_is_there_is_not_applied_again(application, monkeypatch, qapp):
    applied = []
    monkeypatch.setattr(application_module, "dress", lambda _, theme: applied.append(theme.name))
    checked = application.window.commands.by_name
    application.choose_theme("light")  # as the system's
    assert not applied
    assert checked["theme_light"].isChecked()
    assert not checked["theme_system"].isChecked()
    application.choose_theme("dark")
    application.choose_text_size(application.settings.text_size)
    assert applied == ["dark"]


def test_an_uncaught_error_is_a_notice_and_a_log(application, caplog):
    try:
        raise ZeroDivisionError("nowhere")
    except ZeroDivisionError as error:
        _report(application.session, type(error), error, error.__traceback__)
    notice = application.session.notice
    assert notice.text == "Something went wrong: ZeroDivisionError: nowhere"
    assert "test_application.py" in notice.details
    assert "uncaught" in caplog.text


def test_workers_never_write_the_session(start_application, write_gpt2, wait_until_idle):
    """Every change of the session is told of on the GUI thread."""
    application = start_application(write_gpt2())
    threads = set()
    application.session.events.connect(lambda _: threads.add(threading.current_thread()))
    application.session.prompt = "hello adam"
    application.controller.request_positions(5, 150)
    application.controller.open(str(write_gpt2("other")))
    wait_until_idle(application)
    assert threads == {threading.main_thread()}


def test_curve_is_drawn_before_panels(application, wait_until_idle, write_table, helix):
    session, swapped = application.session, []
    interactor = application.window.viewport.interactor
    interactor.frameSwapped.connect(lambda: swapped.append(session.model))
    seen = []
    session.events.model.connect(lambda model: seen.append(swapped[-1:] == [model]))
    application.controller.open(str(write_table(helix(80), "other")))
    wait_until_idle(application)
    assert session.model.name == "other"
    assert seen == [True]


def shown_nowhere(window):
    window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    window.setVisible(True)


def test_nothing_waits_for_ever_for_a_frame(
    start_application, write_gpt2, wait_until_idle, qtbot, monkeypatch, capsys
):
    """As a compositor that is asleep sends none."""
    ready = []
    monkeypatch.setattr(application_module, "NO_FRAME_S", 1)
    monkeypatch.setattr(MainWindow, "show", shown_nowhere)
    application = start_application(write_gpt2(), wait=False)
    application.ready.connect(lambda: ready.append(True))
    wait_until_idle(application)
    assert ready == [True]
    assert application.window.built_panels
    assert "display" in application.session.notice.text
    assert "display" in capsys.readouterr().err
    monkeypatch.undo()  # it wakes up
    application.window.hide()
    application.window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen, on=False)
    application.window.show()
    qtbot.waitUntil(lambda: application.session.notice is None)
    wait_until_idle(application)
    assert application.window.viewport.idle


def test_grid_alone_keeps_frame(start_application, wait_until_idle, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(application_module, "NO_FRAME_S", 1)
    other = OtherView(Source.parse("sinusoidal:64x16"), (0, 63), (1, 2, 3))
    project = tmp_path / "alone.helix"
    write_work(
        Work(Source.parse("sinusoidal:32x16"), (0, 31), {}, others=(other,), alone=1), project
    )
    application = start_application(project, wait=False)
    wait_until_idle(application)
    assert not application.window.viewport.isVisible()
    assert application.window.built_panels
    assert application.session.notice is None
    assert "frame" not in capsys.readouterr().err


def place_from(*position):
    pose = CameraPose(np.array(position), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
    return Place(pose, follows=False)


@pytest.mark.slow
def test_cameras_of_hidden_views_are_kept(start_application, wait_until_idle, tmp_path):
    main, first, second = (place_from(*v) for v in ((9.0, 1, 2), (-7.0, 5, 3), (4.0, -8, 1)))
    others = tuple(
        OtherView(Source.parse("sinusoidal:64x16"), (0, 63), (1, 2, 3), place=p)
        for p in (first, second)
    )
    project = tmp_path / "alone.helix"
    fields = {"cameras_linked": False}
    write_work(
        Work(Source.parse("sinusoidal:32x16"), (0, 31), fields, place=main, others=others, alone=1),
        project,
    )
    application = start_application(project, wait=False)
    wait_until_idle(application)
    window = application.window
    taken = window.work.take()
    for place, shown in zip((main, second), (taken.place, taken.others[1].place), strict=True):
        np.testing.assert_allclose(shown.pose.position, place.pose.position)
    window.grid.show_alone(None)
    wait_until_idle(application)
    taken = window.work.take()
    for place, shown in zip((main, second), (taken.place, taken.others[1].place), strict=True):
        direction = place.pose.position / np.linalg.norm(place.pose.position)
        seen = shown.pose.position - shown.pose.focal_point
        np.testing.assert_allclose(seen / np.linalg.norm(seen), direction, atol=1e-6)


def test_sentence_without_opengl(start_application, write_gpt2, wait_until_idle, monkeypatch):
    for module in (application_module, viewport_module):
        monkeypatch.setattr(module, "missing_opengl", lambda: "There is no OpenGL.")
    application = start_application(write_gpt2())
    window = application.window
    (sentence,) = [one for one in window.viewport.findChildren(QLabel) if one.isVisible()]
    assert sentence.text().startswith("There is no OpenGL.")
    assert not window.findChildren(QOpenGLWidget)
    assert not application.window.empty_state.isVisible()
    # The panels work.
    application.controller.request_positions(5, 150)
    window.commands.by_name["sphere"].trigger()
    window.focus_on("positions")
    wait_until_idle(application)
    assert application.session.curve.pca.positions == (5, 150)


def test_the_camera_is_kept_for_the_last_model(start_application, settings, qtbot):
    application = start_application("sample", offline=True)
    camera = application.window.viewport.camera
    application.window.keep_settings()
    assert settings.camera is None  # the curve is framed as at first
    pose = camera.place.pose
    camera.stand_at(replace(pose, position=pose.focal_point + 0.5 * (pose.up + np.ones(3))))
    qtbot.waitUntil(lambda: not camera.easing)
    kept = camera.outlook.numbers
    application.window.close()
    again = start_application(None, offline=True)
    found = again.window.viewport.camera.outlook.numbers
    np.testing.assert_allclose(found[:6], kept[:6], atol=1e-3)
    assert found[6] == pytest.approx(kept[6], rel=0.1)  # the view may have another shape
    again.window.close()
    other = start_application("sample-plain", offline=True)
    assert not np.allclose(other.window.viewport.camera.outlook.numbers[:6], kept[:6], atol=1e-2)


@pytest.mark.parametrize(
    "numbers",
    [[], [1.0] * 11, [0.0] * 11, [1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0],
     [1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0, 1, 1, 1e300, 0, 0], ["x"], "x", None],
)  # fmt: skip
def test_a_kept_camera_that_sees_nothing_is_left_out(settings, numbers):
    settings._set("view/camera", numbers)
    assert settings.camera is None
