"""The location of a checkpoint's positions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.config import first_int, pair
from geometry.checkpoints.errors import SourceError
from geometry.models.families.stack import Stack
from geometry.models.schemes.lags import Lags
from geometry.models.schemes.rotary import Rotary

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

N_HEADS = (
    "{side}_attention_heads",
    "n_head",
    "num_attention_heads",
    "n_heads",
    "num_heads",
    "attention_heads",
    "num_{side}_attention_heads",
    "nhead",
)
"""Settings with the number of attention heads."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows in an order that is not position.

    Attributes
    ----------
    labels
        The meaning of each row; empty if there are none.
    columns
        Columns for colouring, with a value for each row.
    """

    labels: tuple[str, ...]
    columns: tuple[PositionColumn, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """Location of a checkpoint's positions.

    Attributes
    ----------
    family
        The ``model_type`` of transformers; None for a bare table.
    stack
        Its row of the family table; None for a bare table.
    root
        Prefix of the tensor names in that row.
    table
        The tensor of P; "" if it is computed and not stored.
    config
        The configuration of this part of the model; empty without a ``config.json``.
    notes
        Sentences about assumptions, and about other positions of the model.
    sides
        For a model with two tables, "decoder" and "encoder", or "text" and "vision"; otherwise
        empty.
    rotary
        How the model turns queries and keys, in place of a table; None for other models.
    lags
        Biases or vectors by lag of query and key, in place of a table of positions; None for other
        models.
    rows
        The meaning of rows that are not positions.
    net
        Rows and columns of a picture's patches, if they are not in a configuration.
    turned
        The location of the queries and keys of a rotary model; None for a table, or if they have
        unknown names.
    cut
        The stored rows that are positions, if they were chosen, or determined by class tokens;
        None for those of the family. Its ends are not negative.
    part
        Whether these are only some of the positions.
    readings
        This and other families with the same names, whose position 0 is another row; empty if the
        row is certain.
    lenient
        Whether the table takes precedence over a contradicting configuration.
    chosen
        The tensor, or rows such as "pe.weight[2:]", chosen as the table; "" for none.
    """

    family: str | None = None
    stack: Stack | None = None
    root: str = ""
    table: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    rotary: Rotary | None = None
    lags: Lags | None = None
    turned: Architecture | None = None
    rows: LabelledRows | None = None
    net: tuple[int, int] | None = None
    cut: slice | None = None
    part: bool = False
    readings: tuple[Architecture, ...] = ()
    lenient: bool = False
    chosen: str = ""

    def grid(self, n_positions: int) -> tuple[int, int] | None:
        """Return rows and columns of a picture's patches; None for a text, or if they are unknown.

        By the configuration, or assuming a square.
        """
        if self.net is not None:
            return self.net
        if self.stack is None or not self.stack.patches or self.part or n_positions < 1:
            return None
        if (picture := self.picture) is not None and math.prod(picture) == n_positions:
            return picture
        side = math.isqrt(n_positions)
        return (side, side) if side * side == n_positions else None

    def grid_note(self, n_positions: int) -> str:
        """Return a sentence about a grid that is not in the settings, or "".

        These are missing, as in a checkpoint without a configuration, or invalid.
        """
        if self.stack is None or not self.stack.patches or self.net is not None:
            return ""
        square = self.grid(n_positions) is not None
        assumed = "Rows and columns of patches are taken for those of a square." if square else ""
        try:
            size = pair(self.config, "image_size")
            pair(self.config, "patch_size")
        except SourceError as error:
            return f"{error} {assumed}".rstrip()
        return "" if size is not None or self.config.get("model_type") else assumed

    @property
    def picture(self) -> tuple[int, int] | None:
        """Rows and columns of patches in its pictures; None if the settings do not give them."""
        with suppress(SourceError):  # which is reported as a warning
            picture = pair(self.config, "image_size")
            patch = pair(self.config, "patch_stride") or pair(self.config, "patch_size")
            if picture is not None and patch is not None:
                return picture[0] // patch[0], picture[1] // patch[1]
        return None

    @property
    def has_padding(self) -> bool:
        """Whether the family has a row for padding in its table, before that of position 0."""
        stack = self.stack
        return stack is not None and stack.row_of_position_0 is None and stack.padding >= 0

    @property
    def row_of_position_0(self) -> int:
        """The row of the table for position 0."""
        if self.cut is not None:
            return self.cut.start or 0
        if self.stack is None:
            return 0
        if self.stack.rows_before is not None:
            return self._rows(self.stack.rows_before)
        if self.stack.row_of_position_0 is not None:
            return self.stack.row_of_position_0
        padding = first_int(self.config, ("pad_token_id",))
        # A model without padding starts at row 0.
        return max(0, (self.stack.padding if padding is None else padding) + 1)

    @property
    def rows_after(self) -> int:
        """Number of rows after that of the last position; 0 for a chosen part."""
        if self.cut is not None:
            return 0
        return self._rows(self.stack.rows_after if self.stack is not None else None)

    def _rows(self, setting: tuple[str, int] | None) -> int:
        if setting is None:
            return 0
        key, default = setting
        count = first_int(self.config, (key,))
        return max(0, default if count is None else count)

    def rows_of_positions(self, n_rows: int) -> slice:
        """Return the stored rows that are positions."""
        if self.cut is not None:
            return slice(*self.cut.indices(n_rows))
        return slice(self.row_of_position_0, max(n_rows - self.rows_after, 0))

    def expected_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the table's shape by the configuration, or ``shape`` if it is not given."""
        if self.stack is None:
            return shape
        factorised = ("embedding_size", "input_embedding_size") if self.stack.map_positions else ()
        keys = (*factorised, "n_embd", "hidden_size", "d_model", "dim")
        if self.stack.patches:
            keys = ("embed_dim", *keys)  # of the first of several stages
        lengths = (
            "max_{side}_position_embeddings",
            "max_target_positions" if self.stack.side == "decoder" else "max_source_positions",
            "n_positions",
            "max_position_embeddings",
            "block_size",
        )
        rows, width = self.setting(*lengths), self.setting(*keys)
        if self.stack.patches:
            rows = None  # that setting is for the text
        elif rows is not None and self.stack.row_of_position_0 == 2:
            rows += 2
        return (shape[0] if rows is None else rows, shape[1] if width is None else width)

    def setting(self, *keys: str, listed: bool = False) -> int | None:
        """Return an integer of the configuration; ``{side}`` in a key is this tower's.

        Like :func:`geometry.checkpoints.config.first_int`.
        """
        side = self.stack.side if self.stack else "decoder"
        return first_int(self.config, [key.format(side=side) for key in keys], listed=listed)
