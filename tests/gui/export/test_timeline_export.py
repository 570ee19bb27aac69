"""A time-lapse taken away: films and numbers of it."""

import itertools
import os

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.opening import open_model
from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.export.film import FilmError
from gui.export.pictures import OffScreen, PictureError
from gui.export.timelapse_film import (
    FilmLook,
    TimelineFrames,
    timeline_numbers,
    timeline_session,
    write_timelapse,
)
from gui.scene.scene_state import resolve_scene
from gui.state.camera import view_pose
from gui.state.values import ColorLimits
from gui.style.theme import DARK, format_count
from tests.films import read_gif, read_mp4
from tests.geometry.history_stage import D, N, growing, history_of, write_checkpoint

STEPS = [0, 10, 100, 1000, 3000]
SMALL = FilmLook(size=(160, 120), fps=5)


@pytest.fixture
def history():
    return history_of(
        STEPS,
        tokens=np.array(STEPS, np.int64) * 1000,
        losses=np.linspace(6, 3, len(STEPS), dtype=np.float32),
    )


@pytest.fixture
def model(tmp_path):
    return open_model(str(write_checkpoint(tmp_path / "model", growing(STEPS)[-1])))


@pytest.fixture
def session(model, history):
    return timeline_session(model, history)


@pytest.fixture
def frames():
    """Make frames, closed after the test."""
    made = []

    def make(session, look=SMALL):
        made.append(TimelineFrames(session, look))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_numbers_are_what_is_shown(session, model, history):
    found = timeline_numbers(session.timeline)
    assert found["steps"].tolist() == STEPS
    assert found["tokens"].tolist() == [1000 * step for step in STEPS]
    np.testing.assert_allclose(found["losses"], [6, 5.25, 4.5, 3.75, 3])
    assert found["basis"] == "frozen"
    assert found["positions"].tolist() == [1, N - 1]
    assert found["variance"].shape == (5, 3)
    assert found["frozen_variance"].shape == (5,)
    for i in range(5):
        table = history.table(i)
        by_hand = (table - found["mean"]) @ found["components"].T
        np.testing.assert_allclose(found["coordinates"][i], by_hand, atol=1e-5)
        np.testing.assert_allclose(found["norms"][i], np.linalg.norm(table, axis=1), rtol=1e-5)
    assert found["components"].shape == (3, D)
    # What is not known is not there.
    found = timeline_numbers(timeline_session(model, history_of(STEPS)).timeline)
    assert {"tokens", "losses"}.isdisjoint(found)
    some = history.only([1, 4])
    assert (some.steps.tolist(), some.tokens.tolist()) == ([10, 3000], [10_000, 3_000_000])
    np.testing.assert_array_equal(some.table(0), history.table(1))
    np.testing.assert_array_equal(some.last(), history.last())


def test_the_other_basis(model, history):
    session = timeline_session(model, history, "aligned", (5, 30))
    found = timeline_numbers(session.timeline)
    assert found["basis"] == "aligned"
    assert found["positions"].tolist() == [5, 30]
    np.testing.assert_array_equal(found["coordinates"], session.timeline.timelapse.aligned)
    # Each step's own components hold what is said of them.
    inside = found["coordinates"][:, 5:31]
    spread = ((inside - inside.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    whole = np.array(
        [((t[5:31] - t[5:31].mean(0)) ** 2).sum() for t in map(history.table, range(5))]
    )
    np.testing.assert_allclose(spread / whole, found["variance"].sum(axis=1), rtol=1e-4)


def test_npz_is_read_back(session, tmp_path):
    out = tmp_path / "lapse.NPZ"
    write_timelapse(session, out)
    with np.load(out) as file:
        assert set(file) == set(timeline_numbers(session.timeline))
        np.testing.assert_array_equal(file["coordinates"], session.timeline.coordinates)
        assert str(file["basis"]) == "frozen"
    with pytest.raises(HelixscopeError, match=r"none/x.npz cannot be written: No such file"):
        write_timelapse(session, tmp_path / "none" / "x.npz")


def test_a_frame_for_each_snapshot(session, frames, tmp_path):
    drawn = frames(session)
    assert len(drawn) == 5
    write_timelapse(session, tmp_path / "a.gif", size=SMALL.size, fps=SMALL.fps)
    film, waits = read_gif(tmp_path / "a.gif")
    assert film.shape == (5, 120, 160, 3)
    assert waits == [200] * 4 + [1000]
    for before, after in itertools.pairwise(film):
        assert (before != after).any()
    # What was drawn, but for the colours that do not fit a palette.
    assert np.abs(film[-1].astype(int) - drawn.draw(4)).mean() < 3


def test_every_frame_says_its_step(session, frames, monkeypatch):
    captions = []
    draw = OffScreen.draw

    def noted(stage, state, pose, **options):
        captions.append(" ".join(state.caption))
        return draw(stage, state, pose, **options)

    monkeypatch.setattr(OffScreen, "draw", noted)
    drawn = frames(session)
    for i, step in enumerate(STEPS):
        drawn.draw(i)
        assert f"step {format_count(step)} · " in captions[-1]
    assert "loss 3.000" in captions[-1]


def test_frames_stay_what_they_were_begun_as_and_points_grow_with_the_film(session, frames):
    """Fewer lines, larger points."""
    few, many = (frames(session, FilmLook((480, 360), lines=lines)) for lines in (240, 720))
    before = few.draw(4)
    colourful = [(np.ptp(one[:, :300].astype(int), axis=2) > 60).sum()
                 for one in (before, many.draw(4))]  # fmt: skip
    assert colourful[0] > 2 * colourful[1]
    session.change(selection=(4,), colormap="viridis", timeline=None, curve=None, snapshot=1)
    np.testing.assert_array_equal(few.draw(4), before)


def test_marks_and_colours_are_those_of_the_session(session, frames, monkeypatch):
    plain = frames(session).draw(3)
    session.selection = (4,)
    assert (frames(session).draw(3) != plain).any()
    dark = frames(session, FilmLook(size=(160, 120), theme=DARK)).draw(3)
    assert dark[0, 0].tolist() == [0x14, 0x16, 0x1A]
    # Beside other models colours span what there is of all of them.
    limits = []
    monkeypatch.setattr(OffScreen, "draw", lambda _, state, __: limits.append(state.scale.limits))
    session.color_limits = ColorLimits((-10.0, 99.0), ("-10", "99"))
    frames(session).draw(3)
    assert limits == [(-10.0, 99.0)]


def test_a_time_lapse_of_another_range_is_no_film_of_this_one(model, session):
    session.curve = place_curve(model.W_pos, fit_pca(model.W_pos, (5, 30)), (1, 2, 3))
    for _ in range(2):
        with pytest.raises(HelixscopeError, match="no time-lapse of the current view"):
            TimelineFrames(session, SMALL)
        session.timeline = None


@pytest.mark.parametrize("of_the_last", [False, True])
def test_nothing_leaves_the_picture(of_the_last, model, frames):
    """Though the tables shrink towards the end, also with a camera that frames the last one."""
    steps = [1, 2, 3]
    tables = [scale * growing([3000])[0] for scale in (5, 2, 1)]
    session = timeline_session(model, history_of(steps, tables))
    pose = None
    if of_the_last:
        state = resolve_scene(session)
        pose = view_pose("side", state.displayed_range, state.turn, 4 / 3)
    drawn = frames(session, FilmLook(size=(320, 240), lines=240, pose=pose))
    for i in range(3):
        picture = drawn.draw(i)
        # The colour bar, the arrows and the caption are at the sides and below.
        colourful = np.ptp(picture[:180, :230].astype(int), axis=2) > 60
        assert colourful.any()
        assert not colourful[:4].any()
        assert not colourful[:, :4].any()


def test_every_format_by_its_ending(session, tmp_path):
    said = []

    def step(message, work):
        said.append(message)
        work()

    for ending in ("mp4", "gif", "npz"):
        out = tmp_path / f"a.{ending}"
        write_timelapse(session, out, size=(161, 121), fps=4, step=step)
    assert said == ["Drawing 5 frames", "Drawing 5 frames", "Writing"]
    assert sorted(os.listdir(tmp_path)) == ["a.gif", "a.mp4", "a.npz", "model"]
    film, fps = read_mp4(tmp_path / "a.mp4")
    assert film.shape == (5, 122, 162, 3)  # even sides
    assert fps == 4
    assert np.abs(film[0].astype(int) - film[-1]).max() > 100


def test_a_film_that_cannot_be(session, tmp_path):
    for out, size, error, said in (
        ("none/a.mp4", (80, 60), FilmError, "cannot be written"),
        ("a.gif", (20_000, 20_000), PictureError, "is not possible"),
    ):
        with pytest.raises(error, match=said):
            write_timelapse(session, tmp_path / out, size=size)
    assert os.listdir(tmp_path) == ["model"]
