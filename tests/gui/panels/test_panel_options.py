"""Choices in a file of saved work, of panels by their names."""

import numpy as np
import pytest

from gui.panels.options import usable


@pytest.mark.parametrize(("panel", "options"), [("capture", {"name": "P"}), ("nobody", {"k": 3})])
def test_what_makes_no_sense_is_left_out(panel, options, open_table):
    table = open_table(np.random.default_rng(0).normal(size=(20, 8)))
    assert usable(panel, options, table) == {}
