"""Persistent settings, their dialog, and the models in the cache.

Nothing of a single session: that is saved work.
"""
