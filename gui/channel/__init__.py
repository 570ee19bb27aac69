"""What a script and the window that it shows say to each other: messages, and the pipes for them.

Without Qt, as the script's process imports it; what messages do is in `commands` and `notebook`.
"""

COMMAND = "shown-window"
"""Name of the command by which a script shows a window; it is not listed."""
