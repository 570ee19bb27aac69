"""The 3D scene: resolved from the session into plain values, then drawn with pyvista.

No Qt: the window, pictures and the command line draw the same scene.
"""
