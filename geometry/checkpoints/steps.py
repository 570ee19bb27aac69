"""Which step of a training a file, a folder or a revision is, by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable

COUNTED: tuple[str, ...] = (
    r"(?:steps?|iters?|iterations?|it|updates?|ba|batch)[-_=]?(\d{1,15})",
    r"tokens?[-_=]?(\d{1,15})",
    r"(?:epochs?|ep)[-_=]?(\d{1,15})",
    r"(?:checkpoint|ckpt|chkpt|model|weights|state|snapshot)[-_=.]?(?:\d{1,15}[-_])?(\d{1,15})$",
    r"(?<!shard[-_])(?<!part[-_])(?<!rank[-_])(?<!seed[-_])(?<!\d)(0\d{3,14}|\d{5,15})$",
    r"^(\d{1,15})$",
)
"""What the number in a name counts, the most specific first: "checkpoint-1000", "step1000",
"epoch=3-step=400.ckpt", "global_step100", "iter_0001000", "ep3-ba400-rank0.pt", "ckpt_1000.pt",
"checkpoint_3_400.pt" (epoch 3, update 400), "model_000100.pt", "1000". A number that only ends a
name is long, or padded with zeros."""

_BEFORE = r"(?:(?<![a-z])|(?<=epoch)|(?<=checkpoint)|(?<=ckpt))"
_AFTER = r"(?![a-z\d]|\.\d)"
_COUNTED = tuple(re.compile(f"{_BEFORE}{one}{_AFTER}", re.ASCII) for one in COUNTED)
_SUFFIX = re.compile(r"(?<!^)(?:\.[a-z][a-z\d]*)+$")
_OF_SEVERAL = re.compile(r"\d-of-\d")
"""In the names of parts of one checkpoint."""


_STEPS, _UNNAMED = 0, 3
"""Places in :data:`COUNTED` of steps, and of numbers that are usually steps."""


def step_of(name: str) -> int | None:
    """Return the step in a name, without its suffix; None if there is none."""
    found = _find(name)
    return None if found is None else int(found[1][1])


def _find(name: str) -> tuple[int, re.Match[str]] | None:
    """Return the place in :data:`COUNTED` of what a name counts, and where in the stem it does."""
    stem = _SUFFIX.sub("", name.lower())
    if _OF_SEVERAL.search(stem):
        return None
    matches = ((place, one.search(stem)) for place, one in enumerate(_COUNTED))
    return next(((place, match) for place, match in matches if match), None)


def steps_of(names: Iterable[str]) -> dict[str, int]:
    """Return the steps of one training among names, by increasing step.

    Their names differ only in their numbers; of several such groups it is the largest. Names of
    which several have the same step are those of several trainings, or of parts, and left out.
    """
    groups: dict[tuple[int, str], dict[str, int]] = {}
    for name in names:
        if (found := _find(name)) is not None:
            place, match = found
            place = _STEPS if place == _UNNAMED else place
            counted = "#" * len(re.findall(r"\d+", match[0]))
            others = re.sub(r"\d+", "0", f"{name[: match.start()]}{counted}{name[match.end() :]}")
            steps = groups.setdefault((place, others), {})
            steps[name] = int(match[1])
    runs = [(len(steps), -place, steps) for (place, _), steps in groups.items() if _once(steps)]
    largest = max(runs, key=lambda run: run[:2], default=(0, 0, {}))[2]
    return dict(sorted(largest.items(), key=lambda item: item[1]))


def _once(steps: dict[str, int]) -> bool:
    return len(set(steps.values())) == len(steps)
