"""A Hub with two models, and sessions that open them."""

import pytest

from geometry.models.sources import local_models
from tests.gui.services.hub_opening.hub_models import GPT2, serve_two


@pytest.fixture(autouse=True)
def no_packages(monkeypatch):
    monkeypatch.setattr(local_models, "_in_package", lambda entry: None)


@pytest.fixture
def hub(loopback_hub, tmp_path):
    return serve_two(loopback_hub, tmp_path / "made")


@pytest.fixture
def fetched(session, controller, hub):
    """A session with GPT-2 open, fetched from the Hub; the requests for it are forgotten."""
    controller.open(GPT2)
    assert session.notice is None
    hub.forget_requests()
    return session
