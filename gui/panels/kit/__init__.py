"""What result panels are made of, and the one widget that shows any of them.

A panel is a `PanelSpec` of `spec`: data and pure functions, with controls of `choices`, requests of
`intents`, and the values of `views` and `nulls`. From it follow what is saved of a panel,
`saved_choices`, what is written and copied, `outputs`, and its widget, `panel`, which has the other
modules for its parts.
"""
