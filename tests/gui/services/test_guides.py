"""Guides: what panels draw beside the curve, in the basis it is true in and in no other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ortho_group

from geometry.checkpoints.column_files import PositionColumn
from geometry.pca.pca import fit_pca
from gui.export.pictures import render_scene
from gui.scene.guide_lines import DASHES, LIT_SIZES, dashes, lit_levels
from gui.scene.scene_state import resolve_scene
from gui.state.colors import missing_color, point_colors
from gui.state.guides import Guide, same_basis, with_guide
from gui.style.theme import DARK, LIGHT
from tests.gui.scene_stage import rgb


def guide_of(session, **parts):
    return Guide(session.pca, session.components, **parts)


def arc(session, lift=2.0):
    """A line far from the curve, so that its pixels are its own."""
    top = session.curve.coordinates.max(axis=0)
    across = np.linspace(-lift, lift, 60)
    return np.column_stack([across, np.full(60, top[1] + 0.6), np.full(60, 0.4)])


def is_drawn(made, picture, points, color, reach=1):
    """For each point, whether there is something of a colour where it is on the screen."""
    xy, _ = made.scene.projection().to_screen(points @ made.scene.turn.T)
    height, width = picture.shape[:2]
    x, y = np.round(xy[:, 0]).astype(int), height - 1 - np.round(xy[:, 1]).astype(int)
    inside = (x > reach) & (x < width - 1 - reach) & (y > reach) & (y < height - 1 - reach)
    assert inside.sum() > 0.5 * len(points)
    found = []
    for i, j in zip(x[inside], y[inside], strict=True):
        patch = picture[j - reach : j + reach + 1, i - reach : i + reach + 1].reshape(-1, 3)
        found.append((np.abs(patch.astype(int) - rgb(color)).max(axis=1) <= 12).any())
    return np.array(found)


def test_slots_have_one_guide_and_sizes(opened):
    first, second = guide_of(opened), guide_of(opened)
    guides = with_guide({}, "shape", first)
    both = with_guide(guides, "lookback", second)
    assert dict(guides) == {"shape": first}
    assert dict(both) == {"shape": first, "lookback": second}
    assert dict(with_guide(both, "shape", second)) == {"lookback": second, "shape": second}
    assert dict(with_guide(both, "shape", None)) == {"lookback": second}
    assert with_guide(guides, "kernels", None) is guides
    # Whichever was drawn last, its caption keeps its place.
    for again in (both, with_guide(both, "shape", second), with_guide(both, "lookback", first)):
        assert list(again) == ["lookback", "shape"]
    weights = np.array([0.0, 0.019, 0.02, 0.2, 0.21, 1.0])
    levels = lit_levels(guide_of(opened, positions=np.arange(6), weights=weights))
    assert [level.tolist() for level in levels] == [[2, 3], [4], [], [], [5]]
    assert len(levels) == len(LIT_SIZES)
    assert all(len(level) == 0 for level in lit_levels(guide_of(opened)))


def test_a_guide_is_shown_in_its_own_basis_only(opened, controller):
    guide = guide_of(opened)
    controller.show_guide("shape", guide)
    whole = opened.positions
    assert resolve_scene(opened).guides == (guide,)
    controller.request_positions(20, 120)
    assert resolve_scene(opened).guides == ()
    controller.request_positions(*whole)
    assert resolve_scene(opened).guides == (guide,), "the fit is another one, its basis the same"
    opened.components = (2, 1, 3)
    assert resolve_scene(opened).guides == ()
    opened.components = (1, 2, 3)
    assert resolve_scene(opened).guides == (guide,)
    controller.show_guide("shape", None)
    assert opened.guides == {}


def test_a_basis_counts_by_what_it_does_to_the_shown_components(model):
    pca = fit_pca(model.W_pos, (1, 150), 6)
    again = fit_pca(model.W_pos, (1, 150), 3)
    assert same_basis(pca, again, (1, 2, 3))
    assert not same_basis(pca, again, (1, 2, 4)), "the other fit has no fourth"
    flipped = replace(pca, components=pca.components * np.array([[1], [-1], [1], [-1], [1], [1]]))
    assert not same_basis(pca, flipped, (1, 2, 3))
    assert same_basis(pca, flipped, (1, 3, 5))
    assert not same_basis(pca, replace(pca, mean=pca.mean + 0.01), (1, 2, 3))
    assert not same_basis(pca, fit_pca(model.W_pos, (1, 149), 6), (1, 2, 3))
    wider = replace(pca, mean=np.zeros(30), components=np.eye(6, 30))
    assert not same_basis(pca, wider, (1, 2, 3))


def test_guide_caption_snapshot_and_other_model(opened, controller, write_table, helix):
    controller.show_guide("shape", guide_of(opened))
    opened.snapshot = 0
    assert opened.shown_guides == ()
    opened.snapshot = None
    assert len(opened.shown_guides) == 1
    controller.show_guide("shape", guide_of(opened, caption="thin line: helix"))
    controller.show_guide("kernels", guide_of(opened))
    assert resolve_scene(opened).caption[2:] == ("thin line: helix",)
    opened.components = (3, 1, 2)
    assert len(resolve_scene(opened).caption) == 2
    controller.show_guide("shape", guide_of(opened))
    controller.open(str(write_table(helix(120, 24, 6), "other")))
    assert opened.model.n_positions == 120
    assert opened.guides == {}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize("seed", [None, 3])
def test_lines_are_where_they_should_be_under_the_turn(opened, controller, stage, theme, seed):
    line = arc(opened)
    controller.show_guide("shape", guide_of(opened, lines=(line,)))
    if seed is not None:
        opened.turn = ortho_group.rvs(3, random_state=seed)
    made = stage(theme)
    made.scene.set_backed(False)  # the line passes under texts
    picture = made.show(opened)
    assert is_drawn(made, picture, line, theme.text).mean() > 0.95


def test_it_comes_moves_in_place_and_goes_and_the_camera_stays(opened, controller, stage):
    made = stage()
    made.scene.set_backed(False)
    plain = made.show(opened)
    pose = made.plotter.camera.position
    line = arc(opened)
    controller.show_guide("shape", guide_of(opened, lines=(line,), dashed=(line[::59],)))
    made.show(opened, None)
    data = made.scene.plotter.actors["guide lines"].mapper.dataset.GetPoints()
    moved = line + np.array([0.0, 0.0, 0.5])
    controller.show_guide("shape", guide_of(opened, lines=(moved,), dashed=(moved[::59],)))
    picture = made.show(opened, None)
    assert made.scene.plotter.actors["guide lines"].mapper.dataset.GetPoints() is data
    assert is_drawn(made, picture, moved, LIGHT.text).mean() > 0.95
    assert is_drawn(made, picture, line, LIGHT.text).mean() < 0.3
    assert made.plotter.camera.position == pose
    controller.show_guide("shape", None)
    np.testing.assert_array_equal(made.show(opened, None), plain)
    controller.show_guide("shape", guide_of(opened, lines=(line[:40],)))
    picture = made.show(opened, None)
    assert is_drawn(made, picture, line[:40], LIGHT.text).mean() > 0.95
    made.scene.show(None)
    assert not is_drawn(made, made.draw(), line[:40], LIGHT.text).any()


def test_dashes_segments_and_points_are_drawn(opened, controller, stage):
    line = arc(opened)
    made = stage()
    made.scene.set_backed(False)
    made.show(opened)
    controller.show_guide("a", guide_of(opened, dashed=(line[[0, -1]],)))
    found = is_drawn(made, made.show(opened, None), dashes(line[[0, -1]])[:, 1], LIGHT.muted, 2)
    assert found.mean() > 0.9
    segments = np.stack([line[:-1:2], line[1::2]], axis=1)
    controller.show_guide("a", guide_of(opened, segments=segments))
    middles = segments.mean(axis=1)
    assert is_drawn(made, made.show(opened, None), middles, LIGHT.muted, 2).mean() > 0.9
    controller.show_guide("a", guide_of(opened, points=line[::6]))
    picture = made.show(opened, None)
    assert is_drawn(made, picture, line[::6], LIGHT.muted).all()
    assert not is_drawn(made, picture, (line[3::6] + line[2::6][:10]) / 2, LIGHT.muted).any()


def test_positions_light_up_by_their_weight_in_their_own_colours(opened, controller, stage):
    made = stage()
    plain = made.show(opened)
    at, weights = np.array([40, 90, 140]), np.array([1.0, 0.5, 0.01])
    controller.show_guide("kernels", guide_of(opened, positions=at, weights=weights))
    picture = made.show(opened, None)
    full = np.ptp(picture.astype(int), axis=2) > 120  # no grey, and nothing pale
    xy, _ = made.pixels()
    areas = []
    for x, y in np.round(xy[at]).astype(int):
        areas.append(full[y - 12 : y + 13, x - 12 : x + 13].sum())
    for x, y in np.round(xy[at[:2]]).astype(int):
        assert np.abs(picture[y, x].astype(int) - plain[y, x].astype(int)).max() <= 40
    assert areas[0] > areas[1] > areas[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_matched_points_have_the_colours_of_those_they_match(opened, controller, stage, theme):
    at, line = np.array([20, 90, 160]), arc(opened)[[5, 30, 55]]
    controller.show_guide("laid", guide_of(opened, points=line, matched=at))
    made = stage(theme)
    state = resolve_scene(opened)
    colors = point_colors(state.scale, theme.viewport)[at, :3]
    for after in (line, line + np.array([0.3, 0, 0])):
        controller.show_guide("laid", guide_of(opened, points=after, matched=at))
        picture = made.show(opened)
        for point, color in zip(after, colors, strict=True):
            name = "#{:02x}{:02x}{:02x}".format(*color)
            assert is_drawn(made, picture, point[None], name).all()
    controller.show_guide("laid", guide_of(opened, points=line))
    assert is_drawn(made, made.show(opened), line, theme.muted).all(), "grey without"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_a_curve_in_a_hue_is_grey_where_a_position_has_no_value(opened, controller, stage, theme):
    column = PositionColumn("loss", "a.csv", tuple(np.arange(150.0)))
    opened.change(color_by="column", color_column=column)
    at, line = np.array([20, 160, 190]), arc(opened)[[5, 30, 55]]
    controller.show_guide("laid", guide_of(opened, points=line, matched=at, colormap="blue"))
    made = stage(theme)
    picture = made.show(opened)
    assert is_drawn(made, picture, line[1:], missing_color(theme.viewport)).all()
    assert not is_drawn(made, picture, line[:1], missing_color(theme.viewport)).any()


def test_the_camera_frames_what_is_matched_unless_it_is_huge(opened, controller, stage):
    made = stage()
    made.show(opened)
    alone = made.scene.framed
    beside = opened.curve.coordinates[1:] + np.array([3.0, 0, 0])
    controller.show_guide("laid", guide_of(opened, points=beside, matched=np.arange(1, 200)))
    made.show(opened)
    np.testing.assert_allclose(made.scene.framed[len(alone) :], beside @ opened.turn.T)
    controller.show_guide("laid", guide_of(opened, points=9 * beside, matched=np.arange(1, 200)))
    made.show(opened)
    np.testing.assert_array_equal(made.scene.framed, alone)
    controller.show_guide("laid", guide_of(opened, points=beside))
    made.show(opened)
    np.testing.assert_array_equal(made.scene.framed, alone)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_the_rest_of_the_curve_is_pale_while_positions_light_up(opened, controller, stage, theme):
    made = stage(theme)
    plain = made.show(opened).astype(int)
    xy, _ = made.pixels()
    x, y = np.round(xy[20:180:10]).astype(int).T

    def contrast(picture):
        return np.abs(picture[y, x].astype(int) - rgb(theme.viewport)).sum(axis=1)

    lit = guide_of(opened, positions=np.array([100]), weights=np.array([1.0]))
    controller.show_guide("kernels", lit)
    dimmed = contrast(made.show(opened, None)) / contrast(plain)
    assert dimmed[8] == pytest.approx(1, abs=0.1), "this one lights up"
    assert np.median(np.delete(dimmed, 8)) < 0.4
    controller.show_guide("kernels", guide_of(opened, lines=(arc(opened),)))
    np.testing.assert_allclose(contrast(made.show(opened, None)), contrast(plain), atol=3)


def test_dashes_begin_and_end_with_the_line_and_are_alike():
    line = np.array([[0.0, 0, 0], [1, 0, 0], [1, 3, 0]])
    found = dashes(line)
    assert found.shape[0] == DASHES
    np.testing.assert_allclose(found[0, 0], line[0])
    np.testing.assert_allclose(found[-1, -1], line[-1])
    starts = found[:, 0].sum(axis=1)  # the way along this line is x + y
    np.testing.assert_allclose(np.diff(starts), np.diff(starts)[0])
    assert (found[1:, 0].sum(axis=1) > found[:-1, -1].sum(axis=1)).all(), "with gaps"


def test_another_theme_and_scale_reach_them_and_pictures_have_them(opened, controller, stage):
    line = arc(opened)
    controller.show_guide("shape", guide_of(opened, lines=(line,)))
    made = stage(LIGHT)
    made.scene.set_backed(False)
    made.show(opened)
    made.scene.set_theme(DARK)
    made.scene.set_scale(2.0)
    assert is_drawn(made, made.draw(), line, DARK.text).mean() > 0.95
    drawn = render_scene(resolve_scene(opened), LIGHT, "article", (400, 300))
    controller.show_guide("shape", None)
    plain = render_scene(resolve_scene(opened), LIGHT, "article", (400, 300))
    assert (drawn != plain).any(axis=-1).mean() > 0.002


def draw_beside(window, guide, monkeypatch):
    """Let the similarity panel draw something beside the curve."""
    panel = window.panels["similarity"]
    model = window.session.model
    monkeypatch.setattr(
        type(panel.spec), "guide", lambda _, view, current: guide if view.model is model else None
    )
    panel.configure(rows="projected")


def test_guide_needs_the_panel_in_front(application, wait_until_idle, monkeypatch):
    window, session = application.window, application.session
    window.bring("similarity")
    wait_until_idle(application)
    guide = guide_of(session, lines=(arc(session),))
    draw_beside(window, guide, monkeypatch)
    wait_until_idle(application)
    assert window.viewport.scene.state.guides == (guide,)
    window.bring("norms")
    wait_until_idle(application)
    assert window.viewport.scene.state.guides == ()
    window.bring("similarity")
    wait_until_idle(application)
    assert window.viewport.scene.state.guides == (guide,)
    window.docks["similarity"].close()
    wait_until_idle(application)
    assert window.viewport.scene.state.guides == ()


def test_guide_goes_with_its_result(application, monkeypatch, wait_until_idle, write_table, helix):
    window, session = application.window, application.session
    window.bring("similarity")
    wait_until_idle(application)
    draw_beside(window, guide_of(session, lines=(arc(session),)), monkeypatch)
    application.controller.open(str(write_table(helix(90, 12), "other")))
    wait_until_idle(application)
    assert session.model.n_positions == 90
    window.bring("norms")
    window.bring("similarity")
    wait_until_idle(application)
    assert session.guides == {}
