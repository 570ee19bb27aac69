"""The 3D views: VTK in Qt, the mouse in them, their cameras, and the grid of several views.

What a scene contains is decided in `scene`.
"""
