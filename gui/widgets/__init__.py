"""General widgets: labels, sliders, tables, rows of controls.

Independent of the session, except `panel`, the base of panels and of parts of the window.
"""
