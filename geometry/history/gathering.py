"""Collecting the tables of many checkpoints, from this machine or from the Hub.

Every checkpoint is opened like any model, by its index, and its table by a range request. Downloads
are cached, so that a later run only downloads what is missing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError, SourceError
from geometry.checkpoints.transfer import Cancelled, Transfer, TransferProgress
from geometry.history.history import Floats, History, Skipped, in_memory
from geometry.history.origins import Snapshot
from geometry.history.plan import HistoryPlan
from geometry.history.trainer_log import read_log
from geometry.hub.checkpoint import known_commit
from geometry.hub.faults import BrokenTransfer, HubError, NotOnHub
from geometry.hub.network import Network, default_network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model

CONNECTIONS = 4
"""Number of checkpoints opened at once."""

ATTEMPTS = 3
"""Attempts to collect checkpoints that a training run rewrites meanwhile."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Progress of a gathering.

    Attributes
    ----------
    done, total
        Checkpoints collected or skipped, and their total.
    bytes_received
        Received in this run so far.
    bytes_per_second
        Average over the last two seconds; None while there is nothing to measure.
    waiting
        Why one of the connections waits, as a sentence; otherwise "".
    """

    done: int
    total: int
    bytes_received: int
    bytes_per_second: float | None
    waiting: str = ""


class Gathering:
    """Collects a plan's tables; those received so far are kept if it is interrupted.

    Parameters
    ----------
    plan
        The chosen checkpoints.
    network
        Access to the Hub; the default network if None.
    """

    def __init__(self, plan: HistoryPlan, network: Network | None = None) -> None:
        self.plan = plan
        self._network = network
        self._tables: dict[int, Floats] = {}
        self._checks: dict[int, Callable[[], None]] = {}
        self._skipped: dict[int, Skipped] = {}
        self._lock = threading.Lock()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The skipped checkpoints by increasing step, with reasons."""
        with self._lock:
            return tuple(self._skipped[step] for step in sorted(self._skipped))

    @property
    def missing(self) -> tuple[Snapshot, ...]:
        """The checkpoints neither collected nor skipped, by increasing step."""
        with self._lock:
            known = self._tables.keys() | self._skipped.keys()
        return tuple(snapshot for snapshot in self.plan.snapshots if snapshot.step not in known)

    @property
    def history(self) -> History | None:
        """The tables collected so far; None if there are none."""
        with self._lock:
            tables = dict(self._tables)
        if not tables:
            return None
        origin, steps = self.plan.origin, sorted(tables)
        folders = [
            Path(snapshot.source.text)
            for snapshot in self.plan.snapshots
            if origin.kind == "folder"
        ]
        tokens, losses = read_log(folders, steps)
        return in_memory(
            origin.name,
            origin.source,
            steps,
            [tables[step] for step in steps],
            tokens=tokens,
            losses=losses,
        )

    def run(
        self,
        transfer: Transfer | None = None,
        on_progress: Callable[[Gathered], None] | None = None,
    ) -> History:
        """Collect the missing tables.

        Local checkpoints come first; of the others, the last step and then increasingly fine steps
        in between, so that a partial history covers the whole training. Checkpoints without a table
        of the right shape are skipped.

        Parameters
        ----------
        transfer
            Allows cancellation from another thread.
        on_progress
            Called on the downloading threads, by a single thread at a time.

        Raises
        ------
        HubError
            The Hub cannot be reached; the tables received so far are kept.
        Cancelled
            ``transfer`` was cancelled; the tables received so far are kept.
        SourceError
            None of the checkpoints has such a table.
        """
        network = self._network
        if network is None and self.plan.origin.kind == "hub":
            network = default_network()
        self._forget_passing()
        for left in reversed(range(ATTEMPTS)):
            round_ = _Round(self, network, on_progress)
            with (transfer or Transfer()).interruptible(round_.stop):
                missing = self.missing
                here = tuple(snapshot for snapshot in missing if snapshot.here)
                away = tuple(snapshot for snapshot in missing if not snapshot.here)
                round_.bring((coarse_first(here), coarse_first(away)))
            if not self._drop_changed(last=not left):
                break
        history = self.history
        if history is None:
            raise SourceError(
                f"None of the {len(self.plan.snapshots)} checkpoints of {self.plan.origin.source} "
                f"has a usable table: {self.skipped[0].why}",
            )
        return history

    def keep(self, snapshot: Snapshot, model: PositionalModel) -> None:
        """Add the table of a checkpoint."""
        table = compact(model)
        with self._lock:
            self._tables[snapshot.step] = table
            self._checks[snapshot.step] = model.store.check_files

    def skip(self, snapshot: Snapshot, error: HelixscopeError) -> None:
        """Record a skipped checkpoint."""
        with self._lock:
            self._skipped[snapshot.step] = Skipped(
                snapshot.step, snapshot.source.text, str(error), may_pass(error)
            )

    def _drop_changed(self, *, last: bool) -> bool:
        """Remove the tables of checkpoints that were rewritten meanwhile; return whether any were.

        They are from a later training than the others. After the ``last`` attempt they are
        skipped.
        """
        changed = False
        for snapshot in self.plan.snapshots:
            try:
                if check := self._checks.get(snapshot.step):
                    check()
            except FileChanged as error:
                changed = True
                with self._lock:
                    del self._tables[snapshot.step], self._checks[snapshot.step]
                if last:
                    self.skip(snapshot, error)
        return changed

    def _forget_passing(self) -> None:
        """Retry checkpoints that were skipped because of a transmission error."""
        with self._lock:
            self._skipped = {
                step: skipped for step, skipped in self._skipped.items() if not skipped.passing
            }


class _Round:
    """One run: its threads, their cancellation and progress."""

    def __init__(
        self,
        gathering: Gathering,
        network: Network | None,
        on_progress: Callable[[Gathered], None] | None,
    ) -> None:
        self._gathering = gathering
        self._network = network
        self._on_progress = on_progress
        # Cancels all threads together, and counts what they receive.
        self._all = Transfer(self._report)
        self._report_lock = threading.RLock()
        self._failure: Exception | None = None
        self._waiting = ""

    def stop(self) -> None:
        """Cancel all active downloads, from any thread."""
        self._all.cancel()

    def bring(self, groups: Sequence[Sequence[Snapshot]]) -> None:
        """Collect the groups in order, several checkpoints of a group at once.

        Raises the error that ended it early.
        """
        self._all.begin("", 0)
        with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="history") as pool:
            try:
                for group in groups:
                    waiting = deque(group)
                    for thread in [pool.submit(self._work, waiting) for _ in range(CONNECTIONS)]:
                        thread.result()
                    if self._failure is not None:
                        raise self._failure
            finally:
                self.stop()

    def _work(self, waiting: deque[Snapshot]) -> None:
        """Collect checkpoints until none is left or one fails."""
        try:
            while True:
                try:
                    snapshot = waiting.popleft()
                except IndexError:
                    return
                self._bring(snapshot)
                self._all.begin("", 0)
        except Exception as error:
            with self._report_lock:
                # Keep the first error: stopping the other threads makes them fail too.
                self._failure = self._failure or error
            self.stop()

    def _bring(self, snapshot: Snapshot) -> None:
        shape = self._gathering.plan.origin.shape
        try:
            model = self._open(snapshot)
            if model.W_pos.shape != shape:
                raise SourceError(
                    f"Its table is {model.n_positions} × {model.d_model}, not {shape[0]} × "
                    f"{shape[1]}."
                )
            self._gathering.keep(snapshot, model)
        except Cancelled:
            raise
        except HelixscopeError as error:
            if not is_its_own(error):
                raise
            self._gathering.skip(snapshot, error)

    def _open(self, snapshot: Snapshot) -> PositionalModel:
        table = self._gathering.plan.origin.table
        if self._network is None:
            self._all.check()
            return open_model(snapshot.source, table=table)
        counted = 0

        def count(waiting: str = "") -> None:
            nonlocal counted
            self._waiting = waiting
            self._all.advance(own.bytes_received - counted)
            counted = own.bytes_received

        own = Transfer(lambda progress: count(progress.waiting))
        network = replace(
            self._network,
            transfer=own,
            snapshot=True,
            fresh=has_moved(snapshot, self._network.cache),
        )
        with self._all.interruptible(own.cancel):
            try:
                return open_model(snapshot.source, table=table, network=network)
            finally:
                count()

    def _report(self, progress: TransferProgress) -> None:
        if self._on_progress is None:
            return
        gathering = self._gathering
        total = len(gathering.plan.snapshots)
        with self._report_lock:
            self._on_progress(
                Gathered(
                    total - len(gathering.missing),
                    total,
                    self._all.bytes_received,
                    progress.bytes_per_second,
                    self._waiting,
                )
            )


def may_pass(error: HelixscopeError) -> bool:
    """Return whether what failed by an error may succeed the next time."""
    return isinstance(error, FileChanged) or (isinstance(error, HubError) and error.retryable)


def is_its_own(error: HelixscopeError) -> bool:
    """Return whether an error concerns one checkpoint, and not the access to all of them."""
    if isinstance(error, NotOnHub):
        return error.missing != "repository"
    if isinstance(error, BrokenTransfer):
        return not error.passing
    return not isinstance(error, HubError)


def compact(model: PositionalModel) -> Floats:
    """Return a model's table, in half precision if stored so."""
    stored = model.store.tensors.get(model.table)
    half = stored is not None and stored.dtype == "F16"
    table: Floats = np.ascontiguousarray(model.W_pos, np.float16 if half else np.float32)
    table.setflags(write=False)
    return table


def coarse_first(snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Order snapshots from coarse to fine, so that any first part covers the history evenly."""
    order: dict[int, None] = {}
    stride = 1 << max(0, len(snapshots) - 1).bit_length()
    while stride:
        order.update(dict.fromkeys(range(len(snapshots) - 1, -1, -stride)))
        stride //= 2
    return tuple(snapshots[i] for i in order)


def has_moved(snapshot: Snapshot, cache: TensorCache) -> bool:
    """Return whether a branch on the Hub has moved since it was downloaded."""
    address = snapshot.source.address
    assert address is not None, "its source was made from an address"
    known = known_commit(cache, address)
    return known is not None and snapshot.commit not in (None, known)
