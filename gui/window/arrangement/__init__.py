"""The arrangement of the window: docks and their tabs, workspaces, models side by side."""
