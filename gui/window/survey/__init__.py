"""The window of a survey: a table of thousands of checkpoints, and a scatter of its columns.

What opens checkpoints is the main window's, and how files are read is in ``geometry/survey``.
"""
