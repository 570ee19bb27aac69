"""Downloading a whole model of the Hub for a command, after a question with the size."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.sizes import size_text
from gui.commands.steps import open_in_step, progress_bar
from gui.commands.terminal import ask, can_ask

WholeModel = Annotated[
    bool,
    typer.Option("--whole", help="Download what is missing of a model on the Hub, unasked."),
]


def complete_model(
    source: str,
    *,
    offline: bool,
    whole: bool,
    with_table: bool = False,
    table: str | None = None,
) -> None:
    """Download what is missing of a model on the Hub, if the user agrees.

    Parameters
    ----------
    offline
        Whether to send no requests.
    whole
        Whether the user has agreed already.
    with_table, table
        Whether the model must have a table of positions, which is checked before the download;
        and the chosen table.

    Raises
    ------
    HelixscopeError
        It cannot be downloaded, the user does not agree, or there is no terminal to ask on.
    KeyboardInterrupt
        Ctrl+C was pressed; what has arrived is kept.
    """
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from geometry.hub.whole_model import fetch_model
    from geometry.inside.network import to_download
    from geometry.models.layers import LEARNED
    from gui.commands.headless import for_command_line, interruptible

    hub = Hub(offline=offline)
    with for_command_line(offline=offline):
        transfer = Transfer()
        model = interruptible(transfer, partial(to_download, source, hub, transfer))
        if model is None:
            return
        if not whole and model.nbytes:  # another commit may have all of its files
            _agree(source, size_text(model.nbytes))
        with progress_bar(1 + with_table) as step:
            if with_table:
                opened = open_in_step(step, source, table, offline, whole=True, fresh=False)
                if opened.no_table:
                    raise HelixscopeError(f"{opened.name}: {opened.no_table}.", LEARNED)
            transfer = Transfer(step.report)
            fetch = partial(fetch_model, model, hub, transfer)
            step(f"Downloading {source}", lambda: interruptible(transfer, fetch))


def _agree(source: str, size: str) -> None:
    """Ask whether to download a model; raise an error if not."""
    if not can_ask():
        raise HelixscopeError(
            f"{source} is not complete on this machine: {size} would be downloaded.",
            "Allow it with --whole.",
        )
    if not ask(f"{size} of {source} will be downloaded. Continue? [y/N]"):
        raise HelixscopeError(f"{source} was not downloaded.")
