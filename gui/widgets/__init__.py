"""General widgets: labels, sliders, tables, rows of controls.

Independent of the session; widgets that read it are panels or parts of the window.
"""
