"""One checkpoint to one row: what a worker of a survey does, and what it prepares before."""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.threads import one_thread
from geometry.checkpoints.transfer import Transfer
from geometry.claims.scalar_results import QUANTITIES, WEIGHED, weighed_scalars
from geometry.history.gathering import may_pass
from geometry.history.trainer_log import read_log
from geometry.hub.checkpoint import known_commit
from geometry.hub.client import Hub, Retries
from geometry.hub.faults import HubBusy, NoNetwork, Offline
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import MAX_BYTES, TensorCache, default_cache
from geometry.models.model import PositionalModel
from geometry.models.sources.history_steps import NoStep, open_step
from geometry.models.sources.locating import located
from geometry.models.sources.opening import NoSuchTable, open_model
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca
from geometry.survey.populations import Entry

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

Row = dict[str, Any]
"""The values of a row, by the names of its columns: plain numbers, texts and bytes."""

_OF_ENTRY: tuple[tuple[str, str], ...] = (
    ("source", "text"),
    ("group", "text"),
    ("seed", "count"),
    ("step", "count"),
    ("layer", "count"),
    ("tokens", "count"),
    ("commit", "text"),
    ("fingerprint", "text"),
    ("scheme", "text"),
    ("first_position", "count"),
    ("last_position", "count"),
)
_OF_FAILURE: tuple[tuple[str, str], ...] = (("error", "text"), ("temporary", "yes or no"))
_OF_COMPONENTS: tuple[tuple[str, str], ...] = (
    ("coordinates", "bytes"),
    ("directions", "bytes"),
    ("mean", "bytes"),
)
WRITES_BEHIND = 8
"""Entries of the cache that may be written while the next checkpoint is fetched."""
OUTCOMES = ("turning_share", *WEIGHED)
"""Keys of the quantities that have an outcome."""


@dataclass(frozen=True, slots=True)
class RowSettings:
    """What the rows of a survey depend on, besides the checkpoints.

    Attributes
    ----------
    positions
        Inclusive range; None for each model's usual one.
    components
        Three principal components of the range, from 1, for the curve's shape.
    nulls
        Whether null distributions are drawn, see
        :func:`geometry.claims.scalar_results.weighed_scalars`.
    kept
        Number of principal components that each row holds, for a time-lapse.
    table
        The ``table`` argument of :func:`geometry.models.sources.opening.open_model` for
        checkpoints that have such a tensor or side; None for each one's default.
    server
        What tells the Hub's endpoint from others, see :func:`geometry.hub.address.server_name`:
        "" for huggingface.co; None where no checkpoint is on a Hub.
    """

    positions: tuple[int, int] | None = None
    components: tuple[int, int, int] = (1, 2, 3)
    nulls: bool = False
    kept: int = 0
    table: str | None = None
    server: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the settings as lists and plain values, those of earlier files as in these."""
        told = asdict(self)
        for later in ("table", "server"):
            if not told[later]:
                del told[later]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in told.items()}


@dataclass(frozen=True, slots=True)
class Access:
    """How a worker reads checkpoints.

    Attributes
    ----------
    offline
        Whether to send no requests.
    whole
        As in :class:`geometry.hub.network.Network`.
    cache_bytes
        Limit of the cache on the worker's machine.
    limit_s
        Seconds that a checkpoint may take, its download included.
    """

    offline: bool = False
    whole: bool = False
    cache_bytes: int = MAX_BYTES
    limit_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong, and may be over when it is tried again.

    Attributes
    ----------
    kind
        "busy": the Hub asks everybody to wait; "network": there is no connection; "again": a
        fault of this checkpoint's transfer, or a file that was just being written.
    wait_s
        The wait that the Hub asks for; None if it names none.
    """

    kind: Literal["busy", "network", "again"]
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a worker returns for a checkpoint.

    Attributes
    ----------
    row
        Its row, with an ``error`` if it could not be measured.
    fault
        Whether it is worth another try; None if it was measured, or fails for good.
    requests, nbytes
        Sent to the Hub and received from there.
    version
        Of Helixscope on the worker.
    """

    row: Row
    fault: Fault | None
    requests: int
    nbytes: int
    version: str


Measure = Callable[[Entry, RowSettings, Access], Measured]


def dask_setup(_: object) -> None:
    """Prepare the process of a local cluster's worker; called by Dask when that starts."""
    # What a terminal sends to all its processes is for that which runs the survey, and ends this.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    use_one_thread()


@functools.cache
def use_one_thread() -> None:
    """Limit linear algebra to one thread in this process from now on, for a worker.

    All cores have workers; and of several threads of a worker none may lift the limit of another,
    or the numbers would depend on the number of cores.
    """
    import scipy.linalg  # noqa: F401, before the libraries are listed
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def columns(kept: int, *, chosen: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the names of a row's columns, each with its kind: that of a quantity, or "bytes".

    ``chosen`` adds that of the chosen table.
    """
    of_table = (("table", "text"),) if chosen else ()
    measured = tuple((quantity.key, quantity.kind) for quantity in QUANTITIES)
    outcomes = tuple((f"{key}_outcome", "text") for key in OUTCOMES)
    of_components = _OF_COMPONENTS if kept else ()
    return (*_OF_ENTRY, *of_table, *measured, *outcomes, *of_components, *_OF_FAILURE)


def schema(kept: int, *, chosen: bool = False) -> pa.Schema:
    """Return the columns and types of a survey's file, without its metadata."""
    import pyarrow as pa

    types = {
        "count": pa.int64(),
        "share": pa.float64(),
        "number": pa.float64(),
        "text": pa.string(),
        "bytes": pa.large_binary(),
        "yes or no": pa.bool_(),
    }
    return pa.schema([pa.field(name, types[kind]) for name, kind in columns(kept, chosen=chosen)])


@functools.cache
def version() -> str:
    """Return the version of Helixscope that is installed here; "" if it is not."""
    try:
        return importlib.metadata.version("helixscope")
    except importlib.metadata.PackageNotFoundError:
        return ""


def measure_in_worker(
    measure: Measure, entry: Entry, settings: RowSettings, access: Access, topic: str
) -> Measured:
    """Measure one checkpoint with linear algebra on one thread; the task that Dask runs.

    Before, the survey hears of it, as an event of the topic.
    """
    from distributed import get_worker

    use_one_thread()
    worker = get_worker()
    begins = {"key": worker.get_current_task(), "worker": worker.address}
    # Not left to a queue: what follows may hold up, or end, the whole process.
    asyncio.run_coroutine_threadsafe(
        worker.scheduler.log_event(topic=topic, msg=begins), worker.loop.asyncio_loop
    ).result()
    return measure(entry, settings, access)


def measure_entry(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Open one checkpoint, measure it and return its row; never raises.

    Only its position table is read. Of the Hub each request is sent once: what fails is for the
    survey to try again, which knows what the others are told.
    """
    transfer = Transfer()

    def measured(row: Row, fault: Fault | None = None) -> Measured:
        return Measured(row, fault, transfer.requests, transfer.bytes_received, version())

    try:
        source = located(Source.parse(entry.source))
        model, table = _open_chosen(entry, source, settings.table, access, transfer)
        with one_thread():
            row = {
                **model_row(entry, model, settings),
                **({"table": table} if settings.table else {}),
            }
        model.store.check_files()
        return measured(row)
    except HelixscopeError as error:
        fault = _fault(error)
        later = fault is not None or isinstance(error, Offline)
        return measured(failed_row(entry, str(error), temporary=later), fault)
    except Exception as error:  # a row must come of anything: the survey goes on
        log.exception("%s could not be measured", entry.source)
        said = f"It could not be measured: {type(error).__name__}: {error}."
        return measured(failed_row(entry, str(HelixscopeError(said)), temporary=True))


def failed_row(entry: Entry, error: str, *, temporary: bool) -> Row:
    """Return the row of a checkpoint that could not be measured.

    ``temporary`` ones are tried again by the next survey into the same file.
    """
    return {**_names(entry), "error": error, "temporary": temporary}


def _names(entry: Entry) -> Row:
    names = ("source", "group", "seed", "step", "layer", "tokens", "commit")
    return {name: getattr(entry, name) for name in names}


def _fault(error: HelixscopeError) -> Fault | None:
    if isinstance(error, HubBusy):
        return Fault("busy", error.wait_s)
    if isinstance(error, NoNetwork):
        return Fault("network")
    return Fault("again") if may_pass(error) else None


# ---- opening ---------------------------------------------------------------------------


def _open_chosen(
    entry: Entry, source: Source, table: str | None, access: Access, transfer: Transfer
) -> tuple[PositionalModel, str | None]:
    """Open a checkpoint, and return its chosen table; None where it has no such table."""
    _, table = source.apart(table)
    with suppress(NoSuchTable):
        return _open(entry, source, table, access, transfer), table
    return _open(entry, source, None, access, transfer), None


def _open(
    entry: Entry, source: Source, table: str | None, access: Access, transfer: Transfer
) -> PositionalModel:
    if entry.history and table is not None:
        raise NoSuchTable(f"{entry.source} is one table.", ())
    if entry.history:
        return _open_step(entry, source)
    network = _network(access, transfer)
    if (address := source.address) is not None:
        # So that a slow disk does not leave more and more tables in memory.
        wait_until_kept(network.cache.root, but_for=WRITES_BEHIND)
        if entry.commit is not None:
            wait_until_kept(
                network.cache.root, address.repo
            )  # its last known commit is one of them
            moved = known_commit(network.cache, address) not in (None, entry.commit)
            network = replace(network, fresh=moved and not access.offline)
    return open_model(source, table=table, network=network)


def _open_step(entry: Entry, source: Source) -> PositionalModel:
    assert entry.step is not None
    file = Path(entry.history)
    try:
        return open_step(file, entry.step, source)
    except NoStep as error:
        raise FileChanged(file.name) from error


def _network(access: Access, transfer: Transfer) -> Network:
    cache = _cache(default_cache().root, access.cache_bytes)
    return Network(_hub(access.offline), cache, transfer, access.whole, snapshot=True)


@functools.cache
def _cache(root: Path, max_bytes: int) -> TensorCache:
    """Return this process's access to the machine's cache.

    Looking through thousands of checkpoints for the size of the cache takes longer than to measure
    one, so it is done now and then: all processes of a machine together may exceed the limit by a
    twentieth.
    """
    looks_after = max_bytes // (20 * (os.cpu_count() or 1))
    return TensorCache(root, max_bytes, looks_after=looks_after)


@functools.cache
def _hub(offline: bool) -> Hub:
    """Return this process's client, whose connections stay open between checkpoints."""
    return Hub(offline=offline, retries=Retries(attempts=1))


# ---- measuring -------------------------------------------------------------------------


def model_row(entry: Entry, model: PositionalModel, settings: RowSettings) -> Row:
    """Measure an open model."""
    first, last = settings.positions or model.usual_positions
    scalars, outcomes = weighed_scalars(
        model, (first, last), settings.components, nulls=settings.nulls
    )
    row = _names(entry)
    row |= {
        "tokens": entry.tokens if entry.tokens is not None else _logged_tokens(entry),
        "commit": model.commit or entry.commit,
        "fingerprint": model.fingerprint,
        "scheme": _scheme(entry, model),
        "first_position": first,
        "last_position": last,
        "error": None,
        "temporary": False,
    }
    as_stored: dict[str, Callable[[Any], Any]] = {"count": int, "text": str}
    for one in scalars:
        store = as_stored.get(one.quantity.kind, float)
        row[one.quantity.key] = None if one.value is None else store(one.value)
    row |= {f"{key}_outcome": outcomes.get(key) for key in OUTCOMES}
    if settings.kept:
        row |= _components(model, (first, last), settings.kept)
    return row


def _scheme(entry: Entry, model: PositionalModel) -> str:
    if entry.history:
        return "learned"
    return "inside" if entry.layer is not None else model.scheme


def _logged_tokens(entry: Entry) -> int | None:
    """Return the tokens seen by a local checkpoint, from its trainer's log."""
    folder = Path(entry.source)
    if entry.step is None or entry.history or not folder.is_dir():
        return None
    tokens, _ = read_log([folder], [entry.step])
    return None if tokens is None else int(tokens[0])


def _components(model: PositionalModel, positions: tuple[int, int], count: int) -> Row:
    """Return a range's first components, of which a table has perhaps fewer, in half precision."""
    pca = fit_pca(model.W_pos, positions, count)
    arrays = {
        "coordinates": pca.project(model.W_pos)[:, :count],
        "directions": pca.components[:count],
        "mean": pca.mean,
    }
    with np.errstate(over="ignore"):  # what half precision cannot hold is infinite
        return {name: array.astype("<f2").tobytes() for name, array in arrays.items()}
