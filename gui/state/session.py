"""The state of the application: one evented object, written on the GUI thread.

:class:`Session` has the fields of four groups, by who writes them. User intents are changes of
:class:`ViewState`; services respond by writing :class:`Documents` and :class:`Results`. Panels and
the viewport listen to the fields they show. Independent of Qt, so that behaviour can be tested
without a window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from psygnal import SignalGroupDescriptor

from gui.state.fields import (
    UNCHANGED,
    Counting,
    Selection,
    Text,
    Three,
    Traits,
    Whole,
    between,
    one_of,
    traits,
    traits_of,
)
from gui.state.guides import same_basis
from gui.state.timeline import columns_for
from gui.state.values import (
    LINE_WIDTH,
    LINE_WIDTHS,
    OPACITIES,
    PERIOD,
    PERIODS,
    POINT_SIZE,
    POINT_SIZES,
    ColorBy,
    ColorLimits,
    ColorSpan,
    ColumnWidths,
    CurveParts,
    Fields,
    FirstRange,
    ModelRow,
    Notice,
    Outside,
    Projection,
    Quantity,
)
from gui.style.theme import COLORMAPS, CYCLIC
from gui.style.token_text import token_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geometry.checkpoints.column_files import PositionColumn
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.history.history import History
    from geometry.history.timelapse import Basis
    from geometry.inside.prompt import PromptRun
    from geometry.measures.neighbours import PairDistance, PositionDetails
    from geometry.measures.norms import NormProfile
    from geometry.models.model import PositionalModel, TokenizedPrompt
    from geometry.models.sources.catalogue import CatalogueEntry
    from geometry.models.sources.source import Source
    from geometry.pca.curve import Curve
    from geometry.pca.pca import PositionPCA
    from gui.state.aligned_curve import AlignedCurve, CurveAlignment
    from gui.state.answer import Answer
    from gui.state.checkpoint_download import DownloadState
    from gui.state.guides import Guide, ShownChange
    from gui.state.lessons import Course, Lesson
    from gui.state.timeline import TrainingTimeline
    from gui.state.work import Bookmark, Work


def _colouring(saved: Any, **given: Any) -> dict[str, Traits]:
    return traits(undo="colours", saved=saved, linked=True, drawn=True, **given)


def _look(default: float, bounds: tuple[float, float], name: str) -> dict[str, Traits]:
    """Return the traits of a size or the opacity of the curve."""
    return traits(
        undo=name,
        saved=between(bounds),
        absent=default,
        linked=True,
        drawn=True,
        setting=f"view/{name.replace(' ', '_')}",
    )


@dataclass(eq=False, repr=False)
class ViewState:
    """Settings of the user: written by panels and the window, by undo, lessons and saved work.

    Services keep them valid, and drop values that a newly opened model does not support.
    """

    # First and last position shown; the PCA is fitted to these.
    positions: tuple[int, int] = field(default=(0, 0), metadata=traits(undo="range"))
    # True while a range handle is held: results may then be approximate.
    dragging: bool = field(default=False, metadata=traits(linked=True))
    # The principal components on the three axes, 1-based.
    components: tuple[int, int, int] = field(
        default=(1, 2, 3), metadata=traits(undo="components", saved=Three)
    )
    # Colouring of the curve; the component for colouring by a component (1-based); the period in
    # positions, and the column of the user's own table, for colouring by these.
    color_by: ColorBy = field(default="position", metadata=_colouring(ColorBy))
    color_component: int = field(default=4, metadata=_colouring(Counting))
    color_period: float = field(
        default=PERIOD, metadata=_colouring(between(PERIODS), absent=PERIOD)
    )
    color_column: PositionColumn | None = field(
        default=None, metadata=_colouring(type(None), absent=None)
    )
    # Names of the colour maps: of positions modulo a period, and of everything else.
    cyclic_colormap: str = field(
        default=CYCLIC,
        metadata=_colouring(one_of(*COLORMAPS), absent=CYCLIC, setting="view/cyclic_colormap"),
    )
    colormap: str = field(
        default=COLORMAPS[0], metadata=_colouring(one_of(*COLORMAPS), setting="view/colormap")
    )
    # Positions whose values span the colour map: the shown range, so that short ranges have all
    # colours too; or the whole table, so that a colour has the same meaning in every range.
    color_span: ColorSpan = field(
        default="range",
        metadata=_colouring(ColorSpan, absent="table", setting="view/color_span"),
    )
    # Width of the curve's line and size of its points in logical pixels; which of them are drawn;
    # their opacity.
    line_width: float = field(
        default=LINE_WIDTH, metadata=_look(LINE_WIDTH, LINE_WIDTHS, "line width")
    )
    point_size: float = field(
        default=POINT_SIZE, metadata=_look(POINT_SIZE, POINT_SIZES, "point size")
    )
    curve_parts: CurveParts = field(
        default="both",
        metadata=traits(
            undo="points and line",
            saved=CurveParts,
            absent="both",
            linked=True,
            drawn=True,
            setting="view/curve_parts",
        ),
    )
    opacity: float = field(default=1.0, metadata=_look(1.0, OPACITIES, "opacity"))
    # Display of positions outside the range.
    outside: Outside = field(
        default="hidden",
        metadata=traits(
            undo="positions outside the range",
            saved=Outside,
            linked=True,
            drawn=True,
            setting="view/outside",
        ),
    )
    # Whether what is farther away is drawn smaller.
    projection: Projection = field(
        default="perspective",
        metadata=traits(
            undo="projection",
            saved=Projection,
            linked=True,
            drawn=True,
            setting="view/projection",
        ),
    )
    # After a drag, keep the curve and its arrows rotated instead of easing them back to the true
    # orientation of the components.
    keep_turned: bool = field(
        default=False,
        metadata=traits(
            undo="orientation after refitting", saved=bool, linked=True, setting="view/keep_turned"
        ),
    )
    # Selected positions in the order of selection; the last one is the current one.
    selection: tuple[int, ...] = field(
        default=(), metadata=traits(undo="selection", saved=Selection, drawn=True)
    )
    # The position under the mouse in any view, or None.
    hover: int | None = field(default=None, metadata=traits(drawn=True))
    # Text whose tokens label the positions.
    prompt: str = field(default="", metadata=traits(undo="prompt", saved=Text))
    # Norms of rows centred over ``d_model`` instead of raw ones.
    norms_centred: bool = field(
        default=False, metadata=traits(undo="norms", saved=bool, linked=True)
    )
    # Quantity in the norms panel: norm, step to the next row, or residual.
    norms_quantity: Quantity = field(default="norm", metadata=traits(undo="norms", saved=Quantity))
    # First position of the stretch whose stability is measured.
    norms_after: int = field(default=100, metadata=traits(undo="norms", saved=Whole, linked=True))
    # Divide each model's norms or steps by their own mean where several are compared.
    norms_relative: bool = field(default=False, metadata=traits(undo="norms", saved=bool))
    # Hidden curves of models, as pairs of a panel's slot and a model's key.
    hidden_curves: frozenset[tuple[str, int]] = field(
        default=frozenset(), metadata=traits(undo="curves in plots")
    )
    # Whether the viewport shows the sphere of rows of mean norm.
    sphere: bool = field(default=False, metadata=traits(undo="sphere", saved=bool, drawn=True))
    # Whether the viewport shows the distance of the two positions selected last.
    measure: bool = field(
        default=False, metadata=traits(undo="measurement", saved=bool, linked=True)
    )
    # Components of the training timeline.
    basis: Basis = field(
        default="frozen",
        metadata=traits(undo="components of the training", saved=Literal["frozen", "aligned"]),
    )
    # Shown snapshot of the open model's history; None for the model itself. It is the place in a
    # film, which plays, and so is not undone.
    snapshot: int | None = field(default=None, metadata=traits(saved=Whole | None, drawn=True))
    # The curve to align with the shown one, and how; None for none.
    alignment: CurveAlignment | None = field(default=None, metadata=traits(undo="overlaid curve"))
    # Models side by side: whether all show the open one's range and components, which is undone
    # with the ranges that it replaces, and whether their cameras move together.
    ranges_linked: bool = field(default=False, metadata=traits(saved=bool))
    cameras_linked: bool = field(default=True, metadata=traits(undo="linked cameras", saved=bool))
    # Initial range of a newly opened model.
    first_range: FirstRange = "typical"
    # The table of models: keys of its columns in order, and their widths in pixels, 0 for that of
    # their texts; empty for the standard ones.
    compare_columns: ColumnWidths = field(default=(), metadata=traits(saved=ColumnWidths))
    offline: bool = False  # Whether network requests are disabled


_TRAITS = traits_of(ViewState)
VIEW_FIELDS = frozenset(_TRAITS)
UNDONE = {name: its.undo for name, its in _TRAITS.items() if its.undo}
"""Fields that can be undone, with their names in the menu."""
SAVED = {name: its.saved for name, its in _TRAITS.items() if its.saved is not None}
"""Fields in files of saved work, with the types of their values there."""
ABSENT: Fields = {name: its.absent for name, its in _TRAITS.items() if its.absent is not UNCHANGED}
"""Fields that older files lack, with the values that are shown for these."""
REMEMBERED = {name: its.setting for name, its in _TRAITS.items() if its.setting}
"""Fields that are in the settings, with their keys there."""


@dataclass(eq=False, repr=False)
class Documents:
    """Open models, openings in progress, and available sources: written by services."""

    # The current model, or None.
    model: PositionalModel | None = field(default=None, metadata=traits(drawn=True))
    # The model as it was opened: another one if ``model`` is a later step of its training.
    first_model: PositionalModel | None = None
    opening: Source | None = None  # What is being opened, after a short delay
    # The active download from the Hub, after a short delay; None for none.
    transfer: TransferProgress | None = None
    jobs: int = 0  # The number of running jobs
    shown: int = 0  # Number of models opened so far; emitted last, after all model fields
    # All open models in order, those with views of their own first; the key of the current one,
    # which the other fields are about.
    open_models: tuple[OpenModel, ...] = ()
    current_key: int = 0
    # The open model's table at steps of its training, once read or gathered; otherwise None.
    history: History | None = None
    # That history, if it is of downloaded checkpoints; otherwise None.
    gathered: History | None = None
    # State of the search for the open model's checkpoints; None before the first search.
    gathering: DownloadState | None = None
    training_state: str = ""  # How far the open model's training has come, if its files tell
    work: Work | None = None  # The saved work opened last; emitted when the session shows it
    columns: tuple[PositionColumn, ...] = ()  # Columns of the user's table that was read last
    # The file of saved work that is shown, as an absolute path; "" for work without a file.
    work_file: str = ""
    bookmarks: tuple[Bookmark, ...] = ()  # Saved views, once they have been read
    # The available lessons; the user's current or last place in one, None before the first.
    lessons: tuple[Lesson, ...] = ()
    lesson: Course | None = None
    # The model list, and recently opened sources, newest first.
    models: tuple[ModelRow, ...] = ()
    recent: tuple[Source, ...] = ()
    surveys: tuple[str, ...] = ()  # Files of recently opened surveys, newest first
    # Ids and files of those of both that did not exist at the last check.
    missing: frozenset[str] = frozenset()
    # The tables chosen for sources, the latest last: see services/loading.py.
    tables: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), metadata=traits(linked=True)
    )
    # Where files were saved or opened last, by kind, the latest last: services/save_folders.py.
    folders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def _identity() -> np.ndarray:
    turn = np.eye(3)
    turn.setflags(write=False)
    return turn


@dataclass(eq=False, repr=False)
class Results:
    """Results for the open models with the user's settings: written by services."""

    curve: Curve | None = None  # The open model's rows in the shown components
    # (3, 3) orthogonal display transform: the scene shows ``coordinates @ turn.T``. It keeps the
    # picture from flipping while components change during a drag; exports ignore it.
    turn: np.ndarray = field(default_factory=_identity, metadata=traits(drawn=True))
    norms: NormProfile | None = None  # Norms of all positions of the open model
    # Common limits of the colours of models side by side; None for the model's own, and if colours
    # span the shown range.
    color_limits: ColorLimits | None = field(default=None, metadata=traits(drawn=True))
    details: PositionDetails | None = None  # Details of the current position, for the inspector
    pair: PairDistance | None = None  # Distance of the two positions selected last; None with fewer
    # The tokenised prompt; or the reason why there is none, as a sentence.
    tokens: TokenizedPrompt | None = field(default=None, metadata=traits(drawn=True))
    tokens_missing: str = ""
    # Size of the tokenizer, if the user has to agree to its download; otherwise 0.
    tokens_to_fetch: int = 0
    # The network's result for the prompt, once the user has run it; whether it is running; the
    # reason why the run failed, as a sentence.
    prompt_run: PromptRun | None = None
    prompt_running: bool = False
    prompt_run_failed: str = ""
    # The history as curves, over one range of positions; None until it is computed.
    timeline: TrainingTimeline | None = field(default=None, metadata=traits(drawn=True))
    # Answers to the panels' questions by slot; replaced as a whole with each change.
    answers: Mapping[str, Answer] = field(default_factory=lambda: MappingProxyType({}))
    # The result of ``alignment``; or a sentence why there is none, or not yet.
    aligned: AlignedCurve | None = None
    not_aligned: str = ""
    # Guides of panels beside the curve, by slot; replaced as a whole. Guides in another basis than
    # the shown one are hidden.
    guides: Mapping[str, Guide] = field(
        default_factory=lambda: MappingProxyType({}), metadata=traits(drawn=True)
    )
    searching: str = ""  # The text that models on the Hub are being searched for; "" when none is
    # Search results from the Hub, most downloaded first, and the text searched for.
    hub_results: tuple[CatalogueEntry, ...] = ()
    hub_query: str = ""
    search_failed: str = ""  # The reason why the search failed, as a sentence; "" if it did not


@dataclass(eq=False, repr=False)
class Messages:
    """Messages to the user, written by any part of the application."""

    status: str = "Ready"  # Description of the current work
    notice: Notice | None = None  # The last error, or None


@dataclass(eq=False, repr=False)
class Session(ViewState, Documents, Results, Messages):
    """User intents, open models and results, with an event for each field.

    Positions count from 0 and ranges are inclusive; components count from 1.
    """

    events: ClassVar[SignalGroupDescriptor] = SignalGroupDescriptor()

    @property
    def others(self) -> tuple[OpenModel, ...]:
        """The open models but the current one, in order."""
        return tuple(model for model in self.open_models if model.key != self.current_key)

    @property
    def opened_model(self) -> PositionalModel | None:
        """The shown model, or the earlier step of its training that was opened in its place."""
        return self.model if self.first_model is None else self.first_model

    @property
    def in_memory(self) -> tuple[str, ...]:
        """Names of the open models that are in memory alone, and cannot be opened later."""
        return tuple(m.name for m in self.open_models if m.source.model.kind == "memory")

    @property
    def pca(self) -> PositionPCA | None:
        """The fitted components behind the shown curve."""
        return self.curve.pca if self.curve is not None else None

    @property
    def shown_timeline(self) -> TrainingTimeline | None:
        """The timeline whose :attr:`snapshot` is shown; None if the model itself is shown.

        The model itself is shown while a range is fitted that differs from the timeline's.
        """
        timeline, curve, snapshot = self.timeline, self.curve, self.snapshot
        if timeline is None or curve is None or snapshot is None:
            return None
        fits = curve.pca.positions == timeline.positions and 0 <= snapshot < timeline.n_snapshots
        return timeline if fits else None

    @property
    def shown_components(self) -> tuple[int, ...]:
        """The components on the axes, from 1; those of a snapshot are the first three."""
        if self.shown_timeline is None:
            return self.components
        return tuple(column + 1 for column in columns_for(self.components))

    @property
    def shown_guides(self) -> tuple[Guide, ...]:
        """The guides in the shown basis."""
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
    def shown_change(self) -> ShownChange | None:
        """The change of the positions that a panel draws beside the curve, or None."""
        changes = (guide.change for guide in self.guides.values())
        return next((change for change in changes if change is not None), None)

    @property
    def current(self) -> int | None:
        """The current position, which was selected last."""
        return self.selection[-1] if self.selection else None

    def want(self, **fields: object) -> None:
        """Set fields of :class:`ViewState` by their names.

        Raises AttributeError: a field is none of these.
        """
        unknown = fields.keys() - VIEW_FIELDS
        if unknown:
            raise AttributeError(f"not for the user to set: {', '.join(sorted(unknown))}")
        for name, value in fields.items():
            setattr(self, name, value)

    def change(self, **fields: object) -> None:
        """Set several fields, then emit their events, so that listeners find all of them set.

        Events are emitted in the order of the fields.
        """
        before = {name: getattr(self, name) for name in fields}
        with self.events.blocked():
            for name, value in fields.items():
                setattr(self, name, value)
        for name, value in fields.items():
            if value is not before[name]:
                self.events[name].emit(value, before[name])

    @property
    def texts(self) -> tuple[str, ...]:
        """The text at each position from 0: the labels of the rows, or the prompt's tokens."""
        rows = None if self.model is None else self.model.rows
        if rows is not None:
            return rows.labels
        return () if self.tokens is None else self.tokens.texts

    def text_at(self, position: int) -> str | None:
        """Return the row's label or the prompt's token at a position, or None."""
        return self.texts[position] if 0 <= position < len(self.texts) else None

    def label_at(self, position: int) -> str | None:
        """Return :meth:`text_at` for display, with marks for invisible characters."""
        text = self.text_at(position)
        if text is not None and self.model is not None and self.model.rows is not None:
            return text or None
        return None if text is None else token_label(text)


LINKED = tuple(name for name, its in traits_of(Session).items() if its.linked)
"""Fields shared by all views: those of the current model's session are copied to the others."""
DRAWN = tuple(name for name, its in traits_of(Session).items() if its.drawn)
"""Fields that the 3D view shows."""


@dataclass(frozen=True, eq=False, slots=True)
class OpenModel:
    """One of the open models."""

    key: int  # Its own while the program runs, whichever model is the current one
    source: Source
    name: str  # Its name; once it is open the same as in captions
    # Its state: model (None while loading), range, components, curve and norms. The application's
    # session for the current model; otherwise one whose colouring, selection and hover follow that.
    session: Session
    in_grid: bool = True  # Whether it has its own view; otherwise only panels show it
    failed: str = ""  # Why it could not be opened, as a sentence; "" while it is loading or open
    color: int = 0  # Index of its colour among those for several curves
