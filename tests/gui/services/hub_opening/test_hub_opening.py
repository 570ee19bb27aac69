"""Opening models from the Hub without a window: the real client against a Hub on this machine."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.transfer import Cancelled, TransferProgress
from geometry.models.sources.source import Source
from gui.scene.scene_state import resolve_scene
from gui.services.controller import Controller
from gui.services.notices import ONLINE, UNSET
from tests.gui.services.conftest import is_same, snapshot
from tests.gui.services.hub_opening.hub_models import GPT2, MEDIUM, next_start
from tests.loopback.hub import Fault
from tests.stand_ins import N_POSITIONS, NINE, add_nine, positions_of, write_stand_in

STANFORD = NINE[-1]
AT_ONCE = {"Retry-After": "0"}


def states(session):
    return {row.entry.id: row.state for row in session.models}


# ---- by id -----------------------------------------------------------------------------


def test_opens_a_model_by_its_id(session, controller, hub):
    controller.open(GPT2)
    assert session.model.name == "gpt2"
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))
    assert (session.opening, session.transfer, session.status) == (None, None, "Ready")
    assert session.notice is None
    assert session.recent == (Source.parse(GPT2),)
    assert states(session)[GPT2] == "cached"
    assert states(session)[MEDIUM] == "online"


def test_all_nine_open_from_the_catalogue(session, controller, loopback_hub, tmp_path):
    commits = add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    controller.refresh_models()
    listed = [row.entry.id for row in session.models if row.entry.id in NINE]
    assert set(listed) == set(NINE)
    for name in listed:
        controller.open(name)
        assert session.notice is None
        assert session.model.commit == commits[name]
        np.testing.assert_array_equal(session.model.W_pos, positions_of(name))
    assert {states(session)[name] for name in NINE} == {"cached"}


@pytest.mark.parametrize(
    ("typed", "remembered"),
    [
        ("gpt2", GPT2),
        (f"hf://{GPT2}", GPT2),
        (f"https://huggingface.co/{GPT2}", GPT2),
        (f"https://huggingface.co/{GPT2}/tree/main", GPT2),
    ],
)
def test_a_model_is_remembered_by_its_id(session, controller, hub, typed, remembered):
    controller.open(typed)
    assert session.notice is None
    assert [source.id for source in session.recent] == [remembered]
    assert next_start(remembered, offline=True).model.name == "gpt2"


def test_a_revision_is_remembered(session, controller, loopback_hub, tmp_path):
    source = f"{STANFORD}@checkpoint-0"
    files = write_stand_in(tmp_path / "made", STANFORD, "checkpoint-0")
    commit = loopback_hub.add(STANFORD, files, revision="checkpoint-0")
    controller.open(source)
    assert session.recent == (Source.parse(source),)
    assert session.model.commit == commit
    assert commit[:7] in " ".join(resolve_scene(session).caption)
    again = next_start(source, offline=True)
    np.testing.assert_array_equal(again.model.W_pos, positions_of(STANFORD, "checkpoint-0"))


def test_what_lies_here_goes_through_no_network(session, controller, write_gpt2, monkeypatch):
    def never(*_):
        raise AssertionError("there is no need of one")

    monkeypatch.setattr("gui.services.fetching.Fetching.network", never)
    controller.open(str(write_gpt2()))
    assert session.notice is None
    assert session.model.name == "tiny-gpt2"


# ---- progress --------------------------------------------------------------------------


def test_progress_is_shown_once_it_takes_a_moment(session, by_hand, hand_jobs):
    first = TransferProgress("wpe.weight", 10, 100, None)
    second = TransferProgress("wpe.weight", 20, 100, 3.0)
    by_hand.open(GPT2)
    hand_jobs.tell("open", first)
    assert (session.opening, session.transfer) == (None, None)
    hand_jobs.drag_on("open")
    assert (session.opening.text, session.transfer) == (GPT2, first)
    assert session.status == "Opening gpt2…"
    hand_jobs.tell("open", second)
    assert session.transfer is second
    hand_jobs.deliver_all()
    assert (session.opening, session.transfer, session.status) == (None, None, "Ready")


def test_progress_is_that_of_the_bytes_that_come(
    session, by_hand, hand_jobs, hub, write_gpt2, helix, write_safetensors
):
    folder = write_gpt2("long", helix(1024, 192))
    tensors = {"a": np.zeros(50_000), "wpe.weight": helix(1024, 192)}
    write_safetensors(folder / "model.safetensors", tensors)
    hub.add("someone/long", {path.name: path for path in folder.iterdir()})
    told = []
    session.events.transfer.connect(lambda progress: told.append(progress))
    by_hand.open("someone/long")
    hand_jobs.drag_on("open")
    hand_jobs.compute("open")
    pieces = {progress.what: progress for progress in told if progress}
    assert list(pieces) == ["model.safetensors", "config.json", "wpe.weight"]
    assert all(progress.done == progress.total for progress in pieces.values())
    assert pieces["wpe.weight"].total == tensors["wpe.weight"].nbytes


def test_another_model_has_a_progress_of_its_own(session, by_hand, hand_jobs):
    by_hand.open(GPT2)
    hand_jobs.drag_on("open")
    hand_jobs.tell("open", TransferProgress("wpe.weight", 10, 100, None))
    by_hand.open(MEDIUM)
    assert (session.opening.text, session.transfer) == (MEDIUM, None)


# ---- giving up -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cancelled", "superseded", "closed"])
def test_what_is_given_up_fetches_nothing_more(session, by_hand, hand_jobs, hub, how, write_table):
    by_hand.open(GPT2)
    hand_jobs.drag_on("open")
    hand_jobs.tell("open", TransferProgress("wpe.weight", 10, 100, None))
    work = hand_jobs.waiting["open"][0]
    if how == "cancelled":
        by_hand.opening.cancel()
        assert (session.opening, session.transfer) == (None, None)
        assert session.status == "Opening cancelled"
    elif how == "superseded":
        by_hand.open(str(write_table()))
    else:
        hand_jobs.cancel("open")
    with pytest.raises(Cancelled):
        work()
    assert hub.requests == []
    assert session.notice is None


def test_cancelling_leaves_what_is_open(fetched, hand_jobs):
    controller = Controller(fetched, hand_jobs)
    before = snapshot(fetched)
    controller.open(MEDIUM)
    hand_jobs.drag_on("open")
    assert controller.cancel()
    assert is_same(fetched, before)
    assert not controller.cancel()
    controller.close()


# ---- what goes wrong -------------------------------------------------------------------


def test_a_failure_is_a_sentence_and_can_be_tried_again(session, controller, hub):
    hub.fault(Fault.status(503, AT_ONCE), times=4)
    controller.open(GPT2, positions=(3, 40))
    assert session.model is None
    said = session.notice.text
    assert said.startswith(f"{GPT2} could not be opened: 127.0.0.1:")
    assert "unavailable or overloaded" in said
    assert (session.notice.source.text, session.notice.retry, session.notice.whole) == (
        GPT2,
        True,
        0,
    )
    assert (session.opening, session.transfer, session.status) == (None, None, "Ready")
    controller.retry()
    assert session.notice is None
    assert session.positions == (3, 40)


def test_what_fails_is_no_longer_being_fetched(session, by_hand, hand_jobs, hub):
    hub.fault(Fault.status(404))
    by_hand.open(GPT2)
    hand_jobs.drag_on("open")
    hand_jobs.tell("open", TransferProgress("wpe.weight", 10, 100, None))
    hand_jobs.deliver("open")
    assert session.notice is not None
    assert (session.opening, session.transfer, session.status) == (None, None, "Ready")


def test_what_may_help_can_be_tried_again_and_nothing_else(session, controller, hub, tmp_path):
    controller.open("nobody/nothing")
    assert "nobody/nothing" in session.notice.text
    assert not session.notice.retry
    files = write_stand_in(tmp_path / "gated", MEDIUM)
    hub.add("meta/closed", files, gated=True)
    controller.open("meta/closed")
    assert "gated" in session.notice.text
    assert session.notice.retry
    hub.add("meta/closed", files)
    controller.retry()
    assert session.notice is None
    assert session.model.name == "closed"


def test_a_whole_download_is_asked_for_each_time(session, controller, hub, tmp_path):
    hub.fault(Fault.ignore_range(), path="*/model.safetensors", times=None)
    controller.open(GPT2, positions=(2, 50))
    nbytes = write_stand_in(tmp_path / "again", GPT2)["model.safetensors"].stat().st_size
    assert session.model is None
    assert "cannot send parts of files" in session.notice.text
    assert (session.notice.whole, session.notice.retry) == (nbytes, False)
    controller.retry(whole=True)
    assert session.notice is None
    assert session.positions == (2, 50)
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))
    old = session.model.commit
    files = {**write_stand_in(tmp_path / "new", GPT2), "README.md": b"Newer.\n"}
    hub.add(GPT2, files)
    controller.opening.check_for_update()
    assert session.notice.whole > 0
    assert session.model.commit == old


def test_the_model_of_an_adapter_is_asked_for_once(session, controller, hub, tmp_path):
    matrices = {f"h.0.mlp.lora_{name}.weight": np.ones((2, 2), np.float32) for name in "AB"}
    save_file(matrices, tmp_path / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "base_model_name_or_path": GPT2, "r": 2}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    controller.open(tmp_path)
    assert session.model is None
    assert GPT2 in session.notice.text
    assert (session.notice.whole, session.notice.retry) == (-1, False)
    assert not hub.requests
    controller.retry(whole=True)
    assert not session.notice.whole
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))
    controller.open("sample")
    with hub.unasked():
        controller.open(tmp_path)
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))


def test_a_failure_leaves_what_is_open(fetched, controller, hub):
    before = snapshot(fetched)
    hub.fault(Fault.status(500, AT_ONCE), times=None)
    controller.open(MEDIUM)
    assert fetched.notice.retry
    assert is_same(fetched, before)
    assert fetched.recent == (Source.parse(GPT2),)


def test_a_link_is_opened_once_the_user_agrees(session, controller, hub):
    controller.open(f"helixscope://open?model={GPT2}")
    assert (session.model, hub.requests) == (None, [])
    assert session.notice.asks
    assert GPT2 in session.notice.text
    controller.retry()
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))
    assert session.recent == (Source.parse(GPT2),)
    controller.open("sample")
    with hub.unasked():  # it is here now
        controller.open(f"helixscope://open?model={GPT2}")
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))


# ---- offline ---------------------------------------------------------------------------


def test_offline_no_request_leaves(session, controller, hub):
    session.offline = True
    controller.open(GPT2)
    assert hub.requests == []
    assert session.notice.text == f"{GPT2} is not on this machine, and Helixscope is offline."
    assert session.notice.advice == ONLINE
    session.offline = False
    controller.retry()
    assert session.model.name == "gpt2"
    session.offline = True
    hub.forget_requests()
    controller.open(MEDIUM)
    assert session.notice.retry
    assert session.model.name == "gpt2"
    controller.open(GPT2)
    assert session.notice is None
    assert hub.requests == []


def test_going_offline_ends_what_is_being_fetched(session, by_hand, hand_jobs, hub):
    by_hand.open(GPT2)
    hand_jobs.drag_on("open")
    hand_jobs.tell("open", TransferProgress("wpe.weight", 10, 100, None))
    work = hand_jobs.waiting["open"][0]
    session.offline = True
    assert (session.opening, session.transfer) == (None, None)
    session.offline = False
    with pytest.raises(Cancelled):
        work()
    assert hub.requests == []


def test_going_offline_does_not_end_what_is_read_here(session, by_hand, hand_jobs, write_table):
    by_hand.open(str(write_table()))
    hand_jobs.drag_on("open")
    session.offline = True
    hand_jobs.deliver_all()
    assert session.model.name == "helix"


def test_the_environment_keeps_it_offline(session, controller, hub, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    session.offline = True
    session.offline = False
    assert session.offline
    assert "HF_HUB_OFFLINE" in session.notice.text
    controller.open(GPT2)
    assert session.notice.advice == UNSET
    assert not session.notice.retry
    assert hub.requests == []


# ---- newer versions --------------------------------------------------------------------


def test_model_is_current_or_a_newer_one_opens(fetched, controller, hub, tmp_path, helix):
    before = snapshot(fetched)
    fetched.positions = (5, 50)
    curve, model = fetched.curve, fetched.model
    controller.opening.check_for_update()
    assert hub.requests
    assert fetched.model is model
    assert fetched.curve is curve
    assert fetched.status == f"gpt2 is up to date: commit {model.commit[:7]}"
    assert (fetched.opening, fetched.transfer, fetched.notice) == (None, None, None)
    assert before["model"] is model
    old = fetched.model.commit
    fetched.positions = (5, 50)
    files = dict(write_stand_in(tmp_path / "new", GPT2))
    files["README.md"] = b"Newer.\n"
    new = hub.add(GPT2, files)
    assert new != old
    controller.opening.check_for_update()
    assert fetched.model.commit == new
    assert fetched.positions == (5, 50)
    assert old[:7] in fetched.notice.text
    assert new[:7] in fetched.notice.text
    assert next_start(GPT2, offline=True).model.commit == new


def test_what_is_no_branch_has_no_newer_version(fetched, controller, hub, write_gpt2):
    for source in (str(write_gpt2()), f"{GPT2}@{fetched.model.commit}"):
        controller.open(source)
        assert fetched.notice is None
        hub.forget_requests()
        controller.opening.check_for_update()
        assert hub.requests == []
        assert "up to date" not in fetched.status


def test_offline_the_hub_is_not_asked_for_a_newer_version(fetched, controller, hub):
    fetched.offline = True
    controller.opening.check_for_update()
    assert hub.requests == []
    assert fetched.notice.text.startswith("Cannot check for a newer version")


# ---- starting --------------------------------------------------------------------------


def test_last_model_is_reopened_without_requests(fetched, hub, tmp_path):
    session = next_start(GPT2)
    assert session.model.name == "gpt2"
    assert session.notice is None
    assert hub.requests == []
    session = next_start(str(tmp_path / "gone"))
    assert session.model.name == "gpt2"
    assert session.notice is None
    assert hub.requests == []


def test_best_model_here_replaces_the_last(fetched, hub):
    hub.close()
    session = next_start(MEDIUM, positions=(1, 30))
    assert session.model.name == "gpt2"
    assert session.notice.source.text == MEDIUM
    assert session.notice.retry
    assert session.status == "Ready"


def test_a_last_model_that_is_no_longer_here_is_fetched_unless_offline(hub, session):
    session = next_start(MEDIUM, offline=True)
    assert session.model is None
    assert session.notice.text == f"{MEDIUM} is not on this machine, and Helixscope is offline."
    assert hub.requests == []
    assert next_start(MEDIUM).model.name == "gpt2-medium"


# ---- what it costs ---------------------------------------------------------------------


def test_a_kept_model_opens_without_the_client_and_torch(fetched, run_python, hub):
    printed = run_python(
        "import sys\n"
        "from gui.services.controller import Controller\n"
        "from gui.services.jobs.jobs import InlineJobs\n"
        "from gui.state.session import Session\n"
        "session = Session()\n"
        f"Controller(session, InlineJobs()).open_first(None, {GPT2!r})\n"
        "print(session.model.name, session.notice, session.model.n_positions)\n"
        "print({'huggingface_hub', 'httpx2', 'torch', 'transformers'} & set(sys.modules))\n"
    )
    assert printed.splitlines() == [f"gpt2 None {N_POSITIONS}", "set()"]
    assert hub.requests == []
