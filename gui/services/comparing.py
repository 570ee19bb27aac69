"""Models side by side: each in its own session, linked to that of the open one.

The open model is one of those in the grid, and the panels are about it. Another takes its place by
:meth:`Comparing.make_main`: the two sessions exchange their models.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from geometry.pca.range_pca import RangePCA
from gui.scene.shown_range import inside
from gui.services.arrangement import ArrangedModel, Arrangement, arranged_fields
from gui.services.compared_model import ComparedKeeper, OpenModel
from gui.services.fetching import Fetching
from gui.services.jobs.jobs import Jobs
from gui.services.linked_marks import LinkedMarks
from gui.services.loading import (
    Opened,
    OpenRequest,
    known_name,
    remember_table,
    short_name,
)
from gui.services.notices import compared_notice
from gui.state.colors import own_scale, shared_limits
from gui.state.session import LINKED, MAIN, ComparedModel, Session
from gui.state.values import Notice
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.camera import Place


log = logging.getLogger(__name__)

MAX_MODELS = 9
"""Maximum number of models in the grid, including the open one: three by three."""
Ranges = Mapping[int, tuple[tuple[int, int], tuple[int, int, int]]]
"""Shown positions and components of models, by their keys."""
_COLORED_BY = (
    "model",
    "curve",
    "norms",
    "color_by",
    "color_component",
    "color_period",
    "color_column",
    "color_span",
    "dragging",
)


class Comparing:
    """Maintains ``session.compared``, and links those sessions to that of the open model.

    Parameters
    ----------
    open_model
        Returns the open model, with everything needed to show it again; None if none is open.
    show
        Shows a model in place of the open one.
    opener
        Opens a source; ``geometry.models.sources.opening.open_model`` except in tests.

    Attributes
    ----------
    marks
        Their common selection and hover.
    on_step
        Called after each change that the user may undo, with its name and the arrangements before
        and after it.
    on_linked
        Called after all took the open model's range and components, with their previous ones.
    camera_place
        Returns the place of the open model's camera, for arrangements.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        fetching: Fetching,
        open_model: Callable[[], OpenModel | None],
        show: Callable[[OpenModel], None],
        opener: Callable[..., PositionalModel] | None = None,
    ) -> None:
        self._session, self._jobs, self._fetching = session, jobs, fetching
        self._open_model, self._show_main, self._opener = open_model, show, opener
        self._keepers: dict[int, ComparedKeeper] = {}
        self._unknown: dict[int, Notice] = {}  # Notices of models whose table has to be chosen
        self._newest = MAIN
        self._step = ""
        self.on_step: Callable[[str, Arrangement, Arrangement], None] = lambda *_: None
        self.on_linked: Callable[[Ranges], None] = lambda _: None
        self.camera_place: Callable[[], Place | None] = lambda: None
        self.marks = LinkedMarks(session, lambda: self._sessions()[1:])
        self._listening = Listening()
        for names, slot in (
            (LINKED, self._share),
            (("positions", "components"), self._share_range),
            (("ranges_linked",), self._on_linked),
            (_COLORED_BY, self._share_colors),
        ):
            for name in names:
                self._listening.to(session.events[name], slot)
        self._coloring: dict[int, Listening] = {}

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self.marks.close()
        for key in tuple(self._keepers):
            self._let_go(key)

    # ---- which models ------------------------------------------------------------------

    @property
    def keys(self) -> tuple[int, ...]:
        """The keys of the models in grid order, including the open one (:data:`MAIN`).

        Those without a view come last.
        """
        keys = [compared.key for compared in self._session.compared]
        keys.insert(self._session.main_at, MAIN)
        return tuple(keys)

    @property
    def opened(self) -> tuple[tuple[int, Session, OpenRequest], ...]:
        """The loaded models beside the open one, in order: key, session, request.

        Without those still loading.
        """
        keepers = [self._keepers[key] for key in self.keys if key != MAIN]
        return tuple(
            (keeper.compared.key, keeper.session, keeper.open_model.wanted)
            for keeper in keepers
            if keeper.open_model is not None
        )

    @property
    def awaited(self) -> tuple[tuple[ComparedModel, OpenRequest], ...]:
        """The models beside the open one that are still loading, or could not be opened."""
        keepers = [self._keepers[key] for key in self.keys if key != MAIN]
        return tuple(
            (keeper.compared, keeper.opening.wanted or OpenRequest(keeper.compared.source))
            for keeper in keepers
            if keeper.open_model is None
        )

    @property
    def room(self) -> int:
        """Number of models for which the grid has room."""
        return MAX_MODELS - 1 - len(self._keepers) if self._session.model is not None else 0

    def add(
        self,
        source: str,
        positions: tuple[int, int] | None = None,
        components: tuple[int, int, int] | None = None,
        *,
        table: str | None = None,
        if_there: bool = False,
        in_grid: bool = True,
        unasked: tuple[str, ...] = (),
    ) -> int | None:
        """Show another model beside the open one; it is loaded in the background.

        If it cannot be opened, it stays, and a notice gives the reason; :meth:`retry` tries again.
        Whole files are not downloaded.

        Parameters
        ----------
        source, table, if_there, unasked
            As in :class:`gui.services.loading.OpenRequest`.
        positions, components
            Its range, clipped to its table, and components; if None, 1 to the last position and the
            open model's components.
        in_grid
            Whether it has its own view; otherwise only panels show it.

        Returns
        -------
        int or None
            Its key; None if the grid is full, which a notice explains.
        """
        session = self._session
        if not self.room:
            session.notice = (
                Notice(
                    f"At most {MAX_MODELS} models can be compared at once.",
                    "Close one of them first.",
                )
                if session.model is not None
                else Notice("There is nothing to compare yet.", "Open a model first.")
            )
            return None
        self._newest = key = self._newest + 1
        with self.step(f"adding {short_name(source)}"):
            keeper = self._keep(key, source, in_grid=in_grid)
            keeper.session.components = components or session.components
            self._arrange([*self.keys, key])
            keeper.opening.open(
                OpenRequest(source, table, positions, clip=True, if_there=if_there, unasked=unasked)
            )
        return key

    def add_source(self, source: str, *, table: str | None = None, in_grid: bool = True) -> None:
        """Show another model as :meth:`add`, by default with the table chosen for it before."""
        self.add(source, table=table, if_there=True, in_grid=in_grid)

    def add_all(self, sources: Iterable[str]) -> None:
        """Show further models beside the open one, except those already shown."""
        with self.step("adding models"):
            for source in sources:
                key = self.find(source)
                if key is None and self.room:
                    self.add_source(source)
                elif key is not None and key != MAIN:
                    self.give_view(key)
                    self.retry(key)

    def find(self, source: str) -> int | None:
        """Return the key of the model that was opened from a source; None if there is none."""
        name, model = known_name(source), self._session.model
        if model is not None and known_name(model.source) == name:
            return MAIN
        models = (keeper.compared for keeper in self._keepers.values())
        return next(
            (compared.key for compared in models if known_name(compared.source) == name), None
        )

    def give_view(self, key: int) -> None:
        """Give a model without a view its own view."""
        keeper = self._keepers.get(key)
        if keeper is not None and not keeper.compared.in_grid:
            with self.step(f"view of {keeper.compared.name}"):
                keeper.compared = replace(keeper.compared, in_grid=True)
                self._arrange(list(self.keys))

    def retry(self, key: int | None = None) -> None:
        """Open a model again that could not be opened; with None all of these."""
        for keeper in [
            keeper for keeper in self._keepers.values() if key in (None, keeper.compared.key)
        ]:
            if keeper.compared.failed:
                keeper.compared = replace(keeper.compared, failed="")
                self._arrange(list(self.keys))
                self._unknown.pop(keeper.compared.key, None)
                keeper.opening.retry()

    def choose_table(self, source: str, table: str) -> None:
        """Open models of unknown architecture with the table chosen for their source.

        Then ask about the next one for which nothing has been chosen, if there is one.
        """
        keepers = [keeper for keeper in self._keepers.values() if keeper.compared.source == source]
        for keeper in keepers:
            self._unknown.pop(keeper.compared.key, None)
            keeper.compared = replace(keeper.compared, failed="")
        self._session.notice = next(iter(self._unknown.values()), None)
        self._arrange(list(self.keys))
        for keeper in keepers:
            keeper.opening.retry(table=table)

    def remove(self, key: int) -> None:
        """Remove a model. If it is the open one, a neighbour becomes the open one.

        The neighbour is the nearest loaded one in the grid, preferably the next.
        """
        with self.step(f"closing {self._name_of(key)}"):
            if key == MAIN:
                places, at = self.keys, self._session.main_at
                near = sorted(range(len(places)), key=lambda place: (abs(place - at), place < at))
                key = next((places[p] for p in near if self.make_main(places[p])), MAIN)
            if key in self._keepers:
                keys = [other for other in self.keys if other != key]
                self._let_go(key)
                self._arrange(keys)
                self._share_colors()
                if not self._keepers:  # relevant for another table only
                    self.marks.narrow()

    def clear(self) -> None:
        """Remove all models but the open one."""
        if not self._keepers:
            return
        with self.step("closing the others"):
            for key in tuple(self._keepers):
                self._let_go(key)
            self._arrange([MAIN])
            self._share_colors()
            self.marks.narrow()

    def move(self, key: int, step: int) -> None:
        """Move a model by some places in the grid, at most to its ends."""
        keys = list(self.keys)
        if key in keys:
            at = keys.index(key)
            keys.insert(min(max(at + step, 0), len(keys) - 1), keys.pop(at))
            with self.step("order of the models"):
                self._arrange(keys)

    def make_main(self, key: int) -> bool:
        """Make a model the open one, to which the panels refer from now on.

        In the grid both keep their places. False if there is no such model, or it is still loading.
        """
        keeper, ours = self._keepers.get(key), self._open_model()
        theirs = None if keeper is None else keeper.open_model
        if keeper is None or theirs is None or ours is None:
            return False
        keys = list(self.keys)
        if keeper.compared.in_grid:
            here, there = keys.index(MAIN), keys.index(key)
            keys[here], keys[there] = key, MAIN
        with self.step(f"{keeper.compared.name} in the panels"), self._unlinked():
            keeper.take(ours)
            self._show_main(theirs)
            self._arrange(keys)
        return True

    @contextmanager
    def _unlinked(self) -> Iterator[None]:
        """Keep selection, hover and each model's own range while models change places."""
        linked, self._session.ranges_linked = self._session.ranges_linked, False
        with self.marks.kept():
            yield
            self._session.ranges_linked = linked

    def _name_of(self, key: int) -> str:
        if key in self._keepers:
            return self._keepers[key].compared.name
        return "" if self._session.model is None else self._session.model.name

    def _keep(self, key: int, source: str, *, in_grid: bool) -> ComparedKeeper:
        keeper = self._keepers[key] = ComparedKeeper(
            key,
            source,
            self._jobs,
            self._fetching,
            self._on_shown,
            self._on_failed,
            self._opener,
            in_grid=in_grid,
        )
        self._follow(keeper.session)
        self._coloring[key] = Listening()
        for name in _COLORED_BY:
            self._coloring[key].to(keeper.session.events[name], self._share_colors)
        return keeper

    # ---- undo --------------------------------------------------------------------------

    @property
    def in_step(self) -> bool:
        """Whether a step is under way: the fields that change now belong to it."""
        return bool(self._step)

    @contextmanager
    def step(self, name: str, *, renames: bool = False) -> Iterator[None]:
        """Report the changes of the block as one step, including nested steps.

        With ``renames``, an enclosing step gets this name.
        """
        before = None if self._step else self.arrangement()
        if before is None:
            self._step = name if self._step and renames else self._step
            yield
            return
        self._step = name
        try:
            yield
        finally:
            name, self._step = self._step, ""
        after = self.arrangement()
        if after is not None and not after.same_models(before):
            self.on_step(name, before, after)

    def arrangement(self) -> Arrangement | None:
        """Return the models side by side, for :meth:`restore`; None if no model is open."""
        if self._open_model() is None:
            return None
        models = tuple(map(self._arranged, self.keys))
        return Arrangement(models, arranged_fields(self._session), self.camera_place())

    def _arranged(self, key: int) -> ArrangedModel:
        keeper = self._keepers.get(key)
        session = self._session if keeper is None else keeper.session
        shown = self._open_model() if keeper is None else keeper.open_model
        in_grid = keeper is None or keeper.compared.in_grid
        if shown is not None:
            opened = shown.opened
            return ArrangedModel(
                key,
                shown.wanted,
                session.components,
                in_grid,
                opened.model,
                opened.curve,
                opened.norms,
            )
        assert keeper is not None
        wanted = keeper.opening.wanted or OpenRequest(keeper.compared.source)
        return ArrangedModel(key, wanted, session.components, in_grid)

    def restore(self, arrangement: Arrangement) -> None:
        """Show the models of an earlier arrangement; models that are still there are kept.

        Those that were loading are opened again. This is not a separate step.
        """
        self._step = self._step or "restoring"
        try:
            with self._unlinked():
                self._restore(arrangement)
        finally:
            self._step = ""
        self._share_range()
        self._share_colors()

    def _restore(self, arrangement: Arrangement) -> None:
        keys = [arranged.key for arranged in arrangement.models]
        main = _openable(arrangement.main)
        if main is not None and main.opened.model is not self._session.model:
            self._show_main(main)
        for key in self._keepers.keys() - set(keys):
            self._let_go(key)
        for arranged in (arranged for arranged in arrangement.models if arranged.key != MAIN):
            keeper = self._keepers.get(arranged.key) or self._keep(
                arranged.key, arranged.wanted.source, in_grid=arranged.in_grid
            )
            keeper.compared = replace(keeper.compared, in_grid=arranged.in_grid)
        self._arrange(keys)
        for arranged in (arranged for arranged in arrangement.models if arranged.key != MAIN):
            keeper, theirs = self._keepers[arranged.key], _openable(arranged)
            if theirs is not None and keeper.session.model is not theirs.opened.model:
                keeper.take(theirs)
            elif theirs is None and keeper.opening.wanted is None:
                keeper.session.components = arranged.components
                keeper.opening.open(arranged.wanted)

    def open_again(self, key: int) -> None:
        """Open a model again in its view, because its files have changed."""
        if key in self._keepers:
            self._keepers[key].opening.open_again()

    def _let_go(self, key: int) -> None:
        self._coloring.pop(key).stop()
        self._unknown.pop(key, None)
        self._keepers.pop(key).close()

    def _arrange(self, keys: list[int]) -> None:
        keys.sort(key=lambda key: key != MAIN and not self._keepers[key].compared.in_grid)
        self._session.change(
            compared=tuple(self._keepers[key].compared for key in keys if key != MAIN),
            main_at=keys.index(MAIN),
        )

    def _on_shown(self, key: int, read: bool) -> None:
        keeper, session = self._keepers.get(key), self._session
        if keeper is None or keeper.session.model is None:
            return
        self._arrange(list(self.keys))
        self._share_range()
        self.marks.show()
        wanted = keeper.opening.shown
        if wanted is not None and wanted.table not in (None, *keeper.session.model.sides):
            remember_table(self._session, known_name(wanted.source), wanted.table)
        odd = " ".join(keeper.session.model.warnings) if read else ""
        # A notice with details may be the only report of an error of a removed view.
        if odd and (session.notice is None or not session.notice.details):
            session.notice = Notice(f"{keeper.compared.name}: {odd}")

    def _on_failed(self, key: int, error: Exception, what: str) -> None:
        log.error("%s", what, exc_info=error)
        keeper = self._keepers.get(key)
        if keeper is None:
            return
        again = keeper.session.model is None
        what = what if again else f"{what} for {keeper.compared.name}"
        notice = compared_notice(error, what, keeper.compared.source)
        if again:
            keeper.compared = replace(keeper.compared, failed=notice.text)
            if notice.candidates:
                self._unknown[key] = notice
            self._arrange(list(self.keys))
        self._session.notice = notice

    # ---- links ---------------------------------------------------------------------------

    def request_positions(self, key: int, first: int, last: int) -> None:
        """Show a range of one of the models, clipped to its table."""
        keeper = self._keepers.get(key)
        if keeper is not None and keeper.session.model is not None:
            keeper.session.positions = inside((first, last), keeper.session.model.n_positions)

    @property
    def ranges(self) -> Ranges:
        """The shown positions and components of each loaded model beside the open one."""
        opened = ((key, session) for key, session, _ in self.opened)
        return {key: (session.positions, session.components) for key, session in opened}

    def show_ranges(self, ranges: Ranges) -> None:
        """Show earlier ranges and components of the models that are still open."""
        for key, session, _ in self.opened:
            if key in ranges:
                positions, components = ranges[key]
                session.change(positions=positions, components=components)

    def _on_linked(self) -> None:
        before = self.ranges
        self._share_range()
        if self._session.ranges_linked and not self._step and self.ranges != before:
            self.on_linked(before)

    def _sessions(self) -> list[Session]:
        return [self._session, *(keeper.session for keeper in self._keepers.values())]

    def _follow(self, session: Session) -> None:
        for name in LINKED:
            setattr(session, name, getattr(self._session, name))

    def _share(self) -> None:
        for keeper in self._keepers.values():
            self._follow(keeper.session)

    def _share_range(self) -> None:
        """Copy the open model's range and components to all, if they are linked."""
        session = self._session
        if not session.ranges_linked or session.model is None:
            return
        for keeper in self._keepers.values():
            theirs = keeper.session
            if theirs.model is not None:
                span = inside(session.positions, theirs.model.n_positions)
                wanted: dict[str, object] = {"positions": span}
                if max(session.components) <= max(3, min(theirs.model.W_pos.shape)):
                    wanted["components"] = session.components
                # Both at once, so that the fit is computed once.
                theirs.change(**{k: v for k, v in wanted.items() if v != getattr(theirs, k)})

    def _share_colors(self) -> None:
        """Use common colour limits in all views; not with every tick of a drag.

        Where colours span the shown range, each view has its own limits; likewise for positions,
        so that a short table beside a long one has all colours.
        """
        if self._session.color_span == "range" or self._session.color_by == "position":
            for session in self._sessions():
                session.color_limits = None
            return
        if self._session.dragging:
            return
        keepers = [keeper for keeper in self._keepers.values() if keeper.compared.in_grid]
        seen = (self._session, *(keeper.session for keeper in keepers))
        shown = [s for s in seen if s.model is not None and s.curve is not None]
        scales = [own_scale(s) for s in shown]
        # A column may belong to one model only, and each model has its own labels.
        alike = len({(scale.title, scale.categories) for scale in scales}) == 1
        limits = shared_limits(scales) if len(scales) > 1 and alike else None
        for session in self._sessions():
            session.color_limits = limits


def _openable(arranged: ArrangedModel) -> OpenModel | None:
    """Return a model for a session; None if it has to be opened first."""
    if arranged.model is None or arranged.curve is None or arranged.norms is None:
        return None
    return OpenModel(
        arranged.wanted,
        Opened(arranged.model, RangePCA(arranged.model.W_pos), arranged.curve, arranged.norms),
    )
