"""What is remembered between starts; garbage in the file falls back to the defaults."""

import json
import random
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from geometry.hub.tensor_cache import MAX_BYTES
from geometry.models.sources.source import Source
from gui.state.layout import Floating, Layout, Split, Tabs, WindowPlace
from gui.state.session import REMEMBERED, Session
from gui.state.values import FirstRange
from gui.style.theme import COLORMAPS, TEXT_SIZES
from gui.window.settings.settings import MAX_CACHE, MIN_CACHE, Settings

IN_ONE_FILE = hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings.json"


OTHER_LOOK = {"colormap": "viridis", "cyclic_colormap": "batlow", "color_span": "table"}
OTHER_LOOK |= {"outside": "faint", "projection": "parallel", "curve_parts": "points"}
OTHER_LOOK |= {"line_width": 3.5, "point_size": 12.0, "opacity": 0.25, "keep_turned": True}
KEPT = (*OTHER_LOOK, "recent", "prompt", "folders", "compare_columns", "surveys")
"""Fields of a session."""
LAYOUT = Layout(
    {"left": Split("column", (Tabs(("a",), "a", 40), Tabs(("b", "c"), "c", 60)), 200)},
    {"d": "bottom"},
    {"e": Floating("right", (-3, 9, 300, 200))},
)
PLACE = WindowPlace((10, -20, 900, 700), "maximised")


def saved(path, session):
    settings = Settings(path)
    settings.save_session(session)
    settings.sync()


def loaded(path):
    return Settings(path).new_session()


def remembered(session):
    return {name: getattr(session, name) for name in KEPT}


def test_everything_comes_back(path):
    session = Session(
        **OTHER_LOOK,
        compare_columns=(("turns", 80), ("range", 0)),
        recent=tuple(map(Source.parse, ("/models/a, b", "openai-community/gpt2"))),
        prompt="Hello, “Adam” = 100 %;",
        folders={"Save picture": "/pictures", "work": "/home/me/my work"},
        surveys=("/surveys/a.parquet", "/surveys/b.parquet"),
    )
    assert OTHER_LOOK.keys() == set(REMEMBERED)
    assert all(getattr(session, name) != getattr(Session(), name) for name in REMEMBERED)
    saved(path, session)
    assert remembered(loaded(path)) == remembered(session)
    assert Settings(path).last_source == "/models/a, b"


@given(
    recent=st.lists(st.text(st.characters(exclude_categories=())), max_size=4),
    prompt=st.text(st.characters(exclude_categories=())),
)
@IN_ONE_FILE
def test_any_text_comes_back(path, recent, prompt):
    sources = tuple(map(Source.parse, filter(None, recent)))
    saved(path, Session(recent=sources, prompt=prompt))
    session = loaded(path)
    assert (session.recent, session.prompt) == (sources, prompt)
    assert Settings(path).last_source == (sources[0].id if sources else "")


@pytest.mark.parametrize("limit", [MIN_CACHE, 1_234_000_000, MAX_CACHE])
def test_network_choice_is_remembered(path, limit):
    for offline in (True, False):
        settings = Settings(path)
        settings.offline, settings.cache_limit = offline, limit
        settings.sync()
        again = Settings(path)
        session = again.new_session()
        assert (again.offline, session.offline, again.cache_limit) == (offline, offline, limit)
    none = "much", "", "-1", "0", MIN_CACHE - 1, MAX_CACHE + 1, "1e9", "nan", "9" * 99
    for text in none:
        stored = {"network/offline": "perhaps", "network/cache_limit": str(text)}
        path.write_text(json.dumps(stored), "utf-8")
        assert (Settings(path).offline, Settings(path).cache_limit) == (False, MAX_BYTES)


def test_the_theme_and_the_layout_are_remembered(path):
    for theme in ("dark", "light", "system"):
        settings = Settings(path)
        settings.theme, settings.layout = theme, (PLACE, LAYOUT)
        settings.sync()
        assert (Settings(path).theme, Settings(path).layout) == (theme, (PLACE, LAYOUT))


def check_defaults(settings):
    assert remembered(settings.new_session()) == remembered(Session())
    assert (settings.theme, settings.last_source, settings.layout) == ("system", "", None)
    assert (settings.offline, settings.cache_limit) == (False, MAX_BYTES)


def test_the_first_start_has_the_defaults(path):
    settings = Settings(path)
    check_defaults(settings)
    assert settings.quarantine_damaged() is None
    saved(path, loaded(path))
    check_defaults(Settings(path))


DAMAGED = {
    "binary": bytes(range(256)),
    "empty": b"",
    "cut": b'{"look/theme": "da',
    "list": b"[]",
    "deep": b"[" * 200_000,
    "long": b'{"prompt": "' + b"a" * 3_000_000 + b'"}',
    "folder": None,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_put_aside_with_a_sentence(path, name):
    content = DAMAGED[name]
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    path.with_name(f"{path.name}.broken").write_text("an earlier one")
    settings = Settings(path)
    check_defaults(settings)
    notice = settings.quarantine_damaged()
    aside = path.with_name(f"{path.name}.2.broken")
    assert str(aside) in notice.advice
    assert "settings cannot be read" in notice.text
    assert aside.is_dir() if content is None else aside.read_bytes() == content
    assert settings.quarantine_damaged() is None
    saved(path, Session(colormap="viridis"))
    assert loaded(path).colormap == "viridis"


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
LISTS = st.lists(st.integers(), max_size=3)
WRONG = PLAIN | LISTS | st.dictionaries(st.text(max_size=3), st.integers())
OTHERS = ("model/last", "model/recent", "network/offline", "network/cache_limit", "prompt")
LOOK = ("look/theme", "look/text_size", "start/colormap", "start/range", "window", "docks")
KEYS = (*REMEMBERED.values(), *OTHERS, *LOOK)


@given(st.dictionaries(st.sampled_from(KEYS), WRONG))
@IN_ONE_FILE
def test_values_of_wrong_types_fall_back_to_the_defaults(path, values):
    path.write_text(json.dumps(values), "utf-8")
    settings = Settings(path)
    session = settings.new_session()
    assert session.colormap in COLORMAPS
    assert isinstance(session.prompt, str)
    assert all(isinstance(r, Source) for r in session.recent)
    assert isinstance(settings.last_source, str)
    assert settings.layout is None
    assert settings.text_size in TEXT_SIZES
    assert settings.colormap in ("", *COLORMAPS)
    assert settings.first_range in get_args(FirstRange)
    assert MIN_CACHE <= settings.cache_limit <= MAX_CACHE


@pytest.mark.slow
def test_no_changed_byte_stops_the_start(path):
    """Of a file with everything in it, each byte is changed once."""
    saved(path, Session(recent=(Source.parse("a"), Source.parse("b")), prompt="hi"))
    settings = Settings(path)
    settings.layout = PLACE, LAYOUT
    settings.sync()
    written, chosen = path.read_bytes(), random.Random(5)
    for at in range(len(written)):
        changed = bytearray(written)
        changed[at] ^= chosen.randrange(1, 256)
        path.write_bytes(changed)
        settings = Settings(path)
        settings.new_session()
        place, layout = settings.layout or (PLACE, LAYOUT)
        assert isinstance(place, WindowPlace)
        assert isinstance(layout, Layout)


def test_what_another_window_set_stays(path):
    one, other = Settings(path), Settings(path)
    one.theme = "dark"
    other.offline = True
    assert (Settings(path).theme, Settings(path).offline) == ("dark", True)
    path.write_bytes(b"damaged meanwhile")
    one.cache_limit = MIN_CACHE
    assert Settings(path).theme == "dark"
    assert path.with_name("settings.json.broken").read_bytes() == b"damaged meanwhile"


WRITER = """
import sys
from pathlib import Path
from gui.state.session import Session
from gui.window.settings.settings import Settings
path, letter = Path(sys.argv[1]), sys.argv[2]
for _ in range(60):
    settings = Settings(path)
    settings.save_session(Session(prompt=letter * 20_000))
    settings.sync()
"""


@pytest.mark.slow
def test_two_processes_never_mix_their_settings(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, sign]) for sign in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            prompt = loaded(path).prompt
            seen.add(prompt[:1])
            assert prompt == prompt[:1] * 20_000
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {"a", "b"}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reset_keeps_the_file_by_another_name(path):
    for number, colormap in (("", "viridis"), (".2", "plasma")):
        saved(path, Session(colormap=colormap))
        kept = Settings(path).reset()
        assert kept == path.with_name(f"settings.json{number}.old")
        assert loaded(path).colormap == Session().colormap
        assert f'"{colormap}"' in kept.read_text("utf-8")
    assert Settings(path).reset() is None


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    path = tmp_path / "file" / "settings.json"
    saved(path, Session(colormap="viridis"))
    assert loaded(path).colormap == Session().colormap
