"""The window: session, controller, scenes, panels."""
