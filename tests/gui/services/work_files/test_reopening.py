"""Saved work opens as it was, without a window."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from geometry.checkpoints.column_files import PositionColumn
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.services.work_files.projects import save_work
from gui.services.work_files.reopening import OTHER, RESUMED, take_alignment, take_other, take_work
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.state.camera import CameraPose, Place
from gui.state.session import Session

PLACE = Place(CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0), True)


@pytest.fixture
def save(session, controller, tmp_path):
    def saved(name="a.helix", **changes):
        path = tmp_path / name
        save_work(replace(take_work(session, controller.opening.shown, PLACE), **changes), path)
        return path

    return saved


def reset(session, controller, folder) -> None:
    """Look at something else, in another way."""
    controller.open(str(folder))
    session.change(
        components=(1, 2, 3), color_by="position", selection=(), prompt="", sphere=False,
        outside="hidden", norms_quantity="norm", color_span="table", line_width=1.5, point_size=7.0,
        curve_parts="both", opacity=1.0,
    )  # fmt: skip


@pytest.fixture
def other(tmp_path):
    np.save(tmp_path / "other.npy", np.random.default_rng(3).normal(size=(40, 8)))
    return tmp_path / "other.npy"


def test_everything_is_as_it_was(session, controller, write_gpt2, save, other):
    folder = write_gpt2()
    controller.open(str(folder))
    session.positions = (5, 60)
    wanted = {
        "components": (2, 1, 4), "color_by": "component", "color_component": 3, "selection": (7, 9),
        "prompt": "hello my name", "outside": "faint", "norms_quantity": "step", "sphere": True,
        "color_span": "range", "line_width": 3.0, "point_size": 9.0, "curve_parts": "line",
        "opacity": 0.5,
    }  # fmt: skip
    session.change(**wanted)
    curve = session.curve.coordinates.copy()
    path = save()
    reset(session, controller, other)
    controller.open(str(path))
    assert session.notice is None
    assert session.model.source.text == str(folder)
    assert session.curve.pca.positions == session.positions == (5, 60)
    assert {name: getattr(session, name) for name in wanted} == wanted
    assert session.tokens.texts[1:] == ("hello", "my", "name")
    np.testing.assert_allclose(session.curve.coordinates, curve, atol=1e-9)
    assert session.work.place.follows
    assert session.recent[0].id == str(path)


def test_a_kept_turn_comes_back_with_other_components(
    session, controller, write_table, helix, save, other
):
    controller.open(str(write_table(helix(60, 8))))
    session.change(components=(2, 3, 1), keep_turned=True)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    session.turn = turn
    path = save()
    reset(session, controller, other)
    controller.open(str(path))
    assert session.components == (2, 3, 1)
    np.testing.assert_array_equal(session.turn, turn)


@pytest.mark.parametrize("bookmarked", [False, True])
def test_what_files_of_0_1_lack_is_as_0_1_showed_it(
    session, controller, write_table, save, bookmarked
):
    controller.open(str(write_table()))
    path = save(fields={"color_by": "norm"})
    column = PositionColumn("loss", "a.csv", (1.0,))
    session.change(
        color_span="range", line_width=9.0, opacity=0.2, color_period=9.0, color_column=column
    )
    if bookmarked:
        controller.reopening.go_to(read_work(path))
    else:
        controller.open(str(path))
    assert (session.color_by, session.color_span) == ("norm", "table")
    assert (session.color_period, session.color_column) == (32.0, None)
    assert (session.line_width, session.opacity) == (1.5, 1.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"color_by": "period", "color_period": 24.5, "cyclic_colormap": "viridis"},
        {"color_by": "token"},
        {
            "color_by": "column",
            "color_column": PositionColumn("kind of", "a b.csv", ("x", None, "y")),
        },
        {"color_by": "column", "color_column": PositionColumn("loss", "a.csv", (0.1, None, -3.0))},
    ],
    ids=["period", "token", "categories", "numbers"],
)
def test_what_colours_the_curve_is_saved_with_its_values(
    session, controller, write_table, save, other, fields
):
    controller.open(str(write_table()))
    session.change(**fields)
    path = save()
    reset(session, controller, other)
    session.change(color_period=3.0, cyclic_colormap="romaO", color_column=None)
    controller.open(str(path))
    assert {name: getattr(session, name) for name in fields} == fields


def test_a_model_beside_the_file_is_found_where_both_were_moved(
    session, controller, write_gpt2, save, tmp_path, other
):
    folder = write_gpt2()
    controller.open(str(folder))
    path = save()
    reset(session, controller, other)
    (tmp_path / "moved").mkdir()
    shutil.move(folder, tmp_path / "moved" / folder.name)
    shutil.move(path, tmp_path / "moved" / path.name)
    controller.open(str(tmp_path / "moved" / path.name))
    assert session.notice is None
    assert session.model.source.text == str(tmp_path / "moved" / folder.name)


def test_a_place_that_cannot_be_looked_at_is_one_where_nothing_is(
    session, controller, write_gpt2, save, tmp_path, other, monkeypatch
):
    folder = write_gpt2()
    controller.open(str(folder))
    nowhere = str(tmp_path / ("x" * 300))  # too long a name: asking whether it is there raises
    path = save()
    write_work(replace(read_work(path), source=Source.parse(nowhere)), path)
    reset(session, controller, other)
    controller.open(str(path))
    assert session.notice is None
    assert session.model.source.text == str(folder)
    monkeypatch.setattr(
        "gui.services.opening.first_source", lambda last: (Source.parse(str(folder)), None)
    )
    controller.open_first(None, f"{nowhere}.helix")
    assert session.notice is None


def test_another_model_in_the_same_place_is_said(session, controller, write_table, save, other):
    table = write_table()
    controller.open(str(table))
    session.selection = (150,)
    session.components = (1, 2, 20)
    path = save()
    reset(session, controller, other)
    np.save(table, np.load(table)[:100, :9])
    controller.open(str(path))
    assert session.notice.text == OTHER
    assert session.model.source.text == str(table)
    assert session.positions == (1, 99)
    assert session.selection == ()
    assert session.components == (1, 2, 3)
    reset(session, controller, other)
    np.save(table, np.random.default_rng(0).normal(size=(200, 9)))
    controller.open(str(path))
    assert session.notice.text == OTHER
    assert session.selection == (150,)
    assert session.components == (1, 2, 3)


def test_a_model_that_is_gone_leaves_what_is_open_and_work_never_saved_is_resumed(
    session, controller, write_table, save, other
):
    table = write_table()
    controller.open(str(table))
    session.prompt = "saved"
    path = save()
    reset(session, controller, other)
    table.unlink()
    controller.open(str(path))
    assert "helix" in session.notice.text
    assert session.model.source.text == str(other)
    assert session.prompt == ""
    # What is opened next has nothing to do with it.
    controller.open(str(other))
    assert session.prompt == ""
    controller.open(str(write_table()))
    session.positions = (20, 30)
    work = read_work(save())
    reset(session, controller, other)
    controller.reopening.show(work)
    assert session.positions == (20, 30)
    assert session.notice.text == RESUMED
    assert not session.recent[0].id.endswith(".helix")


def test_a_file_that_is_none_leaves_what_is_open_and_the_last_one_is_opened_next(
    session, controller, other, tmp_path, save
):
    controller.open(str(other))
    (tmp_path / "bad.helix").write_text("hello")
    controller.open(str(tmp_path / "bad.helix"))
    assert session.notice.text.startswith("bad.helix is not a saved project")
    assert session.model.source.text == str(other)
    session.positions = (2, 20)
    path = save()
    controller.open_first(None, str(path))
    assert session.positions == (2, 20)
    assert open_model(other).fingerprint == session.model.fingerprint


def test_a_chosen_table_is_chosen_again(session, controller, write_safetensors, tmp_path, other):
    tables = {name: np.random.default_rng(i).normal(size=(30, 6)) for i, name in enumerate("ab")}
    np.savez(tmp_path / "two.npz", **tables)
    controller.open(str(tmp_path / "two.npz"), table="b")
    path = tmp_path / "two.helix"
    save_work(take_work(session, controller.opening.shown, None), path)
    reset(session, controller, other)
    controller.open(str(path))
    np.testing.assert_array_equal(session.model.W_pos, tables["b"])


def test_computed_tables_and_the_bundled_model_have_no_place_in_a_folder(
    session, controller, save, other
):
    for source in ("sinusoidal:64x16", "sample"):
        controller.open(source)
        path = save()
        assert read_work(path).beside == ""
        reset(session, controller, other)
        controller.open(str(path))
        assert session.model.source.text == source
        assert session.notice is None


# ---- what is laid over the curve ----------------------------------------------------------------


@pytest.fixture
def take(session, controller):
    """Take down the models beside the open one and what is laid over it, too."""

    def taken():
        opened = controller.comparing.opened
        others = tuple(take_other(at, wanted, None) for _, at, wanted in opened)
        alignment = take_alignment(session, [key for key, _, _ in opened])
        work = take_work(session, controller.opening.shown, None)
        return replace(work, others=others, alignment=alignment)

    return taken


@pytest.fixture
def two(session, controller, write_table, helix):
    """Two models beside the open one; returns their keys."""
    controller.open(str(write_table()))
    tables = {"long": helix(300, 20, seed=11), "short": helix(120, 16, seed=9)}
    return [controller.comparing.add(str(write_table(W, name))) for name, W in tables.items()]


def laid_of(session) -> str:
    """The name of the model that is laid over the open one."""
    (name,) = [one.name for one in session.others if one.key == session.alignment.what.key]
    return name


HOWS = [
    CurveAlignment(OfRange((3, 90)), "scaled", mirrored=False),
    CurveAlignment(OfStep(40), "basis", middle="own"),
]


@pytest.mark.parametrize("alignment", HOWS, ids=["range", "step"])
def test_another_range_or_step_is_laid_over_again(opened, controller, take, tmp_path, alignment):
    opened.alignment = alignment
    write_work(take(), tmp_path / "a.helix")
    source = opened.model.source.text
    opened.alignment = None
    controller.open(source)
    assert opened.alignment is None
    controller.open(str(tmp_path / "a.helix"))
    assert opened.alignment == alignment
    assert (opened.aligned is not None) is isinstance(alignment.what, OfRange)


def test_a_model_beside_it_is_laid_over_again(session, controller, two, take, tmp_path):
    session.alignment = CurveAlignment(OfOther(two[1]), "scaled")
    aligned = session.aligned.coordinates.copy()
    path = tmp_path / "a.helix"
    save_work(take(), path)
    assert read_work(path).alignment == CurveAlignment(OfOther(1), "scaled")
    controller.comparing.clear()
    assert session.alignment is None
    controller.open(str(path))
    assert session.alignment.how == "scaled"
    assert session.alignment.what.key not in two  # keys are never used again
    assert laid_of(session) == "short"
    np.testing.assert_allclose(session.aligned.coordinates, aligned, atol=1e-9)


def test_one_that_is_gone_stays_in_the_work_and_is_not_laid_over(
    session, controller, two, take, tmp_path
):
    session.alignment = CurveAlignment(OfOther(two[0]))
    path = tmp_path / "a.helix"
    save_work(take(), path)
    (tmp_path / "long.npy").unlink()
    controller.open(str(path))
    assert [one.name for one in session.others] == ["long.npy", "short"]
    assert "does not exist" in session.others[0].failed
    assert session.aligned is None
    assert session.not_aligned == "long.npy could not be opened."


def test_one_that_is_still_being_read_is_not_taken_down():
    session = Session(alignment=CurveAlignment(OfOther(4), "scaled"))
    assert take_alignment(session, [7]) is None
    assert take_alignment(session, [7, 4]) == CurveAlignment(OfOther(1), "scaled")


def test_a_view_is_shown_with_what_is_laid_over_it_which_is_opened_again(
    session, controller, two, take, write_table, helix
):
    session.alignment = CurveAlignment(OfOther(two[0]), "scaled")
    view = take()
    session.alignment = None
    controller.reopening.go_to(view)
    assert laid_of(session) == "long"
    controller.comparing.move(two[0], 2)
    controller.comparing.make_current(two[1])
    session.alignment = None
    controller.reopening.go_to(view)  # the open model is one beside another now
    assert session.model.name == "helix"
    assert laid_of(session) == "long"
    aligned = session.aligned.coordinates.copy()
    controller.comparing.remove(session.alignment.what.key)
    assert session.alignment is None
    controller.reopening.go_to(view)
    assert laid_of(session) == "long"
    np.testing.assert_allclose(session.aligned.coordinates, aligned, atol=1e-9)
    (added,) = [one for one in session.others if one.key == session.alignment.what.key]
    assert not added.in_grid, "the grid stays as it is"
    controller.comparing.clear()
    controller.open(str(write_table(helix(64, 12, 1), "another")))
    controller.reopening.go_to(view)
    assert session.model.name == "helix"
    assert laid_of(session) == "long"


def test_a_view_with_nothing_laid_over_takes_it_away(opened, controller, take):
    view = take()
    opened.alignment = CurveAlignment(OfRange((1, 50)))
    controller.reopening.go_to(view)
    assert opened.alignment is None
    assert opened.aligned is None
