"""Projects, bookmarks and settings of releases open for ever, and everything in them comes out."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from geometry.models.sources import catalogue
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.formulas import is_computed
from geometry.models.sources.source import Source
from gui.panels.kit.saved_choices import kept_controls, saved
from gui.panels.table import PANELS
from gui.services.work_files.projects import save_work
from gui.services.work_files.reopening import OTHER, RESUMED
from gui.services.work_files.work_file import read_bookmarks, read_work, write_bookmarks
from gui.state.session import ABSENT
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.settings.settings import Settings
from tests.gui.described_files import (
    FIRST,
    RELEASES,
    SECOND,
    as_in_0_1,
    described_bookmark,
    described_layout,
    described_settings,
    described_work,
    digest,
    moved_to,
    plain,
    without,
)


def choices_of(release):
    """The panels' saved choices in a release; among its files are all of them."""
    found = {}
    for expected in release.expected["work"].values():
        for panel, options in expected["work"]["panels"].items():
            found.setdefault(panel, set()).update(options)
    return found


CHOICES = {release: choices_of(release) for release in RELEASES}


@pytest.fixture
def release():
    """The release of the files, if a test says no other."""
    return FIRST


@pytest.fixture
def sample_of_release(release, monkeypatch):
    """The bundled model is the one of the release, of which most of its files are."""
    entries = tuple(
        replace(entry, folder=release.sample) if entry.id == SAMPLE else entry
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


def each(kind, *releases):
    """Call a test with each file of a kind, of all releases or of some."""
    cases = [
        pytest.param(release, name, id=f"{release.version}-{name}")
        for release in releases or RELEASES
        for name in sorted(release.expected[kind])
    ]
    return pytest.mark.parametrize(("release", "name"), cases)


def said_of(kind, release, name):
    """What a file has: of 0.1 without the bytes for Qt."""
    expected = release.expected[kind][name][kind]
    return without_bytes(expected) if release is FIRST else expected


def as_in(release, read):
    return as_in_0_1(read) if release is FIRST else read


@pytest.fixture
def remembered(release, tmp_path):
    """Settings as a start finds them: in files that may be written."""

    def copied(name=None, bookmarks=None):
        folder = tmp_path / "helixscope"
        if name is None:
            folder.mkdir()
        else:
            shutil.copytree(release.folder / "settings" / name, folder)
        if bookmarks is not None:
            shutil.copyfile(release.folder / "bookmarks" / bookmarks, folder / "bookmarks.zip")
        return Settings(folder / "settings.json")

    return copied


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_they_are_the_bytes_that_the_release_wrote(release):
    there = {
        file.relative_to(release.folder).as_posix(): digest(file.read_bytes())
        for folder in release.folder.iterdir()
        if folder.is_dir()
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert there == release.digests


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_all_choices_in_them_are_still_those_of_panels(release):
    for name, fields in CHOICES[release].items():
        assert fields <= {control.field for control in kept_controls(PANELS[name].spec)}, name


@each("work")
def test_work(release, name):
    found = described_work(read_work(release.folder / "work" / name))
    assert as_in(release, found) == said_of("work", release, name)


@each("bookmarks")
def test_bookmarks(release, name):
    found, left_out = read_bookmarks(release.folder / "bookmarks" / name)
    described = [described_bookmark(one) for one in found]
    assert as_in(release, described) == said_of("bookmarks", release, name)
    assert left_out == 0


@each("settings", SECOND)
def test_settings(release, name, remembered):
    settings = remembered(name)
    assert described_settings(settings) == said_of("settings", release, name)
    assert settings.quarantine_damaged() is None


@pytest.mark.parametrize("release", [SECOND], ids=lambda release: release.version)
def test_work_and_bookmarks_beside_the_settings(release):
    expected = release.expected["beside"]
    for name, work in expected["unsaved"].items():
        assert described_work(read_work(release.folder / "settings" / name)) == work
    for name, bookmarks in expected["bookmarks"].items():
        found, _ = read_bookmarks(release.folder / "settings" / name)
        assert [described_bookmark(one) for one in found] == bookmarks


def assert_same_camera(shown, expected, release):
    """One that follows the curve is as far away as the size of its view needs."""
    follows = expected["follows"] and release is not FIRST
    if follows:
        assert shown["follows"]
        assert direction_of(shown) == pytest.approx(direction_of(expected), abs=1e-6)
    parts = ["up"] if follows else ["position", "focal_point", "up", "parallel_scale"]
    for part in parts:
        assert shown[part] == pytest.approx(expected[part], abs=1e-6), part


def direction_of(camera):
    """From where a camera looks, without how far away it is."""
    away = np.subtract(camera["position"], camera["focal_point"])
    return (away / np.linalg.norm(away)).tolist()


def places_of(docks):
    """Where docks are, without sizes, which depend on the fonts.

    Nor are panels that came later compared, which are hidden.
    """
    if isinstance(docks, list):
        return [places_of(one) for one in docks]
    if not isinstance(docks, dict):
        return docks
    places = {name: places_of(one) for name, one in docks.items() if name not in ("size", "window")}
    if isinstance(places.get("hidden"), dict):
        places["hidden"] = without(places["hidden"], *LATER_PANELS)
    return places


LATER_PANELS = ("change", "artefact")


def assert_same_view(shown, expected, release):
    """What is shown now is what was then, but for rounding where cameras are.

    Not compared is what no release always brings back though it is in the file: the display
    transform, and the cameras of views behind one that fills the window. Of 0.1 neither is whether
    the camera follows the curve.
    """
    if expected["camera"] is not None:
        assert_same_camera(shown["camera"], expected["camera"], release)
    left_out = ["camera", "docks", "bookmarks", "others", "panels", "turn"]
    if release is FIRST:
        shown = as_in_0_1({**shown, "docks": None})
        left_out += ["window", "layout", "layout_version"]
    else:
        assert places_of(shown.get("docks")) == places_of(expected.get("docks"))
    if is_computed(expected["source"]):
        left_out.append("fingerprint")  # of numbers whose last bits depend on the machine
    wanted = without(expected, *left_out)
    if "session" in wanted and release is FIRST:
        # The table of models stays as it was: the files know nothing of its columns.
        later = {**ABSENT, "compare_columns": []}
        wanted["session"] = {**later, **wanted["session"]}
    assert without(shown, *left_out) == wanted
    alone = expected.get("alone")
    found, others = shown.get("others", ()), expected.get("others", ())
    for number, (one, other) in enumerate(zip(found, others, strict=True), start=1):
        hidden = alone is not None and alone != number
        assert_same_view(one, {**other, "camera": None} if hidden else other, release)


def assert_same_choices(shown, expected, model, release):
    """Panels have the choices of the file, and begin with those that came later."""
    for name, options in shown.items():
        spec = PANELS[name].spec
        begun = plain(saved(spec, spec.choices_for(model, spec.defaults)))
        later = without(options, *CHOICES[release].get(name, ()))
        assert later == {field: begun[field] for field in later}, name
        assert without(options, *later) == expected.get(name, {}), name
    assert shown.keys() >= expected.keys()


@pytest.fixture
def wait_until_shown(qtbot):
    """Wait until the models are drawn; what a panel works out may take longer."""

    def wait(application, source="", positions=()):
        session = application.session

        def shown():
            if source and (session.model is None or session.model.source != Source.parse(source)):
                return False
            if positions and session.positions != tuple(positions):
                return False
            return application.window.grid.idle and all(
                one.curve is not None
                and one.curve.pca.exact
                and one.curve.pca.positions == one.positions
                for one in (session, *(compared.session for compared in session.others))
            )

        QApplication.processEvents()
        qtbot.waitUntil(shown)

    return wait


@pytest.fixture
def opened_folder(release, tmp_path):
    """A copy of a release's files, in which work may be saved, and of the models beside them."""
    folder = tmp_path / "moved"
    shutil.copytree(release.folder, folder)
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("sample_of_release")
@each("work")
def test_a_window_shows_the_work(
    release, name, start_application, opened_folder, wait_until_shown, qtbot
):
    file = opened_folder / "work" / name
    expected = moved_to(opened_folder, said_of("work", release, name))
    application = start_application(file, wait=False)
    window, session = application.window, application.session
    wait_until_shown(application)
    assert session.notice is None
    qtbot.waitUntil(lambda: len(session.bookmarks) == len(expected["bookmarks"]))
    save_work(window.work.take(), file)
    shown, chosen = described_work(read_work(file)), expected["panels"]
    assert_same_view(shown, expected, release)
    assert_same_choices(shown["panels"], chosen, session.model, release)
    if release is FIRST:
        assert_first_layout(window, results=bool(expected["panel"]))
    kept = [as_in(release, described_bookmark(one)) for one in session.bookmarks]
    wanted = expected["bookmarks"]
    assert [one["key"] for one in kept] == [one["key"] for one in wanted]
    assert kept == wanted
    for panel in chosen:
        window.bring(panel)
        assert_same_choices(
            {panel: plain(window.panels[panel].options())}, {panel: chosen[panel]}, session.model,
            release,
        )  # fmt: skip


def test_later_fields_are_default(start_application, tmp_path, wait_until_shown):
    """A file of 0.1 names no panel that had no choices then."""
    application = start_application("sample", wait=False)
    wait_until_shown(application)
    window = application.window
    for name in PANELS:
        window.results.need(name)
    window.panels["norms"].configure(about_mean=True)
    window.panels["shape"].configure(plotted="turning")
    application.controller.open(str(FIRST.folder / "work" / "plain.helix"))
    wait_until_shown(application, FIRST.expected["work"]["plain.helix"]["work"]["source"])
    shown = plain(window.results.options())
    assert shown["norms"]["about_mean"] is False
    for name, options in shown.items():
        spec = PANELS[name].spec
        assert options == plain(
            saved(spec, spec.choices_for(application.session.model, spec.defaults))
        )


def move_bookmarks(file, folder):
    """Name the models of bookmarks where they are now: bookmarks beside settings have no others."""

    def moved(one):
        others = tuple(
            replace(o, source=Source.parse(moved_to(folder, o.source.text)))
            for o in one.work.others
        )
        return replace(
            one,
            work=replace(
                one.work, source=Source.parse(moved_to(folder, one.work.source.text)), others=others
            ),
        )

    found, _ = read_bookmarks(file)
    write_bookmarks([moved(one) for one in found], file)


@pytest.mark.slow
@pytest.mark.usefixtures("sample_of_release")
@each("bookmarks")
def test_a_window_goes_to_the_bookmarks(
    release, name, start_application, remembered, opened_folder, wait_until_shown, qtbot
):
    settings = remembered(bookmarks=name)
    if release is not FIRST:
        move_bookmarks(settings.bookmarks, opened_folder)
    application = start_application("sample", settings=settings, wait=False)
    wait_until_shown(application)
    window, session = application.window, application.session
    expected = moved_to(opened_folder, said_of("bookmarks", release, name))
    qtbot.waitUntil(lambda: bool(session.bookmarks))
    kept = [as_in(release, described_bookmark(one)) for one in session.bookmarks]
    assert kept == expected
    for one in expected:
        for other in one["work"]["others"]:
            application.controller.comparing.add(
                other["source"], tuple(other["positions"]), tuple(other["components"])
            )
            wait_until_shown(application)
        window.bookmarks.go_to(one["key"])
        wait_until_shown(application, one["work"]["source"], one["work"]["positions"])
        assert session.notice is None
        shown = as_in(release, {**described_work(window.work.take()), "docks": None, "alone": None})
        saved = one["work"]
        assert {field: shown["session"][field] for field in saved["session"]} == saved["session"]
        same = ("source", "table", "positions", "laying")
        assert [shown[part] for part in same] == [saved[part] for part in same]
        if saved["camera"] is not None and release is not FIRST:
            assert_same_camera(shown["camera"], saved["camera"], release)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beside.helix", "panels.helix", "training.helix"])
def test_window_shows_work_of_other_model(name, start_application, tmp_path, wait_until_shown):
    """That of later releases has fewer positions, and another training."""
    file = tmp_path / name
    shutil.copyfile(FIRST.folder / "work" / name, file)
    expected = FIRST.expected["work"][name]["work"]
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
    assert len(session.others) == len(expected["others"])


def test_window_goes_to_other_bookmarks(start_application, remembered, wait_until_shown, qtbot):
    application = start_application("sample", settings=remembered(bookmarks="one.zip"), wait=False)
    wait_until_shown(application)
    session = application.session
    qtbot.waitUntil(lambda: bool(session.bookmarks))
    application.window.bookmarks.go_to(session.bookmarks[0].key)
    wait_until_shown(application)
    assert session.model.source.text == "sample"
    assert session.positions == (1, session.model.n_positions - 1)


@pytest.mark.slow
@pytest.mark.usefixtures("sample_of_release")
@each("settings", SECOND)
def test_window_starts_with_them(release, name, start_application, remembered, wait_until_shown):
    application = start_application("sample", settings=remembered(name), wait=False)
    wait_until_shown(application)
    window, session = application.window, application.session
    expected = said_of("settings", release, name)
    assert application.settings.theme == expected["theme"]
    # What was just opened is the first of what was opened lately; tests have no network.
    wanted = without(expected["session"], "recent", "offline")
    assert plain({field: getattr(session, field) for field in wanted}) == wanted
    lately = [source for source in expected["session"]["recent"] if source != "sample"]
    assert [source.id for source in session.recent if source.id != "sample"] == lately
    assert application.theme.name == (name if name != "system" else "light")
    assert application.theme.text_size == expected["text_size"]
    assert window.toolbar.isHidden() is not expected["toolbar"]
    for command, key in (expected["keys"] or {}).items():
        assert window.commands.commands[command].shortcut == key
    size, room = expected["window"]["rectangle"][2:], window.screen().availableSize().toTuple()
    if size[0] <= room[0] and size[1] <= room[1]:
        assert window.size().toTuple() == tuple(size)
    found = plain(described_layout(window.arrangement()))
    assert places_of(found) == places_of(expected["docks"])
    current, layouts = window.workspaces.kept()
    assert current == expected["workspace"]
    shown = {title: plain(described_layout(one)) for title, one in layouts.items()}
    assert places_of(shown) == places_of(expected["workspaces"])
    for title in expected["workspaces"]:
        window.workspaces.choose(title)
        found = plain(described_layout(window.arrangement()))
        assert places_of(found) == places_of(expected["workspaces"][title]), title


@pytest.mark.parametrize("release", [SECOND], ids=lambda release: release.version)
def test_window_restores_crash(release, start_application, remembered, wait_until_shown, qtbot):
    application = start_application(None, settings=remembered("light"), wait=False)
    wait_until_shown(application)
    session = application.session
    unsaved = release.expected["beside"]["unsaved"]
    (expected,) = (work for name, work in unsaved.items() if name.startswith("light"))
    assert session.notice.text == RESUMED
    work = described_work(application.window.work.take())
    for part in ("source", "positions", "session", "laying", "panels"):
        assert work[part] == expected[part]
    assert session.work_file == expected["file"]
    qtbot.waitUntil(lambda: bool(session.bookmarks))
    (bookmarks,) = release.expected["beside"]["bookmarks"].values()
    assert [described_bookmark(one) for one in session.bookmarks] == bookmarks
