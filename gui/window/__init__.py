"""The main window: docks, commands, dialogs, settings, lessons and saved work on the screen.

A part of the window takes a `HostWindow`; what needs no Qt belongs in `services`.
"""
