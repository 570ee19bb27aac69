"""Tensors in files: formats, lazily read; errors; whole-file writing.

Nothing here knows models, the network or mathematics.
"""
