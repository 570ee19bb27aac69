"""Progress on a terminal, and as lines everywhere else; errors as sentences."""

import io
import sys

import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import TensorInfo
from geometry.checkpoints.transfer import TransferProgress
from geometry.models.recognition.candidates import UnknownArchitecture, UnknownRows
from gui.commands.progress import amount_text
from gui.commands.steps import counting_bar, progress_bar
from gui.commands.terminal import print_table, say, sentence


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "speaks"), [(Terminal, True), (io.StringIO, False)])
def test_a_bar_on_a_terminal_only(monkeypatch, stream, speaks):
    monkeypatch.setattr(sys, "stderr", stream())
    with progress_bar(2) as step:
        assert step("Opening", lambda: 7) == 7
        step("Drawing", lambda: None)
    with counting_bar(counted=True) as report:
        report("Running", 3, 8, "of text")
    say("Wrote it.")
    for words in ("Drawing", "Running", "3/8", "of text", "Wrote it."):
        assert (words in sys.stderr.getvalue()) == speaks


def test_what_takes_long_prints_lines_elsewhere_and_the_last(monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("gui.commands.steps.time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with counting_bar(counted=True) as report:
        for done in range(8):
            report("Running", done, 8, "2 min")
    lines = sys.stderr.getvalue().splitlines()
    assert lines[0] == "Running: 2 of 8, 2 min"  # after 12 s
    assert lines[-1] == "Running: 7 of 8, 2 min"
    assert len(lines) < 8
    sys.stderr.truncate(0)
    with progress_bar(9) as step:
        for number in range(5):
            step(f"Step {number}", lambda: None)
        step.report(TransferProgress("wpe.weight", 1_200_000, 3_145_728, 820_000))
    assert "Step 2: 3 of 9\n" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("Downloading wpe.weight: 1.2 MB of 3.1 MB, 820 kB/s\n")


def test_a_transfer_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "150")

    def work(step):
        step.report(TransferProgress("wpe.weight", 0, 3_145_728, None, "Trying again in 1 second."))
        bars.refresh()
        step.report(TransferProgress("wpe.weight", 1_200_000, 3_145_728, 820_000))
        bars.refresh()

    with progress_bar(1) as step:
        bars = step.report.__self__
        step("Opening", lambda: work(step))
    first, second = sys.stderr.getvalue().split("Downloading wpe.weight")[1:3]
    assert "0 bytes of 3.1 MB" in first
    assert "Trying again in 1 second." in first
    assert "1.2 MB of 3.1 MB, 820 kB/s" in second
    assert "Trying again" not in second


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (TransferProgress("x", 0, 0, None), "0 bytes"),
        (TransferProgress("x", 0, 0, 1500.4), "0 bytes, 2 kB/s"),
        (TransferProgress("x", 14_000, 548_105_171, None), "14 kB of 548 MB"),
    ],
)
def test_amounts(progress, text):
    assert amount_text(progress) == text


@pytest.mark.parametrize(
    ("message", "advice", "expected"),
    [
        ("Nothing there", "", "Nothing there."),
        ("Nothing there.", "Check the path.", "Nothing there; check the path."),
        ("No weights.", "A folder has them.", "No weights; a folder has them."),
        ("It is\ngated.", "Allow it with --whole.", "It is gated; allow it with --whole."),
        ("No.", "HF_TOKEN is wrong.", "No; HF_TOKEN is wrong."),
        ("No.", "W_Q is absent.", "No; W_Q is absent."),
    ],
)
def test_errors_are_one_sentence(message, advice, expected):
    assert sentence(HelixscopeError(message, advice)) == expected


def tensor(name, *shape):
    return TensorInfo(name, shape, "F32", 0)


def test_candidates_are_named_in_place_of_advice_with_an_option_to_type():
    error = UnknownArchitecture("Which one", (tensor("a b", 1, 9, 4), tensor("b", 7, 4)), "Choose.")
    said = sentence(error)
    assert said.startswith("Which one; choose one of a b (9 × 4), b (7 × 4) with --table 'a b'")
    assert "--first-rows 2" in said
    assert "Choose." not in said
    error.candidates = tuple(tensor(f"t{n}", 9, 4) for n in range(500))
    assert "t7 (9 × 4) and 492 more with --table t0" in sentence(error)
    assert "t8" not in sentence(error)


def test_rows_that_are_unknown_are_offered_as_options_to_type():
    said = sentence(UnknownRows(tensor("pe", 514, 48), (0, 2)))
    assert "--first-rows 0 or --first-rows 2" in said
    assert "config.json" in said


def test_a_table_in_a_pipe_is_not_cut(capsys):
    print_table(("Model", "State"), [("x" * 150, "online")])
    assert "x" * 150 in capsys.readouterr().out
