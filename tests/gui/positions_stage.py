"""The positions panel with a small helix, in tests."""

from types import SimpleNamespace

import numpy as np

from geometry.measures.norms import norm_profile
from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.side_panels.positions import PositionsPanel
from gui.state.session import Session
from gui.style.theme import LIGHT
from tests.gui.on_screen import put_on_screen

N = 200


def table(n_positions: int = N) -> np.ndarray:
    """Return a helix with a little noise, with outliers at both ends."""
    position = np.arange(n_positions)
    noise = 0.02 * np.random.default_rng(5).normal(size=(n_positions, 16))
    angle = position / 20
    noise[:, :4] += np.stack([np.cos(angle), np.sin(angle), position / 400, 0 * angle + 1], axis=1)
    noise[0] *= 4
    noise[-1] *= 0.05
    return noise


def fill(session: Session, n_positions: int = N, positions: tuple[int, int] | None = None) -> None:
    W_pos = table(n_positions)
    session.positions = positions or (1, n_positions - 1)
    session.model = SimpleNamespace(
        n_positions=n_positions,
        d_model=16,
        source="tiny",
        name="tiny",
        rows=None,
        of_positions=True,
    )
    session.norms = norm_profile(W_pos)
    session.curve = place_curve(W_pos, fit_pca(W_pos, session.positions), session.components)


def shown(qtbot, session):
    return put_on_screen(qtbot, PositionsPanel(session, LIGHT), 280, 260)


def record(panel) -> list[tuple]:
    """Note every intent of a panel in order."""
    heard: list[tuple] = []
    panel.rangeRequested.connect(lambda first, last: heard.append(("range", first, last)))
    panel.dragStarted.connect(lambda: heard.append(("started",)))
    panel.dragFinished.connect(lambda: heard.append(("finished",)))
    panel.componentsRequested.connect(lambda components: heard.append(("components", components)))
    return heard


def follow(panel) -> None:
    """Let the session take every request, as the controller does."""
    panel.rangeRequested.connect(lambda a, b: setattr(panel.session, "positions", (a, b)))
    panel.componentsRequested.connect(lambda c: setattr(panel.session, "components", c))
