"""The parts of result panels, and their common widget.

A panel is a `PanelSpec` of `spec`: data and pure functions, with controls of `choices`, requests of
`intents`, and the values of `views` and `nulls`. Derived from it are its saved choices in
`saved_choices`, its files and scripts in `outputs`, and its widget in `panel`; the other modules
are parts of the widget.
"""
