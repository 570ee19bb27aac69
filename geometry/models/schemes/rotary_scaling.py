"""Scaling of rotary models for longer contexts: the rates by each kind of scaling.

The formulas are in :mod:`geometry.measures.rotary`; this module has the names of their constants,
and their defaults, as in transformers' ``modeling_rope_utils``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import shortened
from geometry.checkpoints.result import result
from geometry.measures.rotary import (
    Ramp,
    llama3,
    longrope,
    stretched_base,
    turning_rates,
    yarn,
)
from geometry.models.schemes.rotary_settings import Given
from geometry.pca.components import Array

FASTEST = 100.0
"""Maximum rate and factor in a configuration, far above those of any model."""
FACTORS = "factors"
"""The scaling of a GGUF file with a factor for each pair, or for the cosines and sines, optionally
after another scaling."""


@result
class Unscaled:
    """A turning before scaling.

    Attributes
    ----------
    base, width
        See :func:`geometry.measures.rotary.turning_rates`.
    d_head
        Entries of a head.
    before
        Positions of the texts before scaling; None if unknown.
    context
        Number of positions; None if unknown.
    """

    base: float
    width: int
    d_head: int
    before: float | None
    context: int | None

    @property
    def rates(self) -> Array:
        """The rates, (n_pairs,)."""
        return turning_rates(self.base, self.width)

    def growth(self, given: Given) -> float:
        """Return the factor by which the context grows."""
        factor = given.number("factor")
        if factor is not None:
            return factor
        if self.before and self.context and self.context > self.before:
            return self.context / self.before  # as in DeepSeek-V3 and Phi-3
        raise SourceError(f"It has no {given.name('factor')}.")

    @property
    def trained(self) -> float:
        """Positions of the texts before scaling."""
        if self.before is None:
            raise SourceError("It has no original_max_position_embeddings.")
        return self.before


@result
class Scaled:
    """A turning with scaling.

    Attributes
    ----------
    rates : (n_pairs,)
        Radians per position.
    factor
        Factor of cosines and sines.
    until
        Positions of the longest text with these rates; None if they do not depend on its length.
    """

    rates: Array
    factor: float = 1.0
    until: int | None = None


def _linear(unscaled: Unscaled, given: Given) -> Scaled:
    return Scaled(unscaled.rates / _needed(given, "factor"))


def _proportional(unscaled: Unscaled, given: Given) -> Scaled:
    # The pairs are spread over all entries of a head; other entries do not turn.
    pairs = np.arange(unscaled.width // 2)
    rates: Array = unscaled.base ** (-2.0 * pairs / unscaled.d_head) / (
        given.number("factor") or 1.0
    )
    return Scaled(rates)


def _dynamic(unscaled: Unscaled, given: Given) -> Scaled:
    # Unchanged up to the context; HunYuan's models have a fixed stretch instead.
    given.number("factor")
    stretch = given.number("alpha") or 1.0
    base = stretched_base(unscaled.base, unscaled.width, stretch)
    return Scaled(turning_rates(base, unscaled.width), until=unscaled.context)


def _llama3(unscaled: Unscaled, given: Given) -> Scaled:
    by = _needed(given, "factor")
    fast, slow = _needed(given, "high_freq_factor"), _needed(given, "low_freq_factor")
    if fast <= slow:
        name = given.name("high_freq_factor")
        raise SourceError(f"{name} is {fast:g}, and has to be above low_freq_factor, {slow:g}.")
    return Scaled(llama3(unscaled.rates, by, Ramp(unscaled.trained, fast, slow)))


def _yarn(unscaled: Unscaled, given: Given) -> Scaled:
    by = unscaled.growth(given)
    ramp = Ramp(
        unscaled.trained, given.number("beta_fast") or 32.0, given.number("beta_slow") or 1.0
    )
    whole = given.flag("truncate", default=True)
    rates = yarn(unscaled.base, unscaled.width, by, ramp, whole_pairs=whole)
    return Scaled(rates, _yarn_factor(given, by))


def _yarn_factor(given: Given, by: float) -> float:
    """Return YaRN's factor of cosines and sines."""

    def grown(scale: float = 1.0) -> float:
        return 0.1 * scale * math.log(by) + 1.0 if by > 1 else 1.0

    factor = given.number("attention_factor")
    # For these two, zero means none.
    scales = [
        given.number(key) if given.value(key) != 0 else None for key in ("mscale", "mscale_all_dim")
    ]
    if factor is not None:
        return factor
    own, of_all = scales
    return grown(own) / grown(of_all) if own and of_all else grown()


def _longrope(unscaled: Unscaled, given: Given) -> Scaled:
    factors = given.numbers("short_factor", len(unscaled.rates))
    given.numbers("long_factor", len(unscaled.rates))
    own = given.number("short_mscale", "attention_factor")  # the former in Phi-3.5-MoE
    given.number("long_mscale")
    if factors is None:
        raise SourceError(f"It has no {given.name('short_factor')}.")
    before = unscaled.trained
    longer = "factor" in given or (unscaled.context or 0) > before
    by = unscaled.growth(given) if longer else 1.0
    grown = math.sqrt(1 + math.log(by) / math.log(before)) if by > 1 and before > 1 else 1.0
    until = int(before) if unscaled.context and unscaled.context > before else None
    return Scaled(longrope(unscaled.base, unscaled.width, factors), own or grown, until)


def _factors(unscaled: Unscaled, given: Given) -> Scaled:
    kind = given.value("before")
    before = scaled(kind, unscaled, given) if kind else Scaled(unscaled.rates)
    factors = given.numbers("short_factor", len(unscaled.rates))
    rates = before.rates if factors is None else before.rates / np.asarray(factors)
    longer = given.flag("longer") and unscaled.before is not None
    until = int(unscaled.trained) if longer and unscaled.before != unscaled.context else None
    return Scaled(rates, before.factor * (given.number("attn_factor") or 1.0), until)


def _needed(given: Given, key: str) -> float:
    number = given.number(key)
    if number is None:
        raise SourceError(f"It has no {given.name(key)}.")
    return number


SCALINGS: Mapping[str, Callable[[Unscaled, Given], Scaled]] = MappingProxyType(
    {
        "linear": _linear,
        "proportional": _proportional,
        "dynamic": _dynamic,
        "llama3": _llama3,
        "yarn": _yarn,
        "longrope": _longrope,
        FACTORS: _factors,
    }
)


def scaled(kind: str, unscaled: Unscaled, given: Given) -> Scaled:
    """Return the turning with a kind of scaling.

    Raises
    ------
    SourceError
        The kind is unknown, or one of its settings is missing or invalid.
    """
    make = SCALINGS.get(kind)
    if make is None:
        raise SourceError(f"The formula of {shortened(kind, 40)} is not known.")
    try:
        with np.errstate(all="ignore"):
            result = make(unscaled, given)
    except (ArithmeticError, ValueError) as error:
        raise SourceError("Its settings contradict each other.") from error
    sound = ((result.rates > 0) & (result.rates <= FASTEST)).all() and 0 < result.factor < FASTEST
    if not sound:
        raise SourceError("Its settings give rates that no model has.")
    return result
