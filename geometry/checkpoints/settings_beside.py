"""Settings of a model in files beside its weights, other than ``config.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.stored_settings import are_of_a_model, settings_in
from geometry.checkpoints.stores import NO_SETTINGS, LocalFile

NAMES = (
    "params.json",
    "model_config.yaml",
    "model_config.json",
    "hparams.yaml",
    "hparams.json",
    "open_clip_config.json",
    "config.yaml",
    "args.yaml",
    "bert_config.json",
)
"""The files of Meta's Llama, litGPT, PyTorch Lightning, the first GPT-2, open_clip, timm, the first
BERT and more."""

MAX_BYTES = 50_000
"""Maximum bytes of such a file, ten times those of real ones. Larger YAML would take seconds."""

MAX_BRACKETS = 500
"""Maximum brackets in YAML, which may be nested."""


def settings_beside(weights: Path) -> tuple[Mapping[str, Any], str]:
    """Return the settings of a model in a file beside its weights, as plain values, and its name.

    Returns
    -------
    settings : Mapping
        Those of the first file with settings, under a name of their own or at its top, see
        :func:`geometry.checkpoints.stored_settings.settings_in`; {} if there is none.
    name : str
        The file's name; "" if there is none.

    Raises
    ------
    SourceError
        There are no settings, and a file cannot be read, is invalid, or is YAML with references.
    """
    fault: SourceError | None = None
    for path in _places(weights):
        if not path.is_file() or (file := LocalFile(path)).size() > MAX_BYTES:
            continue
        try:
            settings = read_settings_file(path.name, file.read_at(0, file.size()).tobytes())
        except FileChanged:
            raise
        except SourceError as error:
            fault = fault or error
            continue
        if settings:
            return settings, path.name
    if fault is not None:
        raise fault
    return NO_SETTINGS, ""


def read_settings_file(name: str, content: bytes) -> Mapping[str, Any]:
    """Return the settings of a model in the content of one of these files; {} if it has none.

    Raises
    ------
    SourceError
        It is invalid, or YAML with references.
    """
    parsed = _parsed(name, content)
    for settings in (settings_in(parsed), settings_in({"config": parsed})):
        if are_of_a_model(settings):
            return settings
    return NO_SETTINGS


def _places(weights: Path) -> Iterator[Path]:
    if step := re.search(r"_(\d+)$", weights.stem):  # nanochat's model_000100.pt
        yield weights.with_name(f"meta_{step[1]}.json")
    yield from map(weights.with_name, NAMES)


def _parsed(name: str, content: bytes) -> Any:
    if not name.endswith(".yaml"):
        return load_json(name, content)
    import yaml  # slow to import, and few models have such a file

    with reading(name, fault="is not valid YAML"):
        if content.count(b"[") + content.count(b"{") > MAX_BRACKETS:
            raise ValueError("nested lists, of which each takes longer than the one before")
        events = yaml.parse(content, yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise ValueError("references, which can be repeated without end")
        loader: Any = type("Loader", (yaml.SafeLoader,), {})
        loader.add_multi_constructor("", lambda *_: None)  # values with tags
        return yaml.load(content, loader)
