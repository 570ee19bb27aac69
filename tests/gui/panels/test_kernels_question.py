"""What the kernels panel asks, and what comes of it: the numbers of geometry, each made once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.kernels import attention_map, average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.sources import open_source
from gui.panels.kernels.question import MOST, HeadsOf, KernelsOf
from gui.services.questions import QuestionContext, resolve

RANGE = (4, 60)


@pytest.fixture
def source(small_gpt2):
    return small_gpt2()


@pytest.mark.parametrize(
    "of", [HeadsOf(), HeadsOf(1), HeadsOf(0, content=True), HeadsOf(0, averaged=True)]
)
def test_numbers_are_those_of_geometry(source, of):
    model = open_source(source)
    found = resolve(KernelsOf(of, RANGE, 1), QuestionContext(model))
    rows = average_blocks(model.W_pos) if of.averaged else None
    heads = project_heads(model, of.layer, content=of.content, rows=rows)
    kernels = head_kernels(heads, RANGE)
    for name in ("previous_token", "own", "mass_lag_0_10", "mean_lag", "attention", "scores"):
        np.testing.assert_allclose(
            getattr(found.found, name), getattr(kernels, name), rtol=2e-4, atol=1e-5
        )
    np.testing.assert_allclose(found.weights, attention_map(heads, 1, RANGE), atol=2e-5)
    assert (found.before is not None) == of.averaged


def test_another_head_takes_its_map_only(source, monkeypatch):
    projected = []
    project = HeadsOf.project

    def counted(self, model):
        projected.append(self)
        return project(self, model)

    monkeypatch.setattr(HeadsOf, "project", counted)
    about = QuestionContext(open_source(source))
    averaged = HeadsOf(averaged=True)
    first, second = (resolve(KernelsOf(averaged, RANGE, head), about) for head in (0, 1))
    assert projected == [averaged, HeadsOf()]
    assert first.found is second.found
    assert (first.weights != second.weights).any()


def test_too_many_positions_are_refused_with_advice():
    about = SimpleNamespace(model=None)
    with pytest.raises(RangeError, match="4\u2009097 positions") as caught:
        KernelsOf(HeadsOf(), (0, MOST)).answer(about)
    assert caught.value.advice == "Choose a shorter range."


def test_it_tells_which_tensors_it_reads():
    assert KernelsOf(HeadsOf(2), RANGE).tensors() == (("W_Q", 2), ("W_K", 2))
    assert KernelsOf(HeadsOf(0, content=True), RANGE).tensors()[2:] == (("W_E", 0),)


def test_it_can_be_given_up_between_heads(source):
    """The worker's check raises: nothing is computed to the end for nobody."""
    told = []

    def check():
        if len(told) > 1:
            raise InterruptedError

    about = QuestionContext(open_source(source), tell=told.append, check=check)
    with pytest.raises(InterruptedError):
        resolve(KernelsOf(HeadsOf(), RANGE), about)
    assert len(told) == 2
