"""An open model: P, E and weights, in one orientation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.config import flag
from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.checkpoints.formats.gguf_store import quantised
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.memo import cached_property
from geometry.checkpoints.plain_text import some_of, visible
from geometry.checkpoints.quantised import approximate
from geometry.checkpoints.stores import (
    UNQUANTISED,
    Consent,
    FloatArray,
    TensorInfo,
    TensorStore,
)
from geometry.hub.faults import Offline
from geometry.measures.sinusoids import FoundSinusoid, find_sinusoid, off_sinusoid
from geometry.models.checked_settings import check_settings
from geometry.models.families.model_types import TIED
from geometry.models.families.stack import NOT_ADDED, Resizing
from geometry.models.layers import FULL, LEARNED, Layers
from geometry.models.matrices import WeightName, read_positions
from geometry.models.notes import Making, Note
from geometry.models.parts import does_not_fit, read_part, undecodable, why_missing
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.gguf_settings import GGUF
from geometry.models.schemes.alibi import compared
from geometry.models.sources.source import Source
from geometry.models.stored_rates import with_stored_rates
from geometry.models.table_notes import table_notes
from geometry.models.tokens import TokenizedPrompt, Tokenizer, begin_token, load_tokenizer, tokenize

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn
    from geometry.checkpoints.transfer import Transfer

Matrix = WeightName | Literal["W_E", "turned W_Q", "turned W_K"]
"""A weight matrix, the token embeddings, or a rotary model's queries and keys."""

_TURNED: Mapping[str, WeightName] = {"turned W_Q": "W_Q", "turned W_K": "W_K"}

__all__ = ["PositionalModel", "TokenizedPrompt", "WeightName"]

ESM_TOKENS_KEPT = 1 - 0.15 * 0.8
"""ESM was trained with 80 % of 15 % of tokens masked to zero; at inference it rescales the
embeddings to compensate."""


EMBEDDINGS = (
    "embed_tokens.weight",
    "embed_in.weight",
    "wte.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "token_embd.weight",
    "shared.weight",
)
"""Names of token embeddings in rotary models, and in those that add a bias by distance."""
MAX_VOCABULARY = 10_000_000
"""Maximum size of a vocabulary in a configuration: the largest have 260,000 tokens."""


class PositionalModel:
    """An open checkpoint; P is read on opening, everything else on demand.

    Parameters
    ----------
    store
        The checkpoint's tensors.
    architecture
        The location of its positions.
    source
        What the user opened.
    name
        Short name for captions.
    folder
        Folder of the tokenizer, or a GGUF file with it, or None; or a function that downloads it on
        first use and returns that.
    commit
        Commit of the files, 40 hexadecimal digits, or None.
    beside
        The configuration's and the tokenizer's files, as they were before any of them was read;
        None if they cannot change.
    whole
        Opens the whole model if this is only one of its tables; it determines the positions of a
        prompt's tokens. It raises SourceError if there is no such model.
    making
        What is known of its making; nothing if None.

    Raises
    ------
    FileChanged
        A file changed while it was opened.
    SourceError
        P contradicts the configuration, or holds numbers that are not finite.
    """

    def __init__(
        self,
        store: TensorStore,
        architecture: Architecture,
        *,
        source: Source,
        name: str,
        folder: Path | Callable[[], Path] | None = None,
        commit: str | None = None,
        beside: FolderFiles | None = None,
        whole: Callable[[], PositionalModel] | None = None,
        making: Making | None = None,
    ) -> None:
        architecture = with_stored_rates(store, architecture)
        self._store = store
        if architecture.lags is not None:
            architecture = replace(architecture, lags=compared(architecture.lags, store))
        self._architecture = architecture
        self._bring_folder = folder
        self._whole = whole
        self.source = source
        self.name = visible(name)
        self.commit = commit
        self.making = making or Making()
        self.family = architecture.family
        self.rotary, self.lags = architecture.rotary, architecture.lags
        self.rows = architecture.rows
        computed = (
            "ALiBi" if self.lags else "rotary turning" if self.rotary else "computed sinusoid"
        )
        self.table = architecture.table or computed
        check_settings(Layers(store, architecture))
        self._stored_W_pos = read_positions(store, architecture)
        self._stored_precision = self._stored_W_pos.dtype
        self.n_positions, self.d_model = self._stored_W_pos.shape
        self.layers = Layers(store, architecture, self.d_model)
        turned = architecture.turned
        self.turned_layers = None if turned is None else Layers(store, turned)
        if self.turned_layers is not None:
            check_settings(self.turned_layers)
        self.grid = architecture.grid(self.n_positions)
        self._beside = beside
        self._check_beside()

    def __repr__(self) -> str:
        shape = f"{self.n_positions} × {self.d_model}"
        return f"<PositionalModel {self.name}: {self.table} {shape}>"

    @cached_property
    def W_pos(self) -> npt.NDArray[np.float64]:
        """P: (n_positions, d_model) float64, row i for position i, read-only."""
        base = self._stored_W_pos.base
        fixed = isinstance(base, np.ndarray) and not base.flags.writeable
        wide = self._stored_W_pos.astype(np.float64, copy=not fixed)
        wide.setflags(write=False)
        self._stored_W_pos = wide  # keep only one copy
        return wide

    @property
    def stored_W_pos(self) -> FloatArray:
        """P in stored precision, or :attr:`W_pos` if that has already been read."""
        return self._stored_W_pos

    @cached_property
    def largest(self) -> float:
        """Largest magnitude of the numbers of P."""
        table = self._stored_W_pos
        return float(max(table.max(), -table.min()))

    @property
    def store(self) -> TensorStore:
        """The checkpoint's tensors."""
        return self._store

    @property
    def computed(self) -> bool:
        """Whether P is computed by a formula, such as a sinusoid, and not learned.

        A stored table is compared with the formula.
        """
        if self.lags is not None:
            return self.lags.kind == "alibi" and not self.lags.stored
        stack = self._architecture.stack
        if stack is not None and (stack.alone or not self._architecture.table):
            return True
        return self._sinusoid is not None

    @cached_property
    def _sinusoid(self) -> FoundSinusoid | None:
        """The fixed sines and cosines of a stored table; None for a learned one."""
        if self.rows is not None:
            return None
        first = self._architecture.row_of_position_0
        return find_sinusoid(self.stored_W_pos, self.grid, first)

    @property
    def _of_formula(self) -> str:
        """A sentence about the actual or expected formula of a stored table, or ""."""
        place = self._architecture
        kind = None if place.stack is None else place.stack.computed
        alone = place.stack is not None and place.stack.alone
        if alone or self.rows is not None or not place.table:
            return ""
        if self._sinusoid is not None:
            return "" if kind else f"{self.table} is {self._sinusoid.words}, and not learned."
        if kind is None:
            return ""
        away = off_sinusoid(self.stored_W_pos, kind, place.row_of_position_0)
        return (
            f"{self.table} differs by up to {away:.2g} from the fixed sines and cosines of "
            f"{self.family}: it is shown as learned."
        )

    @property
    def _of_other_pictures(self) -> str:
        """A sentence about pictures of another size than that of the table, or ""."""
        shown, used = self.grid, self._architecture.picture
        if shown is None or used is None or used == shown or not self.resizing:
            return ""
        size = f"{used[0]}x{used[1]}"
        return (
            f"Its pictures have {used[0]} × {used[1]} patches, for which its code resizes this "
            f"table ({self.resizing}): open “resampled:{size},NAME” to see that."
        )

    @property
    def resizing(self) -> Resizing:
        """How its code resizes the table of patches for other sizes of pictures; "" if unknown."""
        stack = self._architecture.stack
        return "" if stack is None else stack.resizing

    @property
    def no_table(self) -> str:
        """Why the model has no table of positions, and :attr:`W_pos` only serves to draw them.

        "" for a model with one.
        """
        if self.rotary is not None:
            return "this model turns queries and keys: it has no table"
        return "" if self.lags is None else self.lags.why

    @property
    def scheme(self) -> str:
        """The scheme of the model's positions, in a word or two.

        "learned" or "computed" for a table; "grid" for patches; "rows" with labels; "rotary"; or
        the kind of its :class:`geometry.models.schemes.lags.Lags`.
        """
        if self.lags is not None:
            return self.lags.kind
        if self.grid is not None:
            return "grid"
        if self.rows is not None:
            return "rows"
        if self.rotary is not None:
            return "rotary"
        return "computed" if self.computed else "learned"

    @property
    def no_claims(self) -> str:
        """Why claims about tables of positions do not apply; "" if they do."""
        return self.no_table or ("" if self.rows is None else "its rows are no positions")

    @property
    def of_text(self) -> bool:
        """Whether the rows are positions of a text, and not lags, patches or labelled rows."""
        return self.lags is None and self.grid is None and self.rows is None

    @property
    def of_positions(self) -> bool:
        """Whether the rows are positions, of a text or a picture, and not lags or labelled rows."""
        return self.lags is None and self.rows is None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on its making: what was imposed on its positions, rather than learned."""
        return self.making.notes

    @property
    def usual_positions(self) -> tuple[int, int]:
        """The range that is measured by default.

        All rows except position 0 of a text, and the last ones if they are known to be untrained.
        """
        last = max(0, self.n_positions - 1 - self.making.untrained)
        return (min(1, last) if self.of_text else 0), last

    @property
    def prefix_rows(self) -> int:
        """Stored rows before that of position 0, such as those of class tokens."""
        return self._architecture.row_of_position_0

    def place_of(self, position: int) -> str:
        """Return the meaning of a row that is not a position of a text; "" if it is.

        For a patch, "row 2, column 5", both from 0; for a lag, "lag 3".
        """
        if self.lags is not None:
            return self.lags.place_of(position)
        if self.grid is None:
            return ""
        row, column = divmod(position, self.grid[1])
        return f"row {row}, column {column}"

    @cached_property
    def columns(self) -> tuple[PositionColumn, ...]:
        """The model's own columns for colouring: of labelled rows, or of patches."""
        if self.rows is not None:
            return self.rows.columns
        if self.grid is None:
            return ()
        from geometry.checkpoints.column_files import PositionColumn

        row, column = np.indices(self.grid).reshape(2, -1)
        down, across = (at - at.max() / 2 for at in (row, column))
        named = {"Row": row, "Column": column, "Distance from the centre": np.hypot(down, across)}
        if self.lags is not None:
            named = {
                "Rows apart": down,
                "Columns apart": across,
                "Distance": np.hypot(down, across),
            }
        return tuple(
            PositionColumn(name, "", tuple(values.astype(float).tolist()))
            for name, values in named.items()
        )

    @property
    def sides(self) -> tuple[str, ...]:
        """The tables of a model with two: "decoder" and "encoder", or "text" and "vision".

        ``open_model(source, table=side)`` opens either.
        """
        return self._architecture.sides

    @property
    def side(self) -> str | None:
        """The entry of :attr:`sides` of this table; None for a model with one table."""
        stack = self._architecture.stack
        return stack.side if stack is not None and self.sides else None

    @property
    def table_choice(self) -> str | None:
        """The ``table`` argument that opens this table again; None if there is only one.

        A side, a tensor, or rows of a tensor.
        """
        place = self._architecture
        if place.chosen or self.sides:
            return place.chosen or self.side
        several = self.family is None and len(self._store.tensors) > 1
        return self.table if several else None

    @property
    def causal(self) -> bool:
        """Whether each position attends only to itself and earlier ones."""
        stack, config = self._architecture.stack, self._architecture.config
        return stack is not None and (stack.causal or flag(config, "is_decoder"))

    @property
    def home(self) -> Path | None:
        """The folder it was opened from; None for a bare table or a model on the Hub."""
        return None if callable(self._bring_folder) else self._bring_folder

    @property
    def folder(self) -> Path | Callable[[], Path] | None:
        """The folder of its tokenizer, or what downloads it; None if there is none."""
        return self._bring_folder

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of P and of the other tensors' names.

        It does not depend on the other tensors' values, so its cost does not grow with the
        checkpoint, and a model on the Hub has the same fingerprint as its local files.
        """
        place, digest = self._architecture, hashlib.sha256()
        for name in sorted(self._store.tensors):
            digest.update(f"{name}\0".encode("utf-8", "surrogatepass"))
        info = self._store.tensors[place.table] if place.table else None
        settings = (place.family, place.setting("vocab_size"), self.n_layers, self.n_heads)
        digest.update(repr((self.table, info and (info.shape, info.dtype), settings)).encode())
        digest.update(self.W_pos.data)
        return digest.hexdigest()[:32]

    @property
    def d_vocab(self) -> int | None:
        """Tokens in the vocabulary; None if unknown. May make a small request."""
        name = self._tokens_name()
        with suppress(Offline):  # then the configuration's value is used
            if name is not None and not self._tokens_unfit(info := self._store.tensors[name]):
                return info.shape[0]
        size = self._architecture.setting("vocab_size")
        return size if size is None or 0 <= size <= MAX_VOCABULARY else None

    @property
    def n_layers(self) -> int | None:
        """Layers of the tower with these positions."""
        return self.layers.count

    @property
    def n_heads(self) -> int | None:
        """Attention heads per layer."""
        return self.layers.n_heads

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Peculiarities of this table, as sentences."""
        place = self._architecture
        notes = [*place.notes, place.grid_note(self.n_positions), *self.layers.notes()]
        notes = [*filter(None, (*notes, self._of_formula, self._of_other_pictures))]
        notes += [] if self.lags is None else self.lags.notes
        if self.rotary is not None:
            notes += self.rotary.notes(self.n_positions)
        if GGUF in place.config and (types := quantised(self._store.tensors.values())):
            notes.append(approximate(types))
        table = self.stored_W_pos  # a large one would take seconds to widen
        alike = np.flatnonzero(table[:, 0] == table[:, -1])  # of most tables no row
        constant = alike[np.ptp(table[alike], axis=1) == 0].tolist()
        # In one dimension every row is constant; in ALiBi, that of lag 0.
        if len(constant) and self.d_model > 1 and self.lags is None:
            subject = "One row has" if len(constant) == 1 else f"{len(constant)} rows have"
            rows = "positions" if self.rows is None else "rows"
            notes.append(f"{subject} the same number throughout: {rows} {some_of(constant, 5)}.")
        if not self.no_table:
            precision = float(np.finfo(self._stored_precision).eps)
            notes += table_notes(table, self.largest, precision)
        return tuple(notes)

    def check_files(self) -> None:
        """Check that the local files have not changed, which takes microseconds.

        Raises
        ------
        FileChanged
            A file has changed; nothing more can be read from this model.
        """
        self._store.check_files()
        self._check_beside()

    # -- matrices ----------------------------------------------------------------------------

    @cached_property
    def W_E(self) -> npt.NDArray[np.float32]:
        """Token embeddings, (d_vocab, d_embedding) float32, read-only; read once and cached.

        They are as stored, even if some are not finite; such embeddings are not measured.
        d_embedding is d_model except in factorised models (OPT-350m's tokens).

        Raises
        ------
        TensorUnavailable
            The checkpoint has none that can be read.
        FileChanged
            The checkpoint is not the one that was opened.
        SourceError
            It cannot be downloaded.
        """
        name = self._tokens_name()
        if name is None:
            raise self._no_tokens()
        if why := self._tokens_unfit(self._store.tensors[name]):
            raise TensorUnavailable(f"{why}.", UNQUANTISED)
        embeddings = self._store.read(name).astype(np.float32, copy=False)
        embeddings.setflags(write=False)
        return embeddings

    @property
    def token_scale(self) -> float:
        """The factor of token embeddings before positions are added.

        √d_model in some families, 1 in most; not included in :attr:`W_E`, which is as stored.
        """
        place = self._architecture
        if place.family == "esm" and flag(place.config, "token_dropout"):
            return ESM_TOKENS_KEPT
        if place.stack is None or place.stack.scaled_tokens is None:
            return 1.0
        scaled = flag(place.config, "scale_embedding", default=place.stack.scaled_tokens)
        return float(np.sqrt(self.d_model)) if scaled else 1.0

    def forget_embeddings(self) -> None:
        """Free the memory of :attr:`W_E`, which is read again on next use."""
        self.__dict__.pop("W_E", None)

    @cached_property
    def token_type(self) -> npt.NDArray[np.float64] | None:
        """The first row of the token types, which BERT-like models add to every token of a text.

        (d_embedding,) float64, read-only; None if the family has no such table.

        Raises
        ------
        TensorUnavailable
            It cannot be read, or is missing although the configuration has one.
        """
        name = self.table.replace("position_embeddings", "token_type_embeddings")
        if name == self.table:
            return None
        if name not in self._store.tensors:
            stack = self._architecture.stack
            if stack is not None and stack.tokens and self._architecture.setting("type_vocab_size"):
                raise TensorUnavailable(f"{name} is not in this checkpoint.", FULL)
            return None
        table = read_part(self._store, name, 2)
        if table.shape[1] != self.d_model:
            raise does_not_fit(name, table.shape, f"{self.d_model} columns")
        row: npt.NDArray[np.float64] = table[0].astype(np.float64)
        row.setflags(write=False)
        return row

    def weight(self, name: WeightName, layer: int = 0) -> npt.NDArray[np.float64]:
        """Read a weight matrix of a layer, in one orientation for all families.

        Parameters
        ----------
        name
            "W_Q", "W_K", "W_V": (d_out, d_hidden), reading the residual stream; "W_O":
            (d_hidden, d_in), writing to it; "W_in", the MLP's fan-out: (d_mlp, d_hidden).
        layer
            From 0.

        Returns
        -------
        (rows, columns) float64
            Read-only, not cached.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family has no such matrix.
        """
        return self.layers.weight(name, layer)

    @cached_property
    def missing(self) -> Mapping[str, str]:
        """Missing matrices with the reason: "W_E", "W_Q", … of the first layer."""
        absent = self.layers.missing()
        stack = self._architecture.stack
        if stack is not None and stack.alone:
            computed = "these positions are computed: there are no tokens"
            absent["W_E"] = NOT_ADDED if stack.inside else computed
        elif stack is not None and not stack.tokens:
            absent["W_E"] = stack.no_tokens
        elif (name := self._tokens_name()) is None:
            absent["W_E"] = "no token embeddings in this checkpoint"
        elif (info := self._store.known(name)) and (why := self._tokens_unfit(info)):
            absent["W_E"] = why
        return MappingProxyType(absent)

    def _tokens_unfit(self, info: TensorInfo) -> str:
        """Return why token embeddings cannot be used, by the index alone; "" if they can."""
        if why := why_missing(info, 2):
            return why
        width, through = self.d_model, None
        if self.layers.map_tensor("positions") is None:  # the two may have different sizes
            through = self.layers.map_tensor("tokens")
        if through is not None:
            known = self._store.known(through)
            if known is None or why_missing(known, 2):
                return ""
            width = known.shape[1]
        if info.shape[1] == width:
            return ""
        return f"{info.name} should have {width} columns, got shape {info.shape}"

    def _no_tokens(self) -> TensorUnavailable:
        stack, advice = self._architecture.stack, FULL
        if stack is not None and stack.alone:
            advice = LEARNED if stack.inside else "Open a model."
        elif stack is not None and not stack.tokens:
            advice = "Open a model of text."
        return TensorUnavailable(self.missing["W_E"], advice)

    def _tokens_name(self) -> str | None:
        place, index = self._architecture, self._store.tensors
        if place.stack is None or not place.stack.tokens:
            return None
        names = [place.root + suffix for suffix in place.stack.tokens]
        if flag(place.config, "tie_word_embeddings", default=True):
            names += [name for name in index if f".{name}".endswith(tuple(f".{t}" for t in TIED))]
        return next((name for name in names if name in index), None)

    @property
    def tokens_tensor(self) -> str | None:
        """The tensor of token embeddings, even if positions are not added to them."""
        if (name := self._tokens_name()) is not None:
            return name
        names = [
            name
            for name in self._store.tensors
            if f".{name}".endswith(tuple(f".{suffix}" for suffix in EMBEDDINGS))
        ]
        return names[0] if len(names) == 1 else None

    # -- network -----------------------------------------------------------------------------

    def bytes_to_fetch(self, name: Matrix, layer: int = 0) -> int:
        """Return the bytes to download for a matrix; 0 for most models.

        Above :data:`geometry.hub.network.LARGE` the user is informed first. For a model in several
        files on the Hub, this may make a small request.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family has no such matrix.
        """
        return self._store.bytes_to_fetch(self._tensor(name, layer))

    def bytes_to_fetch_for(self, matrices: Iterable[tuple[Matrix, int]]) -> int:
        """Return the bytes to download for all of these matrices (name, layer).

        Like :meth:`bytes_to_fetch`; shared tensors count once, and missing or unreadable ones do
        not count.
        """
        tensors = set()
        for name, layer in matrices:
            with suppress(TensorUnavailable):
                tensor = self._tensor(name, layer)
                if not undecodable(self._store.tensors[tensor]):
                    tensors.add(tensor)
        return self._store.bytes_to_fetch(*tensors)

    def _tensor(self, name: Matrix, layer: int) -> str:
        if name == "turned W_Q" or name == "turned W_K":
            if self.turned_layers is None:
                raise TensorUnavailable("There are no queries and keys that are turned.", LEARNED)
            return self.turned_layers.tensor(_TURNED[name], layer)
        tensor = self._tokens_name() if name == "W_E" else self.layers.tensor(name, layer)
        if tensor is None:
            raise self._no_tokens()
        return tensor

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the model is open.

        Parameters
        ----------
        to
            "whole files", if the server does not support ranges (see
            :class:`geometry.hub.faults.WholeDownload`); "tokenizer", a large one (see
            :class:`geometry.hub.faults.LargeTokenizer`).
        """
        self._store.agree(to)

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them.

        Other downloads are not reported.
        """
        return self._store.through(transfer)

    # -- prompt ------------------------------------------------------------------------------

    @cached_property
    def _folder(self) -> Path:
        if self._bring_folder is None:
            kind = "computed" if self.computed else "only a table"
            raise TensorUnavailable(
                f"This source is {kind}: it has no tokenizer, so a prompt cannot be split.",
                "Open a checkpoint's folder.",
            )
        return self._bring_folder() if callable(self._bring_folder) else self._bring_folder

    # The tokenizer is read only once, so that no prompt mixes two versions of it.
    @cached_property
    def _tokenizer(self) -> Tokenizer:
        folder = self._folder
        self._check_beside()
        try:
            return load_tokenizer(folder)
        finally:
            self._check_beside()
            self._store.check_files()  # a GGUF file includes it

    @cached_property
    def _begin(self) -> int | None:
        if self._whole is not None:
            try:
                return self._whole()._begin
            except FileChanged:
                raise
            except SourceError:  # there is only this table
                return None
        stack = self._architecture.stack
        if stack is None or not stack.begin or self._bring_folder is None:
            return None
        self._check_beside()
        try:
            token = begin_token(self._folder, self._architecture.config, self._tokenizer)
        finally:
            self._check_beside()
        rows = self.d_vocab
        # A text cannot begin with a token without an embedding.
        return token if rows is None or token is None or token < rows else None

    def _check_beside(self) -> None:
        if self._beside is not None:
            self._beside.check()

    def token_text(self, token: int) -> str | None:
        """Return a token's readable text; None if there is no tokenizer."""
        try:
            return self._tokenizer.text_of(token)
        except TensorUnavailable:
            return None

    def token_ids(self, text: str) -> tuple[int, ...]:
        """Split a text into this model's tokens, without special tokens.

        Raises
        ------
        TensorUnavailable, HelixscopeError
            As :meth:`tokenize`.
        """
        return tuple(self._tokenizer.pieces(text))

    def tokenize(self, text: str) -> TokenizedPrompt:
        """Split a prompt into this model's tokens, one per position from 0.

        It starts with the beginning-of-text token if the family uses it; BERT-like models add their
        own at both ends.

        Raises
        ------
        TensorUnavailable
            There is no tokenizer.
        FileChanged
            The tokenizer has changed since the model was opened.
        HelixscopeError
            The tokenizer cannot be read or downloaded.
        """
        if not self.of_text:
            raise TensorUnavailable("The rows of this table are no positions of a text.", LEARNED)
        return tokenize(self._tokenizer, text, self._begin, self.n_positions)
