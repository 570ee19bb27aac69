"""What the window and pictures refuse: tables of numbers that graphics cannot hold."""

import numpy as np
import pytest

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.export.pictures import still_session
from gui.services.loading import InitialView, OpenRequest, load
from tests.degenerate_tables import helix


def of_picture(path):
    return still_session(open_model(path)).curve


def of_window(path):
    request, view = (
        OpenRequest(Source.parse(str(path))),
        InitialView((1, 2, 3), norms_centred=False),
    )
    return load(request, view, network=None).curve


@pytest.mark.parametrize("curve", [of_picture, of_window])
@pytest.mark.parametrize("scale", [1e-200, 1e-10, 1e37, 1e200])
def test_numbers_that_cannot_be_drawn_are_refused(scale, curve, tmp_path):
    np.save(tmp_path / "table.npy", scale * helix())
    with pytest.raises(TensorUnavailable, match="cannot be drawn"):
        curve(tmp_path / "table.npy")


@pytest.mark.parametrize("curve", [of_picture, of_window])
@pytest.mark.parametrize("scale", [0.0, 1e-7, 1.0, 1e29])
def test_others_are_drawn(scale, curve, tmp_path):
    np.save(tmp_path / "table.npy", scale * helix())
    drawn = curve(tmp_path / "table.npy")
    assert np.isfinite(drawn.coordinates).all()
    assert np.isfinite(drawn.residual).all()
