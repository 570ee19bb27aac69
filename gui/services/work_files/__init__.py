"""Saved work and bookmarks: their files, and restoring them.

Reads and writes the session; no widgets.
"""
