"""What installed packages add: found by metadata, imported when needed, left out if at fault."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from geometry.checkpoints import plugins
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plugins import Plugin, PluginError, Registry
from geometry.claims.claims import CLAIMS, check_claims
from geometry.claims.measurements import Measurements, Scope
from geometry.models.recognition import names_and_shapes
from geometry.models.recognition.candidates import UnknownArchitecture
from geometry.models.sources.opening import open_model
from tests import fake_plugins
from tests.small_models import write_model

CLAIM = """
from geometry.claims.claim import ModelClaim, at_most

def broken(measured):
    raise ZeroDivisionError("no steps")

made = [
    ModelClaim(id="own.rows", article="hx", statement="There are rows.", quantity="rows",
               expected=at_most(1000), reason="few", measure=lambda m: len(m.model.W_pos)),
    ModelClaim(id="own.broken", article="hx", statement="It breaks.", quantity="none",
               expected=at_most(1), reason="none", measure=broken),
]
"""
FAMILY = """
from geometry.models.families.stack import Stack

made = Stack(positions="own.positions", tokens=("own.tokens",), query="own.{layer}.q",
             key="own.{layer}.k", value="own.{layer}.v", out="own.{layer}.o",
             fan_out="own.{layer}.up")
"""
CACHES = (names_and_shapes._all, names_and_shapes._saved_alone, names_and_shapes._tables)


@pytest.fixture
def faults():
    """The sentences about plugins that are given."""
    given = []
    plugins.listen(lambda fault: given.append(fault.text))
    yield given
    plugins.listen(plugins._warn)


@pytest.fixture
def install(tmp_path, monkeypatch, faults):
    """Install a plugin in a folder of its own, in place of all others."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    installed = []

    def look_again():
        monkeypatch.setattr(plugins, "_found", None)
        for cache in CACHES:
            cache.cache_clear()

    def add(name, code, **how):
        installed.append(fake_plugins.install(folder, name, code, **how))
        look_again()
        return installed[-1]

    look_again()
    yield add
    look_again()
    for module in installed:
        sys.modules.pop(module, None)


@pytest.fixture
def table(tmp_path):
    """A model of 30 rows."""
    np.save(tmp_path / "table.npy", np.random.default_rng(0).normal(size=(30, 6)))
    return open_model(tmp_path / "table.npy")


def only(kind="panels") -> Plugin:
    (plugin,) = plugins.plugins(kind)
    return plugin


def same(loaded):
    return loaded


def test_plugins_are_found_without_an_import(install, faults):
    module = install("one", "made = 1")
    install("other", "made = 2", kind="claims")
    assert (only().name, only("claims").name) == ("one", "other")
    assert "hx-one 0.3" in str(only())
    assert module not in sys.modules
    assert only().load(same) == 1
    assert faults == []


def test_none_are_found_in_the_safe_mode(install, monkeypatch):
    install("one", "made = 1")
    monkeypatch.setenv(plugins.SAFE, "1")
    assert plugins.plugins("panels") == ()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import nowhere_at_all", "nowhere_at_all"),
        ("raise SystemExit(3)", "SystemExit"),
        ("other = 1", "made"),
        ("made = 'text'", "not a number"),
    ],
)
def test_a_broken_plugin_gives_one_notice(install, faults, code, why):
    install("broken", code)

    def number(loaded):
        if not isinstance(loaded, int):
            raise TypeError("not a number")
        return loaded

    for _ in range(2):
        with pytest.raises(PluginError, match=why):
            only().load(number)
    assert not only().loaded
    (fault,) = faults
    assert "“broken” of hx-broken 0.3" in fault


def test_a_slow_plugin_gives_one_notice_and_is_left_out_for_good(install, faults, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(plugins, "MAX_S", 0.05)
    monkeypatch.setattr(plugins, "gate", gate, raising=False)
    install("slow", "from geometry.checkpoints import plugins\nplugins.gate.wait()\nmade = 1")
    with pytest.raises(PluginError, match="longer"):
        only().load(same)
    (importing,) = [one for one in threading.enumerate() if one.name == "plugin slow"]
    assert importing.daemon
    gate.set()
    importing.join()
    with pytest.raises(PluginError, match="longer"):
        only().load(same)
    assert len(faults) == 1


@pytest.mark.parametrize(("interface", "left_out"), [("0.4", True), ("", True), ("1.7", False)])
def test_another_major_version_is_left_out_without_an_import(install, faults, interface, left_out):
    module = install("old", "made = 1", interface=interface)
    for _ in range(2):
        assert [one.name for one in plugins.plugins("panels")] == ([] if left_out else ["old"])
    assert len(faults) == left_out
    assert all("“old”" in fault for fault in faults)
    assert module not in sys.modules


def test_metadata_that_cannot_be_read_stops_nothing(install, faults, tmp_path):
    install("one", "made = 1")
    damaged = tmp_path / "installed" / "damaged-1.0.dist-info"
    damaged.mkdir()
    (damaged / "entry_points.txt").write_bytes(b"\xff[helixscope.panels]\n")
    assert only().load(same) == 1
    assert len(faults) == 1


def test_the_first_of_two_installations_counts(install, tmp_path, monkeypatch):
    install("one", "made = 1")
    other = tmp_path / "earlier"
    other.mkdir()
    fake_plugins.install(other, "one", "made = 2", version="0.4")
    monkeypatch.syspath_prepend(str(other))
    assert only().load(same) == 2
    assert "0.4" in str(only())


def test_threads_import_a_plugin_once(install, faults):
    install("one", "import itertools\ncount = itertools.count()\nmade = lambda: next(count)")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: only().load(lambda make: make()), range(8)))
    assert made == [0] * 8
    assert faults == []


def test_a_name_that_is_built_in_stays_built_in(install, faults):
    install("norms", "made = 1")
    install("own", "made = 2", kind="claims")
    table = Registry({"norms": 0}, "panels", lambda plugin: plugin.load(same))
    assert dict(table) == {"norms": 0}
    assert len(table) == 1
    assert len(faults) == 1


def test_without_a_listener_a_fault_is_a_warning(install):
    install("broken", "import nowhere_at_all")
    plugins.listen(plugins._warn)
    with pytest.warns(UserWarning, match="broken"), pytest.raises(PluginError):
        only().load(same)


def test_a_listener_gets_what_was_held(install):
    install("broken", "import nowhere_at_all")
    plugins.listen(None)
    with pytest.raises(PluginError):
        only().load(same)
    given = []
    plugins.listen(given.append)
    assert len(given) == 1
    plugins.listen(None)
    plugins.listen(given.append)
    assert len(given) == 1


def test_an_error_in_each_drawing_of_a_panel_gives_one_notice(install, faults):
    from gui.commands.run_window import _report
    from gui.state.session import Session

    install("own", "def made():\n    raise ValueError('no')")
    function, session = only().load(same), Session()
    for _ in range(3):
        with pytest.raises(ValueError, match="no") as raised:
            function()
        _report(session, raised.type, raised.value, raised.tb)
    assert len(faults) == 1
    assert "hx-own 0.3" in faults[0]
    assert session.notice is None


def test_an_error_is_that_of_the_plugin_whose_code_ran(install):
    install("own", "def made():\n    raise ValueError('no')")
    function = only().load(same)
    with pytest.raises(ValueError, match="no") as raised:
        function()
    assert "hx-own 0.3" in plugins.report_to(raised.value)
    with pytest.raises(ZeroDivisionError) as raised:
        _ = 1 / 0
    assert plugins.report_to(raised.value) == plugins.OURS


def checked(model):
    verdicts = check_claims(Measurements(model, Scope(nulls=False)))
    return {verdict.claim.id: verdict for verdict in verdicts}


def test_claims_follow_the_built_in_ones_and_one_that_fails_decides_nothing(install, faults, table):
    before = checked(table)
    install("claims", CLAIM, kind="claims")
    after = checked(table)
    assert list(after) == [*before, "own.rows", "own.broken"]
    assert (after["own.rows"].value, after["own.rows"].outcome) == (30, "holds")
    assert after["own.broken"].outcome == "cannot tell"
    assert "ZeroDivisionError" in after["own.broken"].why_null
    assert len(faults) == 1
    assert checked(table)["own.broken"].outcome == "cannot tell"
    assert len(faults) == 1


@pytest.mark.parametrize("code", ["made = 1", CLAIM.replace("own.rows", CLAIMS[0].id)])
def test_what_is_no_claim_and_one_whose_name_is_taken_are_left_out(install, faults, table, code):
    install("claims", code, kind="claims")
    found = checked(table)
    assert list(found) == [claim.id for claim in CLAIMS]
    assert len(faults) == 1


@pytest.mark.parametrize("named", [True, False])
def test_a_family_opens_by_its_name_and_by_its_tensors(install, tmp_path, named):
    rng = np.random.default_rng(0)
    tensors = {"own.positions": rng.normal(size=(20, 8)), "own.tokens": rng.normal(size=(30, 8))}
    tensors |= {f"own.0.{name}": rng.normal(size=(8, 8)) for name in ("q", "k", "v", "o", "up")}
    config = {"model_type": "own_lm", "num_attention_heads": 2} if named else {}
    folder = write_model(tmp_path / "model", config, tensors)
    if named:
        with pytest.raises(UnknownArchitecture):
            open_model(folder)
    install("own_lm", FAMILY, kind="families")
    model = open_model(folder)
    assert model.family == "own_lm"
    np.testing.assert_allclose(model.W_pos, tensors["own.positions"], rtol=1e-6)
    np.testing.assert_allclose(model.weight("W_Q", 0), tensors["own.0.q"], rtol=1e-6)


READER = """
import numpy as np

def made(path):
    text = path.read_text()
    if text == "raise":
        raise RuntimeError("at fault")
    return {"table": np.array([line.split() for line in text.splitlines()], dtype=float)}
"""


def test_a_suffix_that_is_read_without_is_not_a_plugins(install, faults, tmp_path):
    install("npy", READER, kind="sources")
    np.save(tmp_path / "rows.npy", np.eye(6))
    np.testing.assert_array_equal(open_model(tmp_path / "rows.npy").W_pos, np.eye(6))
    (tmp_path / "rows.unknown").write_text("1 2")
    with pytest.raises(SourceError):
        open_model(tmp_path / "rows.unknown")
    assert len(faults) == 1


def test_files_open_by_their_suffix_alone_and_in_a_folder(install, faults, tmp_path):
    install("own", READER, kind="sources")
    rows = np.random.default_rng(0).normal(size=(20, 4))
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / "rows.own"
    np.savetxt(file, rows)
    for source in (file, file.parent):
        model = open_model(source)
        np.testing.assert_allclose(model.W_pos, rows, rtol=1e-6)
    file.write_text("a b c")
    with pytest.raises(SourceError, match=r"rows\.own .*hx-own 0\.3.*'a'"):
        open_model(file)
    assert faults == [], "the file is at fault, and not the plugin"
    file.write_text("raise")
    with pytest.raises(SourceError, match="at fault"):
        open_model(file)
    assert len(faults) == 1
