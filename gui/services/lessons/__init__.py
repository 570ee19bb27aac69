"""Lessons: read from Markdown, their conditions and numbers found on the open model.

How a lesson is shown is in `window` and `panels`.
"""
