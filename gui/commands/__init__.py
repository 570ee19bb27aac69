"""The command line: one file per command, with arguments, terminal output and tables.

Computations are in lower layers.
"""
