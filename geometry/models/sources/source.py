"""What is opened: a source, parsed once from what was typed, chosen or saved."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeGuard
from urllib.parse import parse_qs, urlsplit

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import visible
from geometry.hub.address import HubAddress
from geometry.models.sources.catalogue import BUNDLED, SAMPLE_INSIDE, address_in, canonical
from geometry.models.sources.formulas import find_computed, is_computed

DerivedKind = Literal["tokens", "resampled", "extended", "pair", "table"]
Kind = Literal["bundled", "computed", "hub", "path", "memory"] | DerivedKind

FORMS: Mapping[str, str] = MappingProxyType(
    {
        "tokens": "tokens:weekdays,gpt2",
        "resampled": "resampled:2048,gpt2",
        "extended": "extended:helix:768:1024,gpt2",
        "pair": "pair:8,EleutherAI/pythia-70m",
        "table": "table:wpe.weight;family=gpt2;first-rows=0,run/ckpt.pt",
    }
)
"""An example of each kind that is derived from a model."""

GENERIC = re.compile(
    r"(pytorch_)?model([.-].*)?|checkpoints?|weights|ckpt|(lit|final)_model|consolidated([.-].*)?"
    r"|mp_rank_\d+(_model_states)?|model_optim_rng|version_\d+|lightning_logs",
    re.IGNORECASE,
)
"""Names of files and folders that do not identify the model in them."""

PART = re.compile(r"(layer|step) \d+")
"""The last part of a path to one of several tables in a folder."""

_MADE = FORMS.keys() - {"table"}
"""Kinds of which nothing else is derived."""

_MEMORY = re.compile(r"memory:(?:([0-9a-f]{16}):)?(.*)", re.DOTALL)
"""What was opened from memory, with the key under which it is held."""

LINK = "helixscope:"
"""Scheme of links to models, such as "helixscope://open?model=gpt2"."""

_BUNDLED = re.compile(
    rf"({'|'.join(BUNDLED)})(/step [0-9]{{1,12}})?|{SAMPLE_INSIDE}(/layer [0-9]{{1,5}})?"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A source; two are equal if they denote the same, such as an id and the address of its page.

    Attributes
    ----------
    id
        The form in which it is remembered and saved: an absolute path, or an id on the Hub with the
        catalogue's name. Of a relative path only after
        :func:`geometry.models.sources.locating.located`.
    text
        As it was typed.
    kind
        "bundled" with Helixscope; "computed"; derived from a model, as in :data:`FORMS`, also in a
        wrong form; "hub" or "path"; "memory" of this process alone. By its form alone "hub" may be
        a relative path.
    name
        For captions: that of the model, its folder or its file; "gpt2@refs/pr/3" for a revision.
    address
        The address on the Hub; None for other kinds.
    what
        Of a derived one: the list of tokens, by name or path; the size of the table; how it is
        extended, from how many rows and to how many; the number of the pair; of a "table" what is
        chosen of the model, as in :class:`geometry.models.recognition.choice.Choice`.
    of
        The model that it is derived from; None for others, and in a wrong form.
    """

    id: str
    text: str = field(compare=False)
    kind: Kind = field(compare=False)
    name: str = field(compare=False)
    address: HubAddress | None = field(default=None, compare=False)
    what: str = field(default="", compare=False)
    of: Source | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str) -> Source:
        """Parse a source by its form, without the disk; what is wrong is reported on opening."""
        if text.startswith(LINK):
            return cls._of_link(text)
        if (memory := _MEMORY.fullmatch(text)) is not None:
            return cls.in_memory(memory[2], memory[1] or "")
        kind, colon, arguments = text.partition(":")
        if colon and _is_form(kind):
            what, _, of = (part.strip() for part in arguments.partition(","))
            if what and of and (model := cls.parse(of)).kind not in _MADE:
                return cls.derive(kind, what, model)
            return cls(text, text, kind, _path_name(text))
        if is_computed(text):
            with suppress(SourceError):
                if (table := find_computed(text)) is not None:
                    return cls(table.source, text, "computed", table.name)
            return cls(text, text, "computed", text)
        if _BUNDLED.fullmatch(text):
            return cls(text, text, "bundled", text)
        path = os.path.expanduser(text)
        address = None if os.path.isabs(path) else address_in(text)
        if address is None:
            return cls(path, text, "path", _path_name(text))
        return cls(str(canonical(address)), text, "hub", address.short, address)

    @classmethod
    def _of_link(cls, text: str) -> Source:
        """Return the source of a link: a bundled model or one on the Hub, and nothing else."""
        model = _model_in(text)
        if _BUNDLED.fullmatch(model):
            return cls.parse(model)
        address = address_in(model)
        if address is None:
            return cls(text, text, "hub", text)
        return cls(str(canonical(address)), text, "hub", address.short, address)

    @classmethod
    def of_any(cls, source: str | os.PathLike[str] | Source) -> Source:
        """Return a source that may be given as text or as a path."""
        return source if isinstance(source, Source) else cls.parse(os.fspath(source))

    @classmethod
    def in_memory(cls, name: str, key: str = "") -> Source:
        """Return the source of what is in memory, which opens by it only where it is held.

        Parameters
        ----------
        name
            For captions.
        key
            16 hexadecimal digits, by which those of the same name differ; "" if it is not held, see
            :mod:`geometry.models.sources.memory`.
        """
        text = f"memory:{key}:{name}" if key else f"memory:{name}"
        return cls(text, text, "memory", visible(name))

    @classmethod
    def derive(cls, kind: DerivedKind, what: str, of: Source) -> Source:
        """Return the source of what is derived from a model."""
        head = f"{kind}:{what},"
        derived = cls(head + of.id, head + of.text, kind, "", what=what, of=of)
        return replace(derived, name=derived.name_with(of.name))

    def __str__(self) -> str:
        return self.text

    @property
    def full_name(self) -> str:
        """The name for messages about unknown models: with the owner on the Hub."""
        return self.name if self.address is None else str(self.address)

    @property
    def model(self) -> Source:
        """The source of the model that it is derived from at last; itself for other kinds."""
        return self if self.of is None else self.of.model

    @property
    def linked(self) -> bool:
        """Whether it is a link, as of a web page: nothing is downloaded without a question."""
        return self.kind == "hub" and self.text.startswith(LINK)

    def apart(self, table: str | None = None) -> tuple[Source, str | None]:
        """Return a source without its choice of a table, and that choice, or else ``table``."""
        if self.kind == "table" and self.of is not None:
            return self.of, self.what
        return self, table

    def name_with(self, model: str) -> str:
        """Return the name of what is derived from a model, by the model's: "weekdays of gpt2"."""
        if self.kind == "tokens":
            return f"{visible(Path(self.what).stem)} of {model}"
        if self.kind == "table":
            return f"{model} · {visible(self.what)}"
        if self.kind == "pair":
            return f"pair {visible(self.what)} of {model}"
        if self.kind == "extended":
            method, _, rows = visible(self.what).partition(":")
            return f"{model}, {method} {rows.replace(':', ' → ')}"
        return f"{model} at {visible(self.what).replace('x', ' × ')}"

    def at_commit(self, commit: str | None) -> Source:
        """Return the model on the Hub, or what is derived from it, at a commit; None for any.

        Other sources are returned unchanged.
        """
        if self.of is not None and _is_form(self.kind):
            return self.derive(self.kind, self.what, self.of.at_commit(commit))
        if self.address is None:
            return self
        address = replace(self.address, revision=commit or "main")
        return Source(str(canonical(address)), str(address), "hub", address.short, address)


def _model_in(link: str) -> str:
    """Return the model that a link names; "" if it is no such link."""
    try:
        parts = urlsplit(link)
        fields = parse_qs(parts.query, strict_parsing=True)
    except ValueError:
        return ""
    names = fields.pop("model", [])
    whole = (parts.netloc, parts.path.strip("/"), parts.fragment) == ("open", "", "")
    return names[0] if whole and not fields and len(names) == 1 else ""


def _is_form(kind: str) -> TypeGuard[DerivedKind]:
    return kind in FORMS


def _path_name(text: str) -> str:
    parts = text.rstrip("/\\").replace("\\", "/").split("/")
    # A Hub snapshot's folder is named by its commit; the model's name is two folders up.
    if len(parts) > 2 and parts[-2] == "snapshots" and parts[-3].startswith("models--"):
        return parts[-3].rsplit("--", 1)[-1]
    if len(parts) > 1 and PART.fullmatch(parts[-1]):
        return visible(" · ".join(parts[-2:]))
    if len(parts) > 1 and parts[-2] and GENERIC.fullmatch(parts[-1]):
        return visible(parts[-2])
    return visible(text if parts[-1][-1:] in ("", ":") else parts[-1])
