"""Offline, newer versions of models from the Hub, and the next start."""

import pytest

from geometry.checkpoints.transfer import Cancelled, TransferProgress
from gui.services.notices import ONLINE, UNSET
from tests.gui.services.hub_opening.hub_models import GPT2, MEDIUM, next_start, snapshot
from tests.stand_ins import N_POSITIONS, write_stand_in

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
    assert (session.opening, session.transfer) == ("", None)
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


def test_an_open_model_may_be_up_to_date(fetched, controller, hub):
    before = snapshot(fetched)
    fetched.positions = (5, 50)
    curve, model = fetched.curve, fetched.model
    controller.check_for_update()
    assert hub.requests
    assert fetched.model is model
    assert fetched.curve is curve
    assert fetched.status == f"gpt2 is up to date: commit {model.commit[:7]}"
    assert (fetched.opening, fetched.transfer, fetched.notice) == ("", None, None)
    assert before["model"] is model


def test_a_newer_version_is_opened_and_told(fetched, controller, hub, tmp_path, helix):
    old = fetched.model.commit
    fetched.positions = (5, 50)
    files = dict(write_stand_in(tmp_path / "new", GPT2))
    files["README.md"] = b"Newer.\n"
    new = hub.add(GPT2, files)
    assert new != old
    controller.check_for_update()
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
        controller.check_for_update()
        assert hub.requests == []
        assert "up to date" not in fetched.status


def test_offline_the_hub_is_not_asked_for_a_newer_version(fetched, controller, hub):
    fetched.offline = True
    controller.check_for_update()
    assert hub.requests == []
    assert fetched.notice.text.startswith("The Hub cannot be asked for a newer version")


# ---- starting --------------------------------------------------------------------------


def test_the_last_model_is_reopened_without_a_request(fetched, hub):
    session = next_start(GPT2)
    assert session.model.name == "gpt2"
    assert session.notice is None
    assert hub.requests == []


def test_a_last_model_that_is_no_longer_here_is_fetched(session, hub):
    assert next_start(MEDIUM).model.name == "gpt2-medium"


def test_without_the_last_model_the_best_one_here_is_opened_and_that_is_said(fetched, hub):
    hub.close()
    session = next_start(MEDIUM, positions=(1, 30))
    assert session.model.name == "gpt2"
    assert session.notice.source == MEDIUM
    assert session.notice.retry
    assert session.status == "Ready"


def test_offline_without_anything_here_that_is_said(hub):
    session = next_start(MEDIUM, offline=True)
    assert session.model is None
    assert session.notice.text == f"{MEDIUM} is not on this machine, and Helixscope is offline."
    assert hub.requests == []


def test_a_folder_that_is_gone_is_no_reason_for_a_request(fetched, hub, tmp_path):
    session = next_start(str(tmp_path / "gone"))
    assert session.model.name == "gpt2"
    assert session.notice is None
    assert hub.requests == []


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
