"""The training panel: the curve as it forms, its player, and the download of checkpoints.

It requests a snapshot; `services` shows it.
"""
