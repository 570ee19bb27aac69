"""The colours of several curves: seen on the background, and told apart by everybody."""

import itertools

import numpy as np
import pytest

from gui.state.colors import lookup_table
from gui.state.fields import MAX_MODELS
from gui.style.theme import HUES, SERIES, THEMES

# Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB.
SEEN_WITHOUT = {
    "nothing": np.eye(3),
    "long cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "middle cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "short cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
TO_OKLAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def linear(color):
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    darker, lighter = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_each_stands_out_from_what_is_behind_it(name):
    theme = THEMES[name]
    for color in SERIES[name]:
        assert contrast(color, theme.viewport) >= 4.5
        assert contrast(color, theme.panel) >= 4.5


@pytest.mark.parametrize("lacking", list(SEEN_WITHOUT))
@pytest.mark.parametrize("name", ["light", "dark"])
def test_any_two_can_be_told_apart(name, lacking):
    seen = [SEEN_WITHOUT[lacking] @ linear(color) for color in SERIES[name]]
    places = [TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(color, 0, 1)) for color in seen]
    apart = min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2))
    assert apart > (0.14 if lacking == "nothing" else 0.085)


@pytest.mark.parametrize("name", list(HUES))
def test_a_map_of_one_hue_is_seen_on_both_viewports(name):
    for color in map(hexadecimal, lookup_table(name)):
        assert all(contrast(color, theme.viewport) >= 2 for theme in THEMES.values())


@pytest.mark.parametrize("lacking", list(SEEN_WITHOUT))
def test_the_hues_of_two_curves_can_be_told_apart_at_any_darkness(lacking):
    places = {}
    for name in ("orange", "blue"):
        colors = [linear(hexadecimal(one)) for one in lookup_table(name)[::8]]
        seen = [SEEN_WITHOUT[lacking] @ color for color in colors]
        places[name] = [TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(color, 0, 1)) for color in seen]
    apart = min(np.linalg.norm(a - b) for a, b in itertools.product(*places.values()))
    assert apart > 0.085


def hexadecimal(color):
    return "#{:02x}{:02x}{:02x}".format(*color[:3])


def test_there_is_one_for_the_open_model_and_each_other():
    assert {len(SERIES[name]) for name in ("light", "dark")} == {MAX_MODELS}
