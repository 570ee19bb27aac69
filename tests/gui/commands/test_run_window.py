"""`helixscope open` runs the window, here in the tests' process; the wheel's has its own."""

import logging

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QImage

from geometry.hub.tensor_cache import MAX_BYTES
from gui.commands.headless import user_cache
from gui.window.main_window import MainWindow
from gui.window.settings.settings import Settings, settings_path
from tests.command_line import GPT2, assert_refused, assert_silent


@pytest.fixture
def opened(command, qapp, nothing_left_behind):
    """Run the command `open`, and take away what the end of its process would."""
    handlers, palette = logging.getLogger().handlers[:], qapp.palette()
    yield lambda *arguments: command("open", *arguments)
    for window in qapp.topLevelWidgets():
        if isinstance(window, MainWindow):
            window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    logging.captureWarnings(False)
    for handler in {*logging.getLogger().handlers} - {*handlers}:
        logging.getLogger().removeHandler(handler)
        handler.close()


@pytest.mark.slow
def test_picture_of_the_window(opened, write_gpt2, tmp_path):
    """As `make run` without a display starts it."""
    out = tmp_path / "window.png"
    assert_silent(opened(write_gpt2(), "--positions", "5-150", "--picture", out))
    picture = QImage(str(out))
    assert picture.width() >= 960
    # The curve runs through all colours of its map; an empty viewport has one.
    colors = {picture.pixelColor(x, y).name() for x in range(300, picture.width() - 300, 2)
              for y in range(40, picture.height() - 280, 2)}  # fmt: skip
    assert len(colors) > 50


@pytest.mark.slow
def test_what_cannot_be_opened_or_written(opened, write_gpt2):
    done = opened(write_gpt2(), "--picture", "no/such/folder.png")
    assert_refused(done, "folder.png cannot be written: No such file")
    assert_refused(opened("nowhere", "--picture", "window.png"))


@pytest.mark.slow
def test_a_model_of_the_hub(opened, loopback_hub, gpt2_commit, tmp_path):
    out, again = tmp_path / "window.png", tmp_path / "again.png"
    assert_silent(opened(GPT2, "--picture", out))
    assert out.read_bytes().startswith(b"\x89PNG")
    loopback_hub.forget_requests()
    assert_silent(opened(GPT2, "--offline", "--picture", again))
    assert again.exists()
    assert loopback_hub.requests == []
    missing = opened("nobody/nothing", "--picture", tmp_path / "nothing.png")
    assert_refused(missing, "no model nobody/nothing")
    assert not (tmp_path / "nothing.png").exists()


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Settings(settings_path())


def test_the_bound_that_was_set_in_the_window_holds(settings):
    assert user_cache().max_bytes == MAX_BYTES
    settings.cache_limit = 123_000_000
    settings.sync()
    assert user_cache().max_bytes == 123_000_000


@pytest.mark.parametrize("content", ["", "no section", "[network]\ncache_limit=much\n", "\x00[="])
@pytest.mark.parametrize("suffix", [".json", ".ini"])
def test_settings_that_cannot_be_read(settings, content, suffix):
    file = settings_path().with_suffix(suffix)
    file.parent.mkdir(exist_ok=True)
    file.write_text(content, "utf-8")
    assert user_cache().max_bytes == MAX_BYTES
    assert file.read_text("utf-8") == content  # to be put aside by the window, which reports it
