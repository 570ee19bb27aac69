"""Settings of a model that training scripts store with its tensors, as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from geometry.checkpoints.formats.pickled_values import StandIn, is_whole

KEYS = (
    "model_args",
    "model_config",
    "dims",
    "hparams",
    "hyper_parameters",
    "config",
    "cfg",
    "args",
)
"""Names of a model's settings in training scripts: nanoGPT, Whisper, PyTorch Lightning, fairseq,
timm. Names of model settings alone come first."""

MAX_GROUPS = 20
"""Maximum groups of settings, values of each, and depth, far more than in real files. The excess is
left out, since dictionaries can be shared and recursive."""
MAX_VALUES = 10_000
MAX_DEPTH = 10

MAX_TEXT = 1_000
"""Maximum characters of a text, which can be shared too."""

_OF_A_MODEL = re.compile(
    r"(heads?|layers?|depth|dim|width|d_model|embe?d|hidden|hidden_size|vocab|vocab_size|ctx"
    r"|seq_len|block_size|positions|position_embeddings)$|rope|rotary|alibi",
    re.IGNORECASE,
)
"""The ends of names of settings of a model, which are not settings of its training."""
_LONGEST = 40
"""Characters at the end of a name that are searched."""

_NONE: Any = object()


def settings_in(content: Any) -> dict[str, Any]:
    """Return the settings in the content of a file, at its top or one level down.

    Parameters
    ----------
    content
        Dictionaries with values of any kind.

    Returns
    -------
    dict
        The value of the first of :data:`KEYS` with settings of a model, otherwise of the first with
        any settings, as plain values: None, booleans, numbers, texts, and lists and dictionaries of
        them; for an object, its attributes. Other values are left out; {} if there are none.
    """
    places = ((place, key) for place in _places(content) for key in KEYS)
    groups = (place[key] for place, key in places if isinstance(place.get(key), dict))
    copies = [_Plain().copy(group) for group in islice(groups, MAX_GROUPS)]
    candidates = [copy for copy in copies if isinstance(copy, dict) and copy]
    return next(filter(are_of_a_model, candidates), candidates[0] if candidates else {})


def are_of_a_model(settings: Mapping[str, Any]) -> bool:
    """Return whether any of these settings, or of their groups, is named as a model's setting."""
    return any(
        _OF_A_MODEL.search(key[-_LONGEST:]) or (isinstance(value, dict) and are_of_a_model(value))
        for key, value in settings.items()
    )


def _places(content: Any) -> Iterator[dict[Any, Any]]:
    if isinstance(content, dict):
        yield content
        yield from islice((value for value in content.values() if isinstance(value, dict)), 1000)


class _Plain:
    """Copies plain values, at most :data:`MAX_VALUES` in lists and dictionaries."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def copy(self, value: Any, depth: int = 0) -> Any:
        """Return a copy, or ``_NONE`` if it is not a plain value."""
        if depth > MAX_DEPTH:
            return _NONE
        if isinstance(value, StandIn):
            return self._attributes(value, depth)
        if type(value) is dict:
            return self._entries(value, depth)
        if type(value) in (list, tuple):
            return self._list(value, depth)
        plain = value is None or type(value) in (bool, float) or is_whole(value) or _is_text(value)
        return value if plain else _NONE

    def _list(self, values: Sequence[Any], depth: int) -> Any:
        """Copy a list; ``_NONE`` if any of its values cannot be copied."""
        if len(values) > self._left:
            return _NONE
        self._left -= len(values)
        copies = [self.copy(value, depth + 1) for value in values]
        return _NONE if any(copy is _NONE for copy in copies) else copies

    def _entries(self, values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        """Copy a dictionary; vocabularies and other large groups come last."""
        items = sorted(islice(values.items(), self._left), key=_size)
        self._left -= len(items)
        copies = {key: self.copy(value, depth + 1) for key, value in items if _is_text(key)}
        return {key: copy for key, copy in copies.items() if copy is not _NONE}

    def _attributes(self, value: StandIn, depth: int) -> Any:
        """Copy the attributes of an object, the value of an omegaconf node, or a path's text."""
        if value.of is not None and value.of.module.partition(".")[0] == "pathlib":
            return _path(value.args)
        # With __slots__, the state is a pair.
        states = value.state if type(value.state) is tuple else (value.state,)
        attributes: dict[str, Any] = self._entries(value, depth)
        for state in states[:2]:
            if type(state) is dict:
                for key in ("_content", "_val"):
                    if key in state:
                        return self.copy(state[key], depth + 1)
                attributes |= self._entries(state, depth)
        return attributes or _NONE


def _size(item: tuple[Any, Any]) -> int:
    return len(item[1]) if isinstance(item[1], (dict, list, tuple)) else 0


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= MAX_TEXT


def _path(parts: Any) -> Any:
    """Return the text of a path from its parts in a pickle."""
    if type(parts) is not tuple or not all(map(_is_text, parts)):
        return _NONE
    text = "/".join(parts).replace("//", "/")
    return text if _is_text(text) else _NONE
