"""2D plots: `spec` says what is drawn, one painter draws on the screen, one for print.

Plots know positions and numbers, but neither panels nor questions.
"""
