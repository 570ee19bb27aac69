"""Makes bundles: a folder, and an AppImage of it, that need no Python."""
