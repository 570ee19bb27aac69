"""Saving pictures of the viewport and the window, and copying them."""

import re
import threading

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QDialog

from gui.export import pictures, save_picture
from gui.export.pictures import PictureError
from gui.export.save_picture import PictureDialog, PictureOptions, write_picture
from gui.style.theme import LIGHT
from tests.gui.dialogs import answer_file


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def save(application, settle):
    """Save a picture, and wait until it is written."""

    def saved(out, **options):
        application.window.pictures.save(out, PictureOptions(**options))
        settle()
        return QImage(str(out))

    return saved


@pytest.mark.slow
def test_save_viewport(window, save, tmp_path):
    for scale in (1, 3):
        save(tmp_path / "gpt2-1.5", scale=scale)
        picture = QImage(str(tmp_path / "gpt2-1.5.png"))  # with the ending of its format
        assert picture.size() == window.viewport.interactor.size() * scale
        assert picture.pixelColor(2, 2) == QColor(LIGHT.viewport)
        assert picture.pixelColor(window.viewport.pixel_of(100) * scale) != QColor(LIGHT.viewport)
    picture = save(tmp_path / "helix.png", scale=1, background="transparent")
    assert picture.pixelColor(2, 2).alpha() == 0
    assert picture.pixelColor(window.viewport.pixel_of(100)).alpha() > 200


@pytest.mark.slow
def test_save_whole_window(window, save, tmp_path):
    picture = save(tmp_path / "window.png", whole_window=True, scale=2)
    assert picture.size() == window.size() * 2
    viewport = window.viewport.interactor
    at = viewport.mapTo(window, window.viewport.pixel_of(100)) * 2
    assert picture.pixelColor(at) != QColor(LIGHT.viewport)
    assert picture.pixelColor(2 * viewport.mapTo(window, QPoint(4, 4))) == QColor(LIGHT.viewport)
    assert window.pictures.save_window(tmp_path / "a.png")  # at once
    assert QImage(str(tmp_path / "a.png")).size() == window.size()
    assert not window.pictures.save_window(tmp_path / "no such folder" / "a.png")
    assert "No such file or directory" in window.notice_bar.text


def test_picture_is_saved_copied_or_cancelled(window, settle, tmp_path, monkeypatch):
    def cancelled(dialog):
        dialog.scale.buttons["4"].click()
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(PictureDialog, "exec", cancelled)
    QGuiApplication.clipboard().clear()
    window.pictures.ask()
    window.commands.by_name["copy_picture"].trigger()
    settle()
    size = window.viewport.interactor.size()
    assert QGuiApplication.clipboard().image().size() == 2 * size
    monkeypatch.setattr(PictureDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    answer_file(monkeypatch, tmp_path / "curve")
    window.commands.by_name["save_picture"].trigger()
    settle()
    assert not QImage(str(tmp_path / "curve.png")).isNull()  # with its ending
    assert window.session.status.endswith("curve.png")


def test_a_picture_has_exactly_the_size_that_was_asked_for(window, save, tmp_path):
    """In pixels or on paper; in another shape, the whole curve is still in it."""
    for pixels in ((900, 300), (301, 700)):
        picture = save(tmp_path / "helix.png", pixels=pixels, background="white")
        assert picture.size().toTuple() == pixels
        data = picture.convertToFormat(QImage.Format.Format_RGB888)
        rows = np.frombuffer(data.constBits(), np.uint8).reshape(pixels[1], -1)
        colored = np.ptp(
            rows[:, : 3 * pixels[0]].reshape(pixels[1], pixels[0], 3).astype(int), axis=2
        )
        assert (colored > 100).sum() > 400
        edges = (colored[0], colored[-1], colored[:, 0], colored[:, -1])
        assert not any((edge > 100).any() for edge in edges)
    picture = save(tmp_path / "print.png", print_mm=(84.0, 63.0), dpi=300)
    assert picture.size().toTuple() == (992, 744)
    assert picture.dotsPerMeterX() == 11811  # 300 an inch


@pytest.mark.slow
def test_the_window_saves_vectors(window, settle, tmp_path):
    def saved(kind, **options):
        window.pictures.save(tmp_path / "curve", PictureOptions(kind=kind, **options))
        settle()
        return (tmp_path / f"curve.{kind}").read_bytes()

    assert saved("pdf", pixels=(400, 300)).startswith(b"%PDF")
    text = saved("svg", print_mm=(84.0, 63.0), dpi=2400).decode()  # of which it needs none
    assert text == saved("svg", print_mm=(84.0, 63.0), dpi=300).decode()
    width, height = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', text).groups()
    assert abs(float(width) / 72 * 25.4 - 84) < 0.05
    assert abs(float(height) / 72 * 25.4 - 63) < 0.05
    points = text.count("<use")
    assert points >= window.session.positions[1] - window.session.positions[0]


def test_a_picture_that_cannot_be_written_or_drawn_says_why(window, save, tmp_path):
    save(tmp_path / "no such folder" / "a.png")
    assert "cannot be written" in window.notice_bar.text
    assert "No such file or directory" in window.notice_bar.text
    save(tmp_path / "a.png", whole_window=True, scale=20_000)
    assert "too large" in window.notice_bar.text
    out = tmp_path / "b.png"
    out.write_bytes(b"before")
    with pytest.raises(PictureError, match=r"cannot be written: Image is empty"):
        write_picture(QImage(), out)
    assert out.read_bytes() == b"before"
    assert list(tmp_path.glob("*.png")) == [out]


@pytest.mark.slow
def test_window_is_usable_while_a_picture_is_written(application, qtbot, tmp_path, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(image, out):
        begun.set()
        assert go_on.wait(30)
        write_picture(image, out)

    monkeypatch.setattr(save_picture, "write_picture", slowly)
    out, late = tmp_path / "helix.png", tmp_path / "late.png"
    application.window.pictures.save(out, PictureOptions(scale=1))
    qtbot.waitUntil(begun.is_set)
    assert application.session.status != f"Saved {out}"
    assert not out.exists()
    go_on.set()
    qtbot.waitUntil(lambda: application.session.status == f"Saved {out}")
    assert not QImage(str(out)).isNull()
    go_on.clear()
    application.window.pictures.save(late, PictureOptions(scale=1))
    threading.Timer(0.1, go_on.set).start()
    application.close()
    assert not QImage(str(late)).isNull()


@pytest.mark.slow
def test_unpainted_view_is_in_the_picture(application, window, settle, write_table, helix, qtbot):
    window.grid.setUpdatesEnabled(False)
    application.controller.comparing.add(str(write_table(helix(90, 8, seed=2), "beside")))
    qtbot.waitUntil(lambda: application.session.jobs == 0)
    (beside,) = (c.viewport for c in window.grid.shown_cells if c.viewport is not window.viewport)
    assert beside.scene.state is None
    window.commands.by_name["copy_picture"].trigger()
    qtbot.waitUntil(lambda: not window.pictures.busy)
    assert window.session.notice is None
    picture = QGuiApplication.clipboard().image()
    assert not picture.isNull()
    assert len(beside.scene.displayed) == 90
    window.grid.setUpdatesEnabled(True)
    settle()


@pytest.mark.slow
def test_events_during_a_large_picture(application, window, settle, save, tmp_path, monkeypatch):
    """Tile by tile; the pictures show what was there when they were asked for."""
    application.controller.comparing.add("synthetic:helix,n=60,d=16,turns=2,climb=0.3")
    settle()
    options = {"scale": 2}
    monkeypatch.setattr(pictures, "TILE", 40_000)
    expected = window.pictures.picture(PictureOptions(**options))
    steps, turns = [], []
    draw = pictures.OffScreen._draw_tile
    monkeypatch.setattr(
        pictures.OffScreen, "_draw_tile", lambda *at, **how: steps.append(1) or draw(*at, **how)
    )
    ticks = QTimer(interval=0)
    ticks.timeout.connect(lambda: turns.append(len(steps)))
    ticks.start()
    window.pictures.save(tmp_path / "two.png", PictureOptions(**options))
    window.pictures.save(tmp_path / "one.png", PictureOptions(**options))
    assert window.pictures.busy
    assert not application.idle
    assert len(steps) == 2  # the first step of both, with what they show
    application.controller.comparing.clear()
    settle()
    assert len(steps) > 20
    assert len(set(turns)) > len(steps) / 2
    for name in ("one", "two"):
        image = QImage(str(tmp_path / f"{name}.png"))
        assert image == expected.convertToFormat(image.format())


@pytest.mark.slow
def test_equal_views_are_drawn_by_one_scene(window, application, settle, monkeypatch):
    """To make a scene takes longer than to draw a view."""
    application.controller.comparing.add_all(
        [f"synthetic:helix,n={n},d=16,turns=2,climb=0.3" for n in range(60, 110, 10)]
    )
    settle()
    made = []

    class Counted(pictures.OffScreen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self)

    monkeypatch.setattr(pictures, "OffScreen", Counted)
    options = PictureOptions(scale=1)
    together = window.pictures.picture(options)
    sizes = {viewport.size().toTuple() for viewport in window.grid.viewports}
    assert len(made) == len(sizes) < len(window.grid.viewports)
    window.pictures.vectors(options)
    assert len(made) == 2 * len(sizes)
    of = pictures.OffScreens.of

    def anew(stages, *args, **kwargs):
        stages._made.clear()
        return of(stages, *args, **kwargs)

    monkeypatch.setattr(pictures.OffScreens, "of", anew)
    assert window.pictures.picture(options) == together
    for one in made:
        one.close()
