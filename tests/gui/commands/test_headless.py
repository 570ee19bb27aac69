"""What commands without a window share with the window."""

import pytest

from geometry.hub.tensor_cache import MAX_BYTES
from gui.commands.headless import user_cache
from gui.window.settings.settings import Settings, settings_path


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
