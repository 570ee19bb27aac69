"""The window of a survey: a table of thousands of checkpoints, and a scatter of its columns.

The main window opens checkpoints; ``geometry/survey`` reads the files.
"""
