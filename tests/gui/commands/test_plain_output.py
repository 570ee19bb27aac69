"""Whatever a name, an answer or an output is, a terminal is given lines that it can show."""

import ast
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.transfer import TransferProgress
from gui.commands.steps import progress_bar
from gui.commands.terminal import (
    OutputFailed,
    PlainStream,
    complain,
    plain_output,
    print_table,
    result,
    say,
)
from tests.command_line import ROOT

EVIL = "[red]x[/b]:smile:\x1b]0;title\x07\x9b2J\u202eabc\u2066\ud800"
SHOWN = "[red]x[/b]:smile:�]0;title��2J�abc��"
UNSHOWABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Screen(io.StringIO):
    def isatty(self):
        return True


def without_rich(text):
    """What is left of a terminal's text without the sequences that rich moves the cursor with."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)


def test_every_line_is_plain(capsys, monkeypatch):
    result(EVIL)
    complain(EVIL)
    print_table(("Model", EVIL), [(EVIL, "online")])
    out, err = capsys.readouterr()
    assert not UNSHOWABLE.search(out + err)
    assert out.startswith(f"{SHOWN}\n")
    assert err == f"helixscope: {SHOWN}\n"
    assert SHOWN in out.splitlines()[-1]
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    say(EVIL)
    assert screen.getvalue() == f"{SHOWN}\n"


@pytest.mark.parametrize("name", ["a/[/b]", "[red]x", EVIL])
def test_bars_show_names_as_they_are(monkeypatch, name):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "200")

    def work(step):
        step.report(TransferProgress(name, 1, 2, None, f"{name} is busy."))
        step.report.__self__.refresh()

    with progress_bar(1) as step:
        step(f"Measuring {name}", lambda: work(step))
    shown = without_rich(screen.getvalue())
    assert not UNSHOWABLE.search(shown)
    name = SHOWN if name == EVIL else name
    for words in (f"Measuring {name}", f"Downloading {name}", f"{name} is busy."):
        assert words in shown


def test_what_libraries_write_is_plain(capsys):
    with plain_output():
        sys.stderr.write(f"{EVIL}\nand a second line\n")
        sys.stdout.write(EVIL)
    out, err = capsys.readouterr()
    assert (out, err) == (SHOWN, f"{SHOWN}\nand a second line\n")


def test_a_folder_called_like_an_escape(command, tmp_path):
    folder = tmp_path / "[red]x\x1b]0;evil\x07\u202e"
    folder.mkdir()
    np.save(folder / "[b].npy", np.random.default_rng(0).normal(size=(40, 8)))
    done = command("table", folder / "[b].npy")
    assert done.returncode == 0
    assert "[b]" in done.stdout
    failed = command("table", folder / "absent\x1b[2J.npy")
    assert failed.returncode == 1
    usage = command("export", folder, "--out", f"x\x1b[2J{EVIL[:-1]}")
    assert usage.returncode == 2
    for text in (done.stdout, failed.stderr, usage.stderr):
        assert text
        assert not UNSHOWABLE.search(text)


PANIC = """
import os, sys
import main
from gui.commands.terminal import complain, plain_output
from tokenizers import Tokenizer, models, pre_tokenizers
with plain_output():
    try:
        with main._plain_errors():
            os.write(2, b"printed by a library\\n")
            complain("while it runs")
            if len(sys.argv) > 1:
                tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
                tokenizer.pre_tokenizer = pre_tokenizers.FixedLength(0)
                tokenizer.encode("a b")
    except main.typer.Exit as done:
        print("status", done.exit_code)
    os.write(2, b"and after it\\n")
"""


@pytest.mark.parametrize("panics", [True, False])
def test_a_panic_of_a_library_is_one_sentence_and_logged(panics, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PANIC, *["panic"] * panics], cwd=ROOT, capture_output=True,
        text=True, check=True, env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    said = ["helixscope: while it runs", "and after it"]
    if panics:
        said.insert(1, "helixscope: An error occurred inside a library (PanicException).")
    assert done.stderr.splitlines() == said
    assert done.stdout == "status 1\n" * panics
    if sys.platform == "linux":
        (log,) = tmp_path.rglob("helixscope.log")
        assert "printed by a library" in log.read_text("utf-8")
        assert ("panicked" in log.read_text("utf-8")) == panics


def run_into(stdout, *arguments, **variables):
    return subprocess.run(
        [sys.executable, ROOT / "main.py", *arguments],
        stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=os.environ | variables,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("arguments", [["models", "--offline"], ["--version"], ["--help"]])
def test_a_full_disk_as_output(arguments):
    with open("/dev/full", "w") as full:
        done = run_into(full, *arguments)
    words = "helixscope: the output could not be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (1, words)


def test_a_reader_that_has_gone():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_into(writing, "models", "--offline")
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_encoding_without_the_characters():
    done = run_into(subprocess.PIPE, "models", "--offline", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1,024 ? 768" in done.stdout


def test_errors_that_nobody_reads_are_dropped():
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    PlainStream(Closed()).write("x")
    with pytest.raises(OutputFailed):
        PlainStream(Closed(), must_arrive=True).write("x")


OTHERS = {"print", "echo", "secho", "stdout", "stderr", "__stdout__", "__stderr__", "Console"}


@pytest.mark.slow
def test_one_module_prints():
    """Only streams that are handed on as they are, to `console`, are named elsewhere."""
    found = set()
    sources = [*(ROOT / "gui").rglob("*.py"), *(ROOT / "geometry").rglob("*.py")]
    for path in [ROOT / "main.py", *sources]:
        tree = ast.parse(path.read_text("utf-8"))
        handed = {
            id(argument)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "console"
            for argument in node.args
        }
        for node in ast.walk(tree):
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") in OTHERS
            of_a_module = (
                isinstance(node, ast.Attribute)
                and node.attr in OTHERS
                and getattr(node.value, "id", "") in {"sys", "typer", "click", "rich"}
            )
            if (called or of_a_module) and id(node) not in handed:
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"gui/commands/terminal.py"}
