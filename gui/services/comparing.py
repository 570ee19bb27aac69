"""The open models: which there are, which of them is the current one, and what they share.

The application's session shows the current model, which the panels are about; each other one has a
session of its own, linked to it. :meth:`Comparing.make_current` changes which one is the current
one: two sessions exchange their models, while the list of models keeps its order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from geometry.models.sources.names import name_apart
from geometry.models.sources.source import Source
from geometry.pca.range_pca import RangePCA
from gui.scene.shown_range import inside
from gui.services.answers import Answers
from gui.services.arrangement import ArrangedModel, Arrangement, arranged_fields
from gui.services.fetching import Fetching
from gui.services.jobs.jobs import Jobs, QueuedJobs, SlottedJobs
from gui.services.linked_marks import LinkedMarks
from gui.services.loading import Opened, OpenRequest, remember_table
from gui.services.notices import notice_beside
from gui.services.session_model import LoadedModel, SessionModel
from gui.state.aligned_curve import OfOther
from gui.state.colors import own_scale, shared_limits
from gui.state.fields import MAX_MODELS
from gui.state.session import LINKED, OpenModel, Session
from gui.state.values import Fields, Notice

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.services.questions import Question
    from gui.state.camera import Place


log = logging.getLogger(__name__)

ANSWERS_AT_ONCE = 2
"""Number of answers about the other models computed at once; those about the current one have their
own threads.
"""
ANSWER_BYTES = 32_000_000
"""Size limit of the cached results of each of the others."""
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
    """Maintains ``session.open_models``, and links the others' sessions to that of the current one.

    Parameters
    ----------
    current
        The model of the application's session.
    show
        Shows a model there, with fields whose events come first.
    on_file_changed
        Called when a question could not be answered because a file has changed.

    Attributes
    ----------
    marks
        Their common selection and hover.
    on_step
        Called after each change that the user may undo, with its name and the arrangements before
        and after it.
    on_linked
        Called after all took the current model's range and components, with their previous ones.
    camera_place
        Returns the place of the current model's camera, for arrangements.
    """

    def __init__(
        self,
        current: SessionModel,
        jobs: Jobs,
        fetching: Fetching,
        show: Callable[[LoadedModel, Fields], None],
        on_file_changed: Callable[[], None],
    ) -> None:
        self._session = session = current.session
        self._jobs, self._answering = jobs, QueuedJobs(jobs, ANSWERS_AT_ONCE)
        self._fetching, self._show_current = fetching, show
        self._on_file_changed = on_file_changed
        self._models: dict[int, SessionModel] = {session.current_key: current}
        self._answers: dict[Session, Answers] = {}  # Of the others
        self._unknown: dict[int, Notice] = {}  # Notices of models whose table has to be chosen
        self._newest = session.current_key
        self._numbers = count(1)  # Of their sessions, whose keys change
        self._step = ""
        self.on_step: Callable[[str, Arrangement, Arrangement], None] = lambda *_: None
        self.on_linked: Callable[[Ranges], None] = lambda _: None
        self.camera_place: Callable[[], Place | None] = lambda: None
        self.marks = LinkedMarks(session)
        for names, slot in (
            (LINKED, self._share),
            (("positions", "components"), self._share_range),
            (("ranges_linked",), self._on_linked),
            (_COLORED_BY, self._share_colors),
        ):
            for name in names:
                current.listening.to(session.events[name], slot)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self.marks.close()
        for key in self._models.keys() - {self._session.current_key}:
            self._let_go(key)

    # ---- which models ------------------------------------------------------------------

    @property
    def keys(self) -> tuple[int, ...]:
        """The keys of the models in order; those without a view come last."""
        return tuple(model.key for model in self._session.open_models)

    @property
    def opened(self) -> tuple[tuple[int, Session, OpenRequest], ...]:
        """The loaded models but the current one, in order: key, session, request.

        Without those still loading.
        """
        loaded = ((model.key, self._models[model.key].loaded) for model in self._session.others)
        return tuple(
            (key, self._models[key].session, one.wanted) for key, one in loaded if one is not None
        )

    @property
    def awaited(self) -> tuple[tuple[OpenModel, OpenRequest], ...]:
        """The models that are still loading, or could not be opened."""
        others = ((model, self._models[model.key]) for model in self._session.others)
        return tuple(
            (model, one.opening.wanted or OpenRequest(model.source))
            for model, one in others
            if one.loaded is None
        )

    @property
    def room(self) -> int:
        """Number of further models for which there is room."""
        session = self._session
        return MAX_MODELS - len(session.open_models) if session.model is not None else 0

    def in_place(self, source: Source, name: str) -> Fields:
        """Return the fields that list another model in place of the current one."""
        session, key = self._session, self._session.current_key
        models = session.open_models or (OpenModel(key, source, name, session),)
        return {
            "open_models": tuple(
                replace(model, source=source, name=name) if model.key == key else model
                for model in models
            ),
            "hidden_curves": frozenset(c for c in session.hidden_curves if c[1] != key),
        }

    def name_apart(self, model: PositionalModel, key: int) -> str:
        """Give a model a name that no other open one has, for its key; return it."""
        others = (one for one in self._session.open_models if one.key != key)
        named = [
            (one.session.model.name, one.session.model.source)
            for one in others
            if one.session.model is not None
        ]
        model.name = name_apart(model.name, model.source, named)
        return model.name

    def get(self, key: int) -> OpenModel | None:
        """Return the model with a key; None if there is none."""
        return next((model for model in self._session.open_models if model.key == key), None)

    def add(
        self,
        source: str | Source,
        positions: tuple[int, int] | None = None,
        components: tuple[int, int, int] | None = None,
        *,
        table: str | None = None,
        if_there: bool = False,
        in_grid: bool = True,
        unasked: tuple[Source, ...] = (),
    ) -> int | None:
        """Add a model to the list; it is loaded in the background.

        If it cannot be opened, it stays, and a notice gives the reason; :meth:`retry` tries again.
        Whole files are not downloaded.

        Parameters
        ----------
        source, table, if_there, unasked
            As in :class:`gui.services.loading.OpenRequest`.
        positions, components
            Its range, clipped to its table, and components; if None, 1 to the last position and the
            current model's components.
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
        source, table = Source.of_any(source).apart(table)
        unasked = unasked or ((source,) if source.linked else ())
        self._newest = key = self._newest + 1
        with self.step(f"adding {source.name}"):
            model = self._keep(key)
            model.session.components = components or session.components
            color = free_color(session.open_models)
            self._list(
                *session.open_models,
                OpenModel(key, source, source.name, model.session, in_grid, color=color),
            )
            model.opening.open(
                OpenRequest(source, table, positions, clip=True, if_there=if_there, unasked=unasked)
            )
        return key

    def add_source(
        self, source: str | Source, *, table: str | None = None, in_grid: bool = True
    ) -> None:
        """Add a model as :meth:`add`, by default with the table chosen for it before."""
        self.add(source, table=table, if_there=True, in_grid=in_grid)

    def add_all(self, sources: Iterable[str | Source]) -> None:
        """Add models, except those already in the list; if the grid is full, a notice says so."""
        with self.step("adding models"):
            for source in map(Source.of_any, sources):
                key = self.find(source)
                if key is None:
                    self.add_source(source)
                else:
                    self.give_view(key)
                    self.retry(key)

    def find(self, source: Source) -> int | None:
        """Return the key of the model that was opened from a source; None if there is none."""
        models = self._session.open_models
        return next((model.key for model in models if model.source == source), None)

    def give_view(self, key: int) -> None:
        """Give a model without a view its own view."""
        model = self.get(key)
        if model is not None and not model.in_grid:
            with self.step(f"view of {model.name}"):
                self._change(key, in_grid=True)

    def retry(self, key: int | None = None) -> None:
        """Open a model again that could not be opened; with None all of these."""
        for model in self._session.others:
            if model.failed and key in (None, model.key):
                self._change(model.key, failed="")
                self._unknown.pop(model.key, None)
                self._models[model.key].opening.retry()

    def failed(self, source: Source | None) -> OpenRequest | None:
        """Return the request that could not be met for a source; None if there is none."""
        models = (model for model in self._session.others if model.source == source)
        return next((self._models[model.key].opening.failed for model in models), None)

    def choose_table(self, source: Source | None, table: str) -> None:
        """Open models of unknown architecture with the table chosen for their source.

        Then ask about the next one for which nothing has been chosen, if there is one.
        """
        models = [model for model in self._session.others if model.source == source]
        for model in models:
            self._unknown.pop(model.key, None)
            self._change(model.key, failed="")
        self._session.notice = next(iter(self._unknown.values()), None)
        for model in models:
            self._models[model.key].opening.retry(table=table)

    def remove(self, key: int) -> None:
        """Remove a model. If it is the current one, a neighbour becomes the current one.

        The neighbour is the nearest loaded one in the list, preferably the next.
        """
        model, keys = self.get(key), self.keys
        if model is None:
            return
        with self.step(f"closing {model.name}"):
            if key == self._session.current_key:
                at = keys.index(key)
                near = sorted(range(len(keys)), key=lambda place: (abs(place - at), place < at))
                if not any(self.make_current(keys[place]) for place in near):
                    return
            self._remove([key])

    def clear(self) -> None:
        """Remove all models but the current one."""
        if self._session.others:
            with self.step("closing the others"):
                self._remove([model.key for model in self._session.others])

    def begin_at(self, place: int) -> None:
        """Remove all models but the current one, to which others are added as in a project.

        Its colour is that of its place among them.
        """
        self.clear()
        self._change(self._session.current_key, color=place)

    def _remove(self, keys: Iterable[int]) -> None:
        session = self._session
        for key in keys:
            self._let_go(key)
        self._list(*(model for model in session.open_models if model.key in self._models))
        self._share_colors()
        if not session.others:  # relevant for another table only
            self.marks.narrow()

    def move(self, key: int, step: int) -> None:
        """Move a model by some places in the list, at most to its ends."""
        models = list(self._session.open_models)
        if key in self.keys:
            at = self.keys.index(key)
            models.insert(min(max(at + step, 0), len(models) - 1), models.pop(at))
            with self.step("order of the models"):
                self._list(*models)

    def make_current(self, key: int) -> bool:
        """Make a model the current one, to which the panels refer from now on.

        The list keeps its order; a model without a view takes over that of the current one, and its
        place. False if there is no such model, if it is still loading, or the current one already.
        """
        session, now, model = self._session, self.arrangement(), self.get(key)
        before = session.current_key
        if now is None or model is None or key == before or self._models[key].loaded is None:
            return False
        if not model.in_grid:
            ours, theirs = now[before], now[key]
            places = {before: replace(theirs, in_grid=True), key: replace(ours, in_grid=False)}
            now = replace(now, models=tuple(places.get(m.key, m) for m in now.models))
        alignment = session.alignment
        with self.step(f"{model.name} in the panels"), self._unlinked():
            self._restore(replace(now, current=key))
            if alignment is not None and alignment.what == OfOther(key):
                session.alignment = replace(alignment, what=OfOther(before))
        return True

    def give_back(self, earlier: Arrangement, name: str) -> None:
        """Show the current model of an earlier arrangement in place of the current one.

        Nothing changes if that is not where it was. ``name`` is that of the step.
        """
        now = self.arrangement()
        if now is None or now.current != earlier.current:
            return
        was = earlier[earlier.current]
        models = tuple(was if model.key == now.current else model for model in now.models)
        with self.step(name), self._unlinked():
            self._restore(replace(now, models=models))
            # What opening the other model had reset.
            for field in ("work_file", "hidden_curves", "alignment"):
                setattr(self._session, field, earlier.fields[field])
        self._share_range()
        self._share_colors()

    @contextmanager
    def _unlinked(self) -> Iterator[None]:
        """Keep selection, hover and each model's own range while models change places."""
        linked, self._session.ranges_linked = self._session.ranges_linked, False
        with self.marks.kept():
            yield
            self._session.ranges_linked = linked

    def _keep(self, key: int) -> SessionModel:
        """Create the session of a model that is not the current one."""

        def on_opened(wanted: OpenRequest, opened: Opened) -> None:
            self._on_opened(model, wanted, opened)

        def on_error(error: Exception, what: str, source: Source | None) -> None:
            self._on_failed(model, error, what)

        number = next(self._numbers)
        jobs = SlottedJobs(self._jobs, f"view {number}")
        model = self._models[key] = SessionModel(
            Session(), jobs, self._fetching, on_opened, on_error
        )
        jobs = SlottedJobs(self._answering, f"beside {number}")
        self._answers[model.session] = Answers(
            model.session, jobs, ANSWER_BYTES, self._on_file_changed
        )
        self._follow(model.session)
        for name in _COLORED_BY:
            model.listening.to(model.session.events[name], self._share_colors)
        return model

    def _let_go(self, key: int) -> None:
        self._unknown.pop(key, None)
        model = self._models.pop(key)
        model.opening.cancel()
        model.close()
        self._answers.pop(model.session).close()

    def _list(self, *models: OpenModel) -> None:
        """Show these models in the list, those without a view last."""
        session = self._session
        session.open_models = tuple(sorted(models, key=lambda model: not model.in_grid))
        shown = (curve for curve in session.hidden_curves if curve[1] in self.keys)
        session.hidden_curves = frozenset(shown)

    def _change(self, key: int, **fields: Any) -> None:
        models = self._session.open_models
        self._list(*(replace(m, **fields) if m.key == key else m for m in models))

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
        """Return the open models, for :meth:`restore`; None if there are none."""
        session = self._session
        if self._models[session.current_key].loaded is None:
            return None
        models = tuple(map(self._arranged, session.open_models))
        place = self.camera_place()
        return Arrangement(models, session.current_key, arranged_fields(session), place)

    def _arranged(self, listed: OpenModel) -> ArrangedModel:
        model = self._models[listed.key]
        loaded, components = model.loaded, model.session.components
        wanted = model.opening.wanted or OpenRequest(listed.source)
        arranged = ArrangedModel(listed.key, wanted, components, listed.in_grid, listed.color)
        if loaded is None:
            return arranged
        opened = loaded.opened
        return replace(
            arranged,
            wanted=loaded.wanted,
            model=opened.model,
            curve=opened.curve,
            norms=opened.norms,
        )

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
        session, models, current = self._session, self._models, arrangement.current
        held = {key: model.loaded for key, model in models.items()}
        loaded = {arranged.key: _loaded(arranged, held) for arranged in arrangement.models}
        # The current model is always in the application's session; the one that it replaces gets
        # that of its own.
        ours = models.pop(session.current_key)
        if current in models:
            models[session.current_key] = models.pop(current)
        models[current] = ours
        for key in models.keys() - loaded.keys():
            self._let_go(key)
        for key in loaded.keys() - models.keys():
            self._keep(key)
        fields: Fields = {
            "open_models": tuple(map(self._listed, arrangement.models)),
            "current_key": current,
        }
        main = loaded[current]
        if main is not None and main.opened.model is not session.model:
            self._show_current(main, fields)
        else:
            session.change(**fields)
        for arranged in arrangement.models:
            model, theirs = models[arranged.key], loaded[arranged.key]
            if model is ours:
                continue
            if theirs is None and model.opening.wanted is None:
                model.session.components = arranged.components
                model.opening.open(arranged.wanted)
            elif theirs is not None and theirs.opened.model is not model.session.model:
                model.opening.cancel()
                self._show(model, theirs.wanted, theirs.opened)
        self._list(*map(self._listed, arrangement.models))  # the others' sessions show them now

    def _listed(self, arranged: ArrangedModel) -> OpenModel:
        """Return a model of an arrangement for the list."""
        key, session = arranged.key, self._models[arranged.key].session
        listed, source = self.get(key), arranged.wanted.source
        if listed is None:
            listed = OpenModel(key, source, source.name, session)
        if arranged.model is not None:
            model = arranged.model
            listed = replace(listed, source=model.source, name=model.name, failed="")
        return replace(listed, session=session, in_grid=arranged.in_grid, color=arranged.color)

    def open_again(self, key: int) -> None:
        """Open a model again, because its files have changed."""
        self._models[key].opening.open_again()

    def follow(self, key: int, on_error: Callable[[Exception], None]) -> None:
        """Open a later step of a model's training; see :meth:`Opening.follow`."""
        self._models[key].opening.follow(on_error)

    def _show(self, model: SessionModel, wanted: OpenRequest, opened: Opened) -> None:
        components = {"components": opened.curve.components}
        model.show(wanted, opened, more=components, ahead=False)

    def _on_opened(self, model: SessionModel, wanted: OpenRequest, opened: Opened) -> None:
        session, name = self._session, self.name_apart(opened.model, self._key_of(model))
        if wanted.later:
            model.show(wanted, opened)
            self._change(self._key_of(model), source=opened.model.source, name=name)
            return
        self._show(model, wanted, opened)
        self._change(self._key_of(model), source=opened.model.source, name=name, failed="")
        self._share_range()
        self.marks.show()
        if wanted.table not in (None, *opened.model.sides):
            remember_table(session, opened.model.source, wanted.table)
        odd = " ".join(opened.model.warnings)
        # A notice with details may be the only report of an error of a removed view.
        if odd and (session.notice is None or not session.notice.details):
            session.notice = Notice(f"{name}: {odd}")

    def _on_failed(self, model: SessionModel, error: Exception, what: str) -> None:
        log.error("%s", what, exc_info=error)
        key = self._key_of(model)
        listed = self.get(key)
        if listed is None:
            return
        again = model.session.model is None
        what = what if again else f"{what} for {listed.name}"
        notice = notice_beside(error, what, listed.source)
        if again:
            if notice.candidates:
                self._unknown[key] = notice
            self._change(key, failed=notice.text)
        self._session.notice = notice

    def _key_of(self, model: SessionModel) -> int:
        return next(key for key, one in self._models.items() if one is model)

    # ---- questions about the others --------------------------------------------------------

    def ask(self, slot: str, key: int, question: Question[object], *, fetch: bool = False) -> None:
        """Answer a question about another model, like :meth:`gui.services.answers.Answers.ask`.

        Parameters
        ----------
        slot, question, fetch
            As there; the answer is in that model's own ``session.answers[slot]``.
        key
            The model's key; ignored if the model has been removed.
        """
        model = self._models.get(key)
        if model is not None and model.session in self._answers:
            self._answers[model.session].ask(slot, question, fetch=fetch)

    def hold(self, slot: str) -> None:
        """Hold a slot's questions about all of them, as the panel is hidden."""
        with self._answering.together():
            for answers in self._answers.values():
                answers.hold(slot)

    def resume(self, slot: str) -> None:
        """Continue a slot's questions about all of them, as the panel is shown again."""
        for answers in self._answers.values():
            answers.resume(slot)

    # ---- links ---------------------------------------------------------------------------

    def request_positions(self, key: int, first: int, last: int) -> None:
        """Show a range of one of the models, clipped to its table."""
        listed = self.get(key)
        if listed is not None and listed.session.model is not None:
            listed.session.positions = inside((first, last), listed.session.model.n_positions)

    @property
    def ranges(self) -> Ranges:
        """The shown positions and components of each loaded model but the current one."""
        return {key: (one.positions, one.components) for key, one, _ in self.opened}

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

    def _follow(self, session: Session) -> None:
        for name in LINKED:
            setattr(session, name, getattr(self._session, name))

    def _share(self) -> None:
        for model in self._session.others:
            self._follow(model.session)

    def _share_range(self) -> None:
        """Copy the current model's range and components to all, if they are linked."""
        session = self._session
        if not session.ranges_linked or session.model is None:
            return
        for theirs in (model.session for model in session.others):
            if theirs.model is not None:
                span = inside(session.positions, theirs.model.n_positions)
                wanted: dict[str, object] = {"positions": span}
                if max(session.components) <= max(3, min(theirs.model.stored_W_pos.shape)):
                    wanted["components"] = session.components
                # Both at once, so that the fit is computed once.
                theirs.change(**{k: v for k, v in wanted.items() if v != getattr(theirs, k)})

    def _share_colors(self) -> None:
        """Use common colour limits in all views; not with every tick of a drag.

        Where colours span the shown range, each view has its own limits; likewise for positions,
        so that a short table beside a long one has all colours.
        """
        session, limits = self._session, None
        if session.color_span != "range" and session.color_by != "position":
            if session.dragging:
                return
            views = (model.session for model in session.open_models if model.in_grid)
            scales = [own_scale(s) for s in views if s.model is not None and s.curve is not None]
            # A column may belong to one model only, and each model has its own labels.
            alike = len({(scale.title, scale.categories) for scale in scales}) == 1
            limits = shared_limits(scales) if len(scales) > 1 and alike else None
        for model in session.open_models:
            model.session.color_limits = limits


def free_color(models: Iterable[OpenModel]) -> int:
    """Return the index of the first colour that none of the models has."""
    taken = {model.color for model in models}
    return next(number for number in count() if number not in taken)


def _loaded(arranged: ArrangedModel, held: Mapping[int, LoadedModel | None]) -> LoadedModel | None:
    """Return a model for a session; None if it has to be opened first.

    ``held`` are the loaded models, by key: what fast fits need is not computed again.
    """
    if arranged.model is None or arranged.curve is None or arranged.norms is None:
        return held.get(arranged.key)
    opened = (one.opened for one in held.values() if one is not None)
    fast = next((one.fast for one in opened if one.model is arranged.model), None)
    fast = fast or RangePCA(arranged.model.W_pos)
    return LoadedModel(
        arranged.wanted, Opened(arranged.model, fast, arranged.curve, arranged.norms)
    )
