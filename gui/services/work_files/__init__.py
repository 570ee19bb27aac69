"""Saved work and bookmarks: what is in their files, and how it is shown again.

What is shown is taken from the session, and put there; no widgets.
"""
