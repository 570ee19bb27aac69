"""One panel a file; a panel reads the session and emits what the user wants."""
