"""Widgets that know no session: labels, sliders, tables, rows of controls.

Whatever reads the session is a panel or a part of the window.
"""
