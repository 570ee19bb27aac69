"""What a training run is told, and what can be wrong with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from geometry.checkpoints.errors import HelixscopeError

#: The bytes and the token that ends a document: what every vocabulary holds.
SMALLEST_VOCABULARY = 257

#: Token ids are kept as 16 bits.
LARGEST_VOCABULARY = 65536


class TrainingError(HelixscopeError):
    """A training run that cannot start or go on; the message says why."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """A small GPT-2 and how it is trained.

    Attributes
    ----------
    positions
        Tokens of a window, and rows of P.
    layers, heads, width
        Layers, heads of each, and d_model.
    vocabulary
        Tokens of the byte-level BPE: the 256 bytes, the end of a document, and what is merged.
    batch
        Windows of a step.
    steps
        Steps of the run, the learning rate's schedule over all of them.
    learning_rate, final_rate
        At the end of the warm-up, and at the end as a share of that.
    warm_up
        Steps over which the learning rate rises from zero.
    weight_decay
        Of AdamW, on matrices and embeddings; not on biases and LayerNorms.
    std, position_std
        Standard deviations of the first weights, and of P's first rows.
    clip
        The longest gradient.
    snapshots
        How many times P is kept, at log-spaced steps, the first and the last included.
    seed
        Of the first weights and of the order of the text.

    Raises
    ------
    TrainingError
        One of them is out of its bounds, or two do not fit together.
    """

    positions: int = 512
    layers: int = 2
    heads: int = 4
    width: int = 128
    vocabulary: int = 1024
    batch: int = 32
    steps: int = 6000
    learning_rate: float = 3e-3
    final_rate: float = 0.05
    warm_up: int = 100
    weight_decay: float = 0.3
    std: float = 0.02
    position_std: float = 0.002
    clip: float = 1.0
    snapshots: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "width", "batch", "steps"):
            self._at_least(name, 1)
        self._at_least("positions", 2)
        self._at_least("snapshots", 3)
        for name in ("learning_rate", "std", "position_std", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise TrainingError(f"The {_words(name)} must be above 0.")
        for name in ("final_rate", "warm_up", "weight_decay", "seed"):
            self._at_least(name, 0)
        if not SMALLEST_VOCABULARY <= self.vocabulary <= LARGEST_VOCABULARY:
            raise TrainingError(
                f"A vocabulary of {self.vocabulary:,} tokens is out of bounds.",
                f"It takes {SMALLEST_VOCABULARY} (bytes) to {LARGEST_VOCABULARY:,} tokens.",
            )
        if self.width % self.heads:
            raise TrainingError(
                f"A width of {self.width} does not divide into {self.heads} heads.",
                "Choose a width that is a multiple of the heads.",
            )

    def _at_least(self, name: str, least: float) -> None:
        if not getattr(self, name) >= least:
            raise TrainingError(f"The {_words(name)} must be at least {least:g}.")

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step: those of its windows."""
        return self.batch * self.positions

    def to_json(self) -> str:
        """Write them as JSON, by their names."""
        return json.dumps(asdict(self))

    def difference(self, other: str) -> str:
        """Name the first setting that is another one in JSON; "" if all are the same."""
        theirs = json.loads(other)
        for field in fields(self):
            mine = getattr(self, field.name)
            if theirs.get(field.name) != mine:
                return f"{_words(field.name)} {theirs.get(field.name)}, not {mine}"
        return ""


def _words(name: str) -> str:
    return name.replace("_", " ")
