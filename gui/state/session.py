"""The state of the application: one evented object that everything reads and the GUI thread writes.

Intent flows in as changes of the first group of fields (what the user wants); the controller
answers by writing the second group (what is open and what was found). Panels and the viewport
listen to the fields they show. Nothing here knows a toolkit, so that the whole behaviour can be
tested without a window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from psygnal import SignalGroupDescriptor

from gui.state.guides import same_basis
from gui.state.values import ColorBy, ModelState, Outside, Projection, Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geometry.checkpoints.transfer import TransferProgress
    from geometry.history.history import History
    from geometry.history.timelapse import Basis
    from geometry.measures.neighbours import PairDistance, PositionDetails
    from geometry.measures.norms import NormProfile
    from geometry.measures.row_lengths import RowLengths
    from geometry.models.catalogue import CatalogueEntry
    from geometry.models.model import PositionalModel, TokenizedPrompt
    from geometry.pca.curve import Curve
    from geometry.pca.pca import PositionPCA
    from gui.state.aligned_curve import AlignedCurve, CurveAlignment
    from gui.state.answer import Answer
    from gui.state.checkpoint_download import DownloadState
    from gui.state.guides import Guide
    from gui.state.lessons import Course, Lesson
    from gui.state.timeline import TrainingTimeline
    from gui.state.work import Bookmark, Work


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One line of the model list: a catalogue entry and whether it can be opened from here."""

    entry: CatalogueEntry
    state: ModelState


@dataclass(frozen=True, eq=False, slots=True)
class Overlay:
    """Another model, whose rows are compared with those of the open one.

    Attributes
    ----------
    source
        What was opened for it.
    name
        What it is called.
    lengths
        Norms and steps of all its rows; None while it is being read.
    shown
        Whether its curve is drawn.
    color
        Which of the colours for several curves it has.
    key
        Of the compared model that it is; 0 where the user laid it over in the norms panel.
    """

    source: str
    name: str
    lengths: RowLengths | None
    shown: bool
    color: int
    key: int = 0


@dataclass(frozen=True, slots=True)
class ColorLimits:
    """The values at the two ends of the colours, and these in words."""

    limits: tuple[float, float]
    labels: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know: one plain sentence, what to do next, and the details.

    Attributes
    ----------
    text
        What happened and why.
    advice
        What to do next; may be empty.
    details
        The technical record (a traceback), shown behind a click; may be empty.
    candidates
        For a source of unknown architecture: names of tensors that could be position tables.
    source
        The source that could not be opened.
    retry
        Whether trying again may help: a button offers it.
    whole
        Bytes of a download of the whole file, which a button agrees to; 0 where that is no
        question, -1 where nobody knows how many.
    """

    text: str
    advice: str = ""
    details: str = ""
    candidates: tuple[str, ...] = ()
    source: str = ""
    retry: bool = False
    whole: int = 0


MAIN = 0
"""The key of the open model, which no :class:`Compared` has."""


def _identity() -> np.ndarray:
    turn = np.eye(3)
    turn.setflags(write=False)
    return turn


@dataclass(eq=False, repr=False)
class Session:
    """What the user wants, what is open and what was found.

    Positions count from 0 and ranges are inclusive; components count from 1.

    Attributes
    ----------
    positions
        First and last position shown; the PCA is fitted to these.
    dragging
        True while a range handle is held: results may then come from the fast path.
    components
        The principal components on the three axes, 1-based.
    color_by, color_component, colormap
        What colours the curve; the component used when coloured by a component (1-based);
        the name of a colour map.
    outside
        What happens to positions outside the range.
    keep_turned
        After a drag, leave the curve turned with its arrows instead of easing it back to the
        true orientation of the components.
    selection
        Selected positions in the order of selection; the last one is the current one.
    hover
        The position under the mouse, in whichever view, or None.
    prompt
        Text whose tokens label the positions.
    norms_centred
        Norms of rows centred over ``d_model`` instead of raw ones.
    norms_quantity
        What the norms panel shows by position: norm, step to the next row, or residual.
    norms_after
        First position of the stretch whose stability is measured.
    norms_relative
        Divide each model's norms or steps by their own mean where several are compared.
    hidden_curves
        The compared models' curves that panels leave out: a panel's slot and a model's key each.
    sphere
        Whether the viewport shows where rows of the mean norm lie.
    measure
        Whether the viewport shows a line between the two positions selected last.
    basis
        In which components a time-lapse of the training is seen.
    snapshot
        Which snapshot of the open model's history the viewport shows; None for the model as it is.
    laying
        Which curve is to be laid over the shown one, and how; None for none.
    ranges_linked, cameras_linked
        Models side by side: whether all show the range and the components of the open one, and
        whether all are looked at from the same side.
    offline
        No request leaves this machine.
    model
        The open model, or None.
    opening
        The source being opened, once that has taken a moment; "" when none is.
    transfer
        What is being fetched from the Hub, once that has taken a moment; None when nothing is.
    curve
        The rows of the open model in the shown components.
    turn
        (3, 3) orthogonal display transform: the scene shows ``coordinates @ turn.T``. It keeps the
        picture from flipping while the components change under a drag; exports ignore it.
    norms
        Norms of all positions of the open model.
    lengths
        Norms and steps of the open model's rows, once steps were wanted; else None.
    overlays
        The models that are compared with the open one in the norms panel.
    compared, main_at
        The models that are shown beside the open one, in views of their own, in their order; the
        place of the open one among them.
    compared_colors
        Which of the colours for several curves each of those beside it has, by its key.
    color_limits
        What the ends of the colours mean where models are side by side; None where they span what
        there is of the model itself.
    details
        What the inspector tells about the current position.
    pair
        How far the two positions selected last are from each other; None with fewer.
    tokens, tokens_missing
        The tokenised prompt; or the sentence that says why there is none.
    tokens_to_fetch
        Bytes of the tokenizer, where the user is asked before it is fetched; else 0.
    history
        The open model's table at steps of its training, once it was read or gathered; else None.
    lapse
        That history ready to be shown, over one range of positions; None while it is not.
    gathering
        How far it is with the checkpoints of the open model's training; None before anybody has
        looked for some.
    answers
        What came of the questions that panels ask, by the slots they ask under; replaced as a
        whole with each change.
    laid, not_laid
        What came of ``laying``; or the sentence that says why nothing did, or not yet.
    guides
        What panels draw beside the curve, by the panels' slots; replaced as a whole. Those in
        another basis than the shown one are hidden.
    lessons, lesson
        The lessons that there are; where the user is in one, or was last, None before the first.
    bookmarks
        Views to come back to, once they were read.
    models, recent
        The model list, and recently opened sources, newest first.
    searching
        The text that models on the Hub are being searched for; "" when none is.
    found, found_for
        What was found on the Hub, the most downloaded first, and the text that this answers.
    search_failed
        The sentence that says why the search for that text failed; "" if it did not.
    status, jobs
        What is going on, in words; the number of running jobs.
    notice
        The last thing that went wrong, or None.
    work
        The saved work that was opened last: told of when the session shows it.
    shown
        Counts the models that were opened: told of when all that is theirs is set.
    """

    events: ClassVar[SignalGroupDescriptor] = SignalGroupDescriptor()

    # What the user wants.
    positions: tuple[int, int] = (0, 0)
    dragging: bool = False
    components: tuple[int, int, int] = (1, 2, 3)
    color_by: ColorBy = "position"
    color_component: int = 4
    colormap: str = "jet"
    outside: Outside = "hidden"
    projection: Projection = "perspective"
    keep_turned: bool = False
    selection: tuple[int, ...] = ()
    hover: int | None = None
    prompt: str = ""
    norms_centred: bool = False
    norms_quantity: Quantity = "norm"
    norms_after: int = 100
    norms_relative: bool = False
    hidden_curves: frozenset[tuple[str, int]] = frozenset()
    sphere: bool = False
    measure: bool = False
    basis: Basis = "frozen"
    snapshot: int | None = None
    laying: CurveAlignment | None = None
    ranges_linked: bool = False
    cameras_linked: bool = True
    offline: bool = False

    # What is open, and what was found. Written by the controller alone.
    model: PositionalModel | None = None
    opening: str = ""
    transfer: TransferProgress | None = None
    curve: Curve | None = None
    turn: np.ndarray = field(default_factory=_identity)
    norms: NormProfile | None = None
    lengths: RowLengths | None = None
    overlays: tuple[Overlay, ...] = ()
    compared: tuple[Compared, ...] = ()
    compared_colors: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    main_at: int = 0
    color_limits: ColorLimits | None = None
    details: PositionDetails | None = None
    pair: PairDistance | None = None
    tokens: TokenizedPrompt | None = None
    tokens_missing: str = ""
    tokens_to_fetch: int = 0
    history: History | None = None
    lapse: TrainingTimeline | None = None
    gathering: DownloadState | None = None
    answers: Mapping[str, Answer] = field(default_factory=lambda: MappingProxyType({}))
    laid: AlignedCurve | None = None
    not_laid: str = ""
    guides: Mapping[str, Guide] = field(default_factory=lambda: MappingProxyType({}))
    lessons: tuple[Lesson, ...] = ()
    lesson: Course | None = None
    bookmarks: tuple[Bookmark, ...] = ()
    models: tuple[ModelRow, ...] = ()
    recent: tuple[str, ...] = ()
    searching: str = ""
    found: tuple[CatalogueEntry, ...] = ()
    found_for: str = ""
    search_failed: str = ""
    status: str = "Ready"
    jobs: int = 0
    notice: Notice | None = None
    work: Work | None = None
    shown: int = 0

    @property
    def pca(self) -> PositionPCA | None:
        """The fitted components behind the shown curve."""
        return self.curve.pca if self.curve is not None else None

    @property
    def shown_lapse(self) -> TrainingTimeline | None:
        """The time-lapse of which :attr:`snapshot` is shown; None if the model is as it is.

        While another range is fitted than the one it was made of, the model is shown as it is.
        """
        lapse, curve, snapshot = self.lapse, self.curve, self.snapshot
        if lapse is None or curve is None or snapshot is None:
            return None
        fits = curve.pca.positions == lapse.positions and 0 <= snapshot < lapse.n_snapshots
        return lapse if fits else None

    @property
    def shown_guides(self) -> tuple[Guide, ...]:
        """The guides that are in the basis that is shown."""
        curve = self.curve
        if curve is None or self.snapshot is not None:
            return ()
        return tuple(
            guide
            for guide in self.guides.values()
            if guide.components == curve.components
            and same_basis(guide.pca, curve.pca, guide.components)
        )

    @property
    def current(self) -> int | None:
        """The current position: the one selected last."""
        return self.selection[-1] if self.selection else None

    def change(self, **fields: object) -> None:
        """Set several fields together, then tell of each: whoever hears of one finds all set.

        Parameters
        ----------
        **fields
            New values, told of in this order.
        """
        before = {name: getattr(self, name) for name in fields}
        with self.events.blocked():
            for name, value in fields.items():
                setattr(self, name, value)
        for name, value in fields.items():
            if value is not before[name]:
                self.events[name].emit(value, before[name])

    def token_at(self, position: int) -> str | None:
        """Return the prompt's token at a position, or None."""
        if self.tokens is None or not 0 <= position < len(self.tokens.texts):
            return None
        return self.tokens.texts[position]


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """One of the models beside the open one.

    Attributes
    ----------
    key
        Tells it from the others for as long as the program runs; never used again.
    source
        What was opened for it.
    name
        What it is called: the same as in captions once it is open.
    session
        What is shown of it: its model (None while that is being read), range, components, curve
        and norms. How it is coloured, and which positions are selected and hovered, follow the
        open model's session, as far as its table has them.
    """

    key: int
    source: str
    name: str
    session: Session
