"""The turning of a rotary model's queries and keys, from its configuration alone.

The settings have had several names: ``rope_theta`` and ``rope_scaling``, GPT-NeoX's ``rotary_pct``,
GPT-J's ``rotary_dim``, and since transformers 5 ``rope_parameters``, possibly for each kind of
layer. Missing settings have the family's default. The tests compare the results with the families'
own modules in transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.config import first_int, positive, unusable
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import shortened, some_of
from geometry.checkpoints.result import result
from geometry.models.schemes.rotary_families import COMPARED, Pairing, RotaryFamily
from geometry.models.schemes.rotary_own_keys import without_foreign
from geometry.models.schemes.rotary_scaling import Scaled, Unscaled, scaled
from geometry.models.schemes.rotary_settings import (
    BASES,
    CONTEXTS,
    HEAD_WIDTHS,
    HEADS,
    HIDDEN,
    KINDS,
    LAYERS,
    LOCAL_BASES,
    SHARES,
    SWITCHES,
    TURNING,
    WIDTHS,
    Given,
    with_usual_names,
)
from geometry.pca.components import Array

__all__ = ["Pairing", "Rotary", "read_rotary"]

MAX_WIDTH = 1024
"""Maximum entries of a head in a configuration: twice those of any model."""
MAX_CONTEXT = 2**31
"""Maximum positions in a configuration: a hundred times those of any model."""
MAX_BASE = 1e15
"""Maximum base in a configuration, far above those of any model."""
RIGHT = "Put the right config.json in the folder of the weights."
FULL, SLIDING = "full_attention", "sliding_attention"
NAMES = {"su": "longrope"} | dict.fromkeys(("default", "mrope", "no_scaling", "origin"), "none")
"""Names of scalings by their alternative names."""


@result
class Rotary:
    """The turning of a model's queries and keys.

    Attributes
    ----------
    base
        Base of the rates; that of full attention.
    d_head
        Entries of a head.
    rates : (n_pairs,)
        Radians per position of each pair, including scaling; those of full attention.
    pairing
        Which entries are turned together.
    scaling
        Scaling for longer contexts: "linear", "dynamic", "yarn", "llama3", "longrope", …, or
        "none".
    factor
        Factor of cosines and sines; 1 in most models.
    context
        Positions by the configuration; None if not given.
    unscaled : (n_pairs,)
        The rates without scaling.
    by_layer_type
        Base and rates of each kind of layer, if they differ.
    layer_types
        The kind of each layer, if they differ and the configuration gives it.
    layers_without
        Layers that do not turn.
    note
        A sentence about assumptions, or "".
    causal
        Whether each position attends only to itself and earlier ones.
    until
        Positions of the longest text with these rates; None if they do not depend on its length.
    pair_offset
        Number of entries from the first to the second of a pair in halves, if these are not halves
        of the turned entries; otherwise 0.
    """

    base: float
    d_head: int
    rates: Array
    pairing: Pairing
    scaling: str
    factor: float
    context: int | None
    unscaled: Array
    by_layer_type: Mapping[str, tuple[float, Array]] = field(default_factory=dict)
    layers_without: tuple[int, ...] = ()
    note: str = ""
    causal: bool = True
    layer_types: tuple[str, ...] = ()
    until: int | None = None
    pair_offset: int = 0

    @property
    def alike(self) -> bool:
        """Whether all kinds of layers have the same number of turned pairs."""
        return all(len(rates) == self.n_pairs for _, rates in self.by_layer_type.values())

    @property
    def n_pairs(self) -> int:
        """Number of turned pairs in each head."""
        return len(self.rates)

    def type_of(self, layer: int) -> str:
        """Return the kind of a layer; "" if all are alike or it is unknown."""
        kind = self.layer_types[layer] if layer < len(self.layer_types) else ""
        return kind if kind in self.by_layer_type else ""

    def rates_at(self, layer: int) -> Array:
        """Return the (n_pairs,) rates of a layer; those of full attention if it is unknown."""
        kind = self.type_of(layer)
        return self.by_layer_type[kind][1] if kind else self.rates

    def notes(self, n_positions: int) -> list[str]:
        """Return sentences about peculiarities, given the number of shown positions."""
        notes = [self.note] if self.note else []
        if self.context is not None and self.context > n_positions:
            notes.append(f"The first {n_positions:,} of {self.context:,} positions are shown.")
        if self.until is not None and n_positions > self.until:
            notes.append(
                f"The rates are those of texts of up to {self.until:,} positions; longer ones have "
                "others."
            )
        if self.layers_without:
            some = some_of(self.layers_without, 6)
            notes.append(f"Some layers do not turn queries and keys: {some}.")
        return notes


def read_rotary(config: Mapping[str, Any]) -> Rotary:
    """Read the turning of a model from its configuration.

    Raises
    ------
    SourceError
        The configuration lacks the size of a head, contradicts itself, or has an invalid setting.
    """
    return _Reader(config).read()


@result
class _Turning:
    """The turning in a kind of layer."""

    base: float
    unscaled: Array
    scaling: str
    scaled: Scaled


class _Reader:
    """Reads a configuration, and collects notes."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.kind = str(config.get("model_type"))
        self.row = COMPARED.get(self.kind, RotaryFamily())
        settings = with_usual_names(config)
        self.nested = False  # whether each kind of layer has a group of settings
        self.notes: list[str] = []
        if settings.get("rope_pairing") is None:
            settings, self.notes = without_foreign(self.kind, settings)
        self.given = Given(settings)
        pairing = self.given.value("rope_pairing")
        if pairing is not None:  # of a GGUF file, which has no implicit settings
            self.row = replace(self.row, share=1.0, width=0, d_head=0, before=0)
        if pairing == "unknown" or self.kind not in COMPARED:
            named = isinstance(config.get("model_type"), str)
            model = f"a {shortened(self.kind, 40)} model" if named else "this model"
            self.notes.append(f"Usual settings assumed: {model} was not compared with its code.")

    def read(self) -> Rotary:
        """Return the turning by the configuration."""
        parameters = self._parameters()
        kinds = self._kinds(parameters)
        self._note_missing(kinds)
        turning = {name: given for name, given in kinds.items() if given is not None}
        if not turning:
            raise SourceError("By config.json no kind of layer turns queries and keys.", RIGHT)
        # Most have full and sliding attention; Dots3 and DeepSeek-V4 have others.
        main = FULL if FULL in turning else next(iter(turning))
        d_head, context = self._head_width(), self._context()
        wide = self._wide_heads(d_head) if main else d_head
        types = {
            name: self._turning(given, wide if name == main else d_head, context, name == SLIDING)
            for name, given in turning.items()
        }
        main_turning = types[main]
        layer_types = self._layer_types(kinds) if len(kinds) > 1 else ()
        rotary = Rotary(
            base=main_turning.base,
            d_head=wide,
            rates=main_turning.scaled.rates,
            pairing=self._pairing(),
            scaling=main_turning.scaling,
            factor=main_turning.scaled.factor,
            context=context,
            unscaled=main_turning.unscaled,
            layers_without=self._layers_without(layer_types, kinds),
            causal=self._causal(),
            until=main_turning.scaled.until,
            pair_offset=wide // 2 if main_turning.scaling == "proportional" else 0,
        )
        if len(types) > 1:
            by_type = {name: (kind.base, kind.scaled.rates) for name, kind in types.items()}
            by_type = {main: by_type[main], **by_type}
            rotary = replace(
                rotary, by_layer_type=MappingProxyType(by_type), layer_types=layer_types
            )
            self._note_other_scalings(main_turning, types)
        self._note_unused(parameters, *turning.values())
        return replace(rotary, note=" ".join(self.notes))

    def _note(self, text: str) -> None:
        """Add a sentence, unless it is already included."""
        if text not in self.notes:
            self.notes.append(text)

    def _note_conflict(self, settings: str, first: float | None, second: float | None) -> None:
        """Note that two settings of the same kind differ, and that the first is used."""
        if first and second and first != second:
            some = f"{first:.12g} and {second:.12g}"
            self._note(f"Of the {settings} {some} in config.json the first is used.")

    def _kinds(self, parameters: Given) -> dict[str, Given | None]:
        """Return the settings of each kind of layer; those of a kind that does not turn are None.

        The only kind is "" if all are alike.
        """
        if kinds := parameters.groups():
            self.nested = True
            return kinds
        if bases := self._layer_bases():
            own = {base: f"base {base:.12g}" for base in bases if base}
            return {name: parameters.changed(rope_theta=base) for base, name in own.items()}
        if "rope_scaling_layers" in self.given:
            theta = parameters.value("rope_theta")
            return {"scaled": parameters, "unscaled": Given({"rope_theta": theta})}
        if self.row.sliding_base or any(key in self.given for key in LOCAL_BASES):
            self.nested = True
            return {FULL: parameters, SLIDING: parameters if self.row.sliding_scaled else Given({})}
        return {"": parameters}

    def _parameters(self) -> Given:
        """Return the group with the settings of turning; an empty one if there is none."""
        given = self.given
        keys = ("rope_scaling", "rope_parameters")
        groups = [group for key in keys if (group := given.group(key))]
        if len(groups) == 2 and given.value("rope_scaling") != given.value("rope_parameters"):
            self._note("Of config.json’s rope_scaling and rope_parameters the first is used.")
        if groups:
            return groups[0]
        if given.flag("use_scaled_rope"):
            return self._of_meta()
        return Given({"rope_type": "dynamic"} if given.flag("use_dynamic_ntk") else {})

    def _of_meta(self) -> Given:
        """Return the scaling of Llama 3.1 in Meta's own settings, whose constants are its code's.

        They are those of ``apply_scaling`` in meta-llama/llama-models.
        """
        own = self.given.number("rope_scaling_factor")
        if own is None:
            self._note(
                "use_scaled_rope divides the slowest rates by 8, as Meta's code does; in "
                "transformers, Llama 3.2 1B and 3B have 32."
            )
        return Given(
            {
                "rope_type": "llama3",
                "factor": own or 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": self.given.number("rope_high_freq_factor") or 4.0,
                "original_max_position_embeddings": 8192,
            }
        )

    def _turning(self, given: Given, d_head: int, context: int | None, sliding: bool) -> _Turning:
        """Return the turning by a group of settings, other settings, and the family's defaults."""
        base = self._base(given, sliding)
        width = self._n_turned(given, d_head)
        before = self._before(given)
        if self.kind == "qwen" and self.given.flag("use_dynamic_ntk"):
            before = self.given.whole("seq_length", minimum=1) or before
            context = int(before) if before else context  # unchanged up to this length
        unscaled = Unscaled(base, width, d_head, before or context, context)
        kind = given.first("rope_type", "type") or "none"
        scaling = NAMES.get(kind, kind) if isinstance(kind, str) else str(kind)
        if scaling == "none":
            return _Turning(base, unscaled.rates, scaling, Scaled(unscaled.rates))
        try:
            return _Turning(base, unscaled.rates, scaling, scaled(scaling, unscaled, given))
        except SourceError as error:
            self._note(
                f"The scaling “{shortened(scaling, 40)}” in config.json is not understood: shown "
                f"without it. {error}"
            )
            return _Turning(base, unscaled.rates, "none", Scaled(unscaled.rates))

    def _before(self, given: Given) -> int | None:
        """Return the positions before scaling; of a single group, those outside it come first."""
        named = "original_max_position_embeddings"
        inside, outside = given.whole(named, minimum=1), self.given.whole(named, minimum=1)
        if self.nested:
            if outside not in (None, inside):
                self._note(f"{named} of config.json is not read outside of the groups by layer.")
            return inside
        outside = outside or self.row.before or None
        self._note_conflict(named, outside, inside)
        return outside or inside

    def _base(self, given: Given, sliding: bool) -> float:
        local = self.row.sliding_base or any(key in self.given for key in LOCAL_BASES)
        near = sliding and bool(local)
        usual = (self.row.sliding_base if near else 0.0) or self.row.base
        outside = self.given.number(*(LOCAL_BASES if near else BASES))
        inside = given.number("rope_theta")
        if not near and "layer_rope_theta" not in self.given:
            self._note_conflict("bases", inside, outside)
        base = inside or outside or usual
        base *= self._ratio()
        if not 1.0 < base < MAX_BASE:
            raise SourceError(
                f"config.json has {base:g} as the base of its rotary positions.", RIGHT
            )
        return base

    def _ratio(self) -> float:
        """Return the factor of ChatGLM's base."""
        ratio = self.given.number("rope_ratio") or 1.0
        if ratio != 1.0 and self.kind == "chatglm":
            self._note(
                f"rope_ratio multiplies the base by {ratio:g}, as in ChatGLM3-32K and GLM-4; the "
                "code of ChatGLM2-32K divides positions by it instead."
            )
        return ratio

    def _n_turned(self, given: Given, d_head: int) -> int:
        """Return the number of turned entries of a head."""
        width = self.given.whole(*WIDTHS)
        share = given.number("partial_rotary_factor")
        outside = self.given.number(*SHARES)
        self._note_conflict("shares", share, outside)
        share = share or outside
        if width is not None and share and width != int(d_head * share):
            self._note(
                f"By config.json {width} entries of a head turn, and {share:.12g} of its "
                f"{d_head}: the first is used."
            )
        if width is None:
            share = share or self.row.share
            width = self.row.width or int(d_head * share)
            whole = self.given.whole(*HEAD_WIDTHS)
            if "qk_rope_head_dim" in self.given and whole and int(whole * share) == d_head:
                width = d_head  # the share is of the whole head, of which this part is turned
        pairs = (width + 1) // 2  # an odd number is rounded up, with the rates of the odd number
        if not width >= 2 or 2 * pairs > d_head:
            raise SourceError(
                f"config.json turns {width} of the {d_head} entries of a head, which cannot be.",
                RIGHT,
            )
        return width

    def _head_width(self) -> int:
        """Return the entries of a head."""
        given = self.given
        width = given.whole("qk_rope_head_dim")  # the rest of a head is not turned
        own = given.whole(*HEAD_WIDTHS) or self.row.d_head or None
        if width is None:
            width = own
        hidden, heads = given.whole(*HIDDEN), given.whole(*HEADS) if own is None else None
        if width is None:
            if not hidden or not heads:
                raise SourceError(
                    "The size of a head is not in config.json, so its rotary positions are not "
                    "known.",
                    RIGHT,
                )
            if heads < 0 or hidden % heads:
                raise SourceError(
                    f"config.json has {heads} heads for {hidden} dimensions, which do not divide "
                    "evenly.",
                    RIGHT,
                )
            width = hidden // heads
        if not 2 <= width <= MAX_WIDTH:
            raise SourceError(f"config.json has heads of {width} entries, as no model does.", RIGHT)
        return width

    def _wide_heads(self, d_head: int) -> int:
        """Return the entries of a head in layers of full attention; Gemma 4 has more there."""
        width = self.given.whole("global_head_dim")
        layers = self.given.value("per_layer_config")
        if width is None and isinstance(layers, dict):
            own = [
                first_int(layer, ("head_dim",))
                for layer in layers.values()
                if isinstance(layer, dict)
            ]
            width = next((size for size in own if size is not None), None)
        return width if width is not None and 2 <= width <= MAX_WIDTH else d_head

    def _context(self) -> int | None:
        context = self.given.whole(*CONTEXTS)
        if context is None:
            return self.row.context or None
        if not 0 < context <= MAX_CONTEXT:
            raise SourceError(f"config.json has {context} positions, as no model does.", RIGHT)
        return context

    def _pairing(self) -> Pairing:
        given = self.given
        named = given.value("rope_pairing")  # of a GGUF file
        if named is not None:
            return "interleaved" if named == "interleaved" else "halves"
        if given.flag("position_encoding_2d"):  # of the first ChatGLM
            self._note("The other half of each head turns by the position within a block.")
            return "halves"
        interleaved = self.row.pairing == "interleaved"
        for key in ("rope_interleave", "rotary_emb_interleaved"):
            interleaved = given.flag(key, default=interleaved)
        return "interleaved" if interleaved else "halves"

    def _causal(self) -> bool:
        masked = self.given.value("position_embedding_type") == "rotary"  # a kind of BERT
        known = self.kind in COMPARED
        bidirectional = self.given.value("use_bidirectional_attention")
        if bidirectional not in (None, True, False, "all", "vision"):
            raise unusable("use_bidirectional_attention", bidirectional, "true, false or “all”")
        if bidirectional in (True, "all"):
            return False
        return self.given.flag("is_causal", default=self.row.causal if known else not masked)

    # ---- which layers -------------------------------------------------------------------------

    def _n_layers(self) -> int:
        return min(max(self.given.whole(*LAYERS) or 0, 0), 10_000)

    def _listed(self, key: str) -> list[Any] | None:
        """Return a setting with an entry for each layer; None if it is missing."""
        values, count = self.given.value(key), self._n_layers()
        if values is None or values == []:
            return None
        if not isinstance(values, list):
            raise unusable(key, values, "a list")
        return values[:count] if count else values[:10_000]

    def _layer_bases(self) -> list[float]:
        """Return the base of each layer, 0 if it does not turn; empty if all are alike."""
        bases = self._listed("layer_rope_theta") or []
        return [positive("layer_rope_theta", base) if base else 0.0 for base in bases]

    def _layer_types(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Return the kind of each layer; empty if the configuration does not give it."""
        count = self._n_layers()
        if bases := self._layer_bases():
            return tuple(f"base {base:.12g}" for base in bases)
        if (some := self._listed("rope_scaling_layers")) is not None:
            return tuple("scaled" if layer in some else "unscaled" for layer in range(count))
        types: tuple[str, ...] = tuple(map(str, self._listed("layer_types") or ()))
        full = self._full_layers()
        if not types and full is not None:
            types = tuple(FULL if layer in full else SLIDING for layer in range(count))
        if count and not any(kind in kinds for kind in types):
            self._note("Which layers are of which kind is not in config.json.")
        return types

    def _full_layers(self) -> Collection[int] | None:
        """Return the layers of full attention by a rule; None if there is no rule."""
        count, given = self._n_layers(), self.given
        pattern = given.value("sliding_window_pattern")
        if isinstance(pattern, str) and pattern and set(pattern) <= set("LG"):  # as in EXAONE 4
            return [i for i in range(count) if pattern[i % len(pattern)] == "G" or i == count - 1]
        # Older settings: one of every so many layers, the last or the first of them.
        every, at = given.whole("sliding_window_pattern", minimum=0) or 0, -1
        if not every:
            every = given.whole("global_attn_every_n_layers", minimum=0) or 0
            at = -1 if self.row.full_at[1] else 0  # the first of them in ModernBERT
        if not every and self.kind == "flint":
            return [i for i in range(count) if i < 2 or i % 4 == 1 or i == count - 1]
        if not every:
            every, at = self.row.full_at
        return range(at % every, count, every) if every else None

    def _layers_without(
        self, types: tuple[str, ...], kinds: Mapping[str, Given | None]
    ) -> tuple[int, ...]:
        """Return the layers that do not turn."""
        count, given = self._n_layers(), self.given
        every = given.whole("no_rope_layer_interval", minimum=0) or self.row.without
        free = given.whole("sliding_window") is None and given.null("sliding_window")
        if turns := self._listed("no_rope_layers"):
            return tuple(i for i, entry in enumerate(turns) if not entry)
        if bases := self._layer_bases():
            return tuple(i for i, base in enumerate(bases) if not base)
        if every:
            return tuple(range(every - 1, count, every))
        if None in kinds.values():
            return tuple(
                i for i, entry in enumerate(types) if entry in kinds and kinds[entry] is None
            )
        if not self.row.sliding_only or (free and self.row.without_window == "all"):
            return ()
        if free and self.row.without_window == "none":
            raise SourceError("By config.json no layer turns queries and keys.", RIGHT)
        listed = self._listed("layer_types")
        if listed is not None:
            return tuple(i for i, entry in enumerate(listed) if entry != SLIDING)
        full = self._full_layers()
        if full is None:
            self._note("Which layers do not turn queries and keys is not in config.json.")
        return tuple(full or ())

    # ---- what was not used --------------------------------------------------------------------

    def _note_other_scalings(self, main: _Turning, types: Mapping[str, _Turning]) -> None:
        """Note other scalings of kinds of layers than the main one's or none."""
        for name, turning in types.items():
            factor, until = turning.scaled.factor, turning.scaled.until
            own = (turning.scaling, factor, until)
            if own in ((main.scaling, main.scaled.factor, main.scaled.until), ("none", 1.0, None)):
                continue
            by = "" if factor == 1.0 else f", cosines and sines multiplied by {factor:.4g}"
            up_to = "" if until is None else f", for texts of up to {until:,} positions"
            self._note(f"The scaling of {name} layers is “{turning.scaling}”{by}{up_to}.")

    def _note_missing(self, kinds: Mapping[str, Given | None]) -> None:
        """Note missing settings for which the family's code has its own default."""
        group = any(key in self.given for key in ("rope_scaling", "rope_parameters"))
        missing = {"": False, "group": not group, "kinds": "" in kinds}[self.row.needs]
        if missing and "rope_pairing" not in self.given:
            self._note(
                "Usual settings assumed: config.json has no rope_parameters, which "
                f"{self.kind} models have."
            )

    def _note_unused(self, *groups: Given) -> None:
        """Note settings of rotary positions that were not used."""
        schemes = [key for key in KINDS if self.given.value(key) not in (None, *TURNING)]
        unread = dict.fromkeys(name for given in (self.given, *groups) for name in given.unread())
        if unread:
            some = shortened(some_of([*unread], 6))
            self._note(f"Settings that are not used here: {some}.")
        off = [key for key in SWITCHES if self.given.value(key) is False]
        if off:
            self._note(f"By {off[0]} in config.json, it may not turn at all.")
        if schemes:
            named = shortened(str(self.given.value(schemes[0])), 40)
            self._note(f"By {schemes[0]} in config.json, “{named}”, it may not turn at all.")
