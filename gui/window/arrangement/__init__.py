"""Where things are in the window: docks and their tabs, workspaces, models side by side."""
