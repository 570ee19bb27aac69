"""What the window and pictures refuse: tables of numbers that graphics cannot hold."""

import numpy as np
import pytest

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.export.pictures import still_session
from gui.services.loading import InitialView, OpenRequest, load
from tests.degenerate_tables import helix


@pytest.fixture
def saved(tmp_path):
    def save(table):
        np.save(tmp_path / "table.npy", table)
        return tmp_path / "table.npy"

    return save


@pytest.mark.parametrize("scale", [1e-200, 1e-10, 1e37, 1e200])
def test_numbers_that_cannot_be_drawn_are_refused_by_window_and_pictures(scale, saved):
    path = saved(scale * helix())
    with pytest.raises(TensorUnavailable, match="cannot be drawn"):
        still_session(open_model(path))
    with pytest.raises(TensorUnavailable, match="cannot be drawn"):
        load(
            OpenRequest(Source.parse(str(path))),
            InitialView((1, 2, 3), norms_centred=False),
            network=None,
        )


@pytest.mark.parametrize("scale", [0.0, 1e-7, 1.0, 1e29])
def test_others_are_drawn(scale, saved):
    path = saved(scale * helix())
    assert np.isfinite(still_session(open_model(path)).curve.coordinates).all()
    opened = load(
        OpenRequest(Source.parse(str(path))),
        InitialView((1, 2, 3), norms_centred=False),
        network=None,
    )
    assert np.isfinite(opened.curve.coordinates).all()
    assert np.isfinite(opened.curve.residual).all()
