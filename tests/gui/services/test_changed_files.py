"""Files that change while their models are open, without a window: one notice, opened again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from geometry.checkpoints.errors import FileChanged
from geometry.models.residual_stream import Subject
from gui.panels.capture import CaptureOf
from gui.services.questions import QuestionContext
from gui.state.values import Notice

SAID = "model.safetensors has changed since it was opened."
TOKENS = CaptureOf(Subject("E"))
CENTRED = CaptureOf(Subject("E", centred=True))


@dataclass(frozen=True)
class StoredTokens:
    """A question of its own for each name, which reads from the file."""

    name: str

    def answer(self, about: QuestionContext) -> np.ndarray:
        return about.model.store.read("wte.weight")


def write_again(folder: Path, table: np.ndarray, seed: int) -> None:
    """Write a model's weights as a training run does: a new file takes the place of the old one."""
    tokens = np.random.default_rng(seed).standard_normal((30, table.shape[1]))
    tensors = {"wpe.weight": table, "wte.weight": tokens}
    save_file({name: v.astype(np.float32) for name, v in tensors.items()}, folder / "new")
    (folder / "new").replace(folder / "model.safetensors")


@pytest.fixture
def folder(write_gpt2, helix) -> Path:
    made = write_gpt2()
    write_again(made, helix(), 0)
    return made


@pytest.fixture
def notices(session) -> list[Notice]:
    """The notices that are shown, one after the other."""
    shown: list[Notice] = []
    session.events.notice.connect(lambda notice: notice is not None and shown.append(notice))
    return shown


@pytest.fixture
def changed(session, controller, folder, helix) -> None:
    """Open the model, and write other weights."""
    controller.open(str(folder))
    controller.answers.ask("first", TOKENS)
    assert session.answers["first"].state == "ready"
    write_again(folder, helix(seed=8), 1)


def test_one_notice_for_all_panels(session, controller, changed, notices):
    model, before = session.model, session.answers["first"].result
    for slot in ("second", "third"):
        # A result that was found before comes from the same version.
        controller.answers.ask(slot, TOKENS)
        assert session.answers[slot].result is before
        controller.answers.ask(slot, StoredTokens(slot))
        answer = session.answers[slot]
        assert (answer.state, answer.why) == ("impossible", SAID)
        assert answer.advice == "Open it again."
    assert session.answers["first"].result is before
    assert [notice.text for notice in notices] == [SAID]
    assert notices[0].again is model
    # Closed, it does not come back.
    session.notice = None
    controller.answers.ask("second", StoredTokens("fourth"))
    controller.changed_files.look()
    assert session.answers["second"].why == SAID
    assert len(notices) == 1


def test_reopened_with_range_and_components(session, controller, changed, folder, notices):
    session.change(positions=(10, 50), components=(2, 3, 4))
    old = session.model
    controller.changed_files.look()
    controller.retry()
    assert session.model is not old
    assert session.notice is None
    assert session.positions == session.curve.pca.positions == (10, 50)
    assert session.components == session.curve.components == (2, 3, 4)
    tensors = load_file(folder / "model.safetensors")
    np.testing.assert_array_equal(session.model.W_pos, tensors["wpe.weight"])
    np.testing.assert_array_equal(session.model.W_E, tensors["wte.weight"])
    controller.answers.ask("first", TOKENS)
    assert session.answers["first"].state == "ready"
    controller.changed_files.look()
    assert len(notices) == 1
    # What changes once more is said once more.
    write_again(folder, session.model.W_pos, 2)
    controller.changed_files.look()
    assert len(notices) == 2


def test_range_of_a_shorter_table_is_clipped(session, controller, changed, folder, helix):
    session.positions = (100, 180)
    (folder / "config.json").write_text(
        (folder / "config.json").read_text().replace('"n_positions": 200', '"n_positions": 120')
    )
    write_again(folder, helix(120), 1)
    controller.changed_files.look()
    controller.retry()
    assert session.notice is None
    assert session.model.n_positions == 120
    assert session.positions == (100, 119)


def test_unreadable_change_leaves_the_model(session, controller, changed, folder):
    model = session.model
    (folder / "model.safetensors").write_bytes(b"")
    controller.changed_files.look()
    controller.retry()
    assert session.model is model
    assert session.notice.text == "model.safetensors is empty."
    assert session.notice.again is None


def test_a_file_that_was_put_back_is_read_on(session, controller, folder, helix, notices):
    controller.open(str(folder))
    path = folder / "model.safetensors"
    path.rename(folder / "aside")
    write_again(folder, helix(), 1)
    (folder / "aside").replace(path)
    controller.changed_files.look()
    controller.answers.ask("first", TOKENS)
    assert session.answers["first"].state == "ready"
    assert notices == []


def test_another_tokenizer_is_reported_once_too(session, controller, folder, notices):
    controller.open(str(folder))
    path = folder / "tokenizer.json"
    (folder / "new").write_bytes(path.read_bytes())
    (folder / "new").replace(path)
    session.prompt = "hello"
    session.prompt = "hello my"
    assert [notice.text for notice in notices] == [
        "tokenizer.json has changed since it was opened."
    ]
    assert session.tokens is None
    controller.retry()
    assert session.notice is None
    assert session.tokens is not None


def changing() -> Any:
    """Return a context in which files change while they are opened."""
    error = FileChanged("model.safetensors")
    return patch("geometry.models.sources.opening.open_model", side_effect=error)


def test_a_source_that_changes_while_it_is_opened_can_be_opened_again(session, controller, folder):
    with changing():
        controller.open(str(folder))
    assert session.model is None
    assert session.notice.text == SAID
    assert session.notice.retry
    controller.retry()
    assert session.model is not None


def test_an_error_about_no_model_is_reported_by_itself(session, controller, folder):
    controller.open(str(folder))

    def work() -> None:
        raise FileChanged("history.safetensors")

    controller.in_background("some", work, lambda _: None, "It could not be written")
    assert session.notice.text == "history.safetensors has changed since it was opened."
    assert session.notice.again is None


@pytest.fixture
def beside(session, controller, folder, write_gpt2, helix) -> Path:
    """Another model, beside the open one."""
    other = write_gpt2("other")
    write_again(other, helix(seed=2), 3)
    controller.open(str(folder))
    controller.comparing.add(str(other))
    return other


def compared(session):
    return session.others[0].session


def test_compared_model_is_named_and_reopened(session, controller, beside, helix, notices):
    main, old, key = session.model, compared(session).model, session.others[0].key
    controller.comparing.request_positions(key, 10, 50)
    write_again(beside, helix(seed=5), 6)
    controller.comparing.ask("first", key, TOKENS)
    assert compared(session).answers["first"].why == SAID
    controller.comparing.ask("first", key, CENTRED)
    assert [notice.text for notice in notices] == [f"other: {SAID}"]
    assert notices[0].again is old
    controller.retry()
    assert session.model is main
    assert compared(session).model is not old
    assert compared(session).positions == (10, 50)
    assert session.notice is None
    tensors = load_file(beside / "model.safetensors")
    np.testing.assert_array_equal(compared(session).model.W_pos, tensors["wpe.weight"])
    controller.comparing.ask("first", key, TOKENS)
    assert compared(session).answers["first"].state == "ready"


def test_several_are_reported_in_turn(session, controller, folder, beside, helix, notices):
    for each, seed in ((folder, 7), (beside, 8)):
        write_again(each, helix(seed=seed), seed)
    controller.changed_files.look()
    assert [notice.text for notice in notices] == [f"tiny-gpt2: {SAID}"]
    controller.retry()
    assert [notice.text for notice in notices] == [f"tiny-gpt2: {SAID}", f"other: {SAID}"]
    controller.retry()
    assert session.notice is None
    assert len(notices) == 2
    for one in (session, compared(session)):
        one.model.check_files()


def test_notice_follows_its_model(session, controller, beside, helix):
    old, key = compared(session).model, session.others[0].key
    write_again(beside, helix(seed=5), 6)
    controller.changed_files.look()
    assert controller.comparing.make_current(key)
    assert session.model is old
    controller.retry()
    assert session.model is not old
    session.model.check_files()
    write_again(beside, helix(seed=9), 6)
    controller.changed_files.look()
    assert session.notice.again is session.model
    controller.comparing.remove(session.current_key)
    assert session.notice is None


def test_another_model_changed_while_opening(session, controller, folder, write_gpt2):
    controller.open(str(folder))
    with changing():
        controller.comparing.add(str(write_gpt2("other")))
    assert SAID in session.notice.text
    assert session.notice.retry


def test_undone_old_version_is_reported_again(session, controller, beside, helix, notices):
    old, key = compared(session).model, session.others[0].key
    before = controller.comparing.arrangement()
    write_again(beside, helix(seed=5), 6)
    controller.changed_files.look()
    controller.retry()
    assert compared(session).model is not old
    assert session.notice is None
    controller.comparing.remove(key)
    controller.comparing.restore(before)
    assert compared(session).model is old
    assert session.notice.again is old
    assert len(notices) == 2
