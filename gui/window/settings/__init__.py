"""Persistent settings, their dialog, and the models in the cache.

State of a single session is saved work.
"""
