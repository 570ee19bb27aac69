"""The main window: docks, commands, dialogs, settings, lessons and saved work on the screen.

Parts of the window depend on `HostWindow`; code without Qt is in `services`.
"""
