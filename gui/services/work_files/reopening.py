"""Saved work: created from the session, and opened again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.source import Source
from gui.scene.shown_range import inside
from gui.services.foreign_hosts import check_hosts
from gui.services.loading import OpenRequest, remember
from gui.services.work_files.projects import open_work
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.state.camera import Place
from gui.state.session import ABSENT, SAVED, Session
from gui.state.values import Notice

# Reading and writing files is not needed for the first frame.
if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.services.comparing import Comparing
    from gui.services.opening import Opening
    from gui.state.session import OpenModel
    from gui.state.work import OtherView, Work

RESUMED = "Helixscope was not closed properly last time. Your last view has been restored."
OTHER = "The model has changed since this project was saved; the curve shows the current model."


def take_work(session: Session, wanted: OpenRequest, place: Place | None) -> Work:
    """Return the saved state of a session, without that of the window.

    Parameters
    ----------
    session
        A session with an open model.
    wanted
        The request behind the shown model.
    place
        The camera's place.
    """
    from gui.state.work import Work

    assert session.model is not None
    return Work(
        **_model_of(session, wanted),
        positions=session.positions,
        fields={name: getattr(session, name) for name in SAVED},
        fingerprint=session.model.fingerprint,
        place=place,
        turn=np.array(session.turn, dtype=np.float64),
    )


def note_file(session: Session, file: Path) -> None:
    """Set the file of the shown work, after saving to it."""
    session.work_file = str(file)


def take_other(
    session: Session, wanted: OpenRequest, place: Place | None, *, in_grid: bool = True
) -> OtherView:
    """Return the saved state of another open model's session; see :func:`take_work`."""
    from gui.state.work import OtherView

    return OtherView(
        **_model_of(session, wanted),
        positions=session.positions,
        components=session.components,
        place=place,
        in_grid=in_grid,
    )


def awaited_other(listed: OpenModel, wanted: OpenRequest, opened: OtherView | None) -> OtherView:
    """Return the saved state of another open model that is still loading.

    ``opened`` is its state in the opened file, if any.
    """
    from gui.state.work import OtherView

    view = opened or OtherView(
        source=wanted.source,
        positions=wanted.positions,
        components=listed.session.components,
        table=wanted.table,
        in_grid=listed.in_grid,
    )
    return replace(view, beside="")


def take_alignment(session: Session, keys: Sequence[int]) -> CurveAlignment | None:
    """Return the alignment, with another open model's key replaced by its place among ``keys``."""
    alignment = session.alignment
    if alignment is None or not isinstance(alignment.what, OfOther):
        return alignment
    if alignment.what.key not in keys:
        return None  # it is still loading
    return replace(alignment, what=OfOther(keys.index(alignment.what.key)))


def _model_of(session: Session, wanted: OpenRequest) -> dict[str, Any]:
    assert session.model is not None
    return {
        "source": session.model.source,
        "table": wanted.table,
        "commit": session.model.commit,
    }


class Reopening:
    """Opens saved work: first its model, then its state.

    ``opening`` opens the models.
    """

    def __init__(self, session: Session, opening: Opening, comparing: Comparing) -> None:
        self._session, self._opening, self._comparing = session, opening, comparing
        self._pending: tuple[OpenRequest, Work, bool, str] | None = None

    def open(self, source: Source) -> None:
        """Open a file of saved work; if it cannot be read, a notice gives the reason."""
        path = Path(source.text).expanduser()
        self._opening.read_first(
            source,
            lambda: open_work(path, lambda work: self._check_hosts(work, path)),
            lambda work: self.show(work, of_file=True),
            "The project could not be opened",
        )

    def go_to(self, work: Work) -> None:
        """Show saved work of any open model, or open its model first."""
        if not self._may_look(work):
            return
        # A copy, so that listeners are notified even if the same work was shown last.
        work = replace(work, file="", changed=False)
        model = self._session.model if self._make_current(work) else None
        if model is None:
            self.show(work, message="")
            return
        keys = self._keys(work)  # first: adding a model is a separate step for undo
        fields = _fitting(work, model)
        self._session.change(positions=inside(work.positions, model.n_positions), **fields)
        if fields.get("keep_turned", self._session.keep_turned):
            self._session.turn = work.turn
        self._align(work, keys)
        self._report_left_out(work)
        self._session.work = work

    def _report_left_out(self, work: Work) -> None:
        """Report the invalid parts of a file."""
        if work.left_out:
            names = ", ".join(name.replace("_", " ") for name in work.left_out)
            self._session.notice = Notice(
                f"Parts of this view are damaged in its file and were left out: {names}.",
                "They have their defaults; what is saved from now on is sound.",
            )

    def _make_current(self, work: Work) -> bool:
        """Make the model of saved work the current one, if it is in the window; otherwise False."""
        if _is_of(work, self._opening.shown, self._session.model):
            return True
        beside = (
            key
            for key, session, wanted in self._comparing.opened
            if _is_of(work, wanted, session.model)
        )
        key = next(beside, None)
        return key is not None and self._comparing.make_current(key)

    def show(self, work: Work, *, of_file: bool = False, message: str = RESUMED) -> None:
        """Open saved work that has been read.

        Parameters
        ----------
        work
            The state to show once its model has loaded.
        of_file
            Whether it was read from its file, which is added to the recent sources.
        message
            Notice if it was not; none if "".
        """
        if not of_file and not self._may_look(work):
            return
        wanted = _wanted(work)
        if of_file or message:  # a bookmark has one model, with its path
            beside = (_wanted(other).source for other in work.others)
            wanted = replace(wanted, unasked=(wanted.source, *beside))
        self._pending = wanted, work, of_file, message
        self._opening.open(wanted, project=Path(work.file).name if of_file else "")

    def _check_hosts(self, work: Work, path: Path | None = None) -> None:
        models: tuple[Work | OtherView, ...] = (work, *work.others)
        paths = [place for model in models for place in (model.source, model.beside)]
        check_hosts(self._session, paths, str(path or ""))

    def _may_look(self, work: Work) -> bool:
        """Return whether all paths in saved work may be accessed; otherwise show a notice."""
        try:
            self._check_hosts(work)
        except HelixscopeError as error:
            self._session.notice = Notice(str(error), error.advice)
            return False
        return True

    def on_shown(self, wanted: OpenRequest) -> None:
        """Show the state of saved work if the shown model is the one it waits for."""
        pending, self._pending = self._pending, None
        model = self._session.model
        if pending is None or model is None:
            return
        # The user may have chosen the table meanwhile.
        asked_for = replace(pending[0], table=wanted.table, unasked=wanted.unasked)
        if replace(wanted, whole=False) != asked_for:
            return
        _, work, of_file, message = pending
        session = self._session
        session.change(**_fitting(work, model), turn=work.turn)
        if session.keep_turned:  # other components have reset it
            session.turn = work.turn
        if of_file:
            session.work_file = work.file
            remember(session, Source.parse(work.file))
        elif message:
            session.work_file = work.file
            session.notice = Notice(message)
        if of_file or message:  # the window's last state, and not a bookmark
            self._comparing.begin_at(work.main_at)
            self._align(work, [self._add(other, wanted.unasked) for other in work.others])
            self._comparing.move(session.current_key, work.main_at)
        else:
            self._align(work, self._keys(work))
        # Computed tables need no comparison: their last bits depend on the linear algebra library.
        kept = not work.fingerprint or work.source.kind == "computed"
        if not kept and work.fingerprint != model.fingerprint:
            session.notice = Notice(OTHER)
        self._report_left_out(work)
        session.work = work

    def _add(self, other: OtherView, unasked: tuple[Source, ...] = ()) -> int | None:
        """Show another open model again, and return its key."""
        again = _wanted(other)
        return self._comparing.add(
            again.source,
            again.positions,
            other.components,
            table=again.table,
            in_grid=other.in_grid,
            unasked=unasked,
        )

    def _keys(self, work: Work) -> list[int | None]:
        """Return the keys of a bookmark's other models.

        The model of the aligned curve is opened again if it is not in the window, without a view,
        since a bookmark has one view.
        """
        opened = self._comparing.opened
        keys = [
            next((key for key, at, wanted in opened if _is_of(other, wanted, at.model)), None)
            for other in work.others
        ]
        if work.alignment is not None and isinstance(work.alignment.what, OfOther):
            at = work.alignment.what.key
            if keys[at] is None:
                keys[at] = self._add(replace(work.others[at], in_grid=False))
        return keys

    def _align(self, work: Work, keys: Sequence[int | None]) -> None:
        """Restore the alignment; of other models, only those with keys."""
        alignment = work.alignment
        if alignment is not None and isinstance(alignment.what, OfOther):
            key = keys[alignment.what.key]
            alignment = None if key is None else replace(alignment, what=OfOther(key))
        self._session.alignment = alignment


def _is_of(
    work: Work | OtherView, wanted: OpenRequest | None, model: PositionalModel | None
) -> bool:
    """Return whether a model and its request match saved work."""
    if wanted is None or model is None:
        return False
    if (wanted.table, model.commit) != (work.table, work.commit):
        return False
    if model.commit is None:
        return model.source == work.source
    # Opened by any name of the same commit.
    return model.source.at_commit(None) == work.source.at_commit(None)


def _wanted(work: Work | OtherView) -> OpenRequest:
    """Return the request for saved work: a model on the Hub at its commit."""
    source = work.source if work.commit is None else work.source.at_commit(work.commit)
    return OpenRequest(source, work.table, work.positions, clip=True)


def _fitting(work: Work, model: PositionalModel) -> dict[str, object]:
    """Return the saved fields, except those that a model of another size cannot show."""
    fields = {**ABSENT, **work.fields}
    n_components = max(3, min(model.W_pos.shape))
    components, selection = fields.get("components"), fields.get("selection")
    if isinstance(components, tuple) and max(components) > n_components:
        del fields["components"]
    component = fields.get("color_component")
    if isinstance(component, int) and component > n_components:
        del fields["color_component"]
    if isinstance(selection, tuple):
        fields["selection"] = tuple(p for p in selection if p < model.n_positions)
    return fields
