"""2D plots: `spec` describes them, one painter draws on the screen, one for print.

Independent of panels and questions.
"""
