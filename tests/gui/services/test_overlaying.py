"""Other models laid over the open one, without a window."""

import threading

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.models.sources import open_source
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.services.overlaying import COLORS
from gui.state.session import Session


@pytest.fixture
def others(write_table, helix):
    return [str(write_table(helix(n, 16, n), f"other{n}")) for n in (120, 260)]


def test_an_overlay_is_measured_and_the_open_model_stays(opened, controller, others):
    model, norms = opened.model, opened.norms
    controller.overlays.add(others[0])
    (overlay,) = opened.overlays
    table = np.load(others[0])
    np.testing.assert_allclose(overlay.lengths.norms, np.linalg.norm(table, axis=1))
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    np.testing.assert_allclose(overlay.lengths.steps, steps)
    assert (overlay.name, overlay.source, overlay.shown) == ("other120", others[0], True)
    assert opened.model is model
    assert opened.norms is norms
    assert opened.recent[0] != others[0]
    assert opened.notice is None


def test_twice_the_same_is_once(opened, controller, others):
    controller.overlays.add(others[0])
    before = opened.overlays
    controller.overlays.add(others[0])
    assert opened.overlays is before


def test_colours_stay_and_freed_ones_are_used_again(opened, controller, others, write_table, helix):
    third = str(write_table(helix(90), "third"))
    for source in (*others, third):
        controller.overlays.add(source)
    assert [o.color for o in opened.overlays] == [0, 1, 2]
    controller.overlays.remove(others[0])
    assert [o.color for o in opened.overlays] == [1, 2]
    controller.overlays.add(others[0])
    assert [(o.source, o.color) for o in opened.overlays][-1] == (others[0], 0)


def test_there_are_only_so_many(opened, controller, write_table, helix):
    for number in range(COLORS + 2):
        controller.overlays.add(str(write_table(helix(20), f"t{number}")))
    assert len(opened.overlays) == COLORS
    assert len({o.color for o in opened.overlays}) == COLORS


def test_hiding_keeps_what_was_measured(opened, controller, others):
    controller.overlays.add(others[0])
    lengths = opened.overlays[0].lengths
    controller.overlays.show(others[0], False)
    assert not opened.overlays[0].shown
    assert opened.overlays[0].lengths is lengths
    controller.overlays.show(others[0], True)
    assert opened.overlays[0].shown


def test_what_cannot_be_opened_is_one_sentence_and_no_overlay(opened, controller, tmp_path):
    controller.overlays.add(str(tmp_path / "nothing.npy"))
    assert opened.overlays == ()
    assert "nothing.npy" in opened.notice.text
    assert not opened.notice.retry
    assert not opened.notice.candidates
    assert opened.model.name == "helix"


def test_a_checkpoint_of_unknown_architecture_offers_nothing_to_open(
    opened, controller, tmp_path, write_safetensors
):
    file = write_safetensors(tmp_path / "x.safetensors", {"a": np.eye(4), "b": np.eye(5)})
    controller.overlays.add(str(file))
    assert opened.overlays == ()
    assert opened.notice.text
    assert opened.notice.candidates == ()
    assert opened.notice.source == ""


def test_a_fault_of_ours_is_said_too(session, write_table):
    def broken(source, **_):
        if source == "bad":
            raise RuntimeError("boom")
        return open_source(source)

    controller = Controller(session, InlineJobs(), broken)
    controller.open(str(write_table()))
    controller.overlays.add("bad")
    controller.close()
    assert "RuntimeError: boom" in session.notice.text
    assert "bad could not be laid over" in session.notice.text


def test_it_is_listed_while_it_is_read_and_can_be_given_up(session, hand_jobs, write_table, others):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    for source in others:
        controller.overlays.add(source)
    assert [o.lengths for o in session.overlays] == [None, None]
    controller.overlays.remove(others[0])
    assert f"overlay {others[0]}" not in hand_jobs.waiting
    hand_jobs.deliver_all()
    assert [o.source for o in session.overlays] == [others[1]]
    assert session.overlays[0].lengths is not None


def test_closing_gives_up_what_is_read(session, hand_jobs, write_table, others):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    controller.overlays.add(others[0])
    controller.close()
    assert not hand_jobs.waiting


def test_a_model_is_not_compared_with_itself(opened, controller, others):
    for source in others:
        controller.overlays.add(source)
    controller.open(others[0])
    assert opened.model.name == "other120"
    assert [o.source for o in opened.overlays] == [others[1]]


def test_a_model_of_the_hub_is_opened_by_the_networks_rules(write_table):
    """Through the window's own network, without leave to download whole files."""
    asked = []

    def opener(source, *, table=None, network=None):
        asked.append((source, network, threading.current_thread()))
        raise SourceError("Not today.", "Try tomorrow.")

    session = Session(offline=True)
    controller = Controller(session, InlineJobs(), opener)
    controller.overlays.add("openai-community/gpt2")
    (source, network, _), = asked  # fmt: skip
    assert source == "openai-community/gpt2"
    assert not network.whole
    assert not network.fresh
    assert network.hub.offline
    assert session.notice.text == "Not today."
    controller.close()
    controller = Controller(session, InlineJobs(), opener)
    controller.overlays.add(str(write_table()))
    controller.close()
    assert asked[-1][1] is None


# ---- what is measured of the open model ---------------------------------------------------


def test_the_stretch_begins_where_it_is_wanted(opened, controller):
    values = opened.norms.values
    opened.norms_after = 40
    assert opened.norms.values is values
    assert opened.norms.after == 40
    assert opened.norms.mean == pytest.approx(values[40:199].mean())
    opened.norms_centred = True
    assert (opened.norms.after, opened.norms.centred) == (40, True)


def test_a_model_that_is_opened_later_is_measured_from_there(session, controller, write_table):
    session.norms_after = 12
    controller.open(str(write_table()))
    assert session.norms.after == 12
    assert session.norms.mean == pytest.approx(session.norms.values[12:199].mean())


def test_steps_are_measured_when_they_are_wanted(opened, controller, write_table, helix):
    assert opened.lengths is None
    opened.norms_quantity = "step"
    steps = np.linalg.norm(np.diff(opened.model.W_pos, axis=0), axis=1)
    np.testing.assert_allclose(opened.lengths.steps, steps)
    controller.open(str(write_table(helix(90), "shorter")))
    assert len(opened.lengths.steps) == 89
    opened.norms_quantity = "norm"
    controller.open(str(write_table(helix(70), "shortest")))
    assert opened.lengths is None


def test_steps_of_a_model_that_is_gone_never_come(session, hand_jobs, write_table, helix):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    session.norms_quantity = "step"
    assert "lengths" in hand_jobs.waiting
    controller.open(str(write_table(helix(90), "shorter")))
    hand_jobs.deliver("open")
    assert session.lengths is None
    hand_jobs.deliver_all()
    assert len(session.lengths.norms) == 90
