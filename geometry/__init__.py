"""The geometry of positional embeddings: numbers only, no window.

Everything here works on numpy arrays and checkpoints on disk and can be used from a script or a
notebook; nothing here imports Qt, VTK, pyvista or :mod:`gui`.
"""
