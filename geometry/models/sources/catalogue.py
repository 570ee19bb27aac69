"""The catalogue of interesting models."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from geometry.checkpoints.suffixes import FILE_SUFFIXES
from geometry.hub.address import HubAddress, parse_address
from geometry.models.notes import Making, Note, parse_making

SAMPLE = "sample"
"""Source and catalogue id of the bundled model; with "/step 535", of a step of its training."""

SAMPLE_PLAIN = "sample-plain"
"""The same of a second bundled model, trained in the plain way."""

BUNDLED = (SAMPLE, SAMPLE_PLAIN)

SAMPLE_INSIDE = "sample/inside"
"""Source of the positions inside the bundled model, a run of ``helixscope positions``; with
"/layer 1" after it, of one layer."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One model of the catalogue.

    Attributes
    ----------
    id
        The model's name on the Hugging Face Hub; those in :data:`BUNDLED` are bundled,
        "sinusoidal" and "sinusoidal-fairseq" are computed.
    title, group, note
        Short name, heading it is listed under, and one sentence for a newcomer.
    n_positions, d_model
        Shape of its position table, or of what is drawn in its place.
    package, folder
        A package that contains the checkpoint, and its folder there; or None.
    checkpoint_bytes
        Size of its whole weights file, to three digits at least; None if unknown.
    downloads
        Downloads of the last month; None if unknown.
    index_only
        Whether there is no table, and only the configuration and the index are downloaded.
    notes
        On its making, beside those in its own folder.
    """

    id: str
    title: str
    group: str
    n_positions: int
    d_model: int
    note: str
    package: str | None = None
    folder: str | None = None
    checkpoint_bytes: int | None = None
    downloads: int | None = None
    index_only: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def position_bytes(self) -> int:
        """Bytes of its position table in float32; 0 if it has none."""
        return 0 if self.index_only else 4 * self.n_positions * self.d_model


@cache
def read_catalogue() -> tuple[CatalogueEntry, ...]:
    """Read ``resources/models.toml``, in its order."""
    text = resources.files("resources").joinpath("models.toml").read_text("utf-8")
    return tuple(
        CatalogueEntry(**{**model, "notes": parse_making(model).notes})
        for model in tomllib.loads(text)["model"]
    )


def with_entry(making: Making, source: HubAddress | str | None) -> Making:
    """Add the notes of the catalogue's entry of a model or formula, if there is one."""
    name = canonical(source).repo if isinstance(source, HubAddress) else source
    notes = (note for entry in read_catalogue() if entry.id == name for note in entry.notes)
    return replace(making, notes=(*making.notes, *notes))


def find_entry(name: str) -> CatalogueEntry | None:
    """Find an entry by its id, or by the id's last part ("gpt2"), case-insensitively."""
    wanted = name.casefold()
    for entry in read_catalogue():
        if wanted in (entry.id.casefold(), short_name(entry.id).casefold()):
            return entry
    return None


def short_name(name: str) -> str:
    """Return the last part of an id."""
    return name.rsplit("/", 1)[-1]


def address_in(text: str) -> HubAddress | None:
    """Return the address of a model on the Hub, or of a file there; None for a file's name."""
    address = parse_address(text)
    looks_like_file = "://" not in text and text.endswith(FILE_SUFFIXES)
    return None if looks_like_file and (address is None or not address.file) else address


def canonical(address: HubAddress) -> HubAddress:
    """Return an address with the catalogue's id, if the catalogue has the model."""
    entry = find_entry(address.repo)
    return address if entry is None else replace(address, repo=entry.id)
