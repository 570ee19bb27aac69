"""Files that release 0.1 wrote open for ever, and everything in them comes out.

What is in each is said in ``expected.json`` beside them. The functions that describe what was read
are the only ones here that know what its parts are called in the code.
"""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from geometry.models.sources import catalogue
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.computed import is_computed
from gui.panels.kit.saved_choices import kept_controls, saved
from gui.panels.table import PANELS
from gui.services.work_files.projects import save_work
from gui.services.work_files.reopening import OTHER
from gui.services.work_files.work_file import read_bookmarks, read_work
from gui.state.aligned_curve import CurveAlignment, OfCompared, OfRange, OfStep
from gui.state.session import ABSENT
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.settings.settings import Settings

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "0.1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def plain(value):
    """The same as JSON has it: lists for tuples."""
    return json.loads(json.dumps(value))


def choices_of_0_1():
    """The panels' saved choices in 0.1; among the files are all of them."""
    found = {}
    for expected in EXPECTED["work"].values():
        for panel, options in expected["work"]["panels"].items():
            found.setdefault(panel, set()).update(options)
    return found


CHOICES = choices_of_0_1()


# ---- what was read ---------------------------------------------------------------------


def fields_of(one, *names):
    return {name: getattr(one, name) for name in names}


def described_place(place):
    if place is None:
        return None
    pose = place.pose
    vectors = fields_of(pose, "position", "focal_point", "up")
    return {
        **{name: vector.tolist() for name, vector in vectors.items()},
        "parallel_scale": pose.parallel_scale,
        "follows": place.follows,
    }


def described_alignment(alignment):
    match alignment:
        case None:
            return None
        case CurveAlignment(what=OfCompared(key)):
            of = {"other": key}
        case CurveAlignment(what=OfRange(positions)):
            of = {"range": positions}
        case CurveAlignment(what=OfStep(step)):
            of = {"step": step}
    return {**of, **fields_of(alignment, "how", "mirrored", "middle")}


def described_model(one):
    return {
        **fields_of(one, "source", "beside", "table", "commit", "positions"),
        "camera": described_place(one.place),
    }


def described_work(work):
    return plain(
        {
            **described_model(work),
            **fields_of(work, "fingerprint", "panel", "main_at"),
            "session": dict(work.fields),
            "turn": work.turn.tolist(),
            "window": work.size,
            "others": [
                {**described_model(one), "components": one.components} for one in work.others
            ],
            "laying": described_alignment(work.alignment),
            "panels": {name: dict(options) for name, options in work.panels.items()},
            "bookmarks": [described_bookmark(one) for one in work.bookmarks],
        }
    )


def described_bookmark(one):
    return {
        **fields_of(one, "key", "name", "note", "model"),
        "picture": digest(one.picture),
        "work": described_work(one.work),
    }


def described_settings(settings):
    names = ("colormap", "outside", "projection", "keep_turned", "offline", "recent", "prompt")
    return plain(
        {
            **fields_of(settings, "theme", "last_source", "offline", "cache_limit"),
            "session": fields_of(settings.new_session(), *names),
        }
    )


@pytest.fixture
def sample_of_0_1(monkeypatch):
    """The bundled model is the one of 0.1, of which most of the files are."""
    entries = tuple(
        replace(entry, folder="tests/fixtures/0.1-sample") if entry.id == SAMPLE else entry
        for entry in catalogue.read_catalogue()
    )
    monkeypatch.setattr(catalogue, "read_catalogue", lambda: entries)


def assert_first_layout(window, *, results):
    """The docks are where they are first, for the bytes of Qt that 0.1 wrote are not read.

    ``results`` is whether the panels of results are open.
    """
    for dock in DOCKS:
        widget = window.docks[dock.name]
        assert window.dockWidgetArea(widget) == dock.area
        assert not widget.isFloating()
        if dock.area != BOTTOM:
            assert widget.isHidden() is dock.closed
    shown = {not window.docks[dock.name].isHidden() for dock in DOCKS if dock.area == BOTTOM}
    assert shown == {results}


def without_bytes(said):
    """Leave out the bytes for Qt, which are not read any more."""
    if isinstance(said, list):
        return [without_bytes(one) for one in said]
    if not isinstance(said, dict):
        return said
    kept = {name: one for name, one in said.items() if name not in ("layout", "layout_version")}
    return {name: without_bytes(one) for name, one in kept.items()}


# ---- read ------------------------------------------------------------------------------


def each(kind):
    return pytest.mark.parametrize("name", sorted(EXPECTED[kind]))


@pytest.fixture
def remembered(tmp_path):
    """Settings as a start finds them: in files that may be written."""

    def copied(name=None, bookmarks=None):
        folder = tmp_path / "helixscope"
        folder.mkdir()
        for file, to in ((name and f"settings/{name}", "settings.json"),
                         (bookmarks and f"bookmarks/{bookmarks}", "bookmarks.zip")):  # fmt: skip
            if file is not None:
                shutil.copyfile(FOLDER / file, folder / to)
        return Settings(folder / "settings.json")

    return copied


def test_they_are_the_bytes_that_0_1_wrote():
    there = {
        f"{kind}/{name}": expected["sha256"]
        for kind, files in EXPECTED.items()
        for name, expected in files.items()
    }
    folders = [folder for folder in FOLDER.iterdir() if folder.is_dir()]
    assert there == {
        f"{folder.name}/{file.name}": digest(file.read_bytes())
        for folder in folders
        for file in folder.iterdir()
    }


def test_all_choices_in_them_are_still_those_of_panels():
    for name, fields in CHOICES.items():
        assert fields <= {control.field for control in kept_controls(PANELS[name].spec)}, name


@each("work")
def test_work(name):
    expected = EXPECTED["work"][name]["work"]
    assert described_work(read_work(FOLDER / "work" / name)) == without_bytes(expected)


@each("bookmarks")
def test_bookmarks(name):
    found, left_out = read_bookmarks(FOLDER / "bookmarks" / name)
    expected = EXPECTED["bookmarks"][name]["bookmarks"]
    assert [described_bookmark(one) for one in found] == without_bytes(expected)
    assert left_out == 0


@each("settings")
def test_settings(name, remembered):
    expected = EXPECTED["settings"][name]["settings"]
    assert described_settings(remembered(name)) == without_bytes(expected)


# ---- shown in a window -----------------------------------------------------------------


def without(said, *names):
    return {name: value for name, value in said.items() if name not in names}


def assert_same_view(shown, expected):
    """What is shown now is what was then, but for rounding where cameras are.

    Not compared is what 0.1 itself does not always bring back though it is in the file: the display
    transform, and whether the camera follows the curve.
    """
    if expected["camera"] is not None:
        for part in ("position", "focal_point", "up", "parallel_scale"):
            assert shown["camera"][part] == pytest.approx(expected["camera"][part], abs=1e-6)
    left_out = [
        "camera", "turn", "window", "layout", "layout_version", "bookmarks", "others", "panels",
    ]  # fmt: skip
    if is_computed(expected["source"]):
        left_out.append("fingerprint")  # of numbers whose last bits depend on the machine
    wanted = without(expected, *left_out)
    if "session" in wanted:
        # The table of models stays as it was: the files know nothing of its columns.
        later = {**ABSENT, "compare_columns": []}
        wanted["session"] = {**later, **wanted["session"]}
    assert without(shown, *left_out) == wanted
    assert len(shown.get("others", ())) == len(expected.get("others", ()))
    for one, other in zip(shown.get("others", ()), expected.get("others", ()), strict=True):
        assert_same_view(one, other)


def assert_same_choices(shown, expected, model):
    """Panels have the choices of the file, and begin with those that came later."""
    for name, options in shown.items():
        spec = PANELS[name].spec
        begun = plain(saved(spec, spec.choices_for(model, spec.defaults)))
        later = without(options, *CHOICES.get(name, ()))
        assert later == {field: begun[field] for field in later}, name
        assert without(options, *later) == expected.get(name, {}), name
    assert shown.keys() >= expected.keys()


@pytest.fixture
def wait_until_shown(qtbot):
    """Wait until the models are drawn; what a panel works out may take longer."""

    def wait(application, source="", positions=()):
        session = application.session

        def shown():
            if source and (session.model is None or session.model.source != source):
                return False
            if positions and session.positions != tuple(positions):
                return False
            return application.window.grid.idle and all(
                one.curve is not None
                and one.curve.pca.exact
                and one.curve.pca.positions == one.positions
                for one in (session, *(compared.session for compared in session.compared))
            )

        QApplication.processEvents()
        qtbot.waitUntil(shown)

    return wait


@pytest.mark.slow
@pytest.mark.usefixtures("sample_of_0_1")
@each("work")
def test_a_window_shows_the_work(name, start_application, tmp_path, wait_until_shown):
    file = tmp_path / name
    shutil.copyfile(FOLDER / "work" / name, file)
    expected = EXPECTED["work"][name]
    application = start_application(file, wait=False)
    window, session = application.window, application.session
    wait_until_shown(application)
    assert session.notice is None
    save_work(window.work.take(), file)
    shown, chosen = described_work(read_work(file)), expected["work"]["panels"]
    assert_same_view(shown, expected["work"])
    assert_same_choices(shown["panels"], chosen, session.model)
    assert_first_layout(window, results=bool(expected["work"]["panel"]))
    kept = [one["key"] for one in expected["work"]["bookmarks"]]
    assert [one.key for one in session.bookmarks] == kept
    for panel in chosen:
        window.bring(panel)
        assert_same_choices(
            {panel: plain(window.panels[panel].options())}, {panel: chosen[panel]}, session.model
        )


def test_what_came_later_is_as_at_first_in_a_window_that_had_other_choices(
    start_application, tmp_path, wait_until_shown
):
    """A file of 0.1 names no panel that had no choices then."""
    application = start_application("sample", wait=False)
    wait_until_shown(application)
    window = application.window
    for name in PANELS:
        window.results.need(name)
    window.panels["norms"].configure(about_mean=True)
    window.panels["shape"].configure(plotted="turning")
    application.controller.open(str(FOLDER / "work" / "plain.helix"))
    wait_until_shown(application, EXPECTED["work"]["plain.helix"]["work"]["source"])
    shown = plain(window.results.options())
    assert shown["norms"]["about_mean"] is False
    for name, options in shown.items():
        spec = PANELS[name].spec
        assert options == plain(
            saved(spec, spec.choices_for(application.session.model, spec.defaults))
        )


@pytest.mark.slow
@pytest.mark.usefixtures("sample_of_0_1")
@each("bookmarks")
def test_a_window_goes_to_the_bookmarks(
    name, start_application, remembered, wait_until_shown, qtbot
):
    settings = remembered(bookmarks=name)
    application = start_application("sample", settings=settings, wait=False)
    wait_until_shown(application)
    window, session = application.window, application.session
    expected = without_bytes(EXPECTED["bookmarks"][name]["bookmarks"])
    qtbot.waitUntil(lambda: bool(session.bookmarks))
    assert [described_bookmark(one) for one in session.bookmarks] == expected
    for one in expected:
        for other in one["work"]["others"]:
            application.controller.comparing.add(
                other["source"], tuple(other["positions"]), tuple(other["components"])
            )
            wait_until_shown(application)
        window.bookmarks.go_to(one["key"])
        wait_until_shown(application, one["work"]["source"], one["work"]["positions"])
        assert session.notice is None
        shown = described_work(window.work.take())
        saved = one["work"]
        assert {field: shown["session"][field] for field in saved["session"]} == saved["session"]
        same = ("source", "positions", "laying")
        assert [shown[part] for part in same] == [saved[part] for part in same]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beside.helix", "panels.helix", "training.helix"])
def test_a_window_shows_the_work_of_another_bundled_model_as_far_as_that_has_it(
    name, start_application, tmp_path, wait_until_shown
):
    """That of later releases has fewer positions, and another training."""
    file = tmp_path / name
    shutil.copyfile(FOLDER / "work" / name, file)
    expected = EXPECTED["work"][name]["work"]
    application = start_application(file, wait=False)
    session = application.session
    wait_until_shown(application)
    last = session.model.n_positions - 1
    assert session.notice.text == OTHER
    assert session.positions == (expected["positions"][0], last)
    said = expected["session"]["selection"]
    assert session.selection == tuple(position for position in said if position <= last)
    for field in ("color_by", "colormap", "outside", "projection", "prompt"):
        assert getattr(session, field) == expected["session"][field]
    assert len(session.compared) == len(expected["others"])


def test_a_window_goes_to_bookmarks_of_another_bundled_model(
    start_application, remembered, wait_until_shown, qtbot
):
    application = start_application("sample", settings=remembered(bookmarks="one.zip"), wait=False)
    wait_until_shown(application)
    session = application.session
    qtbot.waitUntil(lambda: bool(session.bookmarks))
    application.window.bookmarks.go_to(session.bookmarks[0].key)
    wait_until_shown(application)
    assert session.model.source == "sample"
    assert session.positions == (1, session.model.n_positions - 1)


@pytest.mark.slow
@each("settings")
def test_a_window_starts_with_the_settings(name, start_application, remembered, wait_until_shown):
    application = start_application("sample", settings=remembered(name), wait=False)
    wait_until_shown(application)
    expected, session = EXPECTED["settings"][name], application.session
    assert_first_layout(application.window, results=False)
    assert application.settings.theme == expected["settings"]["theme"]
    # What was just opened is the first of what was opened lately; tests have no network.
    wanted = without(expected["settings"]["session"], "recent", "offline")
    assert {field: getattr(session, field) for field in wanted} == wanted
