"""What the window's parts ask for, and who answers: the controller, the session or the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from gui.window import dialogs
from gui.window.copy_window import copy_window
from gui.window.focus_navigation import focus_view, go_round

if TYPE_CHECKING:
    from gui.panels.training.training_gather import GatherForm
    from gui.services.checkpoint_download import Gatherer
    from gui.state.session import Session
    from gui.style.listening import Listening
    from gui.viewport.marquee import Shape
    from gui.window.actions import Actions
    from gui.window.main_window import MainWindow

SWITCHES: dict[str, tuple[str, object]] = {
    "parallel": ("projection", "parallel"),
    "faint": ("outside", "faint"),
    "sphere": ("sphere", True),
    "measure": ("measure", True),
    "work_offline": ("offline", True),
    "cameras_linked": ("cameras_linked", True),
    "ranges_linked": ("ranges_linked", True),
}
"""Commands that are switches: the field of the session that each shows, and its value when on."""
STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}
"""Steps to the right and upwards, by where an arrow key points."""
DRAWING = "Drag a {} around points. Shift adds them, Ctrl takes them out, Esc leaves."
TWO_FIRST = "Select two positions to measure between: click one, Shift-click the other."
MESSAGE_MS = 8_000


def handlers(window: MainWindow) -> dict[str, Callable[..., object]]:
    """Return what answers each command, by its name in :data:`gui.window.actions.COMMANDS`."""
    view, controller = window.viewport.camera, window.controller
    return {
        "open_folder": window.open_folder,
        "open_file": window.open_file,
        "open_hub": lambda: window.focus_on("models", "focus_search"),
        "find_model": lambda: window.focus_on("models", "focus_search"),
        "check_update": controller.check_for_update,
        "work_offline": window.work_offline,
        "switch_side": controller.switch_side,
        "save_picture": window.pictures.ask,
        "copy_picture": window.pictures.copy,
        "export_scene": window.scenes.ask,
        "save_turntable": window.turntables.ask,
        "export_data": window.data.ask,
        "copy_window": lambda: copy_window(window),
        "open_work": window.work.open,
        "save_work": window.work.save,
        "save_work_as": window.work.save_as,
        "settings": window.settingsRequested.emit,
        "quit": window.close,
        "undo": window.undo.undo,
        "redo": window.undo.redo,
        "go_to": lambda: window.focus_on("inspector", "focus_go_to"),
        "next": lambda: controller.walk(1),
        "previous": lambda: controller.walk(-1),
        "next_10": lambda: controller.walk(10),
        "previous_10": lambda: controller.walk(-10),
        "clear_selection": window.cancel,
        "select_box": lambda on: arm(window, "box" if on else None),
        "select_lasso": lambda on: arm(window, "lasso" if on else None),
        "focus_on_selection": window.focus_on_selection,
        "measure": lambda on: measure(window, on),
        "label_tokens": lambda: window.focus_on("prompt", "focus_text"),
        "view_article": lambda: view.view("article"),
        "view_isometric": lambda: view.view("isometric"),
        "view_xy": lambda: view.view("xy"),
        "view_xz": lambda: view.view("xz"),
        "view_yz": lambda: view.view("yz"),
        "frame": view.frame,
        "zoom_in": lambda: view.zoom(1.25),
        "zoom_out": lambda: view.zoom(0.8),
        "spin": view.set_spinning,
        **{f"turn_{way}": partial(view.turn, *step) for way, step in STEPS.items()},
        **{f"move_{way}": partial(view.shift, *step) for way, step in STEPS.items()},
        "roll_left": lambda: view.turn(0, 0, -1),
        "roll_right": lambda: view.turn(0, 0, 1),
        "parallel": lambda on: window.set_field("projection", "parallel" if on else "perspective"),
        "faint": lambda on: window.set_field("outside", "faint" if on else "hidden"),
        "sphere": lambda on: window.set_field("sphere", on),
        "bookmark": window.bookmarks.add,
        "bookmarks": window.bookmarks.show,
        "theme_system": lambda _: window.choose_theme("system"),
        "theme_light": lambda _: window.choose_theme("light"),
        "theme_dark": lambda _: window.choose_theme("dark"),
        "full_screen": lambda on: window.showFullScreen() if on else window.showNormal(),
        "view_3d": lambda: focus_view(window),
        "next_panel": lambda: go_round(window, 1),
        "previous_panel": lambda: go_round(window, -1),
        "reset_layout": window.arrange,
        "lesson": lambda: window.teaching.open(),
        "lesson_previous": lambda: window.teaching.go_on(-1),
        "lesson_next": lambda: window.teaching.go_on(1),
        "palette": lambda: _show_palette(window),
        "compare_add": window.beside.choose,
        "compare_nine": window.beside.show_nine,
        "compare_next": lambda: window.beside.go_on(1),
        "compare_previous": lambda: window.beside.go_on(-1),
        "compare_alone": window.beside.toggle_alone,
        "cameras_linked": window.grid.link_cameras,
        "ranges_linked": lambda on: window.set_field("ranges_linked", on),
        "lay_over": lambda: window.focus_on("compare", "take_focus"),
        "compare_clear": controller.comparing.clear,
        "shortcuts": lambda: dialogs.show_shortcuts(window),
        "about": lambda: dialogs.show_about(window),
    }


def arm(window: MainWindow, shape: Shape | None) -> None:
    """Let the next drag in a view draw a shape, or turn the curve."""
    window.grid.arm(shape)
    window.viewport.interactor.setFocus()


def measure(window: MainWindow, on: bool) -> None:
    """Draw the line between the last two selected positions, or say how to select them."""
    window.set_field("measure", on)
    if on and window.session.pair is None:
        window.status_bar.showMessage(TWO_FIRST, MESSAGE_MS)


def _show_palette(window: MainWindow) -> None:
    from gui.window.palette import Palette

    Palette(window).popup()


def connect_switches(session: Session, commands: Actions, listening: Listening) -> None:
    """Keep the ticks of the commands that are switches true to the session."""

    def show(name: str, field: str, on: object) -> None:
        commands.by_name[name].setChecked(getattr(session, field) == on)

    for name, (field, on) in SWITCHES.items():
        listening.to(session.events[field], partial(show, name, field, on))
        show(name, field, on)


def connect_centre(window: MainWindow) -> None:
    """Connect the viewport and what lies over it."""
    controller, viewport = window.controller, window.viewport
    window.empty_state.folderRequested.connect(window.open_folder)
    window.empty_state.fileRequested.connect(window.open_file)
    window.empty_state.hubRequested.connect(lambda: window.focus_on("models", "focus_search"))
    window.empty_state.lessonRequested.connect(window.teaching.begin_with_sample)
    window.empty_state.cancelRequested.connect(controller.cancel)
    window.status_bar.cancelRequested.connect(controller.cancel)
    viewport.hoverRequested.connect(lambda position: window.set_field("hover", position))
    viewport.menuRequested.connect(window.show_menu)
    viewport.marquee.armedChanged.connect(lambda shape: _on_armed(window, shape))
    viewport.firstFrame.connect(window.build_panels, Qt.ConnectionType.QueuedConnection)
    window.notice_bar.dismissed.connect(lambda: window.set_field("notice", None))
    window.notice_bar.tableRequested.connect(
        lambda source, table: controller.open(source, table=table)
    )
    window.notice_bar.retryRequested.connect(controller.retry)
    window.notice_bar.wholeRequested.connect(lambda: controller.retry(whole=True))


def _on_armed(window: MainWindow, armed: Shape | None) -> None:
    if armed is None:
        window.status_bar.clearMessage()
    else:
        window.status_bar.showMessage(DRAWING.format(armed))
    for shape in ("box", "lasso"):
        window.commands.by_name[f"select_{shape}"].setChecked(shape == armed)


def connect_undo(window: MainWindow) -> None:
    """Tell what is changed by the mouse, and say in the menu what can be taken back."""
    undo, actions = window.undo, window.commands.by_name
    window.viewport.camera.left.connect(undo.camera_left)

    def show() -> None:
        for name, title, what in (("undo", "Undo", undo.undoes), ("redo", "Redo", undo.redoes)):
            actions[name].setEnabled(bool(what))
            actions[name].setText(f"{title}: {what}" if what else title)

    undo.on_changed = show
    show()


def connect_panels(window: MainWindow, panels: Mapping[str, Any]) -> None:
    """Connect the panels that are there from the start, by their docks' names."""
    controller = window.controller
    panels["models"].folderRequested.connect(window.open_folder)
    panels["models"].fileRequested.connect(window.open_file)
    panels["models"].openRequested.connect(controller.open)
    panels["models"].compareRequested.connect(controller.comparing.add)
    panels["models"].searchRequested.connect(controller.search_hub)
    panels["models"].updateRequested.connect(controller.check_for_update)
    panels["models"].cancelRequested.connect(controller.cancel_opening)
    panels["positions"].rangeRequested.connect(controller.request_positions)
    panels["positions"].dragStarted.connect(lambda: window.set_field("dragging", True))
    panels["positions"].dragFinished.connect(lambda: window.set_field("dragging", False))
    panels["positions"].componentsRequested.connect(lambda c: window.set_field("components", c))
    panels["view"].colorByRequested.connect(controller.color_by)
    panels["view"].colormapRequested.connect(lambda name: window.set_field("colormap", name))
    panels["view"].outsideRequested.connect(lambda how: window.set_field("outside", how))
    panels["view"].projectionRequested.connect(lambda how: window.set_field("projection", how))
    panels["view"].keepTurnedRequested.connect(lambda on: window.set_field("keep_turned", on))
    panels["prompt"].promptRequested.connect(lambda text: window.set_field("prompt", text))
    panels["prompt"].tokenizerRequested.connect(controller.fetch_tokenizer)
    norms, overlays = panels["norms"], controller.overlays
    norms.quantityRequested.connect(lambda what: window.set_field("norms_quantity", what))
    norms.centredRequested.connect(lambda on: window.set_field("norms_centred", on))
    norms.afterRequested.connect(lambda first: window.set_field("norms_after", first))
    norms.relativeRequested.connect(lambda on: window.set_field("norms_relative", on))
    norms.sphereRequested.connect(lambda on: window.set_field("sphere", on))
    norms.overlayRequested.connect(overlays.add)
    norms.overlayRemoved.connect(overlays.remove)
    norms.overlayToggled.connect(overlays.show)
    norms.overlayAsked.connect(
        lambda key, question, _: controller.compared_answers.ask("norms", key, question)
    )
    norms.hiddenRequested.connect(lambda hidden: window.set_field("hidden_curves", hidden))
    panels["inspector"].measureRequested.connect(lambda on: window.set_field("measure", on))
    for name in ("inspector", "prompt", "norms"):
        panels[name].selectionRequested.connect(controller.select)
        panels[name].hoverRequested.connect(lambda position: window.set_field("hover", position))


def connect_gathering(form: GatherForm, gatherer: Gatherer) -> None:
    """Connect the form that gathers checkpoints of a training."""
    form.lookRequested.connect(gatherer.look)
    form.countRequested.connect(gatherer.choose)
    form.gatherRequested.connect(gatherer.gather)
    form.wholeRequested.connect(lambda count: gatherer.gather(count, whole=True))
    form.cancelRequested.connect(gatherer.cancel)
