"""A survey on Dask: on processes of this machine, or on a cluster at its scheduler's address."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.children import safe_environment
from geometry.checkpoints.plain_text import storable
from geometry.survey import rows
from geometry.survey.cluster import WorkerCheck, check_scheduler, no_scheduler
from geometry.survey.dispatch import Dispatcher, Task
from geometry.survey.parts import SurveyError, SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import (
    Access,
    Measure,
    Measured,
    Row,
    failed_row,
    measure_entry,
    measure_in_worker,
    version,
)

if TYPE_CHECKING:
    from distributed import Client, Future

log = logging.getLogger(__name__)

#: Bound on the Hub's requests by default. In five minutes it allows those without a token 500 to
#: its API and 3,000 for files; of the eight for a checkpoint in torch's format, one is to the API
#: and three are to its storage, which has no such limit.
REQUESTS_PER_S = 8.0

#: Tasks handed out for each thread of a worker: one that runs, and one that waits for it.
TASKS_A_THREAD = 2

#: Seconds between two looks at the number of workers, and the longest wait without a look at
#: anything.
LOOK_S, IDLE_S = 2.0, 0.5

#: Seconds in which a connection to a scheduler that was lost has to come about again.
CONNECT_S = 30

#: Seconds in which a worker has to end, after which it is removed from its cluster.
END_S = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a survey.

    Attributes
    ----------
    done, total
        Checkpoints with a row, known ones included, and all.
    failed
        Those of them that could not be measured.
    workers
        Threads of all workers.
    requests, nbytes
        Sent to the Hub and received from there, in this run.
    waiting
        Why nothing is handed out, as a sentence; else "".
    """

    done: int
    total: int
    failed: int
    workers: int
    requests: int
    nbytes: int
    waiting: str = ""


def run_survey(
    entries: Sequence[Entry],
    file: SurveyFile,
    access: Access,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    requests_per_s: float = REQUESTS_PER_S,
    tell: Callable[[Progress], None] | None = None,
    announce: Callable[[str], None] | None = None,
    measure: Measure = measure_entry,
) -> Progress:
    """Measure the checkpoints that a file does not have yet.

    Parameters
    ----------
    entries
        All checkpoints of the survey.
    file
        Where the rows go, as they come; open.
    access
        How workers read checkpoints.
    scheduler
        Address of a cluster's scheduler, such as "tcp://10.0.0.1:8786"; processes of this machine
        if None.
    workers
        Number of these processes; one for each core if None.
    requests_per_s
        Bound on the Hub's requests, over all workers.
    tell
        Called with the progress, on this thread.
    announce
        Called with the address of the cluster's dashboard, if it has one.
    measure
        What a worker does.

    Returns
    -------
    Progress
        At the end.

    Raises
    ------
    SurveyError
        The cluster cannot be reached any more, or its workers cannot run
        Helixscope.
    HubGivesUp
        The Hub cannot be asked for now.
    HelixscopeError
        The file cannot be written.
    KeyboardInterrupt
        Ctrl+C was pressed. As after all of these, the rows so far are in the file.
    """
    missing = file.missing(entries, given_up=too_long(access.limit_s))
    totals = _Totals(file, entries, missing)
    if not missing:
        return totals.progress(0)
    dispatcher = Dispatcher(missing, requests_per_s, time.monotonic(), offline=access.offline)
    file.announce(entries)
    with _connected(scheduler, workers) as client:
        link = client.dashboard_link if announce is not None else ""
        if link and announce is not None and _has_dashboard(client, scheduler):
            file.announce(entries, link)
            announce(link)
        where = scheduler or "this machine"
        check = None if scheduler is None else WorkerCheck(client)
        _Run(client, check, dispatcher, file, access, totals, tell, measure, where).until_done()
    return totals.progress(0)


def check_installed() -> None:
    """Raise SurveyError if Dask or pyarrow is not installed."""
    lacking = [name for name in ("distributed", "pyarrow") if find_spec(name) is None]
    if lacking:
        raise SurveyError(
            f"A survey needs the packages {' and '.join(lacking)}.",
            'Install Helixscope with them: pip install ".[survey]".',
        )


def too_long(limit_s: float) -> str:
    """Return the error of a checkpoint that takes longer than it may."""
    limit = f"{limit_s:g} seconds" if limit_s < 120 else f"{limit_s / 60:g} minutes"
    return f"It took longer than {limit}, the limit of this survey."


# ---- the cluster -----------------------------------------------------------------------


@contextmanager
def _connected(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """Connect to a cluster, or start one on this machine; close what was opened."""
    import dask
    from distributed import Client

    settings = {
        "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
        # Of a cluster of this machine: what is lost is handed out again from here, what takes too
        # long is ended from here, and a worker that is lost comes back, however long that takes.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.worker-ttl": None,
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # Its samples of each second of the last hour would take hundreds of megabytes.
        "distributed.worker.profile.enabled": False,
    }
    with dask.config.set(settings):
        if scheduler is None:
            with _local(workers) as cluster, Client(cluster, set_as_default=False) as client:
                yield client
            return
        check_scheduler(scheduler)
        try:
            client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise no_scheduler(scheduler, str(error)) from error
        try:
            yield client
        finally:
            with suppress(OSError, TimeoutError):
                client.close(timeout=2)


@contextmanager
def _local(workers: int | None) -> Iterator[Any]:
    """Start processes on this machine, each with one thread."""
    import tempfile

    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    with ExitStack() as stack:
        # A cluster can be closed only once it has started.
        with _signals_later():
            stack.enter_context(safe_environment())
            folder = tempfile.TemporaryDirectory(prefix="helixscope-survey-")
            stack.enter_context(
                dask.config.set({"temporary-directory": stack.enter_context(folder)})
            )
            # Encrypted, with keys that are made for it: on a machine with other users, whoever
            # reaches the scheduler could run anything.
            cluster = LocalCluster(
                n_workers=workers or os.cpu_count() or 1,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                security=Security.temporary(),
                dashboard_address="127.0.0.1:0",  # any free port, also of its answers without bokeh
                silence_logs=logging.CRITICAL,
                preload=[rows.__name__],
            )
            stack.enter_context(cluster)
        yield cluster


@contextmanager
def _signals_later() -> Iterator[None]:
    """Let signals that Python handles, as Ctrl+C, come after the block."""
    came: list[int] = []
    handled = [n for n in signal.valid_signals() if callable(signal.getsignal(n))]
    if threading.current_thread() is not threading.main_thread():  # where none come
        handled = []
    before = {n: signal.signal(n, lambda number, _: came.append(number)) for n in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _has_dashboard(client: Client, scheduler: str | None) -> bool:
    if scheduler is None and find_spec("bokeh") is None:  # which draws it
        return False
    return "dashboard" in client.scheduler_info(n_workers=0).get("services", {})


# ---- the run ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Totals:
    file: SurveyFile
    entries: Sequence[Entry]
    missing: Sequence[Entry]
    requests: int = 0
    nbytes: int = 0
    done: int = 0
    failed: int = field(init=False)

    def __post_init__(self) -> None:
        known = {one.source for one in self.entries} - {one.source for one in self.missing}
        self.failed = sum(self.file.known[storable(one)].error is not None for one in known)

    def count(self, row: Row) -> None:
        self.done += 1
        self.failed += row["error"] is not None

    def progress(self, workers: int, waiting: str = "") -> Progress:
        total = len(self.entries)
        return Progress(
            total - len(self.missing) + self.done,
            total,
            self.failed,
            workers,
            self.requests,
            self.nbytes,
            waiting,
        )


@dataclass(eq=False, slots=True)
class _Run:
    """Keeps the workers busy until all checkpoints have a row."""

    client: Client
    check: WorkerCheck | None
    dispatcher: Dispatcher
    file: SurveyFile
    access: Access
    totals: _Totals
    tell: Callable[[Progress], None] | None
    measure: Measure
    where: str
    tasks: dict[Future[Measured], Task] = field(default_factory=dict)
    ended: queue.SimpleQueue[Future[Measured]] = field(default_factory=queue.SimpleQueue)
    began: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The worker of each task that has begun, and when, by the task's key."""
    of_workers: dict[str, int] = field(default_factory=dict)
    threads: int = 0
    looked: float = -math.inf

    @property
    def topic(self) -> str:
        """Of the events by which workers report the tasks that begin."""
        return f"begins-{self.client.id}"

    def until_done(self) -> None:
        """Hand out, collect and write, until nothing is left."""
        try:
            while self.tasks or self.dispatcher.waiting:
                self._hand_out()
                self._collect()
                self._end_late()
                if self.file.due_s == 0.0:
                    self.file.flush()
                self._report()
        finally:
            self._cancel()

    def _hand_out(self) -> None:
        if self.client.status == "closed":
            raise SurveyError(
                f"The connection to the scheduler at {self.where} is lost.",
                "Start the survey again when it is back; it goes on where it was.",
            )
        if self.client.status != "running":  # it is being connected again
            return
        self._look()
        while len(self.tasks) < TASKS_A_THREAD * self.threads:
            task = self.dispatcher.take(time.monotonic())
            if task is None:
                return
            future = self.client.submit(
                measure_in_worker,
                self.measure,
                task.entry,
                self.file.settings,
                self.access,
                self.topic,
                pure=False,
            )
            self.tasks[future] = task
            future.add_done_callback(self.ended.put)

    def _look(self) -> None:
        """Count the threads of the workers that can run the survey."""
        if time.monotonic() - self.looked >= LOOK_S:
            # At each look: it does not outlive a connection.
            self.client.subscribe_topic(self.topic, self._note_begin)
            with suppress(OSError, TimeoutError):  # the connection is just being lost
                self.of_workers = self.client.nthreads()
            if self.check is not None:
                self.check.ask(self.of_workers)
            self.looked = time.monotonic()
        fit = self.of_workers if self.check is None else self.check.fit()
        self.threads = sum(self.of_workers[one] for one in fit)

    def _note_begin(self, event: tuple[float, Mapping[str, str]]) -> None:
        """Note that a worker has begun a task; called on the client's thread."""
        self.began[event[1]["key"]] = event[1]["worker"], time.monotonic()

    def _collect(self) -> None:
        """Wait for results, and do with all that are there what is to be done."""
        ended = self._wait()
        found = [future for future in ended if future.status == "finished"]
        results: list[Measured | None] = [None] * len(found)
        if found:
            try:
                results = self.client.gather(found)
            except Exception:  # a worker was lost with some of them
                log.info("Results are gathered one by one", exc_info=True)
                results = [self._result(future) for future in found]
        for future, measured in zip(found, results, strict=True):
            task, _ = self._take_back(future)
            if measured is None:
                self._lose(task, "Its result was lost with its worker.")
            else:
                self._finish(task, measured)
        for future in ended:
            if future in self.tasks:
                self._fail(future)

    def _take_back(self, future: Future[Measured]) -> tuple[Task, bool]:
        """Return the task that was handed out, and whether it had begun."""
        return self.tasks.pop(future), self.began.pop(future.key, None) is not None

    def _end_late(self) -> None:
        """Record what takes too long, and have its worker replaced: no thread can be stopped."""
        for future in list(self.tasks):
            worker, began = self.began.get(future.key, ("", math.inf))
            if time.monotonic() - began < self.access.limit_s or future.status != "pending":
                continue
            task, _ = self._take_back(future)
            future.cancel(force=True)
            asyncio.run_coroutine_threadsafe(self._end(worker), self.client.loop.asyncio_loop)
            row = failed_row(task.entry, too_long(self.access.limit_s), temporary=True)
            self._finish(task, Measured(row, None, 0, 0, version()))

    async def _end(self, worker: str) -> None:
        """End the process of a worker, in place of which its nanny starts another one."""
        with suppress(OSError, TimeoutError):
            await self.client.scheduler.restart_workers(
                workers=[worker],
                timeout=END_S,
                wait_for_workers=False,
                on_error="return",
                stimulus_id="too-long",
            )

    def _wait(self) -> list[Future[Measured]]:
        """Return the tasks that have ended, or none when something else is to be done."""
        waits = [IDLE_S]
        due = self.file.due_s
        if due is not None:
            waits.append(due)
        if len(self.tasks) < TASKS_A_THREAD * self.threads:
            next_one = self.dispatcher.wait_s(time.monotonic())
            if next_one is not None:
                waits.append(next_one)
        ended = []
        with suppress(queue.Empty):
            ended.append(self.ended.get(timeout=min(waits)))
            while True:
                ended.append(self.ended.get_nowait())
        return [future for future in ended if future in self.tasks]  # and was not cancelled

    @staticmethod
    def _result(future: Future[Measured]) -> Measured | None:
        try:
            found: Measured = future.result(timeout=CONNECT_S)
        except Exception:  # lost with its worker, or no longer readable: it is measured again
            log.info("A result could not be gathered", exc_info=True)
            return None
        return found

    def _finish(self, task: Task, measured: Measured) -> None:
        if measured.version != version():
            there, here = measured.version or "unknown", version() or "unknown"
            raise SurveyError(
                f"The workers of {self.where} have version {there} of Helixscope, not {here}.",
                "Install the same version there.",
            )
        self.totals.requests += measured.requests
        self.totals.nbytes += measured.nbytes
        self._write(self.dispatcher.finish(task, measured, time.monotonic()))

    def _fail(self, future: Future[Measured]) -> None:
        """Do what is to be done about a task that has raised, or was lost."""
        error = future.exception(timeout=CONNECT_S) if future.status == "error" else None
        if isinstance(error, ImportError | AttributeError):
            raise SurveyError(
                f"The workers of {self.where} cannot run Helixscope: {error}.",
                'Install it there, in the same version: pip install ".[survey]".',
            ) from error
        why = "Its worker was lost with it"
        if error is not None:
            why += f", {type(error).__name__}: it may need more memory"
        task, begun = self._take_back(future)
        self._lose(task, f"{why}.", begun=begun)

    def _lose(self, task: Task, why: str, *, begun: bool = True) -> None:
        self._write(self.dispatcher.lose(task, why, time.monotonic(), begun=begun))

    def _write(self, row: Row | None) -> None:
        if row is not None:
            self.file.add(row)
            self.totals.count(row)

    def _report(self) -> None:
        if self.tell is None:
            return
        said = self.dispatcher.said(time.monotonic())
        if not self.threads:
            said = said or "There is no worker yet."
        if self.client.status == "connecting":
            said = "The connection to the scheduler is lost; trying again."
        self.tell(self.totals.progress(self.threads, said))

    def _cancel(self) -> None:
        """Take back what is handed out, after an error or Ctrl+C."""
        if self.tasks and self.client.status == "running":
            with suppress(Exception):
                self.client.cancel(list(self.tasks), force=True)
        self.tasks.clear()
