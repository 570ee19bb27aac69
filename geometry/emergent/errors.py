"""The error of this package."""

from geometry.checkpoints.errors import HelixscopeError


class EmergentError(HelixscopeError):
    """Positions inside a model cannot be measured: its network, the texts, or the memory."""
