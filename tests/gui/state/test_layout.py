"""Where docks are, as plain values: splits found from rectangles, and the checked JSON."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from gui.state.fields import as_json
from gui.state.layout import (
    DEEPEST,
    LARGEST,
    Floating,
    Layout,
    Split,
    Tabs,
    WindowPlace,
    docks_in,
    in_window,
    nested,
    pack_layout,
    settled,
    unpack_layout,
)

AREAS = st.sampled_from(["left", "right", "top", "bottom"])
SIZES = st.integers(0, LARGEST)
PLACES = st.integers(-LARGEST, LARGEST)
LENGTHS = st.integers(1, LARGEST)
RECTANGLES = st.tuples(PLACES, PLACES, LENGTHS, LENGTHS)
NAMES = st.text(min_size=1, max_size=9)


@st.composite
def nodes(draw, names, depth=2):
    if depth == 0 or len(names) == 1 or draw(st.booleans()):
        return Tabs(tuple(names), draw(st.sampled_from(names)), draw(SIZES))
    at = draw(st.integers(1, len(names) - 1))
    parts = (draw(nodes(names[:at], depth - 1)), draw(nodes(names[at:], depth - 1)))
    return Split(draw(st.sampled_from(["row", "column"])), parts, draw(SIZES))


@st.composite
def layouts(draw):
    names = draw(st.lists(NAMES, unique=True, max_size=12))
    homes = {name: draw(st.sampled_from(["placed", "hidden", "floating"])) for name in names}
    areas = {}
    for name in (name for name in names if homes[name] == "placed"):
        areas.setdefault(draw(AREAS), []).append(name)
    return Layout(
        {area: draw(nodes(there)) for area, there in areas.items()},
        {name: draw(AREAS) for name in names if homes[name] == "hidden"},
        {
            name: Floating(draw(AREAS), draw(RECTANGLES), draw(st.booleans()))
            for name in names
            if homes[name] == "floating"
        },
        draw(st.none() | st.tuples(LENGTHS, LENGTHS)),
    )


@given(layouts())
def test_a_layout_comes_back_from_json(layout):
    assert unpack_layout(json.loads(json.dumps(pack_layout(layout)))) == layout


def test_layout_scales_but_columns_do_not():
    left = Split("column", (Tabs(("models",), "models", 300), Tabs(("view",), "view", 500)), 272)
    right = Split("row", (Tabs(("norms",), "norms", 400), Tabs(("prompt",), "prompt", 240)), 640)
    layout = Layout({"left": left, "right": right}, window=(1280, 800))
    found = in_window(layout, (2560, 1200), {"models", "view", "prompt"})
    assert found.window == (2560, 1200)
    assert found.areas["left"] == Split(
        "column", (Tabs(("models",), "models", 450), Tabs(("view",), "view", 750)), 272
    )
    assert found.areas["right"] == Split(
        "row", (Tabs(("norms",), "norms", 800), Tabs(("prompt",), "prompt", 240)), 1280
    )
    below = Layout({"bottom": Tabs(("norms",), "norms", 500)}, window=(2560, 1440))
    assert in_window(below, (1280, 720), ()).areas["bottom"].size == 250


def test_a_layout_of_an_older_file_has_its_sizes_in_any_window():
    old = unpack_layout({"bottom": {"tabs": ["norms"], "front": "norms", "size": 300}})
    assert old.window is None
    assert in_window(old, (2560, 1440), ()).areas == old.areas


@given(RECTANGLES, st.sampled_from(["normal", "maximised", "full screen"]))
def test_a_window_s_place_comes_back_from_json(rectangle, state):
    place = WindowPlace(rectangle, state)
    assert convert(json.loads(json.dumps(as_json(place))), WindowPlace) == place


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(
        st.sampled_from([
            "left", "tabs", "front", "size", "row", "column", "hidden", "floating", "area",
            "rectangle", "state", "models", "window",
        ]),
        one, max_size=4,
    ),
)  # fmt: skip


def check(layout):
    """Whatever is read can be applied."""
    names = [name for node in layout.areas.values() for name in docks_in(node)]
    names += [*layout.hidden, *layout.floating]
    assert len(names) == len(set(names))
    whole = settled(layout, {"models": "left", "norms": "bottom"}, ("bottom",))
    assert sorted(name for node in whole.areas.values() for name in docks_in(node)) == [
        "models", "norms",
    ]  # fmt: skip


@given(JSONS)
def test_any_json_is_a_layout_or_refused(said):
    with suppress(ValueError):
        check(unpack_layout(said))


@given(layouts(), st.data())
def test_one_changed_part_is_a_layout_or_refused(layout, data):
    said = json.loads(json.dumps(pack_layout(layout)))
    part = said
    while True:
        key = data.draw(
            st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part)))
        )
        if not part[key] or not isinstance(part[key], (dict, list)) or data.draw(st.booleans()):
            break
        part = part[key]
    part[key] = data.draw(JSONS)
    try:
        found = unpack_layout(said)
    except ValueError:
        return
    check(found)


TABS = {"tabs": ["a"], "front": "a", "size": 9}


@pytest.mark.parametrize(
    "said",
    [
        None, [], 7,
        {"left": {}}, {"left": {"tabs": []}}, {"left": {**TABS, "front": "b"}},
        {"left": {**TABS, "size": -1}}, {"left": {**TABS, "size": LARGEST + 1}},
        {"left": {**TABS, "size": 1.5}}, {"left": {**TABS, "size": True}},
        {"left": {**TABS, "tabs": ["a", "a"]}}, {"left": TABS, "right": TABS},
        {"left": TABS, "hidden": {"a": "left"}}, {"hidden": {"a": "middle"}},
        {"left": {"row": [TABS], "column": [TABS], "size": 1}},
        {"left": {"tabs": [f"{n}" for n in range(999)], "front": "0", "size": 1}},
        {"left": {"tabs": ["a" * 999], "front": "a" * 999, "size": 1}},
        {"floating": {"a": {"area": "left", "rectangle": [0, 0, 0, 9], "hidden": False}}},
        {"floating": {"a": {"area": "left", "rectangle": [0, 0, 10**9, 9], "hidden": False}}},
        {"floating": {"a": {"area": "left", "rectangle": [0, 0, 9], "hidden": False}}},
        {"floating": {"a": {"area": "left", "rectangle": [0, 0, 9, float("inf")]}}},
        {"floating": {"a": {"area": "left", "rectangle": [0, 0, 9, 9], "hidden": 0}}},
    ],
)  # fmt: skip
def test_what_is_no_layout(said):
    with pytest.raises(ValueError):  # noqa: PT011
        unpack_layout(said)


def test_splits_are_not_too_deep():
    said = TABS
    for _ in range(DEEPEST):
        said = {"row": [said], "size": 1}
    assert unpack_layout({"left": said}).areas
    with pytest.raises(ValueError, match="deep"):
        unpack_layout({"left": {"row": [said], "size": 1}})


SEPARATOR = 6


def drawn(node, rectangle):
    """Return the rectangles of the docks when splits with sizes fill a rectangle."""
    if isinstance(node, Tabs):
        return {node.docks: rectangle}
    left, top, width, height = rectangle
    found = {}
    for part in node.parts:
        if node.direction == "row":
            found |= drawn(part, (left, top, part.size, height))
            left += part.size + SEPARATOR
        else:
            found |= drawn(part, (left, top, width, part.size))
            top += part.size + SEPARATOR
    return found


@st.composite
def cut(draw, rectangle, names, depth=3):
    """Cut a rectangle by straight lines, again and again."""
    left, top, width, height = rectangle
    row = draw(st.booleans())
    length = width if row else height
    if depth == 0 or len(names) == 1 or length < 100:
        return {tuple(names): rectangle}
    at = draw(st.integers(1, len(names) - 1))
    end = draw(st.integers(40, length - 50))
    start = end + SEPARATOR
    if row:
        halves = (left, top, end, height), (left + start, top, width - start, height)
    else:
        halves = (left, top, width, end), (left, top + start, width, height - start)
    return draw(cut(halves[0], names[:at], depth - 1)) | draw(cut(halves[1], names[at:], depth - 1))


@settings(max_examples=50)
@given(st.data(), st.sampled_from(["row", "column"]))
def test_splits_that_are_found_from_rectangles_fill_them_again(data, direction):
    names = [f"{n}" for n in range(data.draw(st.integers(1, 6)))]
    whole = 5, 7, 900, 700
    rectangles = data.draw(cut(whole, names))
    placed = [(Tabs(names, names[-1]), one) for names, one in rectangles.items()]
    found = nested(data.draw(st.permutations(placed)), direction)
    assert found.size == (900 if direction == "column" else 700)
    shown = drawn(found, whole)
    assert shown.keys() == rectangles.keys()
    # Two cuts that are almost in one line, as no window has them, are taken for one.
    for names, rectangle in rectangles.items():
        assert shown[names] == pytest.approx(rectangle, abs=3 * SEPARATOR)


def test_docks_that_do_not_fit_and_overlap_are_still_above_each_other():
    """As Qt places them in a window that is too low."""
    rectangles = {"a": (0, 181, 280, 209), "b": (0, 391, 280, 244), "c": (0, 616, 280, 173)}
    placed = [(Tabs((name,), name), one) for name, one in rectangles.items()]
    parts = (Tabs(("a",), "a", 209), Tabs(("b",), "b", 244), Tabs(("c",), "c", 173))
    for direction in ("column", "row"):
        found = nested(placed, direction)
        assert (found.direction, found.parts) == ("column", parts)


def test_new_and_unknown_docks():
    layout = Layout(
        {
            "left": Split("column", (Tabs(("a",), "a", 40), Tabs(("gone", "c"), "gone", 60)), 9),
            "bottom": Tabs(("x", "z"), "z", 5),
        },
        {"b": "left", "old": "right"},
        {"w": Floating("bottom", (0, 0, 9, 9))},
    )
    homes = {"a": "left", "b": "left", "c": "right", "d": "right", "w": "bottom", "x": "bottom",
             "y": "bottom", "z": "bottom"}  # fmt: skip
    found = settled(layout, homes, ("bottom",))
    assert found.areas == {
        "left": Split(
            "column", (Tabs(("a",), "a", 40), Tabs(("b",), "b"), Tabs(("c",), "c", 60)), 9
        ),
        "bottom": Tabs(("w", "x", "y", "z"), "z", 5),
        "right": Tabs(("d",), "d"),
    }
    assert (found.hidden, found.floating) == ({"b": "left"}, layout.floating)


def test_hidden_tabs_stay_tabs_of_each_other_where_they_have_been_moved():
    homes = {"a": "left", "x": "bottom", "y": "bottom", "z": "bottom"}
    hidden = dict.fromkeys("xyz", "right")
    found = settled(Layout({}, hidden), homes, ("bottom",))
    assert found.areas["right"] == Tabs(("x", "y", "z"), "x")
    beside = Layout({"right": Tabs(("a",), "a", 30)}, {"y": "right", "z": "right"})
    found = settled(beside, homes, ("bottom",))
    parts = (Tabs(("a",), "a"), Tabs(("y", "z"), "y"))
    assert found.areas["right"] == Split("column", parts, 30)
