"""What is said of errors."""

import pytest

from geometry.checkpoints.errors import SourceError
from geometry.hub import faults
from geometry.models.sources.source import Source
from gui.services.notices import ONLINE, UNSET, notice_beside, notice_of

GPT2 = "openai-community/gpt2"
WHAT = "gpt2 could not be opened"


def test_error_that_names_the_model():
    error = faults.NotOnHub(f"The Hub has no model {GPT2}.", "Check the id.", missing="repository")
    notice = notice_of(error, WHAT, Source.parse(GPT2))
    assert (notice.text, notice.advice) == (f"The Hub has no model {GPT2}.", "Check the id.")
    assert (notice.source.text, notice.retry, notice.whole) == (GPT2, False, 0)
    notice = notice_of(
        SourceError("'x' does not exist.", "Check the path."), WHAT, Source.parse("x")
    )
    assert (notice.text, notice.retry, notice.whole) == ("'x' does not exist.", False, 0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("huggingface.co did not answer in time.", "huggingface.co did not answer in time."),
        ("The name x could not be looked up.", "the name x could not be looked up."),
        ("No connection could be made.", "no connection could be made."),
    ],
)
def test_an_error_that_does_not_is_said_of_the_model(said, shown):
    notice = notice_of(faults.NoNetwork(said, "Check."), WHAT, Source.parse(GPT2))
    assert notice.text == f"{WHAT}: {shown}"
    assert notice.retry
    assert notice_of(faults.NoNetwork(said), "It failed").text == f"It failed: {shown}"


@pytest.mark.parametrize(("nbytes", "whole"), [(548_105_171, 548_105_171), (None, -1)])
def test_a_whole_download_is_a_question(nbytes, whole):
    notice = notice_of(faults.WholeDownload("model.safetensors", nbytes), WHAT, Source.parse(GPT2))
    assert notice.text.startswith("The server cannot send parts of files")
    assert (notice.whole, notice.retry) == (whole, False)


def test_what_to_do_offline_depends_on_who_forbids_the_network(monkeypatch):
    error = faults.Offline(f"{GPT2} is not on this machine, and Helixscope is offline.")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    notice = notice_of(error, WHAT, Source.parse(GPT2))
    assert (notice.text, notice.advice, notice.retry) == (str(error), ONLINE, True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notice = notice_of(error, WHAT, Source.parse(GPT2))
    assert (notice.advice, notice.retry) == (UNSET, False)


@pytest.mark.parametrize(
    "error",
    [faults.WholeDownload("model.safetensors", 5), faults.NoNetwork("No answer came.", "Wait.")],
    ids=["whole", "network"],
)
def test_what_cannot_be_shown_beside_offers_nothing_that_would_open_it(error):
    notice, plain = notice_beside(error, WHAT), notice_of(error, WHAT)
    assert (notice.text, notice.advice) == (plain.text, plain.advice)
    assert (notice.candidates, notice.whole) == ((), 0)
    assert (notice.retry, notice.beside) == (plain.retry, True)
    assert plain.retry or plain.whole
