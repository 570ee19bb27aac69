"""The findings' tables on sixty small networks, made again by the command above them."""

import subprocess
import sys

import pytest

from tests.command_line import ROOT
from tests.findings import same, section, tables_in

HEADING = "Short windows and long ones"


@pytest.mark.timeout(0)
def test_of_windows_of_several_lengths(findings, debian_texts):
    corpus = debian_texts("text", "python3.11-doc")
    command = [sys.executable, "-m", "tools.study_windows", "--corpus", corpus]
    made = subprocess.run(
        [*command, "--out", findings / "study"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
        text=True,
    ).stdout  # fmt: skip
    printed = tables_in(section(HEADING))
    for rows, others in zip(printed, tables_in(made), strict=True):
        for row, other in zip(rows, others, strict=True):
            assert row.keys() == other.keys()
            for title, cell in row.items():
                assert same(cell, other[title]), (row, title, other[title])
