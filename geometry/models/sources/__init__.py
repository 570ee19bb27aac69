"""Sources: files, folders, models of the Hub, and tables computed or derived from others."""
