"""A model in the standard Hub cache and in our own: the newer answer to what a branch is counts."""

import os
import time
from pathlib import Path

import pytest

from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import network_of
from tests.stand_ins import OPENAI, write_stand_in

NAME = "someone/model"
#: Two states of its main branch.
OLD, NEW = "main", "newer"


@pytest.fixture
def commits(loopback_hub, tmp_path) -> dict[str, str]:
    """The commits of both states; the Hub is at the new one."""
    made = {}
    for state in (OLD, NEW):
        files = write_stand_in(tmp_path / "made", OPENAI[0], state)
        made[state] = loopback_hub.add(NAME, files)
    assert made[OLD] != made[NEW]
    return made


@pytest.fixture
def reference(hub_home, commits, tmp_path) -> Path:
    """What the standard cache says of the branch: the old state, told an hour ago."""
    model = hub_home / "hub" / f"models--{NAME.replace('/', '--')}"
    for state, commit in commits.items():
        files = write_stand_in(tmp_path / "standard", OPENAI[0], state)
        snapshot = model / "snapshots" / commit
        snapshot.mkdir(parents=True)
        for name, path in files.items():
            (snapshot / name).symlink_to(path)
    (model / "refs").mkdir()
    return tell(model / "refs" / "main", commits[OLD], -3600)


def tell(reference: Path, commit: str, after_s: float) -> Path:
    """Let the standard cache be told of a commit, so long after now."""
    reference.write_text(commit)
    when = time.time() + after_s
    os.utime(reference, (when, when))
    return reference


def opened(network: Network) -> PositionalModel:
    model = open_model(NAME, network=network)
    wait_until_kept(network.cache.root)
    return model


def test_what_was_asked_for_later_is_opened(loopback_hub, commits, reference, cache):
    usual = network_of(loopback_hub, cache)
    assert opened(usual).commit == commits[OLD]
    assert not loopback_hub.requests
    assert opened(network_of(loopback_hub, cache, fresh=True)).commit == commits[NEW]
    with loopback_hub.unasked():
        assert opened(usual).commit == commits[NEW]
        for commit in commits.values():
            assert open_model(f"{NAME}@{commit}", network=usual).commit == commit
        # What is no longer kept here is taken from there.
        usual.cache.clear()
        assert opened(usual).commit == commits[OLD]


def test_what_the_standard_cache_was_told_later_is_opened(loopback_hub, commits, reference, cache):
    assert opened(network_of(loopback_hub, cache, fresh=True)).commit == commits[NEW]
    tell(reference, commits[OLD], 3600)
    assert opened(network_of(loopback_hub, cache)).commit == commits[OLD]


def test_being_told_the_same_again_is_newer(loopback_hub, commits, reference, cache):
    asking = network_of(loopback_hub, cache, fresh=True)
    opened(asking)
    (ours,) = cache.glob("*/revisions/*")
    earlier = time.time() - 7200
    os.utime(ours, (earlier, earlier))
    assert opened(network_of(loopback_hub, cache)).commit == commits[OLD]
    assert opened(asking).commit == commits[NEW]
    assert opened(network_of(loopback_hub, cache)).commit == commits[NEW]
