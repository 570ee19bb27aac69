"""What is remembered between starts; garbage in the file falls back to the defaults."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PySide6.QtCore import QByteArray

from geometry.hub.tensor_cache import MAX_BYTES
from gui.state.session import Session
from gui.style.theme import COLORMAPS
from gui.window.settings.settings import LEAST_CACHE, MOST_CACHE, Settings

IN_ONE_FILE = hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
REMEMBERED = ("colormap", "outside", "projection", "keep_turned", "recent", "prompt")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings.ini"


def saved(path, session):
    settings = Settings(path)
    settings.save_session(session)
    settings.sync()


def loaded(path):
    return Settings(path).new_session()


def remembered(session):
    return {name: getattr(session, name) for name in REMEMBERED}


def test_everything_comes_back_and_so_do_bare_commas_of_a_file_edited_by_hand(path):
    session = Session(
        colormap="viridis", outside="faint", projection="parallel", keep_turned=True,
        recent=("/models/a, b", "openai-community/gpt2"), prompt="Hello, “Adam” = 100 %;",
    )  # fmt: skip
    saved(path, session)
    assert remembered(loaded(path)) == remembered(session)
    assert Settings(path).last_source == "/models/a, b"
    path.write_text("[General]\nprompt=Hello, my name\n[model]\nrecent=a\n", "utf-8")
    assert (loaded(path).prompt, loaded(path).recent) == ("Hello, my name", ("a",))


@given(
    recent=st.lists(st.text(st.characters(exclude_categories=("Cs",))), max_size=4),
    prompt=st.text(st.characters(exclude_categories=("Cs",))),
)
@IN_ONE_FILE
def test_any_text_comes_back(path, recent, prompt):
    recent = tuple(r for r in recent if r)
    saved(path, Session(recent=recent, prompt=prompt))
    session = loaded(path)
    assert (session.recent, session.prompt) == (recent, prompt)
    assert Settings(path).last_source == (recent[0] if recent else "")


@pytest.mark.parametrize("limit", [LEAST_CACHE, 1_234_000_000, MOST_CACHE])
def test_what_is_said_about_the_network_is_remembered_unless_it_is_no_limit(path, limit):
    for offline in (True, False):
        settings = Settings(path)
        settings.offline, settings.cache_limit = offline, limit
        settings.sync()
        again = Settings(path)
        session = again.new_session()
        assert (again.offline, session.offline, again.cache_limit) == (offline, offline, limit)
    none = "much", "", "-1", "0", LEAST_CACHE - 1, MOST_CACHE + 1, "1e9", "nan", "9" * 99
    for text in none:
        path.write_text(f"[network]\noffline=perhaps\ncache_limit={text}\n", "utf-8")
        assert (Settings(path).offline, Settings(path).cache_limit) == (False, MAX_BYTES)


def test_the_theme_and_a_layout_of_this_version_are_remembered(path):
    for theme in ("dark", "light", "system"):
        settings = Settings(path)
        settings.theme = theme
        settings.layout = layout = QByteArray(b"\x00\x01geometry\xff"), QByteArray(b"state;=,\n")
        settings.sync()
        assert (Settings(path).theme, Settings(path).layout) == (theme, layout)
    path.write_text(path.read_text("utf-8").replace("version=", "version=9"), "utf-8")
    assert Settings(path).layout is None


GARBAGE = (
    None,  # the first start
    "",
    "not an ini file at all",
    "[view]\ncolormap=vomit\noutside=9\nprojection=\nkeep_turned=perhaps\n",
    "[view]\ncolormap=jet, turbo\noutside=@Invalid()\nprojection=@ByteArray(x)\n",
    "[look]\ntheme=@Rect(1 2 3 4)\n[model]\nrecent=@Rect(1 2 3 4)\nlast=@Invalid()\n",
    "[General]\nprompt=@Invalid()\n[model]\nrecent=@Invalid()\n",
    "[window]\nversion=1\ngeometry=nonsense\nstate=@Size(3 4)\n",
    "[window]\nversion=1, 2\n",
    "[network]\noffline=@Rect(1 2 3 4)\ncache_limit=1, 2\n",
    "\x00\x01\x02\xff",
)


@pytest.mark.parametrize("text", GARBAGE)
def test_nothing_and_garbage_fall_back_to_the_defaults(path, text):
    if text is not None:
        path.write_text(text, "latin-1")
    settings = Settings(path)
    assert remembered(loaded(path)) == remembered(Session())
    assert (settings.theme, settings.last_source, settings.layout) == ("system", "", None)
    assert (settings.offline, settings.cache_limit) == (False, MAX_BYTES)
    saved(path, loaded(path))
    assert remembered(loaded(path)) == remembered(Session())


@given(st.binary(max_size=300))
@IN_ONE_FILE
def test_no_file_stops_the_start(path, data):
    path.write_bytes(b"[view]\n" + data)
    session = loaded(path)
    assert session.colormap in COLORMAPS
    assert isinstance(session.prompt, str)
    assert all(isinstance(r, str) for r in session.recent)
    assert isinstance(Settings(path).last_source, str)
    assert LEAST_CACHE <= Settings(path).cache_limit <= MOST_CACHE


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    path = tmp_path / "file" / "settings.ini"
    saved(path, Session(colormap="viridis"))
    assert loaded(path).colormap == "jet"
