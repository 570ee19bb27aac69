"""Settings of a run."""

from __future__ import annotations

from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError

SIZES = {"sentence": 24, "word": 40, "line": 96, "brackets": 6, "newline": 48}
"""Number of values of each counter, from 0; larger ones are left out, as too rare to measure."""
COUNTERS = ("position", *SIZES)
GROUPS = 8
"""Groups of texts, four in each half, from which the noise of a mean over texts is estimated."""
SAMPLE_TEXTS = "sample"
"""Used in place of a path: the texts included with Helixscope."""


class InsideError(HelixscopeError):
    """Positions inside a model cannot be measured: its network, the texts, or the memory."""


@dataclass(frozen=True, slots=True)
class PositionsSettings:
    """Settings of a run.

    Attributes
    ----------
    source
        See :func:`geometry.inside.network.load_network`.
    texts
        A file, or a folder of .txt and .md files; or :data:`SAMPLE_TEXTS`.
    length
        Tokens of a window, limited to the model's maximum.
    texts_at_most
        Maximum number of windows.
    counters
        Keys of :data:`COUNTERS`.
    seed
        Seed of windows and random weights.
    control
        Whether to measure the same network without what it has learned too.
    control_seeds
        Number of networks with random weights, and of networks with shuffled weights.
    """

    source: str
    texts: str = SAMPLE_TEXTS
    length: int = 512
    texts_at_most: int = 256
    counters: tuple[str, ...] = ("position", "sentence", "word", "line")
    seed: int = 0
    control: bool = True
    control_seeds: int = 3

    def check(self) -> None:
        """Raise InsideError if a setting is impossible."""
        unknown = [name for name in self.counters if name not in COUNTERS]
        if unknown:
            raise InsideError(
                f"There is no counter {unknown[0]!r}.", f"Counters: {', '.join(COUNTERS)}."
            )
        if self.texts_at_most < 1:
            raise InsideError("At least one text is needed.")
        if self.control and self.control_seeds < 1:
            raise InsideError("A control needs at least one seed.")
