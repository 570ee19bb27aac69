"""Asking the loopback Hub for the files of one model, as the client does."""

import httpx2
import numpy as np
from huggingface_hub import hf_hub_url
from huggingface_hub.utils import build_hf_headers, get_session

from tests.loopback_hub import LoopbackHub, Request

REPO = "ann/helix"
WEIGHTS = bytes(np.random.default_rng(7).integers(0, 256, 300_000, dtype=np.uint8))
CONFIG = b'{"model_type": "gpt2"}'
FILES = {"config.json": CONFIG, "model.safetensors": WEIGHTS}
WAIT_S = 20
"""How long a test waits for another thread before it fails; never how long it takes."""


def url(filename: str = "model.safetensors", **place: str) -> str:
    return hf_hub_url(REPO, filename, **place)


def get(
    address: str, asked: str | None = None, *, token: str | None = None, method: str = "GET"
) -> httpx2.Response:
    """One request as the app makes it: the client's session and headers, perhaps a range."""
    ranges = {"Range": asked} if asked else {}
    headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity", **ranges}
    return get_session().request(method, address, headers=headers, timeout=WAIT_S)


def of_files(hub: LoopbackHub) -> list[Request]:
    """The requests for files, without those of the client's own making."""
    return [request for request in hub.requests if request.path != "/api/agent-harnesses"]
