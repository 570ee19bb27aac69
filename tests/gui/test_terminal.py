"""Progress on a terminal, and silence everywhere else."""

import io
import sys

import pytest

from gui.terminal import print_table, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "speaks"), [(Terminal, True), (io.StringIO, False)])
def test_a_bar_on_a_terminal_only(monkeypatch, stream, speaks):
    monkeypatch.setattr(sys, "stderr", stream())
    with progress_bar(2) as step:
        assert step("Opening", lambda: 7) == 7
        step("Drawing", lambda: None)
    assert ("Drawing" in sys.stderr.getvalue()) == speaks


def test_a_table_in_a_pipe_is_not_cut(capsys):
    print_table(("Model", "State"), [("x" * 150, "online")])
    assert "x" * 150 in capsys.readouterr().out
