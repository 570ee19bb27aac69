"""The training history of a model for the command `timelapse`, local or from the Hub."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from geometry.checkpoints.sizes import size_text
from geometry.history.gathering import Gathered, Gathering
from geometry.history.here import NoHistory, history_here
from geometry.history.origins import find_history, list_snapshots
from geometry.history.plan import DEFAULT_COUNT, log_spaced, plan_history
from gui.commands.headless import for_command_line, interruptible, user_cache
from gui.commands.terminal import say

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.history.history import History
    from geometry.history.origins import Origin
    from geometry.hub.network import Network
    from geometry.models.model import PositionalModel

ADVICE = (
    "Training histories come with a folder of steps, such as checkpoint-1000 or ckpt_1000.pt, a "
    "file with several state dicts, a Hub model with such branches, and “sample”."
)


def history_for_command(
    model: PositionalModel,
    count: int | None,
    *,
    offline: bool,
    whole: bool,
    on_progress: Callable[[TransferProgress], None] | None,
) -> History:
    """Return the history of an open model, at log-spaced steps.

    Parameters
    ----------
    count
        Number of steps; None for all of a history file, or the default number of checkpoints.
    offline, whole
        As in :func:`gui.commands.headless.open_for_command`.
    on_progress
        Called with a transfer's progress, on another thread.

    Raises
    ------
    NoHistory
        The model has none, or none can be found offline.
    HelixscopeError
        It cannot be read or downloaded; the advice is for the command line.
    KeyboardInterrupt
        Ctrl+C was pressed; complete downloads are cached.
    """
    origin = find_history(model)
    if origin is None:
        raise NoHistory(f"{model.name} has no training history", ADVICE)
    if origin.kind not in ("folder", "hub"):
        history = history_here(model)
        return history if count is None else history.only(log_spaced(history.steps.tolist(), count))
    if origin.kind == "folder":
        return plan_of(origin, count, None).run()
    with for_command_line(offline=offline):
        return _fetch(origin, count, offline, whole, on_progress)


def plan_of(origin: Origin, count: int | None, network: Network | None) -> Gathering:
    """Choose among the available checkpoints.

    Raises NoHistory: There are none.
    """
    snapshots = list_snapshots(origin, network)
    if not snapshots:
        known = network is not None and network.hub.offline
        why = "none are on this machine" if known else "the Hub has none"
        raise NoHistory(f"{origin.name} has no checkpoints of its training: {why}", ADVICE)
    return Gathering(plan_history(origin, snapshots, count or DEFAULT_COUNT), network)


def _fetch(
    origin: Origin,
    count: int | None,
    offline: bool,
    whole: bool,
    on_progress: Callable[[TransferProgress], None] | None,
) -> History:
    from geometry.checkpoints.transfer import Transfer, TransferProgress
    from geometry.hub.client import Hub
    from geometry.hub.keeping import wait_until_kept
    from geometry.hub.network import Network

    transfer, cache = Transfer(), user_cache()
    network = Network(Hub(offline=offline), cache, transfer, whole)

    def work() -> History:
        gathering = plan_of(origin, count, network)
        total = gathering.plan.bytes_to_fetch
        if total:
            n = len(gathering.plan.to_fetch)
            say(
                f"Downloading {n} of {gathering.plan.n_available} checkpoints of {origin.name}, "
                f"at most {size_text(total)}."
            )

        def report(so_far: Gathered) -> None:
            if on_progress is not None:
                what = f"checkpoint {so_far.done} of {so_far.total}"
                speed, waiting = so_far.bytes_per_second, so_far.waiting
                on_progress(TransferProgress(what, so_far.bytes_received, total, speed, waiting))

        history = gathering.run(transfer, report)
        wait_until_kept(cache.root)
        for skipped in gathering.skipped:
            say(f"Step {skipped.step} was left out: {skipped.why}")
        return history

    return interruptible(transfer, work)
