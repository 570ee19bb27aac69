"""What colours the curve: whole-table limits, cut outliers, maps that can be told apart."""

import numpy as np
import pytest

from geometry.checkpoints.column_files import PositionColumn
from geometry.measures.sinusoids import sinusoid
from gui.state.colors import (
    MAX_CATEGORIES,
    MIN_CONTRAST,
    OTHERS,
    color_scale,
    legible,
    lookup_table,
    missing_color,
    point_colors,
)
from gui.style.theme import COLORMAPS, DARK, LIGHT
from tests.gui.scene_stage import rgb


def luminance(colors):
    c = np.asarray(colors, float) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colormap", COLORMAPS)
def test_every_map_has_256_opaque_colours_that_can_be_seen_on_every_theme(colormap):
    table = lookup_table(colormap)
    assert table.shape == (256, 4)
    assert table.dtype == np.uint8
    assert (table[:, 3] == 255).all()
    assert len(np.unique(table, axis=0)) > 100
    np.testing.assert_array_equal(legible(table, LIGHT.viewport), table)
    ground = luminance(rgb(DARK.viewport)) + 0.05
    lifted = legible(table, DARK.viewport)
    assert ((luminance(lifted[:, :3]) + 0.05) / ground).min() >= MIN_CONTRAST - 0.01
    kept = (luminance(table[:, :3]) + 0.05) / ground > MIN_CONTRAST
    np.testing.assert_array_equal(lifted[kept], table[kept])


def test_a_position_has_one_colour_of_the_articles_map_in_every_subset(opened, controller):
    opened.color_span = "table"
    table = lookup_table("jet")  # from dark blue to dark red
    np.testing.assert_allclose(table[[0, -1], :3], [[0, 0, 128], [128, 0, 0]], atol=2)
    whole = color_scale(opened)
    controller.request_positions(50, 90)
    part = color_scale(opened)
    assert whole.colormap == part.colormap == "jet"
    assert whole.limits == part.limits == (0.0, 199.0)
    assert part.labels == ("0", "199")
    np.testing.assert_array_equal(part.values, np.arange(200))
    np.testing.assert_array_equal(whole.values, part.values)


def test_at_first_a_short_range_has_all_colours(opened, controller):
    controller.request_positions(1, 20)
    scale = color_scale(opened)
    assert (scale.limits, scale.labels) == ((1.0, 20.0), ("1", "20"))


def test_norms_are_cut_where_a_few_would_leave_the_rest_in_one_colour(opened):
    opened.change(color_by="norm", color_span="table")
    scale = color_scale(opened)
    norms = opened.norms.values
    np.testing.assert_allclose(scale.values, norms, rtol=1e-6)
    assert scale.limits[0] > norms.min()
    assert scale.limits[1] < norms.max()
    assert scale.labels[0].startswith("≤ ")
    assert scale.labels[1].startswith("≥ ")
    assert scale.title == "Norm"
    opened.norms_centred = True
    assert color_scale(opened).title == "Norm, centred"


def test_norms_without_outliers_are_shown_in_full(session, controller, write_table):
    """And those that differ by rounding alone are one colour."""
    table = np.zeros((50, 4))
    table[:, 0] = np.linspace(1, 2, 50)
    session.change(color_by="norm", color_span="table")
    controller.open(str(write_table(table)))
    scale = color_scale(session)
    assert (scale.limits, scale.labels) == ((1.0, 2.0), ("1.00", "2.00"))
    controller.open(str(write_table(sinusoid("marian", 512, 512), "same")))
    scale = color_scale(session)
    assert 0 < np.ptp(session.norms.values) < 1e-12
    assert scale.limits[1] - scale.limits[0] == 1.0
    assert scale.labels == ("16.00", "17.00")


def test_residual_and_components_colour_all_positions(opened, controller):
    controller.color_by("component", 4)
    scale = color_scale(opened)
    expected = opened.curve.pca.project(opened.model.W_pos)[:, 3]
    np.testing.assert_allclose(scale.values, expected, atol=1e-5)
    assert scale.title == "PC 4"
    opened.change(color_by="residual", colormap="viridis")
    scale = color_scale(opened)
    np.testing.assert_allclose(scale.values, opened.curve.residual, atol=1e-6)
    assert (scale.title, scale.colormap) == ("Off-subspace residual", "viridis")


@pytest.mark.parametrize("quantity", ["norm", "residual", "component"])
def test_colours_may_span_the_shown_range_alone(opened, controller, quantity):
    """And then what lies outside it matters to no quantity."""
    opened.color_span = "range"
    controller.request_positions(50, 90)
    scale = color_scale(opened)
    assert (scale.title, scale.limits, scale.labels) == ("Position", (50.0, 90.0), ("50", "90"))
    np.testing.assert_array_equal(scale.values, np.arange(200))
    controller.color_by(quantity, 4)
    scale = color_scale(opened)
    inside = scale.values[50:91]
    cut = [inside.min(), *np.percentile(inside, (1, 99)), inside.max()]
    assert len(scale.values) == 200
    assert np.abs(np.array(cut) - scale.limits[0]).min() < 1e-5
    assert np.abs(np.array(cut) - scale.limits[1]).min() < 1e-5
    assert scale.values.min() < scale.limits[0] or scale.values.max() > scale.limits[1]
    opened.color_span = "table"
    assert color_scale(opened).limits != scale.limits


def test_a_range_of_one_position_has_its_first_colour(opened, controller):
    opened.color_span = "range"
    controller.request_positions(60, 60)
    scale = color_scale(opened)
    assert (scale.limits, scale.labels) == ((60.0, 61.0), ("60", "60"))


@pytest.mark.parametrize("span", ["table", "range"])
@pytest.mark.parametrize("quantity", ["position", "norm", "residual", "component"])
@pytest.mark.parametrize("table", [np.ones((1, 1)), np.zeros((5, 3)), np.eye(3)])
def test_degenerate_tables_have_a_scale(session, controller, write_table, quantity, table, span):
    session.color_span = span
    controller.open(str(write_table(table)))
    controller.color_by(quantity, 9)
    scale = color_scale(session)
    assert scale.values.shape == (len(table),)
    assert np.isfinite(scale.values).all()
    assert scale.limits[0] < scale.limits[1]


def test_positions_one_period_apart_have_one_colour_of_a_cyclic_map(opened, controller):
    opened.change(color_by="period", color_period=12.5)
    scale = color_scale(opened)
    assert (scale.title, scale.limits, scale.labels) == (
        "Position mod 12.5",
        (0, 12.5),
        ("0", "12.5"),
    )
    np.testing.assert_allclose(scale.values, np.arange(200) % 12.5)
    colors = point_colors(scale, LIGHT.viewport).astype(int)
    np.testing.assert_array_equal(colors[0], colors[25])
    np.testing.assert_array_equal(colors[3], colors[53])
    assert scale.colormap == "romaO"
    ends = lookup_table(scale.colormap)[[0, -1], :3].astype(int)
    assert np.abs(ends[0] - ends[1]).max() < 12  # it begins again where it ends
    controller.request_positions(50, 90)
    assert color_scale(opened).limits == (0, 12.5)  # whatever is shown
    opened.cyclic_colormap = "viridis"
    assert color_scale(opened).colormap == "viridis"
    opened.color_by = "position"
    assert color_scale(opened).colormap == "jet"


def test_equal_tokens_have_one_colour_and_what_has_none_is_grey(session, controller, write_gpt2):
    controller.open(str(write_gpt2()))
    session.color_by = "token"
    scale = color_scale(session)
    assert (scale.title, scale.categories) == ("Token", ())
    assert np.isnan(scale.values).all()
    session.prompt = "hello my hello name"
    scale = color_scale(session)
    assert scale.categories[0] == "hello"
    assert sorted(scale.categories[1:]) == ["<|endoftext|>", "my", "name"]
    colors = point_colors(scale, DARK.viewport).astype(int)
    np.testing.assert_array_equal(colors[1], colors[3])
    assert len(np.unique(colors[:5], axis=0)) == 4
    np.testing.assert_array_equal(
        colors[5:, :3], np.tile(rgb(missing_color(DARK.viewport)), (len(colors) - 5, 1))
    )
    names, shown = zip(*scale.legend(DARK.viewport, 12), strict=True)
    assert names == scale.categories
    np.testing.assert_array_equal(shown[0], colors[1])
    assert scale.legend(DARK.viewport, 3)[-1][0] == "2 more"


def test_a_column_of_numbers_has_the_map_and_spans_the_range(opened, controller):
    column = PositionColumn("loss", "a.csv", (*np.arange(100.0).tolist(), None))
    opened.change(color_by="column", color_column=column, colormap="viridis")
    scale = color_scale(opened)
    assert (scale.title, scale.limits, scale.colormap) == ("loss", (1.0, 99.0), "viridis")
    colors = point_colors(scale, LIGHT.viewport).astype(int)
    table = lookup_table("viridis")
    np.testing.assert_array_equal(colors[99], table[-1])
    np.testing.assert_array_equal(colors[150, :3], rgb(missing_color(LIGHT.viewport)))
    controller.request_positions(20, 60)
    assert color_scale(opened).limits == (20.0, 60.0)
    controller.request_positions(150, 160)  # none has a value
    scale = color_scale(opened)
    assert scale.limits[0] < scale.limits[1]
    opened.color_column = None
    assert color_scale(opened).title == "Position"


def test_a_column_of_texts_has_a_colour_for_each_that_can_be_told_apart(opened):
    kinds = (*(f"kind {i % 3}" for i in range(198)), None, "kind 0")
    opened.change(color_by="column", color_column=PositionColumn("kind", "a.csv", kinds))
    scale = color_scale(opened)
    assert scale.categories == ("kind 0", "kind 1", "kind 2")
    for theme in (LIGHT, DARK):
        colors = point_colors(scale, theme.viewport)[:, :3].astype(int)
        np.testing.assert_array_equal(colors[::3][:66], np.tile(colors[0], (66, 1)))
        ground = luminance(rgb(theme.viewport)) + 0.05
        contrast = (luminance(np.unique(colors[:198], axis=0)) + 0.05) / ground
        assert np.maximum(contrast, 1 / contrast).min() > 1.5
    # A longer column has the same colours in a longer model.
    opened.color_column = PositionColumn("kind", "a.csv", (*kinds, *("kind 2",) * 90))
    assert color_scale(opened).categories == ("kind 2", "kind 0", "kind 1")
    assert len(color_scale(opened).values) == 200
    many = tuple(f"{i}x" for i in range(200))
    opened.color_column = PositionColumn("many", "a.csv", many)
    scale = color_scale(opened)
    assert len(scale.categories) == MAX_CATEGORIES
    assert scale.categories[-1] == OTHERS
    colors = point_colors(scale, LIGHT.viewport)
    assert len(np.unique(colors, axis=0)) == MAX_CATEGORIES
    np.testing.assert_array_equal(colors[150], colors[199])
