"""Settings of a training run, and their validation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from geometry.checkpoints.errors import HelixscopeError

MIN_VOCABULARY = 257
"""The bytes and the end-of-document token, which every vocabulary contains."""

MAX_VOCABULARY = 65536
"""Token ids are stored in 16 bits."""


class TrainingError(HelixscopeError):
    """A training run cannot start or continue; the message gives the reason."""


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
        Tokens of the byte-level BPE: the 256 bytes, the end of a document, and merges.
    batch
        Windows of a step.
    steps
        Steps of the run, the learning rate's schedule over all of them.
    learning_rate, final_rate
        At the end of the warm-up, and at the end as a share of that.
    warm_up
        Steps over which the learning rate rises from zero.
    first_positions, growth
        Initial positions in use, and the share of the steps over which they grow to all; 0 for all
        positions from the first step.
    window
        Tokens of the windows of every second step, at varying positions, so that the learned table
        depends on distances [1]_; 0 for none. The others have all positions in use.
    components
        Directions about their mean row in which P varies, once more positions are in use than a
        short window has, or all; rows added later continue the curve. 0 for all directions.
    weight_decay
        Weight decay of AdamW, for matrices and embeddings, not for biases and LayerNorms.
    position_decay
        Weight decay of P; that of the other matrices if None.
    std, position_std
        Standard deviations of the initial weights, and of the initial P.
    clip
        Maximum norm of the gradient.
    snapshots
        Number of snapshots of P, at log-spaced steps including the first and the last.
    seed
        Seed of the initial weights and of the order of the text.

    Raises
    ------
    TrainingError
        A setting is out of bounds, or two are inconsistent.

    References
    ----------
    .. [1] S. Kiyono, S. Kobayashi, J. Suzuki and K. Inui, "SHAPE: Shifted absolute position
       embedding for transformers", EMNLP 2021
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
    first_positions: int = 0
    growth: float = 0.85
    window: int = 0
    components: int = 0
    weight_decay: float = 0.3
    position_decay: float | None = None
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
        for name in ("final_rate", "warm_up", "components", "weight_decay", "seed"):
            self._at_least(name, 0)
        if self.position_decay is not None:
            self._at_least("position_decay", 0)
        for name, words in (("first_positions", "first positions"), ("window", "window")):
            if not (getattr(self, name) == 0 or 3 <= getattr(self, name) <= self.positions):
                raise TrainingError(f"The {words} must be 3 to {self.positions:,}, or 0.")
        if not 0 < self.growth <= 1:
            raise TrainingError("The growth must be above 0 and at most 1.")
        if not MIN_VOCABULARY <= self.vocabulary <= MAX_VOCABULARY:
            raise TrainingError(
                f"A vocabulary of {self.vocabulary:,} tokens is not possible.",
                f"Use {MIN_VOCABULARY} (bytes) to {MAX_VOCABULARY:,} tokens.",
            )
        if self.width % self.heads:
            raise TrainingError(
                f"A width of {self.width} does not divide into {self.heads} heads.",
                "Choose a width that is a multiple of the number of heads.",
            )

    def _at_least(self, name: str, minimum: float) -> None:
        if not getattr(self, name) >= minimum:
            raise TrainingError(f"The {_words(name)} must be at least {minimum:g}.")

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step, in all its windows."""
        return self.batch * self.positions

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self))

    def difference(self, other: str) -> str:
        """Return the name of the first setting that differs from JSON; "" if all are equal."""
        theirs = json.loads(other)
        for field in fields(self):
            mine = getattr(self, field.name)
            their = theirs.get(field.name, field.default)
            if their != mine:
                return f"{_words(field.name)} {their}, not {mine}"
        return ""


def _words(name: str) -> str:
    return name.replace("_", " ")
