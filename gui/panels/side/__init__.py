"""Panels beside the curve: models, positions, view, inspector, prompt, bookmarks, lessons.

They ask no questions, unlike result panels, and do not import these.
"""
