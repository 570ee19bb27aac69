"""The command line: one file a command, with its arguments, terminal output and tables.

Nothing here draws in a window; what a command computes lies below.
"""
