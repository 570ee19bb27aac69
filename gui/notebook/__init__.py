"""What scripts and notebooks get: an opened model, its figures, tables, and pages."""
