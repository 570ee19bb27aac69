"""Models with checkpoints on a Hub on this machine, and in folders."""

from pathlib import Path

from geometry.hub.client import Hub
from tests.geometry.history_stage import growing, write_checkpoint
from tests.geometry.hub_opening import QUICK
from tests.loopback.hub import LoopbackHub
from tests.stand_ins import OPENAI, write_stand_in

NAME = OPENAI[0]
STEPS = [0, *range(100, 2000, 100)]


def serve_checkpoints(hub: LoopbackHub, folder: Path, name: str = NAME) -> LoopbackHub:
    """Serve a model with twenty checkpoints as branches."""
    for step in STEPS:
        revision = f"checkpoint-{step}"
        hub.add(name, write_stand_in(folder, name, revision), revision=revision)
    hub.add(name, write_stand_in(folder, name))
    return hub


def write_checkpoints(folder: Path, steps: list[int]) -> Path:
    """Write a folder with checkpoints in it."""
    for step, table in zip(steps, growing(steps), strict=True):
        write_checkpoint(folder / f"checkpoint-{step}", table)
    return folder


def hasten(controller) -> None:
    """Let the controller's Hub give up soon: no test waits for a server."""
    controller.fetching._hub = Hub(retries=QUICK)
