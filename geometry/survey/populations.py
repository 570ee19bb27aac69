"""Which checkpoints a survey measures: ids, patterns, folders, lists of them, named populations."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.files import METADATA, NOT_WEIGHTS, SHARD, WEIGHTS, steps_around
from geometry.checkpoints.steps import step_of, steps_of
from geometry.checkpoints.stores import cannot_read, check_link, open_regular
from geometry.checkpoints.suffixes import LOCAL_SUFFIXES, SCRIPT_SUFFIXES
from geometry.history.record import read_history
from geometry.hub.address import HubAddress, parse_address
from geometry.hub.network import Network
from geometry.models.sources import history_steps, layer_tables
from geometry.models.sources.catalogue import canonical, find_entry, read_catalogue
from geometry.models.sources.history_steps import steps_inside
from geometry.models.sources.layer_tables import read_layers
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source

#: Of a text file with a list of sources.
MAX_TEXT = 16_000_000

#: Models that one pattern of ids may find; the Hub sends no more in one answer.
MAX_FOUND = 1_000

_WILD = re.compile(r"[*?\[]")
_SEED = re.compile(r"(?:^|[-_/])(?:x|seed[-_]?)(\d{1,9})(?=$|[-_/@.])", re.IGNORECASE)
_STEP_OF_ID = re.compile(r"[-_]step[-_]?(\d{1,12})(k?)$", re.IGNORECASE)
_ALL_MODELS = "catalogue"


@dataclass(frozen=True, slots=True)
class Entry:
    """One checkpoint to measure.

    Attributes
    ----------
    source
        Its name, which no other entry has. Except for a step of a history, a source for
        :func:`geometry.models.sources.opening.open_model`; paths are absolute.
    group
        What it is one of: a population, a model's id, or the name of a folder.
    seed
        The random seed in its name; None if there is none.
    step
        Of its training; None if unknown.
    layer
        Of the network that a run of ``positions`` has measured; None for a model's own table.
    tokens
        Seen in training by then; None if unknown.
    commit
        Its commit on the Hub, as listed; None if that was not asked, or for a local one.
    history
        Path of ``history.safetensors`` or ``positions.log``, of which it is one step; "" for other
        entries.
    """

    source: str
    group: str
    seed: int | None = None
    step: int | None = None
    layer: int | None = None
    tokens: int | None = None
    commit: str | None = None
    history: str = ""


def file_order(
    group: str, seed: int | None, step: int | None, layer: int | None, source: str
) -> tuple[str, int, float, int, str]:
    """Return the key by which checkpoints are sorted, in a survey and in its file.

    By group, seed, step and layer. Without a seed or a layer they are first; without a step, as the
    final model of a training, last.
    """
    known = [-1 if one is None else one for one in (seed, layer)]
    return group, known[0], math.inf if step is None else step, known[1], source


@dataclass(frozen=True, slots=True)
class Population:
    """One entry of ``resources/populations.toml``, which describes the fields."""

    name: str
    title: str
    note: str
    sources: tuple[str, ...]
    step: int | None = None
    tokens_per_step: int | None = None


@cache
def read_populations() -> tuple[Population, ...]:
    """Read ``resources/populations.toml``, in its order."""
    text = resources.files("resources").joinpath("populations.toml").read_text("utf-8")
    return tuple(
        Population(**{**one, "sources": tuple(one["sources"])})
        for one in tomllib.loads(text)["population"]
    )


def expand(sources: Iterable[str], network: Network) -> tuple[Entry, ...]:
    """List the checkpoints that sources stand for, sorted, each once.

    Parameters
    ----------
    sources
        Each is the name of a population; a folder, for every checkpoint, training history and run
        of ``positions`` below it; a file with weights, or with several state dicts; a text file
        with a source in each line; a model's id, perhaps with "@revision", of which both may be
        patterns with ``*``, ``?`` and ``[…]``; or any other source, such as "sinusoidal".
    network
        Access to the Hub: one request for each pattern of ids, and one for each model of which
        the revisions are a pattern. Offline, the cache is searched.

    Raises
    ------
    SourceError
        A source stands for nothing, or cannot be read; HubError if the Hub cannot be asked.
    Cancelled
        The network's transfer was cancelled.
    """
    found: dict[str, Entry] = {}
    for source in sources:
        before = len(found)
        named = 0
        for entry in _expand(source, network, frozenset()):
            named += 1
            found.setdefault(entry.source, entry)
        if not named and before == len(found):
            raise SourceError(f"There is no checkpoint in {source!r}.", "Name other sources.")
    return tuple(
        sorted(
            found.values(),
            key=lambda one: file_order(one.group, one.seed, one.step, one.layer, one.source),
        )
    )


def _expand(source: str, network: Network, lists: frozenset[Path]) -> Iterator[Entry]:
    """Yield what one source stands for; ``lists`` are the text files that it stands in."""
    try:
        path = Path(source).expanduser()
        exists = bool(source) and path.exists()
        check_link(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(f"{source!r} is not a path: {error}.", "Check the path.") from error
    if exists:
        yield from _local(Path(os.path.abspath(path)), network, lists)
        return
    population = next((one for one in read_populations() if one.name == source), None)
    if population is not None:
        yield from _population(population, network)
    elif _WILD.search(source) and Source.parse(source).of is None:
        yield from _pattern(source, network)
    else:
        yield _single(source)


def _population(population: Population, network: Network) -> Iterator[Entry]:
    for source in population.sources:
        if source == _ALL_MODELS:
            for model in read_catalogue():
                yield replace(_single(model.id), group=model.group)
            continue
        entries = _pattern(source, network) if _WILD.search(source) else iter((_single(source),))
        for entry in entries:
            yield replace(entry, group=population.title) if population.title else entry


# ---- models on the Hub -----------------------------------------------------------------


def _single(source: str) -> Entry:
    """Return the entry of a model's id, or of a computed or derived source."""
    address = parse_address(source)
    if address is None or (find_entry(source) is None and "/" not in source and "@" not in source):
        return Entry(source, source)
    return _of_hub(canonical(address), None)


def _of_hub(address: HubAddress, commit: str | None) -> Entry:
    """Describe a model's revision by its names."""
    known = find_entry(address.repo)
    facts = next((one for one in read_populations() if _has(one, address.repo)), None)
    step = step_of(address.revision)
    if step is None and (told := _STEP_OF_ID.search(address.repo)):
        step = int(told[1]) * (1000 if told[2] else 1)
    elif step is None and facts is not None and address.revision == "main":
        step = facts.step
    per_step = None if facts is None else facts.tokens_per_step
    return Entry(
        str(address),
        known.group if known is not None else address.repo,
        _seed_of(str(address)),
        step,
        tokens=None if step is None or per_step is None else step * per_step,
        commit=commit,
    )


def _has(population: Population, repo: str) -> bool:
    """Return whether a population speaks of a model."""
    names = (source.partition("@")[0] for source in population.sources)
    told = population.step is not None or population.tokens_per_step is not None
    return told and any(fnmatchcase(repo, name) for name in names)


def _seed_of(name: str) -> int | None:
    found = _SEED.findall(name)
    return int(found[-1]) if found else None


def _pattern(pattern: str, network: Network) -> Iterator[Entry]:
    """Yield the models, or their revisions, whose names match a pattern."""
    name, at, revisions = pattern.removeprefix("hf://").partition("@")
    for repo in _repos(name, network) if _WILD.search(name) else (_named(name, pattern),):
        if not at:
            yield _of_hub(HubAddress(repo), None)
        elif not _WILD.search(revisions):
            yield _of_hub(HubAddress(repo, revisions), None)
        else:
            yield from _revisions(repo, revisions, network)


def _named(name: str, pattern: str) -> str:
    address = parse_address(name)
    if address is None:
        raise SourceError(
            f"{pattern!r} is no pattern of models on the Hub.",
            "Write owner/name@revision, with * in place of what differs.",
        )
    return canonical(address).repo


def _repos(pattern: str, network: Network) -> Sequence[str]:
    """Return the ids that match a pattern, sorted."""
    if network.hub.offline:
        known = {held.repo for held in network.cache.commits()}
        known |= {model.id for model in read_catalogue() if "/" in model.id}
    else:
        owner, slash, name = pattern.rpartition("/")
        literal = max(_WILD_PARTS.split(name), key=len).strip("-_.")
        author = owner if slash and not _WILD.search(owner) else None
        found = network.hub.search(literal, MAX_FOUND, network.transfer, author=author)
        known = {one.id for one in found}
    return sorted(repo for repo in known if fnmatchcase(repo, pattern))


_WILD_PARTS = re.compile(r"[*?]|\[[^\]]*\]?")


def _revisions(repo: str, pattern: str, network: Network) -> Iterator[Entry]:
    """Yield the branches and tags that match a pattern."""
    for revision in network.revisions(repo):
        if fnmatchcase(revision.name, pattern):
            yield _of_hub(HubAddress(repo, revision.name), revision.commit)


# ---- on this machine -------------------------------------------------------------------


def _local(path: Path, network: Network, lists: frozenset[Path]) -> Iterator[Entry]:
    if path.is_dir():
        found = [*_below(path)]
        yield from _in_file(*found) if len(found) == 1 else found
    elif path.suffix.lower() == ".txt":
        if path in lists:
            raise SourceError(f"{path} lists itself.", "Remove that line.")
        for line in _lines(path):
            yield from _expand(line, network, lists | {path})
    elif path.name in history_steps.HISTORY_NAMES:
        yield from _steps(path)
    elif path.name == layer_tables.FILE_NAME:
        yield from _layers(path)
    else:
        yield from _in_file(
            Entry(str(path), path.parent.name or str(path.parent), _seed_of(path.name))
        )


def _in_file(whole: Entry) -> Iterator[Entry]:
    """Yield the state dicts of a file, or the file if it is not one of several."""
    steps: Iterable[int] = ()
    if (path := Path(whole.source)).is_file():
        with suppress(HelixscopeError):  # which its row reports
            steps = steps_inside(open_model(path))
    found = [replace(whole, source=f"{path}/step {step}", step=step) for step in steps]
    yield from found or (whole,)


def _lines(path: Path) -> Iterator[str]:
    """Yield the sources that a text file lists; relative paths are from its folder."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_TEXT + 1)
    except OSError as error:
        raise cannot_read(path, error) from error
    if len(data) > MAX_TEXT:
        raise SourceError(f"{path} is too long for a list of sources.", "Divide it.")
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        source = line.strip()
        if source and not source.startswith("#"):
            yield _in(path.parent, source)


def _in(folder: Path, source: str) -> str:
    """Return a source with the path from a folder, if it is there: also of what it is made of."""
    if (beside := folder / source).exists():
        return str(beside)
    made = Source.parse(source)
    if made.kind == "table" and made.of is not None:
        return Source.derive(made.kind, made.what, Source.parse(_in(folder, made.of.text))).text
    return source


def _below(top: Path) -> Iterator[Entry]:
    """Yield every checkpoint in and below a folder."""

    def fail(error: OSError) -> None:
        raise cannot_read(Path(error.filename or top), error) from error

    steps = {path: step for step, path in steps_around(top)}
    for name, folders, files in os.walk(top, onerror=fail):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        # A folder in the place of weights is an error of that checkpoint.
        files += set(folders).intersection(WEIGHTS)
        steps |= {Path(name, one): step for one, step in steps_of(folders).items()}
        yield from _in_folder(Path(name), sorted(files), top, steps)


def _in_folder(
    folder: Path, names: list[str], top: Path, steps: Mapping[Path, int]
) -> Iterator[Entry]:
    """Yield the checkpoints in a folder itself.

    ``top`` is the folder that was named, and ``steps`` are the folders that are of a step.
    """
    if (history := history_steps.history_in(folder)) is not None:
        yield from _steps(history)
    model = "config.json" in names
    if layer_tables.FILE_NAME in names and not model:
        yield from _layers(folder / layer_tables.FILE_NAME)
        return
    distributed = METADATA in names and any(name.endswith(SHARD) for name in names)
    weights = [] if distributed else _weights(names)
    own = steps_of(weights)
    whole = distributed or (model and weights) or any(name in WEIGHTS for name in names)
    if whole and len(own) < 2:
        yield _checkpoint(folder, folder, top, steps)
        return
    for name in weights:
        entry = _checkpoint(folder / name, folder, top, steps)
        yield replace(entry, step=own[name]) if len(own) > 1 and name in own else entry


def _weights(names: list[str]) -> list[str]:
    usable = [name for name in names if name[0] != "." and not NOT_WEIGHTS.match(name)]
    weights = [name for name in usable if name.endswith(LOCAL_SUFFIXES)]
    return weights or [name for name in usable if name.endswith(SCRIPT_SUFFIXES)]


def _checkpoint(path: Path, folder: Path, top: Path, steps: Mapping[Path, int]) -> Entry:
    """Describe a checkpoint by the names of its folders below the one that was named."""
    of_step = next((one for one in (folder, *folder.parents[:2]) if one in steps), None)
    run = folder if of_step is None else of_step.parent
    inside = run.is_relative_to(top)
    group = run if inside and run != top else top
    below = os.path.relpath(path, top.parent)
    return Entry(
        str(path),
        group.name or str(group),
        _seed_of(Path(below).as_posix()),
        None if of_step is None else steps[of_step],
    )


def _steps(path: Path) -> Iterator[Entry]:
    """Yield the steps of a training history."""
    history = read_history(path)
    folder = path.parent
    seed = _seed_of(folder.name)
    for at, step in enumerate(history.steps.tolist()):
        yield Entry(
            f"{folder}/step {step}",
            folder.name or str(folder),
            seed,
            step,
            tokens=None if history.tokens is None else int(history.tokens[at]),
            history=str(path),
        )


def _layers(path: Path) -> Iterator[Entry]:
    """Yield the layers of a run of ``positions``."""
    tables = read_layers(path)
    folder = path.parent
    for layer in range(tables.shape[0]):
        yield Entry(
            f"{folder}/layer {layer}",
            folder.name or str(folder),
            _seed_of(folder.name),
            layer=layer,
        )
