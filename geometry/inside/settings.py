"""Settings of a run."""

from __future__ import annotations

from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError

SIZES = {"sentence": 24, "word": 40, "line": 96, "brackets": 6, "newline": 48}
"""Values of each counter, from 0; what is above is left out, as it is too rare to measure."""
COUNTERS = ("position", *SIZES)
SAMPLE_TEXTS = "sample"
"""In place of a path: the pages of the user guide."""


class InsideError(HelixscopeError):
    """Positions inside a model cannot be measured: its network, the texts, or the memory."""


@dataclass(frozen=True, slots=True)
class PositionsSettings:
    """What is measured.

    Attributes
    ----------
    source
        See :func:`geometry.inside.network.load_network`.
    texts
        A file, or a folder of .txt and .md files; or :data:`SAMPLE_TEXTS`.
    length
        Tokens of a window, cut to what the model takes.
    texts_at_most
        Number of windows.
    counters
        Of :data:`COUNTERS`.
    seed
        Of windows and random weights.
    control
        Whether the same is measured in a network with random weights.
    """

    source: str
    texts: str = SAMPLE_TEXTS
    length: int = 512
    texts_at_most: int = 256
    counters: tuple[str, ...] = ("position", "sentence", "word", "line")
    seed: int = 0
    control: bool = True

    def check(self) -> None:
        """Raise InsideError if a setting is impossible."""
        unknown = [name for name in self.counters if name not in COUNTERS]
        if unknown:
            raise InsideError(
                f"There is no counter {unknown[0]!r}.", f"Counters: {', '.join(COUNTERS)}."
            )
        if self.texts_at_most < 1:
            raise InsideError("At least one text is needed.")
