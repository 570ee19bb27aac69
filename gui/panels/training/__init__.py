"""The training panel: the curve as it forms, its player, and the download of checkpoints.

It emits which snapshot to show; `services` shows it.
"""
