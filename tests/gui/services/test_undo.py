"""What was changed is taken back: as a whole, in order, and on again."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.services.undo import LINKED, MAX_CHANGES, MAX_MODELS, Undo
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.state.session import UNDONE
from tests.gui.result_stage import CONTROL, SHIFT


@pytest.fixture
def clock():
    return SimpleNamespace(now=100.0)


@pytest.fixture
def camera():
    return ["start"]


@pytest.fixture
def comparing(controller):
    return controller.comparing


@pytest.fixture
def undo(opened, comparing, clock, camera):
    def move(place):
        camera[0] = place

    made = Undo(opened, comparing, lambda: camera[0], move, lambda: clock.now)
    yield made
    made.close()


def do(session, clock, **fields):
    clock.now += 10
    for name, value in fields.items():
        setattr(session, name, value)


def test_changes_are_taken_back_in_order_and_done_again(opened, undo, clock):
    start = opened.positions
    do(opened, clock, positions=(5, 50))
    do(opened, clock, selection=(7,))
    do(opened, clock, colormap="viridis")
    assert undo.undoes == "colours"
    undo.undo()
    assert (opened.colormap, opened.selection, opened.positions) == ("jet", (7,), (5, 50))
    undo.undo()
    undo.undo()
    assert (opened.selection, opened.positions) == ((), start)
    assert opened.curve.pca.positions == start  # it is fitted, not only said
    assert (undo.undoes, undo.redoes) == ("", "range")
    undo.undo()  # there is nothing: nothing happens
    for _ in range(3):
        undo.redo()
    assert (opened.colormap, opened.selection, opened.positions) == ("viridis", (7,), (5, 50))
    undo.undo()
    assert opened.colormap == "jet"


def test_what_is_separate_is_a_change_of_its_own_however_soon_it_comes(opened, undo, camera):
    undo.camera_left("start")
    camera[0] = "turned"
    undo.separate()
    undo.camera_left("turned")
    camera[0] = "at a bookmark"
    undo.undo()
    assert camera == ["turned"]
    undo.undo()
    assert camera == ["start"]


def test_a_drag_or_a_held_key_is_one_change_and_a_pause_begins_another(opened, undo, clock):
    start = opened.positions
    opened.dragging = True
    for first in range(2, 30):
        do(opened, clock, positions=(first, 150))
    opened.dragging = False
    undo.undo()
    assert opened.positions == start
    assert undo.undoes == ""
    for position in range(10, 20):
        clock.now += 0.05
        opened.selection = (position,)
    do(opened, clock, selection=(40,))
    undo.undo()
    assert opened.selection == (19,)
    undo.undo()
    assert opened.selection == ()


def test_grouped_changes_and_limited_memory(opened, undo, clock):
    do(opened, clock, color_component=2, color_by="component")
    undo.undo()
    assert (opened.color_component, opened.color_by) == (4, "position")
    do(opened, clock, selection=())
    assert undo.undoes == ""
    do(opened, clock, selection=(7,))
    undo.undo()
    do(opened, clock, sphere=True)
    assert undo.redoes == ""
    undo.redo()
    assert opened.selection == ()
    for n in range(MAX_CHANGES + 20):
        do(opened, clock, selection=(n % 150,))
    taken = 0
    while undo.undoes:
        undo.undo()
        taken += 1
    assert taken == MAX_CHANGES
    assert all(hasattr(opened, name) for name in UNDONE)


def test_the_camera_goes_back_and_on(opened, undo, clock, camera):
    undo.camera_left("start")
    camera[0] = "there"
    do(opened, clock, selection=(3,))
    undo.undo()
    assert camera[0] == "there"
    undo.undo()
    assert camera[0] == "start"
    undo.redo()
    assert camera[0] == "there"
    undo.undo()
    assert camera[0] == "start"


def test_turns_of_the_wheel_are_one_change(undo, clock, camera):
    for place in ("start", "a", "b"):
        clock.now += 0.1
        undo.camera_left(place)
    undo.undo()
    assert camera[0] == "start"
    assert undo.undoes == ""


@pytest.fixture
def table(write_table, helix):
    """Write a table of so many positions, named by them."""
    return lambda n: str(write_table(helix(n, 16, seed=n), f"of {n}"))


def models(session):
    """The models in the order of the grid, with their ranges and components."""
    models = session.open_models
    return [(one.name, one.session.positions, one.session.components) for one in models]


def test_models_come_and_go_and_change_places(opened, comparing, undo, table):
    seen = [models(opened)]

    def did(name):
        assert undo.undoes == name
        seen.append(models(opened))

    first = comparing.add(table(50), (3, 40), (2, 1, 3))
    did("adding of 50.npy")
    second = comparing.add(table(60), in_grid=False)
    did("adding of 60.npy")
    comparing.request_positions(first, 5, 30)  # not remembered, and kept
    seen[1:] = [[*seen[1][:1], ("of 50", (5, 30), (2, 1, 3)), *one[2:]] for one in seen[1:]]
    comparing.give_view(second)
    did("view of of 60")
    comparing.move(second, -2)
    did("order of the models")
    opened.alignment = alignment = CurveAlignment(OfOther(first), "scaled")
    did("overlaid curve")
    comparing.make_current(second)
    did("of 60 in the panels")
    comparing.remove(first)
    did("closing of 50")
    assert opened.alignment is None
    comparing.remove(opened.current_key)
    did("closing of 60")
    comparing.add_all([table(50), table(70)])
    did("adding models")
    comparing.clear()
    did("closing the others")
    last = seen.pop()
    for before in reversed(seen):
        undo.undo()
        assert models(opened) == before
        if undo.redoes == "closing of 50":
            assert opened.alignment == alignment
    assert undo.undoes == ""
    for after in [*seen[1:], last]:
        undo.redo()
        assert models(opened) == after
    assert undo.redoes == ""
    assert opened.notice is None


def test_ranges_before_linking_come_back(opened, comparing, undo, table, controller):
    comparing.add(table(50), (3, 40), (2, 1, 3))
    comparing.add(table(60))
    before = models(opened)
    controller.request_positions(10, 30)
    opened.ranges_linked = True
    linked = models(opened)
    assert {positions for _, positions, _ in linked} == {(10, 30)}
    assert undo.undoes == LINKED
    undo.undo()
    assert not opened.ranges_linked
    assert models(opened)[1:] == before[1:]
    undo.redo()
    assert opened.ranges_linked
    assert models(opened) == linked
    opened.ranges_linked = False
    opened.ranges_linked = True  # which changes nothing any more
    undo.undo()
    assert models(opened)[1:] == before[1:]


def test_opening_another_model_is_undone_with_those_beside_it(
    opened, comparing, undo, controller, table, clock, camera, tmp_path
):
    key = comparing.add(table(50))
    do(opened, clock, selection=(7,), prompt="hello", work_file="talk.helix")
    before, hidden = models(opened), frozenset({("norms", key)})
    request = controller.opening.shown
    opened.hidden_curves = hidden
    controller.open(table(60))
    comparing.remove(key)
    assert (opened.work_file, opened.hidden_curves) == ("", frozenset())
    opened.prompt, camera[0] = "more", "elsewhere"
    undo.undo()
    assert (undo.undoes, opened.prompt) == ("closing of 50", "hello")
    undo.undo()
    assert undo.undoes == "opening of 60"
    assert undo.redoes == "closing of 50"
    undo.undo()
    assert models(opened) == before
    assert controller.opening.shown == request
    assert (opened.selection, opened.prompt) == ((7,), "hello")
    assert (opened.work_file, opened.hidden_curves, camera) == ("talk.helix", hidden, ["start"])
    undo.undo()
    assert opened.selection == ()
    for _ in range(4):
        undo.redo()
    assert [name for name, *_ in models(opened)] == ["of 60"]
    assert opened.prompt == "more"
    assert (opened.work_file, camera) == ("", ["elsewhere"])


def test_what_was_still_loading_is_opened_again(opened, undo, comparing, table, tmp_path):
    late = tmp_path / "of 50.npy"
    comparing.add(str(late), (3, 40))
    comparing.clear()
    table(50)
    undo.undo()
    assert models(opened)[1] == ("of 50", (3, 40), (1, 2, 3))


def test_only_so_many_models_are_kept_for_it(opened, undo, controller, table):
    for n in range(20, 60):
        controller.open(table(n))
    undone = 0
    while undo.undoes:
        undo.undo()
        undone += 1
    assert undone == MAX_MODELS
    assert opened.model.n_positions == 59 - MAX_MODELS


def test_in_the_window_by_keys(application, qtbot, wait_until_idle):
    session, window = application.session, application.window
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    actions = window.commands.by_name
    assert not actions["undo"].isEnabled()
    application.controller.select((9,))
    assert actions["undo"].text() == "Undo: selection"
    interactor = window.viewport.interactor
    before = window.viewport.camera.place.pose.position
    middle = interactor.rect().center()
    QTest.mousePress(interactor, Qt.MouseButton.LeftButton, pos=middle)
    for step in range(1, 6):
        QTest.mouseMove(interactor, middle + QPoint(12 * step, 0))
    QTest.mouseRelease(interactor, Qt.MouseButton.LeftButton, pos=middle + QPoint(60, 0))
    wait_until_idle(application)
    turned = window.viewport.camera.place.pose.position
    assert np.abs(turned - before).max() > 0.1
    assert actions["undo"].text() == "Undo: camera"
    QTest.keyClick(window, Qt.Key.Key_Z, CONTROL)
    wait_until_idle(application)
    np.testing.assert_allclose(window.viewport.camera.place.pose.position, before, atol=1e-6)
    QTest.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert session.selection == ()
    assert actions["undo"].text() == "Undo"
    QTest.keyClick(window, Qt.Key.Key_Z, CONTROL | SHIFT)
    QTest.keyClick(window, Qt.Key.Key_Z, CONTROL | SHIFT)
    wait_until_idle(application)
    assert session.selection == (9,)
    np.testing.assert_allclose(window.viewport.camera.place.pose.position, turned, atol=1e-6)


def test_search_field_is_undone_first(application, settle, write_table):
    session, window = application.session, application.window
    search = window.panels["models"].search
    search.setFocus()
    path = str(write_table(name="typed"))
    QTest.keyClicks(search, path)
    QTest.keyClick(search, Qt.Key.Key_Z, CONTROL)
    assert search.text() == ""
    QTest.keyClicks(search, path)
    QTest.keyClick(search, Qt.Key.Key_Return)
    settle()
    assert session.model.name == "typed"
    QTest.keyClick(search, Qt.Key.Key_Z, CONTROL)
    settle()
    assert session.model.name == "tiny-gpt2"
    assert search.text() == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", "hello my name"),
        ("color_span", "table"),
        ("keep_turned", True),
        ("basis", "aligned"),
        ("hidden_curves", frozenset({("norms", 3)})),
        ("cameras_linked", False),
    ],
)
def test_switches_and_the_prompt_are_taken_back(opened, undo, clock, field, value):
    before = getattr(opened, field)
    do(opened, clock, **{field: value})
    assert undo.undoes == UNDONE[field]
    undo.undo()
    assert getattr(opened, field) == before
    undo.redo()
    assert getattr(opened, field) == value


def test_choices_of_a_panel_are_taken_back_in_order_with_the_rest(opened, undo, clock):
    shown = {"kernels": {"head": 2}}

    def show(panel, choices):
        before, shown[panel] = shown[panel], dict(choices)
        return before

    undo.show_choices = show
    clock.now += 10
    undo.choices_changed("kernels", "Kernels", {"head": 0}, {"head": 2})
    do(opened, clock, colormap="viridis")
    undo.undo()
    assert (opened.colormap, shown["kernels"], undo.undoes) == (
        "jet", {"head": 2}, "options of Kernels",
    )  # fmt: skip
    undo.undo()
    assert shown["kernels"] == {"head": 0}
    assert undo.redoes == "options of Kernels"
    undo.redo()
    assert shown["kernels"] == {"head": 2}
    undo.redo()
    assert opened.colormap == "viridis"
