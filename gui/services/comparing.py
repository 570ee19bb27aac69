"""Models side by side: each in a session of its own, linked to that of the open one.

The open model is one of those in the grid, and the panels are about it. Another takes its place by
:meth:`Comparing.make_main`: the two sessions exchange their models.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gui.scene.shown_range import inside
from gui.services.compared_model import ComparedKeeper, OpenModel
from gui.services.fetching import Fetching
from gui.services.jobs.jobs import Jobs
from gui.services.loading import OpenRequest, remembered_name
from gui.services.notices import compared_notice
from gui.state.colors import own_scale, shared_limits
from gui.state.session import MAIN, Session
from gui.state.values import Notice
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


class LinkedMarks:
    """Selects and hovers the same positions in several models, as far as their tables have them.

    Parameters
    ----------
    session
        The open model's session, whose selection and hover the others follow.
    others
        Returns the sessions of the others.
    """

    def __init__(self, session: Session, others: Callable[[], list[Session]]) -> None:
        self._session, self._others = session, others
        self._selected: tuple[int, ...] = ()
        self._hovered: int | None = None
        self._showing = False
        self._listening = Listening()
        self._listening.to(session.events.selection, self._on_selected)
        self._listening.to(session.events.hover, self._on_hovered)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    @property
    def selected(self) -> tuple[int, ...]:
        """The selected positions, including those outside the open model's table."""
        return self._selected

    def select(self, positions: tuple[int, ...]) -> None:
        """Select positions in each model that has them, keeping the hover."""
        self._selected = positions
        self.show()

    def hover(self, position: int | None) -> None:
        """Hover a position in each model that has it, keeping the selection."""
        self._hovered = position
        self.show()

    def show(self) -> None:
        """Apply selection and hover to all models, after one has changed."""
        self._showing = True
        for session in (self._session, *self._others()):
            n = 0 if session.model is None else session.model.n_positions
            session.selection = tuple(p for p in self._selected if p < n)
            hover = self._hovered
            session.hover = hover if hover is not None and hover < n else None
        self._showing = False

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore selection and hover at the end of the block."""
        selected, hovered = self._selected, self._hovered
        yield
        self._selected, self._hovered = selected, hovered
        self.show()

    def narrow(self) -> None:
        """Reduce the selection to the open model's positions, when it is alone."""
        self._selected, self._hovered = self._session.selection, self._session.hover

    def _on_selected(self) -> None:
        self._follow(self._session.selection)

    def _on_hovered(self) -> None:
        # The selection is kept even beyond the open model's table.
        self._follow(self._selected)

    def _follow(self, selected: tuple[int, ...]) -> None:
        if self._showing:
            return
        if self._others():
            self._selected, self._hovered = selected, self._session.hover
            self.show()
        else:
            self.narrow()


log = logging.getLogger(__name__)

MOST = 9
"""Maximum number of models in the grid, including the open one: three by three."""
_FOLLOWED = (
    "color_by", "color_component", "colormap", "outside", "projection", "keep_turned",
    "measure", "norms_centred", "norms_after", "dragging",
)  # fmt: skip
"""Fields shared by all views: those of the open model's session are copied to the others."""
_COLORED_BY = ("model", "curve", "norms", "color_by", "color_component", "dragging")


class Comparing:
    """Maintains ``session.compared``, and links those sessions to that of the open model.

    Parameters
    ----------
    open_model
        Returns the open model, with everything needed to show it again; None if none is open.
    show
        Shows a model in place of the open one.
    opener
        Opens a source; ``geometry.models.sources.open_source`` except in tests.

    Attributes
    ----------
    marks
        Their common selection and hover.
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
        self._newest = MAIN
        self.marks = LinkedMarks(session, lambda: self._sessions()[1:])
        self._listening = Listening()
        for names, slot in (
            (_FOLLOWED, self._share),
            (("positions", "components", "ranges_linked"), self._share_range),
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
    def room(self) -> int:
        """Number of models for which the grid has room."""
        return MOST - 1 - len(self._keepers) if self._session.model is not None else 0

    def add(
        self,
        source: str,
        positions: tuple[int, int] | None = None,
        components: tuple[int, int, int] | None = None,
        *,
        table: str | None = None,
        in_grid: bool = True,
    ) -> int | None:
        """Show another model beside the open one; it is loaded in the background.

        If it cannot be opened, a notice gives the reason. Whole files are not downloaded.

        Parameters
        ----------
        source, table
            As for :meth:`gui.services.controller.Controller.open`.
        positions, components
            Its range and components; if None, 1 to the last position and the open model's
            components.
        in_grid
            Whether it has a view of its own; otherwise only panels show it.

        Returns
        -------
        int or None
            Its key; None if there is no room, or if it cannot be opened, which a notice explains.
        """
        session = self._session
        if not self.room:
            session.notice = (
                Notice(f"There is room for {MOST} models at once.", "Close one of them first.")
                if session.model is not None
                else Notice("There is nothing yet to compare with.", "Open a model first.")
            )
            return None
        self._newest = key = self._newest + 1
        keeper = self._keepers[key] = ComparedKeeper(
            key, source, self._jobs, self._fetching, self._on_shown, self._on_failed, self._opener,
            in_grid=in_grid,
        )  # fmt: skip
        self._follow(keeper.session)
        keeper.session.components = components or session.components
        self._coloring[key] = Listening()
        for name in _COLORED_BY:
            self._coloring[key].to(keeper.session.events[name], self._share_colors)
        self._arrange([*self.keys, key])
        keeper.opening.open(OpenRequest(source, table, positions))
        return key if key in self._keepers else None

    def add_all(self, sources: Iterable[str]) -> None:
        """Show further models beside the open one, except those already shown."""
        for source in sources:
            key = self.find(source)
            if key is None and self.room:
                self.add(source)
            elif key is not None and key != MAIN:
                self.give_view(key)

    def find(self, source: str) -> int | None:
        """Return the key of the model that was opened from a source; None if there is none."""
        name, model = remembered_name(source), self._session.model
        if model is not None and remembered_name(model.source) == name:
            return MAIN
        models = (keeper.compared for keeper in self._keepers.values())
        return next((one.key for one in models if remembered_name(one.source) == name), None)

    def give_view(self, key: int) -> None:
        """Give a model that only panels show a view of its own."""
        keeper = self._keepers.get(key)
        if keeper is not None and not keeper.compared.in_grid:
            keeper.compared = replace(keeper.compared, in_grid=True)
            self._arrange(list(self.keys))

    def remove(self, key: int) -> None:
        """Remove a model. If it is the open one, a neighbour becomes the open one.

        The neighbour is the nearest loaded one in the grid, preferably the next.
        """
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
        for key in tuple(self._keepers):
            self.remove(key)

    def move(self, key: int, step: int) -> None:
        """Move a model by some places in the grid, at most to its ends."""
        keys = list(self.keys)
        if key in keys:
            at = keys.index(key)
            keys.insert(min(max(at + step, 0), len(keys) - 1), keys.pop(at))
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
        linked, self._session.ranges_linked = self._session.ranges_linked, False
        with self.marks.kept():
            keeper.take(ours)
            self._show_main(theirs)
            self._session.ranges_linked = linked
            self._arrange(keys)
        return True

    def _let_go(self, key: int) -> None:
        self._coloring.pop(key).stop()
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
        odd = " ".join(keeper.session.model.warnings) if read else ""
        # Errors of a removed view are reported nowhere else.
        if odd and (session.notice is None or not session.notice.details):
            session.notice = Notice(f"{keeper.compared.name}: {odd}")

    def _on_failed(self, key: int, error: Exception, what: str) -> None:
        log.error("%s", what, exc_info=error)
        keeper = self._keepers.get(key)
        if keeper is not None and keeper.session.model is not None:
            what = f"{what} for {keeper.compared.name}"
        else:
            self.remove(key)  # there is nothing to show
        self._session.notice = compared_notice(error, what)

    # ---- links ---------------------------------------------------------------------------

    def request_positions(self, key: int, first: int, last: int) -> None:
        """Show a range of one of the models, clipped to its table."""
        keeper = self._keepers.get(key)
        if keeper is not None and keeper.session.model is not None:
            keeper.session.positions = inside((first, last), keeper.session.model.n_positions)

    def _sessions(self) -> list[Session]:
        return [self._session, *(keeper.session for keeper in self._keepers.values())]

    def _follow(self, session: Session) -> None:
        for name in _FOLLOWED:
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
        """Use common colour limits in all views; not with every tick of a drag."""
        if self._session.dragging:
            return
        keepers = [keeper for keeper in self._keepers.values() if keeper.compared.in_grid]
        seen = (self._session, *(keeper.session for keeper in keepers))
        shown = [s for s in seen if s.model is not None and s.curve is not None]
        limits = shared_limits([own_scale(s) for s in shown]) if len(shown) > 1 else None
        for session in self._sessions():
            session.color_limits = limits
