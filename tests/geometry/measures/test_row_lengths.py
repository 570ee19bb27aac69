"""Lengths of rows and of the steps between them."""

import numpy as np
import pytest

from geometry.measures import row_lengths as module
from geometry.measures.row_lengths import row_lengths
from geometry.models.sources import open_source


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 30])
def test_lengths_are_what_they_say_whatever_the_blocks(n, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 10)
    table = np.random.default_rng(n).normal(size=(n, 6)) + 2
    found = row_lengths(table)
    centred = table - table.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.of("norm", centred=False), np.linalg.norm(table, axis=1))
    np.testing.assert_allclose(found.of("norm", centred=True), np.linalg.norm(centred, axis=1))
    for rows, which in ((table, False), (centred, True)):
        steps = np.linalg.norm(rows[1:] - rows[:-1], axis=1)
        np.testing.assert_allclose(found.of("step", centred=which), steps)
    assert not found.steps.flags.writeable


def test_steps_of_a_known_walk():
    table = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [4.0, 5.0]])
    found = row_lengths(table)
    np.testing.assert_allclose(found.steps, [5.0, 0.0, np.sqrt(2)])
    # Both entries alike: nothing of the last step is left without its mean.
    np.testing.assert_allclose(found.centred_steps, [np.sqrt(0.5), 0.0, 0.0], atol=1e-12)


def test_early_tokens_of_gpt2_are_spaced_out(gpt2_folder):
    steps = row_lengths(open_source(gpt2_folder).W_pos).steps
    assert len(steps) == 1023
    assert steps[:10].mean() > 3 * steps[100:1022].mean()


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="table"):
        row_lengths(np.zeros(4))
