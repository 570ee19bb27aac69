"""Lessons: read from Markdown, with conditions and numbers computed for the open model.

Their display is in `window` and `panels`.
"""
