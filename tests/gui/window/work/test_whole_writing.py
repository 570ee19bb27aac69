"""On a full disk every file that is written over stays as it was, and nothing half is left."""

from functools import partial

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.number_files import write_numbers
from geometry.checkpoints.whole_files import write_bytes
from gui.commands.report_files import ReportFiles, ReportRequest
from gui.commands.table_command import _write as write_table_of_models
from gui.export.pictures import write_png
from gui.export.scene_files import export_scene
from gui.plots.figure_base import new_figure, save_figure
from tools.campaigns.failing_disk import largest_file

pytest.importorskip("resource", reason="a file's size is limited another way there")
LIMIT = 16
"""Bytes that go into a file: all that is written is longer."""


def full_disk():
    """Let every file end after some bytes: it is begun, and cannot be written to its end."""
    return largest_file(LIMIT)


def report(model, out):
    files = ReportFiles(model, ReportRequest(out.parent, figures=False))
    for _, work in files.steps():
        work()


def figure(model, out):
    drawn, _ = new_figure()
    drawn.text(0.5, 0.5, model.name)
    return lambda: save_figure(drawn, out)


NUMBERS = {"norm": np.linspace(0.0, 1.0, 100)}
PICTURE = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
WRITERS = {
    "numbers.csv": lambda model, out: partial(write_numbers, NUMBERS, out),
    "numbers.npz": lambda model, out: partial(write_numbers, NUMBERS, out),
    "figure.png": figure,
    "figure.svg": figure,
    "figure.pdf": figure,
    "picture.png": lambda model, out: partial(write_png, PICTURE, out),
    "scene.html": lambda model, out: partial(export_scene, model, out),
    "scene.glb": lambda model, out: partial(export_scene, model, out),
    "table.json": lambda model, out: partial(write_table_of_models, out, []),
    "report.json": lambda model, out: partial(report, model, out),
    "work.helix": lambda model, out: partial(write_bytes, bytes(100), out),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there_and_else_it_is_written_over(model, tmp_path, name):
    out = tmp_path / "out" / name
    out.parent.mkdir()
    out.write_bytes(b"before")
    write = WRITERS[name](model, out)
    with (
        full_disk(),
        pytest.raises((HelixscopeError, OSError), match=r"too large|exceeds the maximum"),
    ):
        write()
    assert out.read_bytes() == b"before"
    assert [path.name for path in out.parent.iterdir()] == [name]
    WRITERS[name](model, out)()
    assert len(out.read_bytes()) > LIMIT
    assert [path.name for path in out.parent.iterdir()] == [name]
