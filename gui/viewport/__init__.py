"""The 3D views: VTK in Qt, mouse gestures, cameras, and the grid of several views.

The content of scenes is in `scene`.
"""
