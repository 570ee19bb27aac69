"""The table that a user has chosen: it is asked for, kept, and opened again wherever a model is."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.history.origins import find_history
from geometry.models.sources.extended import extended_source
from geometry.models.sources.opening import open_model
from gui.scene.scene_state import resolve_scene
from gui.services.loading import forget_recent
from gui.services.snippets import python_script
from gui.services.undo import Undo
from gui.services.work_files.projects import save_work
from gui.services.work_files.reopening import take_other, take_work
from gui.services.work_files.work_file import write_work
from gui.state.values import MAX_TABLES
from tests.bare_models import CHOICE, NAME, write_bare


@pytest.fixture
def write(tmp_path):
    """Write a checkpoint of which names do not tell whether two rows come before position 0."""
    return lambda name="bare", seed=0: write_bare(tmp_path / f"{name}.safetensors", seed)


@pytest.fixture
def bare(write):
    return write()


@pytest.fixture(params=[CHOICE, "family=roberta", f"{NAME};family=bert;first-rows=2"])
def choice(request):
    return request.param


@pytest.fixture
def chosen(session, controller, bare, choice):
    """A session with the checkpoint open, from row 2 on."""
    controller.open(bare)
    controller.choose_table(session.notice, choice)
    return session


def test_where_only_the_rows_are_unknown_they_are_asked_for(session, controller, bare):
    controller.open(bare)
    assert session.model is None
    (table,) = session.notice.candidates
    assert (table.name, table.shape) == (NAME, (42, 16))
    assert {0, 2} <= set(session.notice.first_rows)
    assert "--" not in session.notice.text + session.notice.advice
    controller.choose_table(session.notice, CHOICE)
    assert (session.model.table, session.model.n_positions) == (NAME, 40)
    assert session.model.table_choice == controller.opening.shown.table == CHOICE
    assert "rows from 2" in resolve_scene(session).caption[0]


def test_chosen_table_is_used_until_forgotten(chosen, controller, bare, write_table, choice):
    controller.open(str(write_table()))
    assert chosen.model.table_choice is None
    controller.open(bare)
    assert chosen.model.table_choice == choice
    controller.opening.forget_table()
    assert chosen.notice.first_rows
    controller.choose_table(chosen.notice, f"{NAME}[0:]")
    assert chosen.model.n_positions == 42
    assert chosen.tables == {bare: f"{NAME}[0:]"}
    controller.open(bare, table="")
    assert chosen.notice.first_rows
    forget_recent(chosen)
    controller.open(bare)
    assert chosen.notice.first_rows


def test_the_caption_names_a_tensor_of_no_known_family(session, controller, tmp_path, helix):
    np.savez(tmp_path / "two.npz", a=helix(), b=helix(30))
    controller.open(str(tmp_path / "two.npz"), table="a[:-100]")
    assert " · a, rows 0–99 · " in resolve_scene(session).caption[0]
    controller.open("sinusoidal:30x8")
    assert "rows" not in resolve_scene(session).caption[0]


def test_a_choice_is_forgotten_by_the_file_that_lacks_it(chosen, controller, bare, helix, choice):
    save_file({"only.pos": helix().astype(np.float32)}, bare)
    controller.open(bare)
    assert chosen.model.table == "only.pos"
    kept = choice if choice.startswith("family=") else None  # which any table can be read as
    assert chosen.model.table_choice == kept
    assert chosen.tables == ({bare: kept} if kept else {})


def test_the_next_start_opens_it_so(chosen, controller, settings, bare, write_table, choice):
    settings.save_session(chosen)
    again = settings.new_session()
    assert again.tables == {bare: choice}
    controller.open(str(write_table()))
    controller.open_first(None, again.recent[0].id)
    assert (chosen.model.source.text, chosen.model.table_choice) == (bare, choice)


def test_settings_of_anything_else_are_no_choices(settings):
    for value in ("a", ["a"], {"a": 1}, {str(n): "t" for n in range(2 * MAX_TABLES)}):
        settings._set("model/tables", value)
        assert len(settings.new_session().tables) <= MAX_TABLES
        assert "a" not in settings.new_session().tables


def test_a_project_keeps_the_choice(chosen, controller, bare, tmp_path, write_table, choice):
    chosen.positions = (3, 30)
    path = tmp_path / "a.helix"
    save_work(take_work(chosen, controller.opening.shown, None), path)
    forget_recent(chosen)
    controller.open(str(write_table()))
    controller.open(str(path))
    assert (chosen.model.table_choice, chosen.positions) == (choice, (3, 30))
    assert not chosen.notice.candidates


def test_project_without_a_choice_asks(chosen, controller, bare, tmp_path, write_table, choice):
    path = tmp_path / "a.helix"
    work = take_work(chosen, controller.opening.shown, None)
    fields = {**work.fields, "color_by": "norm", "selection": (7,)}
    write_work(replace(work, table=None, positions=(3, 30), fields=fields), path)
    forget_recent(chosen)
    controller.open(str(write_table()))
    controller.open(str(path))
    assert chosen.notice.first_rows
    controller.choose_table(chosen.notice, choice)
    assert (chosen.model.table_choice, chosen.positions) == (choice, (3, 30))
    assert (chosen.color_by, chosen.selection) == ("norm", (7,))
    assert chosen.work_file == str(path)


def test_a_bookmark_keeps_the_choice(chosen, controller, bare, write_table, choice):
    work = take_work(chosen, controller.opening.shown, None)
    controller.open(bare, table=f"{NAME}[0:]")
    assert chosen.model.n_positions == 42
    controller.reopening.go_to(work)
    assert chosen.model.table_choice == choice


def test_undo_brings_back_the_choice_before(chosen, controller, bare, choice):
    undo = Undo(chosen, controller.comparing, lambda: None, lambda _: None)
    controller.open(bare, table=f"{NAME}[0:]")
    undo.undo()
    assert chosen.model.table_choice == controller.opening.shown.table == choice
    undo.redo()
    assert chosen.model.table_choice == f"{NAME}[0:]"
    undo.close()


def test_copied_scripts_open_the_same_rows(chosen):
    said = {}
    exec(python_script("", chosen.model), said)
    np.testing.assert_array_equal(said["model"].W_pos, chosen.model.W_pos)


def test_no_source_is_made_that_would_lose_the_rows(chosen):
    assert extended_source("helix", 20, 30, chosen.model) is None


def test_a_history_has_the_rows_that_were_chosen(write, tmp_path):
    (tmp_path / "checkpoint-5").mkdir()
    write("checkpoint-5/model")
    model = open_model(tmp_path / "checkpoint-5", table=CHOICE)
    assert find_history(model).table == CHOICE


def test_models_beside_are_asked_for_one_after_another(opened, controller, write):
    sources = [write(name, seed=seed) for seed, name in enumerate(("one", "two"))]
    controller.comparing.add_all(sources)
    asked = []
    for choice in (CHOICE, f"{NAME}[0:]"):
        assert opened.notice.first_rows
        asked.append(opened.notice.source.text)
        controller.choose_table(opened.notice, choice)
    assert sorted(asked) == sorted(sources)
    assert opened.notice is None or not opened.notice.candidates
    rows = {one.source.text: one.session.model.n_positions for one in opened.others}
    assert rows == {asked[0]: 40, asked[1]: 42}
    assert not any(one.failed for one in opened.others)
    controller.comparing.clear()
    controller.comparing.add_source(asked[0])
    assert opened.others[0].session.model.table_choice == CHOICE
    ((_, session, wanted),) = controller.comparing.opened
    assert take_other(session, wanted, None).table == CHOICE


def test_a_source_with_its_choice_opens_alone_and_beside(session, controller, bare, choice):
    controller.open(f"table:{choice},{bare}")
    assert (session.model.source.text, session.model.table_choice) == (bare, choice)
    controller.comparing.add_source(f"table:first-rows=1,{bare}")
    ((_, other, wanted),) = controller.comparing.opened
    assert (other.model.n_positions, wanted.table) == (41, "first-rows=1")
    assert other.model.source == session.model.source


def test_captions_of_files_of_the_same_name_differ(session, controller, write, tmp_path):
    for name in "ab":
        (tmp_path / name / "out").mkdir(parents=True)
    one, two = (write(f"{name}/out/ckpt") for name in "ab")
    controller.open(one, table=CHOICE)
    controller.comparing.add_source(two, table=CHOICE)
    captions = [resolve_scene(each).caption[0] for each in (session, session.others[0].session)]
    assert captions[0].startswith("out")
    assert captions[1].startswith("b/out")
    assert [model.name for model in session.open_models] == ["out", "b/out"]


def test_captions_name_what_was_chosen(session, controller, bare):
    controller.open(bare, table="family=roberta;first-rows=1")
    caption = resolve_scene(session).caption[0]
    assert "roberta" in caption
    assert "rows from 1" in caption


def test_a_chosen_table_is_that_of_each_model_which_has_it(session, controller, write, write_table):
    bare, helix = write(), str(write_table())
    controller.open(helix, table=CHOICE)
    assert session.model is None
    assert session.notice.candidates
    controller.open(helix, table=CHOICE, if_there=True)
    assert session.model.name == "helix"
    assert controller.opening.shown.table is None
    controller.comparing.add_source(bare, table=CHOICE)
    assert session.others[0].session.model.n_positions == 40
    work = take_work(session, controller.opening.shown, None)
    assert work.table is None
