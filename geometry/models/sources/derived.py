"""Sources that are made of a model, opened like one.

``tokens:weekdays,gpt2`` are token embeddings (:mod:`geometry.models.sources.token_rows`);
``resampled:20x20,google/vit-base-patch16-224`` is a table for another number of positions
(:mod:`geometry.models.sources.resampled`); ``extended:helix:768:1024,gpt2`` its first rows,
continued (:mod:`geometry.models.sources.extended`); ``pair:8,EleutherAI/pythia-70m`` the helix of a
pair that is turned (:mod:`geometry.models.sources.rotary_pair`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import visible

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

FORMS: Mapping[str, str] = MappingProxyType(
    {
        "tokens": "tokens:weekdays,gpt2",
        "resampled": "resampled:2048,gpt2",
        "extended": "extended:helix:768:1024,gpt2",
        "pair": "pair:8,EleutherAI/pythia-70m",
    }
)
"""An example of each kind."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Such a source.

    Attributes
    ----------
    kind
        Of :data:`FORMS`.
    what
        The list of tokens, by name or path; the size of the table; how it is extended, from how
        many rows and to how many; the number of the pair.
    of
        The source of the model.
    """

    kind: str
    what: str
    of: str

    @property
    def source(self) -> str:
        """The source, as it is typed."""
        return f"{self.kind}:{self.what},{self.of}"

    def name(self, model: str) -> str:
        """Return the name for captions, "weekdays of gpt2", by that of the model."""
        if self.kind == "tokens":
            return f"{visible(Path(self.what).stem)} of {model}"
        if self.kind == "pair":
            return f"pair {visible(self.what)} of {model}"
        if self.kind == "extended":
            method, _, rows = visible(self.what).partition(":")
            return f"{model}, {method} {rows.replace(':', ' → ')}"
        return f"{model} at {visible(self.what).replace('x', ' × ')}"


def is_derived(source: str) -> bool:
    """Return whether a source is made of a model, even in a wrong form."""
    kind, colon, _ = source.partition(":")
    return bool(colon) and kind in FORMS


def find_derived(source: str) -> Derived | None:
    """Parse a source; None if it is something else.

    Raises
    ------
    SourceError
        What to make, or the model, is missing.
    """
    if not is_derived(source):
        return None
    kind, _, arguments = source.partition(":")
    what, _, of = (part.strip() for part in arguments.partition(","))
    if not what or not of or is_derived(of):
        needed = {
            "tokens": "a list",
            "resampled": "a size",
            "pair": "a pair",
            "extended": "a method, two numbers of rows",
        }[kind]
        raise SourceError(
            f"{visible(source)!r} should name {needed} and a model.", f"Use the form {FORMS[kind]}."
        )
    return Derived(kind, what, of)


def model_source(source: str) -> str:
    """Return the source of the model that a source is made of; other sources unchanged."""
    with suppress(SourceError):  # opening it raises the error
        if (derived := find_derived(source)) is not None:
            return derived.of
    return source


def chosen_of(model: PositionalModel) -> str:
    """Return the choice of table that opens a model again, for what is made of it.

    "" for its default, that of the first side included.
    """
    choice = model.table_choice
    return "" if choice is None or choice in model.sides[:1] else choice


def at_commit(source: str, commit: str | None) -> str:
    """Return a source of the Hub, or what is made of one, at a commit; None for any."""
    with suppress(SourceError):
        if (derived := find_derived(source)) is not None:
            return replace(derived, of=at_commit(derived.of, commit)).source
    model = source.partition("@")[0]
    return model if commit is None else f"{model}@{commit}"
