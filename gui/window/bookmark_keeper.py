"""Bookmarks in the window: creating them, showing them, and their panel."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from gui.services.work_files.bookmarks import Bookmarks
from gui.services.work_files.reopening import take_alignment, take_other, take_work
from gui.state.aligned_curve import OfOther
from gui.state.camera import CameraPose
from gui.style.listening import Listening
from gui.window.arrangement.docks import share
from gui.window.palette import Item

if TYPE_CHECKING:
    from gui.side_panels.bookmarks import BookmarksPanel
    from gui.state.aligned_curve import CurveAlignment
    from gui.state.work import OtherView, Work
    from gui.window.host import HostWindow

DOCK = "bookmarks"
PICTURE = (320, 240)
"""Maximum size of a picture in pixels; it is shown at half this width."""
LINES = 420
"""Maximum height of a picture in logical pixels, so that points are not too small."""
ABOVE, SHARES = ("inspector", "prompt"), (0.3, 0.22, 0.48)
"""Other panels in the bookmarks' column, and the division of the column."""
PREFERENCES = (
    "keep_turned",
    "norms_quantity",
    "norms_relative",
    "cameras_linked",
    "ranges_linked",
    "compare_columns",
)
"""Fields of saved work that are preferences, not part of a view."""


class BookmarkKeeper:
    """Creates bookmarks of a window's view, and shows them again."""

    def __init__(self, window: HostWindow, file: Path) -> None:
        self._window = window
        self.bookmarks = Bookmarks(window.session, file, window.controller.jobs)
        self._panel: BookmarksPanel | None = None
        self._begun = False
        self._listening = Listening()
        self._listening.to(window.session.events.work, self._on_opened)
        window.docks[DOCK].visibilityChanged.connect(self._on_visibility_changed)

    def release(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def begin(self) -> None:
        """Read the bookmarks, and build the panel if or once it is visible."""
        self._begun = True
        self.bookmarks.load()
        if self._window.docks[DOCK].isVisible():
            self.need()

    def need(self) -> None:
        """Build the panel if necessary."""
        if not self._begun or self._panel is not None:
            return
        from gui.side_panels.bookmarks import BookmarksPanel

        self.bookmarks.load()
        panel = self._window.make_panel(DOCK)
        assert isinstance(panel, BookmarksPanel)
        self._panel = panel
        panel.addRequested.connect(self.add)
        panel.goRequested.connect(self.go_to)
        connect(panel, self.bookmarks)

    def show(self) -> None:
        """Bring the panel to the front, and focus it."""
        self._bring()
        self._window.panels[DOCK].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def add(self) -> None:
        """Add a bookmark of the view, and bring the panel to the front."""
        window, session = self._window, self._window.session
        shown, model = window.controller.opening.shown, session.model
        if model is None or shown is None or session.curve is None:
            return
        window.viewport.catch_up()  # it does not paint while it is hidden
        work = take_work(session, shown, window.viewport.camera.place)
        fields = {name: value for name, value in work.fields.items() if name not in PREFERENCES}
        alignment, others = self._aligned()
        work = replace(work, fields=fields, alignment=alignment, others=others)

        def show(key: str) -> None:
            self._bring()
            if self._panel is not None:
                self._panel.choose(key)
            session.status = "Bookmarked this view"

        self.bookmarks.add("", model.name, work, self._picture(), then=show)

    def go_to(self, key: str) -> None:
        """Show a bookmark's view, opening its model if necessary."""
        window = self._window
        bookmark = next((mark for mark in window.session.bookmarks if mark.key == key), None)
        if bookmark is not None:
            if window.session.model is not None:
                window.undo.separate()
                window.viewport.camera.left.emit(window.viewport.camera.place)
            window.controller.reopening.go_to(bookmark.work)

    def items(self) -> list[Item]:
        """Return an item for each bookmark, for the command palette."""
        return [
            Item(f"Go to “{bookmark.name}”", "Bookmarks", partial(self.go_to, bookmark.key))
            for bookmark in self._window.session.bookmarks
        ]

    def _aligned(self) -> tuple[CurveAlignment | None, tuple[OtherView, ...]]:
        """Return the alignment, and the model that is aligned."""
        session = self._window.session
        opened = self._window.controller.comparing.opened
        alignment = take_alignment(session, [key for key, _, _ in opened])
        if alignment is None or not isinstance(alignment.what, OfOther):
            return alignment, ()
        _, session, request = opened[alignment.what.key]
        return replace(alignment, what=OfOther(0)), (take_other(session, request, None),)

    def _bring(self) -> None:
        """Bring the panel to the front; if it was closed, give it half of its column."""
        window, dock = self._window, self._window.docks[DOCK]
        opens = dock.isHidden() and not dock.isFloating()
        window.bring(DOCK)
        self.need()
        above = [window.docks[name] for name in ABOVE]
        if opens and all(other.isVisible() and not other.isFloating() for other in above):
            docks = [*above, dock]
            height = sum(dock.height() for dock in docks)
            sizes = {dock: round(part * height) for dock, part in zip(docks, SHARES, strict=True)}
            share(window, sizes, Qt.Orientation.Vertical)

    def _on_visibility_changed(self, visible: bool) -> None:
        if visible:
            self.need()

    def _on_opened(self, work: Work | None) -> None:
        """Add the bookmarks of an opened file."""
        if work is not None:
            self.bookmarks.merge(work.bookmarks)

    def _picture(self) -> bytes:
        """Return a small PNG of the viewport; empty if it cannot be drawn."""
        from PIL import Image

        from gui.export.pictures import PictureError, render_scene
        from gui.scene.scene_state import resolve_scene

        window, interactor = self._window, self._window.viewport.interactor
        state = resolve_scene(replace(window.session, hover=None))
        assert state is not None
        width, height = max(1, interactor.width()), max(1, interactor.height())
        # At the size of a large viewport, points would be invisible.
        lines = min(height, LINES)
        size = (width * lines / height, float(lines))
        scale = min(PICTURE[0] / size[0], PICTURE[1] / size[1])
        try:
            pixels = render_scene(
                state,
                window.viewport.scene.theme,
                CameraPose.of(interactor.camera),
                (round(size[0]), round(size[1])),
                scale=scale,
                compact=True,  # caption and colour bar would be illegible
            )
        except PictureError:
            return b""
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
        return buffer.getvalue()


def connect(panel: BookmarksPanel, bookmarks: Bookmarks) -> None:
    """Let a panel change the bookmarks that it lists."""
    panel.renameRequested.connect(lambda key, name: bookmarks.change(key, name=name))
    panel.noteRequested.connect(lambda key, note: bookmarks.change(key, note=note))
    panel.moveRequested.connect(bookmarks.move)
    panel.removeRequested.connect(bookmarks.remove)
    panel.backRequested.connect(bookmarks.bring_back)
